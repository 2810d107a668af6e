/* SPDX-License-Identifier: GPL-2.0 */
/* Traces in files: what blkparse prints, fio's logs of version 2 and 3, CSV, DMT1; any of them packed by zstd. */
#ifndef TIER_SIM_TRACE_FILE_H
#define TIER_SIM_TRACE_FILE_H

#include "trace.h"

#define SIM_STDIN	"-"

/**
 * sim_trace_read() - read a trace
 * @t: zeroed; filled
 * @path: file, or SIM_STDIN
 * @device: take requests of this device only, as the trace calls it; NULL: there must be but one
 * @why: TEXT_LEN bytes, a sentence on failure
 *
 * The format is told by what is in the file.
 * Context: files packed by zstd are read through the program of that name, a child.
 * Return: 0; -ENODATA (no read or write in it), -EINVAL (makes no sense), or another -errno.
 */
int sim_trace_read(struct sim_trace *t, const char *path, const char *device, char *why);

#endif /* TIER_SIM_TRACE_FILE_H */
