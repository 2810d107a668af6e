// SPDX-License-Identifier: GPL-2.0
/*
 * powercut - cut the power of a tier device at many moments, and judge every state
 *
 *	powercut [-b BLOCK-KIB] [-m MODE] [-n STATES] [-t SECONDS] [-s SEED] [-p PAPER] [-c CHECK] [-v]	random
 *	powercut -x [-S SCRIPT] [-e STEP] [-k STATES] [-r RECOVERY] ...			scripts
 *	powercut -F									figures: what a power cut costs
 *	powercut -D [-n STATES] ...							damaged metadata
 *	powercut -l									lists the scripts
 *	powercut -T TIERS ...								a tiered device: random, or its scripts
 *
 * Runs in a virtual machine with nbd and the modules loaded, and DMTIER in the environment.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "powercut.h"

bool verbose;

static u32 block_kib = 64, paper_cuts = 300;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# FAILURE: ");
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
	_exit(2);
}

static u64 until;

static u64 milliseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static u64 seconds(void)
{
	return milliseconds() / 1000;
}

bool time_left(void)
{
	return seconds() < until;
}

/* kernels that look for bugs are slow: times are so many times as long */
u32 slowness(void)
{
	const char *slow = getenv("TIER_SLOW");

	return slow && atoi(slow) > 1 ? atoi(slow) : 1;
}

u64 full_slots(void)
{
	return block_kib <= 4 ? 96 : block_kib <= 64 ? 12 : 8;
}

/* slots of the tiers, of which the target keeps back two each */
static const u32 tier_slots[MAX_TIERS] = { 6, 8, 7, 6 };

/* all that the tiers have room for */
u64 tiered_sectors(void)
{
	u64 blocks = 0;
	u32 i;

	for (i = 0; i < nr_tiers; i++)
		blocks += (dev_size[tier_dev[i]] / SECTOR - (taken && i == nr_tiers - 1 ? 0 : 2048)) / block_sectors - 2;
	return blocks * block_sectors;
}

static void set_tiered_sizes(void)
{
	u32 i;

	block_sectors = block_kib * 2;
	for (i = 0; i < nr_tiers; i++)
		dev_size[tier_dev[i]] = dev_room[tier_dev[i]] = (2048 + tier_slots[i] * block_sectors) * (u64)SECTOR;
	max_sectors = nr_sectors = tiered_sectors();
	dev_size[META] = dev_room[META] = 2 << 20;
	nr_devs = nr_tiers + 1;
}

/* sizes: slots for a quarter of the blocks or so; the last block is short, and ends within a granule */
static void set_sizes(void)
{
	u64 slots = full_slots();

	block_sectors = block_kib * 2;
	max_sectors = slots * 3 * block_sectors + (block_sectors > 8 ? 8 * (block_sectors / 16) : 0) + 3;
	nr_sectors = max_sectors;
	dev_size[FAST] = (2048 + slots * block_sectors) * (u64)SECTOR;
	dev_room[FAST] = (2048 + 3 * slots * block_sectors) * (u64)SECTOR;
	dev_size[SLOW] = dev_room[SLOW] = nr_sectors * SECTOR;
	dev_size[META] = dev_room[META] = 2 << 20;
}

/* new metadata; the fast device, or each tier, keeps what was there, as garbage */
void format_devices(void)
{
	char option[100];
	struct image i;

	image_new(&i);
	dev_save(&i);
	memset(i.mem[META], 0, dev_room[META]);
	if (taken)
		memset(i.mem[tier_dev[nr_tiers - 1]], 0, dev_room[tier_dev[nr_tiers - 1]]);
	dev_load(&i);
	snprintf(option, sizeof(option), "--force --block-size %uk", block_kib);
	if (nr_tiers)
		snprintf(option, sizeof(option), "--force --block-size %uk --mode tiered --size %llus%s", block_kib,
			 (unsigned long long)nr_sectors, taken ? " --take-data" : "");
	if (dmtier_run("format", option)) {
		if (system("cat /tmp/dmtier.out")) {}
		die("format failed");
	}
	image_free(&i);
}

