// SPDX-License-Identifier: GPL-2.0
/* dmtier sim: what a tier device would have made of a trace, by policy, block size and SSD size. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dmtier.h"
#include "lib/block-size.h"
#include "lib/policy-registry.h"
#include "lib/policy-words.h"
#include "lib/table-line.h"
#include "lib/text.h"
#include "lib/units.h"
#include "sim/curve.h"
#include "sim/report.h"
#include "sim/trace-file.h"

#define MAX_LIST	32	/* policies, block sizes, sizes */
#define MAX_PERCENT	1000.0
#define MAX_DELAY_MS	3600000ULL
#define USUAL_DELAY_MS	20U
#define MIN_SIZE	4096U	/* bytes: the smallest block */
#define MAX_EXTENT	2048U	/* sectors, as of the tunable fill_sectors */
#define PAGE_SECTORS	8U
#define USUAL_BLOCK	128U	/* sectors */

/**
 * struct sim_args - the command line
 * @policies: policies with their tunables
 * @nr_policies: how many
 * @blocks: block sizes in sectors
 * @nr_blocks: how many
 * @sizes: of the SSD
 * @nr_sizes: how many
 * @keeps: ways of keeping
 * @nr_keeps: how many
 * @extent: of SIM_KEEP_FILL, in sectors; 0: the block
 * @delay_ms: of SIM_KEEP_COPY
 * @delay_given: it is not the usual one
 * @unit: in which the footprint is counted, in sectors
 * @device: of the trace, or NULL
 * @svg: file for the curves, or NULL
 * @json: output for programs
 */
struct sim_args {
	char *policies[MAX_LIST];
	unsigned int nr_policies;
	u32 blocks[MAX_LIST];
	unsigned int nr_blocks;
	struct sim_size sizes[MAX_LIST];
	unsigned int nr_sizes;
	enum sim_keep keeps[SIM_NR_KEEPS];
	unsigned int nr_keeps;
	u32 extent;
	u32 delay_ms;
	bool delay_given;
	u32 unit;
	const char *device;
	const char *svg;
	bool json;
};

/**
 * struct sim_run - the traces that are replayed
 * @a: the command line
 * @cells: simulations of the trace at hand
 * @nr_cells: how many
 * @mean: sums over the traces, then means
 * @most: slots that the trace at hand can use, for each block size
 * @svg: file for the curves, or NULL
 * @j: document, if JSON is asked for
 */
struct sim_run {
	const struct sim_args *a;
	struct sim_cell *cells;
	unsigned int nr_cells;
	struct sim_cell *mean;
	u32 most[MAX_LIST];
	FILE *svg;
	struct json j;
};

/* ---- command line ---- */

static int too_many(const char *what)
{
	text_error("more than %d %s", MAX_LIST, what);
	return TOOL_USAGE;
}

static int add_policy(struct sim_args *a, const char *words)
{
	char *copy, **split, *known, why[TEXT_LEN];
	struct tier_policy_type *type;
	unsigned int nr, i;
	int r;

	for (i = 0; i < a->nr_policies; i++)
		if (!strcmp(a->policies[i], words))
			return TOOL_CONTINUE;
	if (a->nr_policies == MAX_LIST)
		return too_many("policies");
	copy = text_format("%s", words);
	split = table_split(copy, &nr);
	r = policy_words_try(nr, split, why);
	free(split);
	free(copy);
	if (!r) {
		a->policies[a->nr_policies++] = text_format("%s", words);
		return TOOL_CONTINUE;
	}
	known = text_format("%s", why);
	for (i = 0; r == -ENOENT && (type = tier_policy_nth(i)); i++)
		known = text_append(known, "%s%s", i ? ", " : "; known policies are ", type->name);
	text_error("%s", known);
	free(known);
	return TOOL_USAGE;
}

static int add_block(struct sim_args *a, const char *word)
{
	unsigned int i = 0;
	u32 sectors;

	if (block_size_parse(word, &sectors))
		return TOOL_USAGE;
	while (i < a->nr_blocks && a->blocks[i] != sectors)
		i++;
	a->blocks[i] = sectors;		/* there are but nine sizes */
	a->nr_blocks += i == a->nr_blocks;
	return TOOL_CONTINUE;
}

