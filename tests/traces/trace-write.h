/* SPDX-License-Identifier: GPL-2.0 */
/* Writes traces in all formats that can be read. */
#ifndef TIER_TEST_TRACE_WRITE_H
#define TIER_TEST_TRACE_WRITE_H

#include <stdio.h>
#include "sim/trace.h"

/* Names of the formats; the last is NULL. */
extern const char * const trace_formats[];

/**
 * trace_write() - write a trace
 * @t: the trace
 * @format: one of trace_formats
 * @out: where to
 *
 * Return: 0, -ENOENT (no such format) or -EIO.
 */
int trace_write(const struct sim_trace *t, const char *format, FILE *out);

#endif /* TIER_TEST_TRACE_WRITE_H */
