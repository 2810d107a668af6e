// SPDX-License-Identifier: GPL-2.0
/* tracegen - print a made-up trace */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trace-write.h"
#include "workload.h"

static int usage(void)
{
	const struct workload *w;
	const char * const *f;

	fprintf(stderr, "usage: tracegen WORKLOAD SEED REQUESTS MIB FORMAT\nworkloads:\n");
	for (w = workloads; w->name; w++)
		fprintf(stderr, "  %-8s %s\n", w->name, w->what);
	fprintf(stderr, "formats:");
	for (f = trace_formats; *f; f++)
		fprintf(stderr, " %s", *f);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct sim_trace t = { 0 };
	int r;

	if (argc != 6)
		return usage();
	r = workload_add(&t, argv[1], strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0),
			 strtoul(argv[4], NULL, 0));
	if (!r)
		r = trace_write(&t, argv[5], stdout);
	if (!r && fflush(stdout))
		r = -1;
	if (r)
		fprintf(stderr, "tracegen: %s\n", strerror(-r));
	sim_trace_clear(&t);
	return r ? 1 : 0;
}
