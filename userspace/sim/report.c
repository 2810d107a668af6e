// SPDX-License-Identifier: GPL-2.0
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/print-table.h"
#include "lib/text.h"
#include "report.h"

#define MAX_DIGITS	20	/* of a percentage, behind the point */

const char * const sim_keep_names[SIM_NR_KEEPS] = {
	[SIM_KEEP_COPY] = "copy",
	[SIM_KEEP_POPULATE] = "populate",
	[SIM_KEEP_FILL] = "fill",
	[SIM_KEEP_ADAPTIVE] = "adaptive",
};

void sim_cell_figures(struct sim_cell *cell, const struct sim_trace *trace)
{
	const struct sim_result *r = &cell->result;

	cell->figure[SIM_HITS] = 100.0 * (double)r->hits / (double)r->accesses;
	cell->figure[SIM_SLOW] = sim_slow_accesses(r);
	cell->figure[SIM_TIME] = sim_slow_time(r, trace);
	cell->figure[SIM_WRITTEN] = (double)r->fast_bytes;
	cell->figure[SIM_INSERTED] = 1000.0 * (double)r->insertions / (double)r->accesses;
	cell->figure[SIM_BACK] = 100.0 * (double)r->evicted_dirty / (double)r->requests;
}

/* ---- for people ---- */

/* TRACES is for means only. */
enum { BLOCK, SSD, POLICY, KEEP, FIGURES, TRACES = FIGURES + SIM_NR_FIGURES, NR_COLUMNS };

static const struct table_column columns[NR_COLUMNS] = {
	[BLOCK] = { "BLOCK", SCOLS_FL_RIGHT },
	[SSD] = { "SSD", SCOLS_FL_RIGHT },
	[POLICY] = { "POLICY", 0 },
	[KEEP] = { "KEEP", 0 },
	[FIGURES + SIM_HITS] = { "HITS %", SCOLS_FL_RIGHT },
	[FIGURES + SIM_SLOW] = { "HDD /100", SCOLS_FL_RIGHT },
	[FIGURES + SIM_TIME] = { "HDD TIME %", SCOLS_FL_RIGHT },
	[FIGURES + SIM_WRITTEN] = { "SSD WRITTEN", SCOLS_FL_RIGHT },
	[FIGURES + SIM_INSERTED] = { "INSERTED /1000", SCOLS_FL_RIGHT },
	[FIGURES + SIM_BACK] = { "BACK /100", SCOLS_FL_RIGHT },
	[TRACES] = { "TRACES", SCOLS_FL_RIGHT },
};

static void fill_line(struct libscols_line *line, const void *row)
{
	const struct sim_cell *cell = row;
	char buf[TEXT_SIZE_LEN];
	unsigned int i;

	scols_line_set_data(line, BLOCK, text_size(cell->options.block_sectors * 512ULL, buf));
	if (!cell->bytes && cell->size.percent > 0)
		scols_line_refer_data(line, SSD, text_format("%g %%", cell->size.percent));
	else
		scols_line_set_data(line, SSD, text_size(cell->bytes ? cell->bytes : cell->size.bytes, buf));
	scols_line_set_data(line, POLICY, cell->options.policy);
	scols_line_set_data(line, KEEP, sim_keep_names[cell->options.keep]);
	for (i = 0; i < SIM_NR_FIGURES; i++) {
		if (!cell->options.nr_slots)
			scols_line_set_data(line, FIGURES + i, "-");
		else if (i == SIM_WRITTEN)
			scols_line_set_data(line, FIGURES + i, text_size((u64)cell->figure[i], buf));
		else
			scols_line_refer_data(line, FIGURES + i, text_format("%.1f", cell->figure[i]));
	}
}

static void fill_mean(struct libscols_line *line, const void *row)
{
	const struct sim_cell *cell = row;

	fill_line(line, row);
	scols_line_refer_data(line, TRACES, text_format("%u", cell->nr_traces));
}

int sim_report_table(const struct sim_cell *cells, unsigned int nr, bool mean)
{
	int r = print_table(columns, mean ? NR_COLUMNS : TRACES, cells, nr, sizeof(*cells),
			    mean ? fill_mean : fill_line);
	unsigned int i;

	for (i = 0; !r && i < nr; i++)
		if (!cells[i].options.nr_slots) {
			printf("-: not simulated, as such an SSD is smaller than a block%s\n", mean ? " with all traces" : "");
			break;
		}
	return r;
}

/* ---- JSON ---- */

static void put_counts(struct json *j, const struct sim_result *r)
{
	json_u64(j, "requests", r->requests);
	json_u64(j, "slow_requests", r->slow_requests);
	json_u64(j, "accesses", r->accesses);
	json_u64(j, "hits", r->hits);
	json_u64(j, "bypassed", r->bypassed);
	json_u64(j, "no_victim", r->no_victim);
	json_u64(j, "insertions", r->insertions);
	json_u64(j, "copies", r->copies);
	json_u64(j, "slow_bytes", r->slow_sectors * 512);
	json_u64(j, "evicted_dirty", r->evicted_dirty);
	json_u64(j, "extra_granules_kept", r->extra_kept);
	json_u64(j, "extra_granules_used", r->extra_used);
	if (r->mean_extent)
		json_u64(j, "mean_extent_bytes", r->mean_extent * 512ULL);
}

static void put_figures(struct json *j, const double *figure)
{
	json_real(j, "hit_percent", figure[SIM_HITS], 2);
	json_real(j, "slow_accesses_per_100", figure[SIM_SLOW], 2);
	json_real(j, "slow_time_percent", figure[SIM_TIME], 2);
	json_real(j, "ssd_written_bytes", figure[SIM_WRITTEN], 0);
	json_real(j, "insertions_per_1000", figure[SIM_INSERTED], 2);
	json_real(j, "evicted_dirty_per_100", figure[SIM_BACK], 2);
}

/* with as many digits as it takes, and no more */
static void put_percent(struct json *j, double percent)
{
	char text[64];
	int digits = 0;

	do
		snprintf(text, sizeof(text), "%.*f", digits, percent);
	while (strtod(text, NULL) != percent && digits++ < MAX_DIGITS);
	json_real(j, "ssd_percent", percent, digits);
}

void sim_report_json(struct json *j, const char *key, const struct sim_cell *cells, unsigned int nr, bool mean)
{
	unsigned int i;

	json_array(j, key);
	for (i = 0; i < nr; i++) {
		json_object(j, NULL);
		json_string(j, "policy", cells[i].options.policy);
		json_u64(j, "block_bytes", cells[i].options.block_sectors * 512ULL);
		if (cells[i].size.percent > 0)
			put_percent(j, cells[i].size.percent);
		if (cells[i].bytes || cells[i].size.bytes)
			json_u64(j, "ssd_bytes", cells[i].bytes ? cells[i].bytes : cells[i].size.bytes);
		json_string(j, "keep", sim_keep_names[cells[i].options.keep]);
		json_bool(j, "simulated", cells[i].options.nr_slots);
		if (mean)
			json_u64(j, "traces", cells[i].nr_traces);
		if (cells[i].result.requests)
			put_counts(j, &cells[i].result);
		if (cells[i].options.nr_slots)
			put_figures(j, cells[i].figure);
		json_object_end(j);
	}
	json_array_end(j);
}