/* takes the size that was read last, once */
static int keep_size(struct sim_args *a)
{
	const struct sim_size *s = a->sizes, *last = &a->sizes[a->nr_sizes];

	while (s < last && (s->percent != last->percent || s->bytes != last->bytes))
		s++;
	a->nr_sizes += s == last;
	return TOOL_CONTINUE;
}

static int add_size(struct sim_args *a, const char *word)
{
	struct sim_size *s = &a->sizes[a->nr_sizes];
	size_t len = strlen(word);
	char *end;
	int r;

	if (a->nr_sizes == MAX_LIST)
		return too_many("sizes");
	*s = (struct sim_size){ 0 };
	if (len && word[len - 1] == '%' && strspn(word, "0123456789.") == len - 1) {
		s->percent = strtod(word, &end);
		if (end == word + len - 1 && s->percent > 0 && s->percent <= MAX_PERCENT)
			return keep_size(a);
		text_error("SSD size '%s' is no percentage above 0%%, up to %.0f%%", word, MAX_PERCENT);
		return TOOL_USAGE;
	}
	r = units_parse(word, 1, &s->bytes);
	if (r == -EINVAL)
		text_error("SSD size '%s' is neither a size such as 10g nor a percentage such as 5%%", word);
	else if (r || s->bytes < MIN_SIZE || s->bytes > SIM_MAX_END * 512)
		text_error("SSD size '%s' is not from 4k to 1e (a percentage ends in %%)", word);
	else
		return keep_size(a);
	return TOOL_USAGE;
}

static int add_keep(struct sim_args *a, const char *word)
{
	unsigned int i, k;

	for (i = 0; i < SIM_NR_KEEPS; i++) {
		if (strcmp(word, sim_keep_names[i]))
			continue;
		for (k = 0; k < a->nr_keeps; k++)
			if (a->keeps[k] == i)
				return TOOL_CONTINUE;
		a->keeps[a->nr_keeps++] = i;
		return TOOL_CONTINUE;
	}
	text_error("'%s' is none of copy, populate, fill, adaptive", word);
	return TOOL_USAGE;
}

/* is this one asked for?  All are if none is. */
static bool has_keep(const struct sim_args *a, enum sim_keep keep)
{
	unsigned int i;

	for (i = 0; i < a->nr_keeps; i++)
		if (a->keeps[i] == keep)
			return true;
	return !a->nr_keeps;
}

/* an option that takes a list */
static int add_list(struct sim_args *a, const char *list, int (*add)(struct sim_args *a, const char *word))
{
	char *copy = text_format("%s", list), *rest = copy, *word;
	int code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (word = strsep(&rest, ",")))
		code = add(a, word);
	free(copy);
	return code;
}

/* a power of two */
static int parse_sectors(const char *what, const char *text, u32 most, u32 *sectors)
{
	u64 n;

	if (units_parse_sectors(text, 1, &n) || n < PAGE_SECTORS || n > most || n & (n - 1)) {
		text_error("%s '%s' is not a power of two from 4k to 1m", what, text);
		return TOOL_USAGE;
	}
	*sectors = (u32)n;
	return TOOL_CONTINUE;
}

static int parse_delay(const char *text, u32 *ms)
{
	char *end;
	u64 n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > MAX_DELAY_MS) {
		text_error("delay '%s' is no number of milliseconds up to %llu", text, MAX_DELAY_MS);
		return TOOL_USAGE;
	}
	*ms = (u32)n;
	return TOOL_CONTINUE;
}

enum { POLICY = OPT_OWN, BLOCK_SIZE, SIZE, KEEP, EXTENT, DELAY, FOOTPRINT, DEVICE, MRC, JSON };

