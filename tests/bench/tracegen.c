// SPDX-License-Identifier: GPL-2.0
/*
 * tracegen - write a trace file of a made-up workload.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trace.h"
#include "workload.h"

int main(int argc, char **argv)
{
	const struct sim_workload *w;
	struct sim_trace t;
	int r;

	if (argc != 6) {
		fprintf(stderr, "usage: tracegen WORKLOAD SEED REQUESTS MIB FILE\nworkloads:\n");
		for (w = sim_workloads; w->name; w++)
			fprintf(stderr, "  %-8s %s\n", w->name, w->what);
		return 2;
	}
	sim_trace_init(&t, argv[1]);
	r = sim_workload_add(&t, argv[1], strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0),
			     strtoul(argv[4], NULL, 0));
	if (!r)
		r = sim_trace_save(&t, argv[5]);
	if (r)
		fprintf(stderr, "tracegen: %s\n", strerror(-r));
	sim_trace_free(&t);
	return r ? 1 : 0;
}