/* the values that a device just formatted has: those of the slow device, or zeros */
void first_values(u64 *values)
{
	u64 s;

	for (s = 0; s < nr_sectors; s++)
		values[s] = nr_tiers ? 0 : oracle_value(dev_mem[SLOW] + s * SECTOR, s);
}

/* start the device and the record of what it does */
void begin_life(struct life *l, const char *mode, const char *policy, const char *features)
{
	int e;

	dev_save(&l->base);
	log_free(dev_log_take());
	snprintf(l->what, sizeof(l->what), "block %uk, %s, %s, %s", block_kib, mode, policy, features);
	l->begin = tick();
	e = dm_create(mode, policy, features);
	if (e)
		die("create (%s): %s", l->what, strerror(-e));
	dm_fua_open();
}

/* stop it; this is part of the record, and as good as a flush once it is done, but if nothing is recorded any more */
void end_life(struct life *l)
{
	u64 id = oracle_new_id();
	char text[4096];
	bool gave_up;
	int e;

	gave_up = flushes_may_fail && dm_status(text, sizeof(text)) && !strncmp(text, "ro ", 3);
	oracle_event(EV_FLUSH, id, 0, 0, false);
	e = dm_remove();
	if (e)
		die("remove (%s): %s", l->what, strerror(-e));
	oracle_event(gave_up ? EV_FLUSH_FAILED : EV_FLUSH_ACK, id, 0, 0, false);
	l->end = now();
	l->log = dev_log_take();
}

static void random_delays(struct rng *r)
{
	static const struct delays table[] = {
		{ 0 },
		{ 50, { 300, 1000, 300, 1000, 1000 }, 1000 },
		{ 30, { 500, 8000, 500, 500, 500 }, 10000 },
		{ 30, { 6000, 500, 500, 8000, 500 }, 5000 },
		{ 30, { 500, 500, 8000, 500, 500 }, 1000 },
		{ 80, { 300, 300, 20000, 300, 300 }, 0 },
		{ 80, { 2000, 2000, 2000, 2000, 2000 }, 3000 },
	};

	dev_delays(&table[rng_below(r, sizeof(table) / sizeof(table[0]))], rng_next(r));
}

static void no_delays(void)
{
	dev_delays(&(struct delays){ 0 }, 0);
}

static void random_cut(struct plan *p, const struct life *l, struct rng *r)
{
	u8 fate = rng_below(r, NR_FATES);
	int d;

	p->cut = l->begin + rng_next(r) % (l->end - l->begin + 1);
	/* the moment of an acknowledgement is when most has been promised */
	if (rng_percent(r, 40) && oracle_nr_events())
		p->cut = oracle_event_time(rng_below(r, oracle_nr_events()));
	for (d = 0; d < nr_devs; d++)
		p->fates[d] = rng_percent(r, 30) ? fate : rng_below(r, NR_FATES);
	if (rng_percent(r, 15))
		memset(p->fates, FATE_LOST, sizeof(p->fates));
}

static void tiered_features(char *text, size_t size, struct rng *r)
{
	static const char * const migration[] = { "continuous", "continuous", "idle", "1", "off" };
	u32 low = rng_below(r, 40);

	snprintf(text, size, "commit_ms %u idle_ms %u migration %s sequential_landing %u free_low %u free_high %u%s",
		 rng_percent(r, 70) ? 10 : 1000, 10 + rng_below(r, 200), migration[rng_below(r, 5)], rng_below(r, 2), low,
		 low + 1 + rng_below(r, 30), rng_percent(r, 20) ? " no_discard_passdown" : "");
}