static int parse_option(struct sim_args *a, int o)
{
	int code = TOOL_CONTINUE;

	switch (o) {
	case POLICY:
		return add_policy(a, optarg);
	case BLOCK_SIZE:
		return add_list(a, optarg, add_block);
	case SIZE:
		return add_list(a, optarg, add_size);
	case KEEP:
		return add_list(a, optarg, add_keep);
	case EXTENT:
		return parse_sectors("extent", optarg, MAX_EXTENT, &a->extent);
	case DELAY:
		a->delay_given = true;
		return parse_delay(optarg, &a->delay_ms);
	case FOOTPRINT:
		return parse_sectors("unit", optarg, TIER_MAX_BLOCK_SECTORS, &a->unit);
	case DEVICE:
		a->device = optarg;
		return code;
	case MRC:
		a->svg = optarg;
		return code;
	case JSON:
		a->json = true;
		return code;
	default:
		tool_common_option(&verb_sim, o, &code);
		return code;
	}
}

/* What was not given: all policies, filters in front of the default one; three sizes; all ways of keeping. */
static void add_defaults(struct sim_args *a)
{
	static const double percents[] = { 5, 10, 20 };
	bool policies = !a->nr_policies, sizes = !a->nr_sizes, keeps = !a->nr_keeps;
	struct tier_policy_type *type;
	unsigned int i;

	for (i = 0; policies && i < MAX_LIST && (type = tier_policy_nth(i)); i++)
		a->policies[a->nr_policies++] = text_format(type->filter ? "%s next " TABLE_DEFAULT_POLICY : "%s",
							    type->name);
	if (!a->nr_blocks)
		a->blocks[a->nr_blocks++] = USUAL_BLOCK;
	for (i = 0; sizes && i < sizeof(percents) / sizeof(percents[0]); i++)
		a->sizes[a->nr_sizes++].percent = percents[i];
	for (i = 0; keeps && i < SIM_NR_KEEPS; i++)
		a->keeps[a->nr_keeps++] = i;
}

/* ---- simulations ---- */

static void make_cells(struct sim_run *s)
{
	const struct sim_args *a = s->a;
	unsigned int b, z, p, k;
	struct sim_cell *cell;

	s->nr_cells = a->nr_blocks * a->nr_sizes * a->nr_policies * a->nr_keeps;
	s->cells = text_alloc(s->nr_cells, sizeof(*s->cells));
	s->mean = text_alloc(s->nr_cells, sizeof(*s->mean));
	cell = s->cells;
	for (b = 0; b < a->nr_blocks; b++)
		for (z = 0; z < a->nr_sizes; z++)
			for (p = 0; p < a->nr_policies; p++)
				for (k = 0; k < a->nr_keeps; k++, cell++) {
					cell->options = (struct sim_options){
						.policy = a->policies[p], .block_sectors = a->blocks[b],
						.keep = a->keeps[k], .extent_sectors = a->extent,
						.delay_ms = a->delay_ms,
					};
					cell->size = a->sizes[z];
				}
	memcpy(s->mean, s->cells, s->nr_cells * sizeof(*s->mean));
}

static int fail(const char *file, int r, const char *why)
{
	text_error("%s: %s", file, why);
	return tool_exit_code(r);
}

/* for each block size, slots beyond which nothing changes */
static int count_slots(struct sim_run *s, const char *file, const struct sim_trace *t)
{
	unsigned int i;
	int r;

	for (i = 0; i < s->a->nr_blocks; i++) {
		r = sim_max_slots(t, s->a->blocks[i], s->a->extent, &s->most[i]);
		if (r)
			return fail(file, r, r == -ENOMEM ? "out of memory" :
				    "it touches more blocks than an SSD can hold: use a larger --block-size");
	}
	return TOOL_OK;
}

static int simulate(const char *file, const struct sim_trace *t, struct sim_cell *cell, u64 bytes, u32 most)
{
	u64 slots = bytes / (cell->options.block_sectors * 512ULL);
	char why[TEXT_LEN];
	int r;

	cell->bytes = bytes;
	cell->options.nr_slots = slots > most ? most : (u32)slots;
	if (!cell->options.nr_slots)
		return TOOL_OK;
	r = sim_run(t, &cell->options, &cell->result, why);
	if (r)
		return fail(file, r, why);
	sim_cell_figures(cell, t);
	return TOOL_OK;
}

