// SPDX-License-Identifier: GPL-2.0
/*
 * dmtier-sim - replay traces against policies.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include "sim.h"

static const char usage[] =
"usage: dmtier-sim [options] TRACE...\n"
"  -b KIB       block size, 64\n"
"  -s PERCENT   size of the cache, share of the footprint in blocks, 10\n"
"  -S PERCENT   the same, of the footprint in 4 KiB pages\n"
"  -p POLICY    policy with tunables, clock2q\n"
"  -k KEEP      whole, populate, adaptive, or an extent in KiB: what a miss keeps, whole\n"
"  -d MS        delay of a promotion (whole), 20\n"
"  -q           the mean of all traces only\n";

struct sum {
	double hit, ins, copy, fill, slow, cost, dirty, gib, spec;
	unsigned int n;
};

static double ratio(double a, double b)
{
	return b ? a / b : 0;
}

static void report(const char *name, const struct sum *s)
{
	printf("%-16s %6.2f %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f %7.2f %6.1f\n", name, s->hit / s->n,
	       s->ins / s->n, s->copy / s->n, s->fill / s->n, s->slow / s->n, s->cost / s->n,
	       s->dirty / s->n, s->gib / s->n, s->spec / s->n);
}

static int run(const char *path, struct sim_options *o, double percent, u32 unit, struct sum *all,
	       int quiet)
{
	struct sim_trace trace;
	struct sim_result r;
	const char *error = NULL;
	struct sum s;
	int e = sim_trace_load(&trace, path);

	if (e) {
		fprintf(stderr, "%s: %s\n", path, strerror(-e));
		return e;
	}
	o->nr_slots = sim_slots(&trace, unit, o->block_sectors, percent);
	e = sim_run(&trace, o, &r, &error);
	if (e) {
		fprintf(stderr, "%s: %s\n", path, error ? error : strerror(-e));
		return e;
	}
	s = (struct sum){
		.hit = 100 * ratio(r.hits, r.accesses),
		.ins = 1000 * ratio(r.insertions, r.accesses),
		.copy = sim_block_cost(&r, o->block_sectors, false),
		.fill = sim_block_cost(&r, o->block_sectors, true),
		.slow = 100 * ratio(r.slow_reads, r.reads),
		.cost = sim_read_cost(&r),
		.dirty = 100 * ratio(r.dirty_evictions, r.reads),
		.gib = r.fast_written / 1073741824.0,
		.spec = 100 * ratio(r.spec_used, r.spec_kept),
		.n = 1,
	};
	if (!quiet)
		report(trace.name, &s);
	all->hit += s.hit;
	all->ins += s.ins;
	all->copy += s.copy;
	all->fill += s.fill;
	all->slow += s.slow;
	all->cost += s.cost;
	all->dirty += s.dirty;
	all->gib += s.gib;
	all->spec += s.spec;
	all->n++;
	sim_trace_free(&trace);
	return 0;
}

int main(int argc, char **argv)
{
	struct sim_options o = {
		.policy = "clock2q",
		.block_sectors = 128,
		.keep = SIM_KEEP_WHOLE,
		.delay_ms = 20,
		.seed = 1,
	};
	struct sum all = { 0 };
	double percent = 10;
	int c, quiet = 0, pages = 0, e = 0;

	while ((c = getopt(argc, argv, "b:s:S:p:k:d:qh")) != -1) {
		switch (c) {
		case 'b':
			o.block_sectors = 2 * strtoul(optarg, NULL, 10);
			break;
		case 'S':
			pages = 1;
			fallthrough;
		case 's':
			percent = strtod(optarg, NULL);
			break;
		case 'p':
			o.policy = optarg;
			break;
		case 'k':
			o.extent_sectors = 2 * strtoul(optarg, NULL, 10);
			o.keep = !strcmp(optarg, "whole") ? SIM_KEEP_WHOLE :
				!strcmp(optarg, "populate") ? SIM_KEEP_POPULATE :
				!strcmp(optarg, "adaptive") ? SIM_KEEP_ADAPTIVE : SIM_KEEP_EXTENT;
			break;
		case 'd':
			o.delay_ms = strtoul(optarg, NULL, 10);
			break;
		case 'q':
			quiet = 1;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc || o.block_sectors < 8 || o.block_sectors > 2048 ||
	    (o.block_sectors & (o.block_sectors - 1)) || percent <= 0 ||
	    (o.keep == SIM_KEEP_EXTENT &&
	     (o.extent_sectors < 8 || (o.extent_sectors & (o.extent_sectors - 1))))) {
		fputs(usage, stderr);
		return 2;
	}
	if (!quiet)
		printf("trace             hit %%  ins/1k   copy   fill  slow%%   cost dirty%%  "
		       "SSDGiB  spec%%\n");
	for (; optind < argc && !e; optind++)
		e = run(argv[optind], &o, percent, pages ? 8 : o.block_sectors, &all, quiet);
	if (!e)
		report("mean", &all);
	return e ? 1 : 0;
}
