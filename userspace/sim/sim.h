/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cache without devices: replays a trace against the real policy modules and counts.
 */
#ifndef TIER_SIM_H
#define TIER_SIM_H

#include <linux/types.h>
#include "trace.h"

/**
 * enum sim_keep - what is kept of a miss that the policy admits
 * @SIM_KEEP_WHOLE: the whole block, by a copy: as if blocks were all or nothing
 * @SIM_KEEP_POPULATE: the granules that were asked for
 * @SIM_KEEP_EXTENT: those and an aligned extent of fixed size around them
 * @SIM_KEEP_ADAPTIVE: the same, of the size that the fill logic suggests
 */
enum sim_keep {
	SIM_KEEP_WHOLE,
	SIM_KEEP_POPULATE,
	SIM_KEEP_EXTENT,
	SIM_KEEP_ADAPTIVE,
};

/**
 * struct sim_options - what to simulate
 * @policy: the policy with its tunables, as in a table line
 * @block_sectors: block size
 * @nr_slots: size of the cache in blocks
 * @keep: what is kept
 * @extent_sectors: for SIM_KEEP_EXTENT
 * @delay_ms: how long a promotion takes, for SIM_KEEP_WHOLE
 * @seed: for the policy's pseudo-random numbers
 */
struct sim_options {
	const char *policy;
	u32 block_sectors;
	u32 nr_slots;
	enum sim_keep keep;
	u32 extent_sectors;
	u32 delay_ms;
	u64 seed;
};

/**
 * struct sim_result - what came out
 * @accesses: requests, cut at block boundaries
 * @hits: of these, all data were on the fast device
 * @insertions: blocks given a slot
 * @bypassed: misses that the policy refused
 * @no_victim: admissions that found no slot
 * @reads: read requests
 * @slow_reads: of these, the slow device had to be asked
 * @slow_sectors: sectors read from it for them
 * @writes: write requests
 * @slow_writes: of these, something went to the slow device
 * @fast_written: bytes written to the fast device
 * @dirty_evictions: evicted blocks that had to be written back
 * @memory: bytes of the policy
 * @spec_kept: granules kept beyond what was asked for
 * @spec_used: of these, asked for later
 * @mean_extent: adaptive: mean extent at the end, in sectors
 */
struct sim_result {
	u64 accesses;
	u64 hits;
	u64 insertions;
	u64 bypassed;
	u64 no_victim;
	u64 reads;
	u64 slow_reads;
	u64 slow_sectors;
	u64 writes;
	u64 slow_writes;
	u64 fast_written;
	u64 dirty_evictions;
	u64 memory;
	u64 spec_kept;
	u64 spec_used;
	u32 mean_extent;
};

/* The slow device: 8 ms to get there, then 150 MB/s */
#define SIM_SEEK_MS		8.0
#define SIM_SECTORS_PER_SEEK	(150e6 * SIM_SEEK_MS / 1000 / 512)

/**
 * sim_run() - replay a trace
 * @trace: the trace
 * @options: what to simulate
 * @result: filled in
 * @error: set to what is wrong on failure; may be NULL
 *
 * Return: 0, -EINVAL, -ENOENT or -ENOMEM.
 */
int sim_run(const struct sim_trace *trace, const struct sim_options *options,
	    struct sim_result *result, const char **error);

/**
 * sim_slots() - cache size from a share of a trace's footprint
 * @trace: the trace
 * @unit_sectors: unit in which the footprint is counted
 * @block_sectors: block size of the cache
 * @percent: share of the footprint
 *
 * Return: number of slots, at least 1.
 */
u32 sim_slots(const struct sim_trace *trace, u32 unit_sectors, u32 block_sectors, double percent);

/**
 * sim_block_cost() - what the slow device pays, block by block
 * @r: result with SIM_KEEP_WHOLE
 * @block_sectors: block size
 * @fill: blocks are inserted by enlarging the read that missed, not by a second one
 *
 * Return: random accesses per 100 accesses; without a cache it is 100.
 */
double sim_block_cost(const struct sim_result *r, u32 block_sectors, bool fill);

/**
 * sim_read_cost() - what the slow device pays for reads
 * @r: the result
 *
 * Return: random accesses per 100 read requests, transfers counted.
 */
double sim_read_cost(const struct sim_result *r);

#endif /* TIER_SIM_H */