static int simulate_all(struct sim_run *s, const char *file, const struct sim_trace *t, u64 footprint)
{
	int code = count_slots(s, file, t);
	struct sim_cell *cell;
	unsigned int i, k;

	for (i = 0; i < s->nr_cells && code == TOOL_OK; i++) {
		text_progress(file, i, s->nr_cells);
		cell = &s->cells[i];
		code = simulate(file, t, cell, cell->size.percent > 0 ?
				(u64)((double)footprint * cell->size.percent / 100) : cell->size.bytes,
				s->most[i / (s->nr_cells / s->a->nr_blocks)]);
		if (code != TOOL_OK || !cell->options.nr_slots)
			continue;
		s->mean[i].nr_traces++;
		s->mean[i].options.nr_slots = cell->options.nr_slots;
		for (k = 0; k < SIM_NR_FIGURES; k++)
			s->mean[i].figure[k] += cell->figure[k];
	}
	text_progress(file, 1, 1);
	return code;
}

/* ---- curves ---- */

static void tell_worth(const struct sim_curve *c)
{
	const struct sim_ladder *l = &c->ladder;
	int at = sim_curve_worth(c), last = (int)l->nr - 1;
	char size[TEXT_SIZE_LEN], all[TEXT_SIZE_LEN];

	text_size(l->bytes[last], all);
	if (at < 0) {
		printf("%s: no SSD is worth buying: one for all blocks touched (%s) leaves %.1f of 100 accesses\n",
		       c->label, all, c->slow[last]);
		return;
	}
	printf("%s: an SSD of %s%s is worth buying: it leaves %.1f of 100 accesses of the hard disk", c->label,
	       text_size(l->bytes[at], size), at == last ? ", for all blocks touched," : "", c->slow[at]);
	if (at >= 2)
		printf("; half of it %.1f", c->slow[at - 2]);
	if (at + 2 < last)
		printf("; twice as much %.1f", c->slow[at + 2]);
	if (at < last)
		printf("; one for all blocks touched (%s) %.1f", all, c->slow[last]);
	printf("\n");
}

