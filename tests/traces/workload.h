/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Made-up workloads, the same on every machine for the same seed.
 */
#ifndef TIER_TEST_WORKLOAD_H
#define TIER_TEST_WORKLOAD_H

#include "sim/trace.h"

/**
 * struct workload - a kind of workload
 * @name: its name
 * @what: its properties in a line
 * @add: appends @nr requests over an area of @mib MiB to a trace; 0 or -ENOMEM
 */
struct workload {
	const char *name;
	const char *what;
	int (*add)(struct sim_trace *t, u64 seed, u32 nr, u32 mib);
};

/* All of them; the last has no name. */
extern const struct workload workloads[];

/**
 * workload_add() - append a workload to a trace
 * @t: the trace
 * @name: of the workload
 * @seed: for its pseudo-random numbers
 * @nr: number of requests
 * @mib: size of the area in MiB, at least 16
 *
 * Return: 0, -ENOENT (no such workload), -EINVAL (too small) or -ENOMEM.
 */
int workload_add(struct sim_trace *t, const char *name, u64 seed, u32 nr, u32 mib);

#endif /* TIER_TEST_WORKLOAD_H */
