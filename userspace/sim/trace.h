/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Block traces in memory, and the DMT1 file format.
 */
#ifndef TIER_SIM_TRACE_H
#define TIER_SIM_TRACE_H

#include <linux/types.h>

/**
 * struct sim_request - one request
 * @sector: first sector
 * @time_us: time since the trace began
 * @sectors: length
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
 * @name: for reports
 * @request: the requests, in order
 * @nr: how many
 * @room: how many fit into @request
 * @end: highest sector touched plus one
 */
struct sim_trace {
	char name[28];
	struct sim_request *request;
	u64 nr;
	u64 room;
	u64 end;
};

/**
 * sim_trace_init() - an empty trace
 * @t: the trace
 * @name: its name
 */
void sim_trace_init(struct sim_trace *t, const char *name);

/**
 * sim_trace_add() - append a request
 * @t: the trace
 * @gap_us: time since the request before
 * @write: is it a write
 * @sector: first sector
 * @sectors: length, not 0
 *
 * Return: 0 or -ENOMEM.
 */
int sim_trace_add(struct sim_trace *t, u64 gap_us, bool write, u64 sector, u32 sectors);

/**
 * sim_trace_load() - read a DMT1 file
 * @t: the trace
 * @path: the file
 *
 * Return: 0, -EINVAL (not such a file), -ENOMEM or the error of reading.
 */
int sim_trace_load(struct sim_trace *t, const char *path);

/**
 * sim_trace_save() - write a DMT1 file
 * @t: the trace
 * @path: the file
 *
 * Return: 0 or the error of writing.
 */
int sim_trace_save(const struct sim_trace *t, const char *path);

/**
 * sim_trace_free() - free its memory
 * @t: the trace
 */
void sim_trace_free(struct sim_trace *t);

/**
 * sim_trace_footprint() - different blocks touched
 * @t: the trace
 * @block_sectors: block size
 */
u64 sim_trace_footprint(const struct sim_trace *t, u32 block_sectors);

#endif /* TIER_SIM_TRACE_H */