static void put_curve(struct json *j, const struct sim_curve *c)
{
	const struct sim_ladder *l = &c->ladder;
	int worth = sim_curve_worth(c);
	unsigned int i;

	json_object(j, NULL);
	json_string(j, "label", c->label);
	if (worth >= 0)
		json_u64(j, "worth_bytes", l->bytes[worth]);
	json_array(j, "points");
	for (i = 0; i < l->nr; i++) {
		json_object(j, NULL);
		json_u64(j, "ssd_bytes", l->bytes[i]);
		json_real(j, "slow_accesses_per_100", c->slow[i], 2);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

/* One curve for each block size and policy, with the way of keeping that was named last. */
static int simulate_curve(const struct sim_run *s, const char *file, const struct sim_trace *t,
			  unsigned int n, struct sim_curve *c)
{
	const struct sim_args *a = s->a;
	struct sim_cell cell = { .options = {
		.policy = a->policies[n % a->nr_policies], .block_sectors = a->blocks[n / a->nr_policies],
		.keep = a->keeps[a->nr_keeps - 1], .extent_sectors = a->extent, .delay_ms = a->delay_ms,
	} };
	u64 block = cell.options.block_sectors * 512ULL, sectors;
	char size[TEXT_SIZE_LEN];
	int code = TOOL_OK;
	unsigned int i;

	if (sim_trace_footprint(t, cell.options.block_sectors, &sectors))
		return fail(file, -ENOMEM, "out of memory");
	sim_ladder_make(&c->ladder, sectors * 512, block);
	c->label = text_format("%s, %s, %s", cell.options.policy, text_size(block, size),
			       sim_keep_names[cell.options.keep]);
	for (i = 0; i < c->ladder.nr && code == TOOL_OK; i++) {
		code = simulate(file, t, &cell, c->ladder.bytes[i], s->most[n / a->nr_policies]);
		c->slow[i] = cell.figure[SIM_SLOW];
	}
	return code;
}

static int draw_curves(struct sim_run *s, const char *file, const struct sim_trace *t)
{
	unsigned int nr = s->a->nr_blocks * s->a->nr_policies, i;
	struct sim_curve *curves = text_alloc(nr, sizeof(*curves));
	int code = TOOL_OK;

	for (i = 0; i < nr && code == TOOL_OK; i++) {
		text_progress("curves", i, nr);
		code = simulate_curve(s, file, t, i, &curves[i]);
	}
	text_progress("curves", 1, 1);
	if (code == TOOL_OK)
		sim_curve_svg(s->svg, file, curves, nr);
	if (s->a->json)
		json_array(&s->j, "curves");
	for (i = 0; i < nr; i++) {
		if (code == TOOL_OK && s->a->json)
			put_curve(&s->j, &curves[i]);
		else if (code == TOOL_OK)
			tell_worth(&curves[i]);
		free(curves[i].label);
	}
	if (s->a->json)
		json_array_end(&s->j);
	free(curves);
	return code;
}

/* what is being drawn, until it has the name that it is to have */
static char *unfinished;

/* Nothing else is changed by a simulation, so a signal may end it anywhere, also while it waits for a trace. */
static void cancel(int signal)
{
	static const char text[] = "dmtier: cancelled\n";

	(void)signal;
	if (unfinished)
		unlink(unfinished);
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
		/* nobody to tell */
	}
	_exit(TOOL_CANCELLED);
}

static int stat_trace(const char *file, struct stat *st)
{
	return strcmp(file, SIM_STDIN) ? stat(file, st) : fstat(STDIN_FILENO, st);
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int same_file(const char *svg, const char *file)
{
	struct stat a, b;

	if (stat(svg, &a) || stat_trace(file, &b) || !same_inode(&a, &b))
		return TOOL_OK;
	text_error("--mrc %s would overwrite the trace", svg);
	return TOOL_USAGE;
}

/* A file gets its name when it is complete; what is no file is written to. */
static int open_svg(struct sim_run *s)
{
	const char *path = s->a->svg;
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		path = unfinished = text_format("%s.%ld", path, (long)getpid());
	s->svg = fopen(path, "we");
	if (s->svg)
		return TOOL_OK;
	text_error("cannot write %s: %s", s->a->svg, strerror(errno));
	return TOOL_OPERATIONAL;
}

static int close_svg(struct sim_run *s, bool complete)
{
	bool failed = ferror(s->svg);
	char *path = unfinished;

	failed |= fclose(s->svg) != 0;
	if (path && complete && !failed)
		failed = rename(path, s->a->svg) != 0;
	unfinished = NULL;
	if (path && (failed || !complete))
		unlink(path);
	free(path);
	if (!failed)
		return TOOL_OK;
	text_error("cannot write %s: %s", s->a->svg, strerror(errno));
	return TOOL_OPERATIONAL;
}

/* ---- traces ---- */

static void tell_trace(const char *file, const struct sim_trace *t, u64 footprint)
{
	char moved[TEXT_SIZE_LEN], touched[TEXT_SIZE_LEN];

	printf("%s: %llu requests, %.0f %% reads, in %.1f s; %s in all, %s touched\n", file,
	       (unsigned long long)t->nr, 100.0 * (double)(t->nr - t->nr_writes) / (double)t->nr,
	       (double)t->request[t->nr - 1].time_us / 1e6, text_size(t->sectors * 512, moved),
	       text_size(footprint, touched));
}

static void put_trace(struct json *j, const char *file, const struct sim_trace *t, u64 footprint)
{
	json_string(j, "file", file);
	json_u64(j, "requests", t->nr);
	json_u64(j, "writes", t->nr_writes);
	json_u64(j, "bytes", t->sectors * 512);
	json_u64(j, "duration_us", t->request[t->nr - 1].time_us);
	json_u64(j, "footprint_bytes", footprint);
	json_u64(j, "skipped_lines", t->skipped);
}

static int report(struct sim_run *s, const struct sim_cell *cells)
{
	bool mean = cells == s->mean;

	if (s->a->json) {
		sim_report_json(&s->j, mean ? "mean" : "results", cells, s->nr_cells, mean);
	} else if (sim_report_table(cells, s->nr_cells, mean)) {
		text_error("out of memory");
		return TOOL_OPERATIONAL;
	}
	return TOOL_OK;
}

static int replay(struct sim_run *s, const char *file, const struct sim_trace *t)
{
	u64 footprint;
	int code;

	if (sim_trace_footprint(t, s->a->unit, &footprint))
		return fail(file, -ENOMEM, "out of memory");
	footprint *= 512;
	code = simulate_all(s, file, t, footprint);
	if (code != TOOL_OK)
		return code;
	if (s->a->json) {
		json_object(&s->j, NULL);
		put_trace(&s->j, file, t, footprint);
	} else {
		tell_trace(file, t, footprint);
	}
	code = report(s, s->cells);
	if (code == TOOL_OK && s->svg)
		code = draw_curves(s, file, t);
	if (s->a->json)
		json_object_end(&s->j);
	return code;
}

static int run_trace(struct sim_run *s, const char *file)
{
	struct sim_trace t = { 0 };
	char why[TEXT_LEN];
	int closed = TOOL_OK, code, r = sim_trace_read(&t, file, s->a->device, why);

	if (r) {
		text_error("%s", why);
		return tool_exit_code(r);
	}
	if (t.backwards)
		text_warn("%s:%llu: the time runs backwards here, %llu times in all: the clock stands still then", file,
			  (unsigned long long)t.first_backwards, (unsigned long long)t.backwards);
	if (t.skipped)
		text_warn("%s:%llu: this line makes no sense and is left out, %llu such lines in all", file,
			  (unsigned long long)t.first_skipped, (unsigned long long)t.skipped);
	code = s->a->svg ? same_file(s->a->svg, file) ?: open_svg(s) : TOOL_OK;
	if (code == TOOL_OK)
		code = replay(s, file, &t);
	if (s->svg)
		closed = close_svg(s, code == TOOL_OK);
	sim_trace_clear(&t);
	return code == TOOL_OK ? closed : code;
}

static int report_means(struct sim_run *s, int nr)
{
	unsigned int i, k;

	for (i = 0; i < s->nr_cells; i++)
		for (k = 0; k < SIM_NR_FIGURES && s->mean[i].nr_traces; k++)
			s->mean[i].figure[k] /= s->mean[i].nr_traces;
	if (!s->a->json)
		printf("mean of %d traces:\n", nr);
	return report(s, s->mean);
}

/* A trace that is there twice would count twice in the means. */
static int find_twice(int nr, char **files)
{
	struct stat a, b;
	int i, k;

	for (i = 0; i < nr; i++)
		for (k = 0; k < i; k++) {
			if (strcmp(files[k], files[i]) &&
			    (stat_trace(files[k], &a) || stat_trace(files[i], &b) || !same_inode(&a, &b)))
				continue;
			if (strcmp(files[k], files[i]))
				text_error("%s and %s are the same trace: name it once", files[k], files[i]);
			else
				text_error("%s is named twice: name each trace once", files[i]);
			return TOOL_USAGE;
		}
	return TOOL_CONTINUE;
}

static int run_traces(const struct sim_args *a, int nr, char **files)
{
	struct sim_run s = { .a = a };
	int code = TOOL_OK, i;

	make_cells(&s);
	if (a->json) {
		json_begin(&s.j, stdout);
		json_array(&s.j, "traces");
	}
	for (i = 0; i < nr && code == TOOL_OK; i++) {
		if (i && !a->json)
			printf("\n");
		code = run_trace(&s, files[i]);
	}
	if (a->json)
		json_array_end(&s.j);
	if (code == TOOL_OK && nr > 1) {
		if (!a->json)
			printf("\n");
		code = report_means(&s, nr);
	}
	if (a->json)
		json_end(&s.j);
	free(s.cells);
	free(s.mean);
	return code;
}

static int run_sim(int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, POLICY },
		{ "block-size", required_argument, NULL, BLOCK_SIZE },
		{ "size", required_argument, NULL, SIZE },
		{ "keep", required_argument, NULL, KEEP },
		{ "extent", required_argument, NULL, EXTENT },
		{ "delay", required_argument, NULL, DELAY },
		{ "footprint", required_argument, NULL, FOOTPRINT },
		{ "device", required_argument, NULL, DEVICE },
		{ "mrc", required_argument, NULL, MRC },
		{ "json", no_argument, NULL, JSON },
		TOOL_OPTIONS
	};
	struct sim_args a = { .delay_ms = USUAL_DELAY_MS, .unit = PAGE_SECTORS };
	int o, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1)
		code = parse_option(&a, o);
	if (code == TOOL_CONTINUE && optind == argc) {
		text_error("it takes traces");
		code = tool_usage(&verb_sim);
	}
	if (code == TOOL_CONTINUE && a.svg && (!*a.svg || !strcmp(a.svg, "-"))) {
		text_error("--mrc takes the name of a file");
		code = TOOL_USAGE;
	}
	if (code == TOOL_CONTINUE && a.svg && argc - optind > 1) {
		text_error("--mrc draws the curves of one trace");
		code = TOOL_USAGE;
	}
	if (code == TOOL_CONTINUE && a.extent && !has_keep(&a, SIM_KEEP_FILL)) {
		text_error("--extent changes nothing without --keep fill");
		code = TOOL_USAGE;
	}
	if (code == TOOL_CONTINUE && a.delay_given && !has_keep(&a, SIM_KEEP_COPY)) {
		text_error("--delay changes nothing without --keep copy");
		code = TOOL_USAGE;
	}
	if (code == TOOL_CONTINUE)
		code = find_twice(argc - optind, argv + optind);
	if (code == TOOL_CONTINUE) {
		add_defaults(&a);
		tool_catch_signals(cancel);
		code = run_traces(&a, argc - optind, argv + optind);
	}
	while (a.nr_policies)
		free(a.policies[--a.nr_policies]);
	return code;
}

