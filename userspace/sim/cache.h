/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tier device without devices: replays a trace against the real mapping, policies and fill logic, and counts.
 *
 * It does what the target does in mode writeback, in the order of the trace: looks a block up, tells the policy,
 * gives an admitted block a free slot or a victim's.  Evictions and write back take no time, and the fast device
 * is never busy.
 */
#ifndef TIER_SIM_CACHE_H
#define TIER_SIM_CACHE_H

#include "trace.h"

/**
 * enum sim_keep - what is kept of a miss that the policy admits
 * @SIM_KEEP_COPY: the whole block, which is read once more for that, and resident only after a while; until then
 *	requests for it are misses that can't be admitted again
 * @SIM_KEEP_POPULATE: the granules that were asked for
 * @SIM_KEEP_FILL: those, and for reads the rest of an aligned extent of fixed size, read along with them
 * @SIM_KEEP_ADAPTIVE: the same, with the extent that the fill logic suggests
 * @SIM_NR_KEEPS: how many there are
 */
enum sim_keep {
	SIM_KEEP_COPY,
	SIM_KEEP_POPULATE,
	SIM_KEEP_FILL,
	SIM_KEEP_ADAPTIVE,
	SIM_NR_KEEPS,
};

/**
 * struct sim_options - what to simulate
 * @policy: the policy with its tunables, as in a table line
 * @block_sectors: block size, a legal one
 * @nr_slots: size of the fast device in blocks, not 0
 * @keep: what is kept
 * @extent_sectors: for SIM_KEEP_FILL, a power of two; 0: the block
 * @delay_ms: for SIM_KEEP_COPY, until the block is resident
 */
struct sim_options {
	const char *policy;
	u32 block_sectors;
	u32 nr_slots;
	enum sim_keep keep;
	u32 extent_sectors;
	u32 delay_ms;
};

/**
 * struct sim_result - what came out
 * @requests: requests
 * @slow_requests: of these, the slow device was needed
 * @accesses: the same cut at the ends of blocks, as a policy sees them
 * @hits: of these, all data were on the fast device, or written to it
 * @bypassed: of these, misses that the policy refused
 * @no_victim: of these, misses that found no slot
 * @insertions: blocks given a slot
 * @copies: blocks read once more in order to insert them
 * @slow_sectors: read from the slow device, or written to it instead of the fast one
 * @fast_bytes: written to the fast device
 * @evicted_dirty: blocks evicted that had to be written back
 * @extra_kept: granules kept that nobody had asked for
 * @extra_used: of these, asked for later
 * @mean_extent: mean extent of fills, in sectors: SIM_KEEP_ADAPTIVE: towards the end; SIM_KEEP_FILL: the fixed one;
 *	else 0
 */
struct sim_result {
	u64 requests;
	u64 slow_requests;
	u64 accesses;
	u64 hits;
	u64 bypassed;
	u64 no_victim;
	u64 insertions;
	u64 copies;
	u64 slow_sectors;
	u64 fast_bytes;
	u64 evicted_dirty;
	u64 extra_kept;
	u64 extra_used;
	u32 mean_extent;
};

/**
 * sim_run() - replay a trace
 * @trace: the trace, not empty
 * @options: what to simulate
 * @result: filled in
 * @why: TEXT_LEN bytes, a sentence on failure
 *
 * The same arguments give the same result.
 * Return: 0, -EINVAL or -ENOENT (policy), or -ENOMEM.
 */
int sim_run(const struct sim_trace *trace, const struct sim_options *options, struct sim_result *result, char *why);

/**
 * sim_max_slots() - slots beyond which nothing changes
 * @trace: the trace
 * @block_sectors: block size
 * @extent_sectors: as in struct sim_options
 * @nr: set to the number: with so many nothing is ever evicted, whatever is kept
 *
 * Return: 0, -ENOMEM, or -E2BIG if that is more than there can be.
 */
int sim_max_slots(const struct sim_trace *trace, u32 block_sectors, u32 extent_sectors, u32 *nr);

/**
 * sim_slow_accesses() - how often the slow device is needed, copies included, in 1 of 100 requests
 * @r: result
 *
 * Without a fast device it is 100.  Writing back is left out.
 */
double sim_slow_accesses(const struct sim_result *r);

/**
 * sim_slow_time() - how long the slow device is busy with that, in % of the time without a fast device
 * @r: result
 * @trace: the trace
 *
 * An access is 8 ms and the transfer at 150 MB/s.
 */
double sim_slow_time(const struct sim_result *r, const struct sim_trace *trace);

#endif /* TIER_SIM_CACHE_H */
