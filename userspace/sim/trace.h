/* SPDX-License-Identifier: GPL-2.0 */
/* Block traces in memory. */
#ifndef TIER_SIM_TRACE_H
#define TIER_SIM_TRACE_H

#include <linux/types.h>
#include "tier-types.h"

/* What a request may be: the largest device that the mapping can number, and 8 GiB at once. */
#define SIM_MAX_END		(TIER_MAX_BLOCKS * TIER_MIN_BLOCK_SECTORS)
#define SIM_MAX_SECTORS		(1U << 24)
#define SIM_MAX_TIME_US		(1ULL << 60)

/**
 * struct sim_request - one request
 * @sector: first sector
 * @time_us: time since the trace began, never less than that of the one before
 * @sectors: length, not 0
 * @write: is it a write
 */
struct sim_request {
	u64 sector;
	u64 time_us;
	u32 sectors;
	bool write;
};

/**
 * struct sim_trace - a trace
 * @request: the requests, in order
 * @nr: how many
 * @nr_writes: of these, writes
 * @sectors: sum of their lengths
 * @end: highest sector touched plus one
 * @backwards: requests that were earlier than the one before, and have its time now
 * @first_backwards: line, or record, of the first of them
 * @skipped: lines that made no sense and were left out
 * @first_skipped: the first of them
 * @room: how many requests there is memory for
 */
struct sim_trace {
	struct sim_request *request;
	u64 nr;
	u64 nr_writes;
	u64 sectors;
	u64 end;
	u64 backwards;
	u64 first_backwards;
	u64 skipped;
	u64 first_skipped;
	u64 room;
};

/**
 * sim_trace_add() - append a request
 * @t: the trace; zeroed is an empty one
 * @time_us: when
 * @write: is it a write
 * @sector: first sector
 * @sectors: length, 1 to SIM_MAX_SECTORS; it ends at SIM_MAX_END at the latest
 *
 * Return: 0 or -ENOMEM.
 */
int sim_trace_add(struct sim_trace *t, u64 time_us, bool write, u64 sector, u32 sectors);

/**
 * sim_trace_clear() - forget all requests, free their memory
 * @t: the trace
 */
void sim_trace_clear(struct sim_trace *t);

/**
 * sim_trace_footprint() - how much of the device a trace touches
 * @t: the trace
 * @unit_sectors: what is touched in part counts as a whole: of this size, not 0
 * @sectors: set to the sum
 *
 * Return: 0 or -ENOMEM.
 */
int sim_trace_footprint(const struct sim_trace *t, u32 unit_sectors, u64 *sectors);

#endif /* TIER_SIM_TRACE_H */