static void random_cuts(u64 seed, u64 states, const char *only_mode)
{
	u64 *values = calloc(max_sectors, sizeof(*values));
	struct life l = { 0 };
	static const u32 commit_ms[] = { 10, 100, 1000 };
	u64 began = seconds(), moves = 0;
	u32 lives = 0;
	char what[64];

	image_new(&l.base);
	format_devices();
	first_values(values);
	while (nr_states + nr_paper < states && time_left() && nr_failures < max_failures) {
		u64 life_seed = seed + lives * 1000003ULL;
		struct rng r = { life_seed };
		const char *mode = only_mode ? only_mode : random_mode(&r);
		bool is_long = rng_percent(&r, 15);
		struct run run = {
			.seed = rng_next(&r), .mode = mode, .threads = 1 + rng_below(&r, 8),
			.messages = rng_percent(&r, 70), .ms = is_long ? 6000 : 500 + rng_below(&r, 3000),
		};
		u32 cuts, i;
		char features[200];
		struct plan best = { 0 };
		u64 most = 0, time[3];
		size_t n;

		if (lives % 24 == 23) {
			format_devices();
			first_values(values);
		}
		lives++;
		snprintf(features, sizeof(features), "commit_ms %u idle_ms %u dirty_high %u dirty_low %u%s",
			 commit_ms[rng_below(&r, 3)], 10 + rng_below(&r, 3) * 100, 3 + rng_below(&r, 50), rng_below(&r, 3),
			 rng_percent(&r, 20) ? " no_discard_passdown" : "");
		if (nr_tiers)
			tiered_features(features, sizeof(features), &r);
		time[0] = milliseconds();
		oracle_begin_life(values);
		random_delays(&r);
		begin_life(&l, mode, random_policy(&r), features);
		n = strlen(l.what);
		snprintf(l.what + n, sizeof(l.what) - n, ", life %llu", (unsigned long long)life_seed);
		work_run(&run);
		moves += nr_tiers ? dm_moves() : 0;
		end_life(&l);
		no_delays();
		time[1] = milliseconds();
		if (verbose)
			printf("# life %u: %s: %zu requests of the devices, %zu events\n", lives, l.what, l.log->nr,
			       oracle_nr_events());
		for (i = 0; i < paper_cuts && nr_failures < max_failures && time_left(); i++) {
			struct plan p = { .seed = rng_next(&r) };

			random_cut(&p, &l, &r);
			judge_paper(&l, &p);
			/* a state in which recovery has something to do is worth a start */
			if (paper_differing > most || !i) {
				most = paper_differing;
				best = p;
			}
		}
		time[2] = milliseconds();
		cuts = most || rng_percent(&r, 50) || !paper_cuts;
		if (!cuts) {	/* no start, so nobody knows what the sectors hold now */
			format_devices();
			first_values(values);
		}
		for (i = 0; i < cuts && nr_failures < max_failures && time_left(); i++) {
			struct plan p = { .seed = rng_next(&r), .thorough = true, .second = paper_cuts / 4 + 1 };

			p.second_started = rng_percent(&r, 30);
			random_cut(&p, &l, &r);
			if (!i && most) {
				p.cut = best.cut;
				p.seed = best.seed;
				memcpy(p.fates, best.fates, sizeof(p.fates));
			}
			if (!judge(&l, &p, values)) {
				format_devices();
				first_values(values);
				break;
			}
		}
		if (verbose)
			printf("# life %llu ms, paper %llu ms, started %llu ms\n", (unsigned long long)(time[1] - time[0]),
			       (unsigned long long)(time[2] - time[1]), (unsigned long long)(milliseconds() - time[2]));
		log_free(l.log);
		fflush(stdout);
	}
	if (nr_tiers)
		snprintf(what, sizeof(what), "%u tiers, %llu moves", nr_tiers, (unsigned long long)moves);
	else
		snprintf(what, sizeof(what), "mode %s", only_mode ? only_mode : "any");
	printf("# powercut: block %uk, %s, seed %llu: %llu states judged in %u lives, %llu of them started, %llu seconds, %llu failures\n",
	       block_kib, what, (unsigned long long)seed, (unsigned long long)(nr_states + nr_paper), lives,
	       (unsigned long long)nr_states,
	       (unsigned long long)(seconds() - began), (unsigned long long)nr_failures);
}

