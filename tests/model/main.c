// SPDX-License-Identifier: GPL-2.0
/*
 * Searches the models and proves that they would see a fault: every mutant has to be caught.
 *
 *	model [--big] [-v] [--model NAME] [--config N] [--mutant N] [--max STATES] [--list]
 *
 *	--big		also the big configurations
 *	-v		print the traces of mutants too
 *	--mutant N	only this mutant (-1: none), in --config N or where it is to be caught
 */
#include <getopt.h>
#include <string.h>
#include <time.h>

#include "../unit/tap.h"
#include "model.h"

static u64 max_states = 400000000;

static const struct model *const models[] = { &data_model, &exclusive_model, &metadata_model };

static bool big, verbose;

/* of processor time: the machine may have other work */
static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void check_config(const struct model *m, u32 config)
{
	double start = seconds();
	struct search_result r = m->run(config, -1, max_states, true);

	ok(!r.violated && !r.full, "%s, %s: all of %llu states, %llu steps, depth %u, in %.1f s", m->name,
	   m->config_name(config), (unsigned long long)r.states, (unsigned long long)r.steps, r.depth,
	   seconds() - start);
	if (r.full)
		diag("there are more states");
}

static void check_mutant(const struct model *m, u32 mutant, int config)
{
	double start = seconds();
	u32 c = config < 0 ? m->mutant_config(mutant) : (u32)config;
	struct search_result r = m->run(c, mutant, max_states, verbose);

	ok(r.violated, "%s, mutant caught: %s (%u steps: %s; %s, %llu states, %.1f s)", m->name, m->mutants[mutant],
	   r.depth + 1, r.violated ? r.violated : "it was not", m->config_name(c), (unsigned long long)r.states,
	   seconds() - start);
}

static void list(const struct model *m)
{
	u32 i;

	for (i = 0; i < m->nr_configs; i++)
		printf("%s config %u: %s%s\n", m->name, i, m->config_name(i),
		       m->config_size(i) == MODEL_BIG ? " (big)" : "");
	for (i = 0; m->mutants[i]; i++)
		printf("%s mutant %u: %s\n", m->name, i, m->mutants[i]);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "big", no_argument, NULL, 'b' },
		{ "model", required_argument, NULL, 'm' },
		{ "config", required_argument, NULL, 'c' },
		{ "mutant", required_argument, NULL, 'u' },
		{ "max", required_argument, NULL, 'x' },
		{ "list", no_argument, NULL, 'l' },
		{ }
	};
	int o, config = -1, mutant = -2;
	const char *name = NULL;
	bool only_list = false;
	u32 i, k;

	while ((o = getopt_long(argc, argv, "v", options, NULL)) != -1)
		switch (o) {
		case 'b':
			big = true;
			break;
		case 'v':
			verbose = true;
			break;
		case 'm':
			name = optarg;
			break;
		case 'c':
			config = atoi(optarg);
			break;
		case 'u':
			mutant = atoi(optarg);
			break;
		case 'x':
			max_states = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			only_list = true;
			break;
		default:
			return 2;
		}
	for (i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		const struct model *m = models[i];

		if (name && strcmp(name, m->name))
			continue;
		if (only_list) {
			list(m);
			continue;
		}
		for (k = 0; k < m->nr_configs && mutant < 0; k++)
			if (config >= 0 ? k == (u32)config : big || m->config_size(k) == MODEL_SMALL)
				check_config(m, k);
		for (k = 0; m->mutants[k] && mutant != -1; k++)
			if (mutant == -2 ? config < 0 : k == (u32)mutant)
				check_mutant(m, k, config);
	}
	return only_list ? 0 : tap_done();
}
