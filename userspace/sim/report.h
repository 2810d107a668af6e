/* SPDX-License-Identifier: GPL-2.0 */
/* What a simulation came to, as a table for people and as JSON. */
#ifndef TIER_SIM_REPORT_H
#define TIER_SIM_REPORT_H

#include "cache.h"
#include "lib/json.h"

/**
 * enum sim_figure - what is told of each simulation
 * @SIM_HITS: accesses, requests cut at the ends of blocks, that the fast device served, in %
 * @SIM_SLOW: sim_slow_accesses()
 * @SIM_TIME: sim_slow_time()
 * @SIM_WRITTEN: written to the fast device, in bytes
 * @SIM_INSERTED: blocks inserted by 1000 accesses
 * @SIM_BACK: blocks evicted that had to be written back, by 100 requests
 * @SIM_NR_FIGURES: how many there are
 */
enum sim_figure { SIM_HITS, SIM_SLOW, SIM_TIME, SIM_WRITTEN, SIM_INSERTED, SIM_BACK, SIM_NR_FIGURES };

/**
 * struct sim_size - a size of the fast device
 * @percent: of what the trace touches, or 0
 * @bytes: if @percent is 0
 */
struct sim_size {
	double percent;
	u64 bytes;
};

/**
 * struct sim_cell - one simulation
 * @options: what was simulated; 0 slots: the SSD is smaller than a block, there are no figures
 * @size: as it was given
 * @bytes: size of the fast device; 0 in a mean
 * @result: what was counted; empty in a mean
 * @figure: what is told
 * @nr_traces: in a mean, of how many traces: those whose SSD was not smaller than a block; else 0
 */
struct sim_cell {
	struct sim_options options;
	struct sim_size size;
	u64 bytes;
	struct sim_result result;
	double figure[SIM_NR_FIGURES];
	unsigned int nr_traces;
};

/* name of a way of keeping: "copy", ... */
extern const char * const sim_keep_names[SIM_NR_KEEPS];

/**
 * sim_cell_figures() - work out what is told from what was counted
 * @cell: cell
 * @trace: what was replayed
 */
void sim_cell_figures(struct sim_cell *cell, const struct sim_trace *trace);

/**
 * sim_report_table() - print cells on stdout, and what it means if one has no figures
 * @cells: cells
 * @nr: how many
 * @mean: they are means
 *
 * Return: 0 or -ENOMEM.
 */
int sim_report_table(const struct sim_cell *cells, unsigned int nr, bool mean);

/**
 * sim_report_json() - write cells as an array
 * @j: document
 * @key: of the array
 * @cells: cells
 * @nr: how many
 * @mean: they are means
 */
void sim_report_json(struct json *j, const char *key, const struct sim_cell *cells, unsigned int nr, bool mean);

#endif /* TIER_SIM_REPORT_H */