const struct verb verb_sim = {
	.name = "sim",
	.synopsis = "[--policy 'NAME [KEY VALUE]...']... [--block-size SIZE,...] [--size SIZE|PERCENT%,...]\n"
		"[--keep WAY,...] [--extent SIZE] [--delay MS] [--footprint SIZE] [--device NAME]\n"
		"[--mrc FILE] [--json] TRACE...",
	.summary = "replay traces against the policies, and tell what SSDs of given sizes would save",
	.help =
"  --policy POLICY    NAME [KEY VALUE]... as one word; several options compare policies; default: all\n"
"  --block-size LIST  powers of two from 4k to 1m; default 64k\n"
"  --size LIST        sizes of the SSD, or percentages of what the trace touches; default 5%,10%,20%\n"
"  --keep LIST        what is kept of a miss; default: all ways\n"
"                       copy      the block, which is read once more for that\n"
"                       populate  what was asked for\n"
"                       fill      that, and the rest of the block, read along with it\n"
"                       adaptive  the same, as much as has paid so far: what the target does\n"
"  --extent SIZE      what fill reads, a power of two from 4k to 1m; default: the block\n"
"  --delay MS         until a copy can be used; default 20\n"
"  --footprint SIZE   percentages are of what is touched in units of this size; default 4k\n"
"  --device NAME      take only this device's requests of blkparse's text or an iolog with several\n"
"  --mrc FILE         draw the accesses left by size of the SSD as SVG, and tell what size is worth buying\n"
"  --json             output for programs\n"
"\n"
"Traces are what blkparse prints, iologs of fio (version 2 or 3), CSV with the columns time_us, op, and sector\n"
"and sectors or offset and bytes, or DMT1; also packed by zstd.  - is standard input.  The columns of the output:\n"
"hits in 100 accesses; accesses of the hard disk per 100 requests; its time, in % of that without an SSD; what is\n"
"written to the SSD; blocks inserted per 1000 accesses; evicted blocks to be written back per 100 requests.\n",
	.run = run_sim,
};