static void usage(void)
{
	printf("usage: powercut [-b BLOCK-KIB] [-m MODE] [-n STATES] [-t SECONDS] [-s SEED] [-v]	random lives\n"
	       "       powercut -x [-S SCRIPT,...] [-e STEP] [-k STATES] [-r RECOVERY] ...	scripts, cut after every STEPth request\n"
	       "       powercut -T TIERS ...		a tiered device: random lives, or with -x its scripts\n"
	       "       powercut -F			what a power cut costs\n"
	       "       powercut -D [-n STATES]		damaged metadata\n"
	       "       powercut -l			lists the scripts; needs no devices\n"
	       "  -c PERCENT and -p CUTS: states that dmtier check looks at, cuts judged on paper; -f N: failures until it ends\n"
	       "It needs nbd, dm-switch and the modules, so it runs in the virtual machine: see README beside its source.\n");
}

/* is it one of a list with commas? */
static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);
	const char *at;

	for (at = strstr(list, name); at; at = strstr(at + 1, name))
		if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/* each name of a list with commas must be that of a script */
static void check_scripts(const char *list)
{
	size_t n, i;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		for (i = 0; i < nr_scripts; i++)
			if (strlen(script_name(i)) == n && !memcmp(list, script_name(i), n))
				break;
		if (i == nr_scripts)
			die("there is no script '%.*s': powercut -l lists them", (int)n, list);
	}
}

int main(int argc, char **argv)
{
	u64 states = 300, limit = 3600, seed = 1, *zero;
	const char *mode = NULL, *script = NULL;
	bool scripts = false, figures = false, damage = false;
	u32 step = 1, each = 3, recovery = 1, tiers;
	size_t i;
	int c, status = 0;

	while ((c = getopt(argc, argv, "hb:m:n:t:s:c:f:p:xS:e:k:r:lFDvT:")) != -1)
		switch (c) {
		case 'b':
			block_kib = atoi(optarg);
			break;
		case 'm':
			mode = optarg;
			break;
		case 'n':
			states = atoll(optarg);
			break;
		case 't':
			limit = atoll(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			check_percent = atoi(optarg);
			break;
		case 'f':
			max_failures = atoi(optarg);
			break;
		case 'p':
			paper_cuts = atoi(optarg);
			break;
		case 'x':
			scripts = true;
			break;
		case 'S':
			script = optarg;
			break;
		case 'e':
			step = atoi(optarg);
			break;
		case 'k':
			each = atoi(optarg);
			break;
		case 'r':
			recovery = atoi(optarg);
			break;
		case 'F':
			figures = true;
			break;
		case 'D':
			damage = true;
			break;
		case 'l':
			for (i = 0; i < nr_scripts; i++)
				printf("%-20s %s\n", script_name(i), script_covers(i));
			return 0;
		case 'T':
			nr_tiers = atoi(optarg);
			if (nr_tiers < 2 || nr_tiers > MAX_TIERS)
				die("2 to %u tiers", MAX_TIERS);
			break;
		case 'v':
			verbose = true;
			break;
		case 'h':
			usage();
			return 0;
		default:
			usage();
			return 2;
		}
	if (script)
		check_scripts(script);
	until = seconds() + limit * slowness();
	tiers = nr_tiers;
	if (nr_tiers)
		set_tiered_sizes();
	else
		set_sizes();
	oracle_init();
	dev_start();
	zero = calloc(max_sectors, sizeof(*zero));
	for (c = 0; c < nr_devs; c++)
		if (c != META)
			memset(dev_mem[c], 0xa5, dev_room[c]);
	if (!nr_tiers)
		oracle_fill(dev_mem[SLOW], 0, nr_sectors, 1);
	oracle_begin_life(zero);
	if (figures) {
		figures_run();
	} else if (damage) {
		damage_run(seed, states);
	} else if (scripts) {
		for (i = 0; i < nr_scripts; i++)
			if (script_tiers(i) > tiers || !script_tiers(i) != !tiers || (script && !listed(script, script_name(i))))
				continue;
			else if (time_left())
				script_run(i, seed, step, each, recovery);
		if (!time_left()) {
			printf("# powercut: the time was up before all scripts had run\n");
			status = 3;
		}
	} else {
		random_cuts(seed, states, mode);
	}
	fflush(stdout);
	dev_stop();
	return nr_failures ? 1 : status;
}
