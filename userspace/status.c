// SPDX-License-Identifier: GPL-2.0
/* dmtier status: what running tier devices are doing. */
#include <errno.h>
#include <getopt.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dmtier.h"
#include "lib/dm.h"
#include "lib/json.h"
#include "lib/print-table.h"
#include "lib/status-parse.h"
#include "lib/table-line.h"
#include "lib/text.h"

/**
 * struct device - one device and its status
 * @name: of the device
 * @sectors: its size
 * @absent: there is no such tier device; it gets a message and no line
 * @s: status
 * @error: sentence, or "" if @s is good
 */
struct device {
	char *name;
	uint64_t sectors;
	bool absent;
	struct status s;
	char error[TEXT_LEN];
};

/**
 * struct list - devices in the order they are shown
 */
struct list {
	struct device *devices;
	unsigned int nr;
};

static struct device *add(struct list *l, const char *name)
{
	struct device *more = text_alloc(l->nr + 1, sizeof(*more));

	if (l->nr)
		memcpy(more, l->devices, l->nr * sizeof(*more));
	free(l->devices);
	l->devices = more;
	more[l->nr].name = text_format("%s", name);
	return &more[l->nr++];
}

static void list_free(struct list *l)
{
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		status_free(&l->devices[i].s);
		free(l->devices[i].name);
	}
	free(l->devices);
}

/* ---- where status lines come from ---- */

static int ask_kernel(struct list *l, char **names, unsigned int nr)
{
	struct mapper_line line;
	struct device *d;
	unsigned int i;
	int r, code = TOOL_OK;

	for (i = 0; i < nr; i++) {
		d = add(l, names[i]);
		r = mapper_status(names[i], &line, d->error);
		d->absent = r;
		if (!r)
			r = status_parse(&d->s, line.params, d->error);
		d->sectors = line.sectors;
		free(line.params);
		if (r)
			code = TOOL_OPERATIONAL;
	}
	return code;
}

static int ask_for_all(struct list *l)
{
	char why[TEXT_LEN], **names;
	unsigned int nr;
	int code;

	code = tool_exit_code(mapper_list(&names, &nr, why));
	if (code != TOOL_OK)
		text_error("%s", why);
	else
		code = ask_kernel(l, names, nr);
	if (code == TOOL_OK && !nr)
		text_warn("no tier device is active");
	mapper_list_free(names, nr);
	return code;
}

/**
 * struct source - a file of status lines
 * @path: its name
 * @nr: of the line, from 1 on
 * @bad: lines that are none of dmsetup's
 */
struct source {
	const char *path;
	unsigned int nr;
	unsigned int bad;
};

#define MAX_COMPLAINTS	8U	/* of lines in a file that is something else */

static int bad_line(struct source *f, char *line)
{
	char *s;

	for (s = line; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	if (f->bad++ < MAX_COMPLAINTS)
		text_error("%s:%u: '%.50s%s' is not a line of 'dmsetup status': NAME: START LENGTH TARGET ...",
			   f->path, f->nr, line, strlen(line) > 50 ? "..." : "");
	return TOOL_OPERATIONAL;
}

/* a number and the blanks behind it; false if there is none */
static bool take_number(char **text, uint64_t *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*value = strtoull(*text, &end, 10);
	*text = end + strspn(end, " \t");
	return *text != end;
}

/* the status of a tier target; what is wrong with it is told with the device */
static int read_status(struct list *l, const struct source *f, const char *name, uint64_t sectors,
		       const char *params)
{
	struct device *d = add(l, name);
	char why[TEXT_LEN];
	int r;

	d->sectors = sectors;
	r = status_parse(&d->s, params, why);
	if (!r && !d->s.complete && strcmp(d->s.health, "inactive"))
		r = text_why(why, -EINVAL, "the status line ends early");
	if (!r)
		return TOOL_OK;
	text_why(d->error, 0, "%.300s:%u: %.600s", f->path, f->nr, why);
	return TOOL_OPERATIONAL;
}

/*
 * "NAME: START LENGTH tier STATUS", as dmsetup prints it, without NAME if it was asked about one device.
 * Lines of other targets are skipped.
 */
static int read_line(struct list *l, struct source *f, char *line)
{
	char *name = NULL, *text = strstr(line, ": ");
	uint64_t start, sectors;
	size_t type;
	int code;

	line[strcspn(line, "\n")] = '\0';
	if (!line[strspn(line, " \t")] || !strcmp(line, "No devices found"))
		return TOOL_OK;
	if (text)
		name = text_format("%.*s", (int)(text - line), line);
	else
		name = text_format("line %u", f->nr);
	text = text ? text + 2 : line;
	if (!*text) {
		code = TOOL_OK;		/* a device without a table */
	} else if (!*name || !take_number(&text, &start) || !take_number(&text, &sectors) ||
		   !(type = strcspn(text, " \t"))) {
		code = bad_line(f, line);
	} else if (type != strlen(TABLE_TARGET) || strncmp(text, TABLE_TARGET, type)) {
		code = TOOL_OK;
	} else {
		code = read_status(l, f, name, sectors, text + type);
	}
	free(name);
	return code;
}

static int read_file(struct list *l, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct source source = { .path = f == stdin ? "standard input" : path };
	char *line = NULL;
	size_t size = 0;
	int code = TOOL_OK;

	if (!f) {
		text_error("%s: %s", path, strerror(errno));
		return TOOL_OPERATIONAL;
	}
	for (source.nr = 1; getline(&line, &size, f) > 0; source.nr++)
		if (read_line(l, &source, line) != TOOL_OK)
			code = TOOL_OPERATIONAL;
	if (ferror(f)) {
		text_error("%s: %s", source.path, strerror(errno));
		code = TOOL_OPERATIONAL;
	}
	if (source.bad > MAX_COMPLAINTS)
		text_error("%s: and %u more lines like these", source.path, source.bad - MAX_COMPLAINTS);
	free(line);
	if (f != stdin)
		fclose(f);
	return code;
}

/* ---- figures ---- */

/* those that blocks may be on: what is to be emptied, or is empty, has none to offer */
static uint64_t usable_slots(const struct status *s)
{
	uint64_t slots = s->nr_slots;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (!strcmp(s->tiers[i].state, "evacuating") || !strcmp(s->tiers[i].state, "empty"))
			slots -= s->tiers[i].slots < slots ? s->tiers[i].slots : slots;
	return slots;
}

/* hits of all, or less than 0 if there were no accesses */
static double hit_ratio(const struct status *s, const char *hits, const char *misses)
{
	double h = (double)status_number(s, STATUS_COUNTERS, hits, 0);
	double m = (double)status_number(s, STATUS_COUNTERS, misses, 0);

	return h + m > 0 ? h * 100 / (h + m) : -1;
}

static char *percent(double part)
{
	return part < 0 ? text_format("-") : text_format("%.1f%%", part);
}

static char *share(uint64_t part, uint64_t whole)
{
	return percent(whole ? (double)part * 100 / (double)whole : -1);
}

static char *mode_text(const struct status *s)
{
	if (!strcmp(s->mode, s->wanted_mode))
		return text_format("%s", s->mode);
	return text_format("%s, wanted %s", s->mode, s->wanted_mode);
}

static char *health_text(const struct status *s)
{
	return text_format("%s%s", s->health, s->needs_check ? ", needs check" : "");
}

/* ---- output for people ---- */

enum { NAME, HEALTH, MODE, SIZE, BLOCK, USED, DIRTY, READ_HITS, WRITE_HITS, POLICY, NR_COLUMNS };

static const struct table_column columns[NR_COLUMNS] = {
	[NAME] = { "NAME", 0 },
	[HEALTH] = { "HEALTH", 0 },
	[MODE] = { "MODE", 0 },
	[SIZE] = { "SIZE", SCOLS_FL_RIGHT },
	[BLOCK] = { "BLOCK", SCOLS_FL_RIGHT },
	[USED] = { "USED", SCOLS_FL_RIGHT },
	[DIRTY] = { "DIRTY", SCOLS_FL_RIGHT },
	[READ_HITS] = { "READ HITS", SCOLS_FL_RIGHT },
	[WRITE_HITS] = { "WRITE HITS", SCOLS_FL_RIGHT },
	[POLICY] = { "POLICY", 0 },
};

static void fill_line(struct libscols_line *line, const void *row)
{
	const struct device *d = row;
	const struct status *s = &d->s;
	char size[TEXT_SIZE_LEN];

	scols_line_set_data(line, NAME, d->name);
	if (d->error[0]) {
		scols_line_set_data(line, HEALTH, "unknown");
		return;
	}
	scols_line_refer_data(line, HEALTH, health_text(s));
	scols_line_set_data(line, SIZE, text_size(d->sectors * 512, size));
	if (!s->mode[0])
		return;
	scols_line_refer_data(line, MODE, mode_text(s));
	scols_line_set_data(line, BLOCK, text_size(s->block_sectors * 512, size));
	scols_line_refer_data(line, USED, share(s->used_slots, usable_slots(s)));
	scols_line_set_data(line, DIRTY,
			    text_size(s->dirty_granules * s->granule_sectors * 512, size));
	scols_line_refer_data(line, READ_HITS, percent(hit_ratio(s, "read_hits", "read_misses")));
	scols_line_refer_data(line, WRITE_HITS,
			      percent(hit_ratio(s, "write_hits", "write_misses")));
	scols_line_set_data(line, POLICY, s->policy);
}

static const char * const section_names[STATUS_NR_SECTIONS] = {
	[STATUS_COUNTERS] = "counters",
	[STATUS_STATE] = "state",
	[STATUS_TUNABLES] = "tunables",
	[STATUS_POLICY] = "policy",
};

static void print_tier(unsigned int i, const struct status_tier *t)
{
	char *used = share(t->used, t->slots);

	printf("  tier %u: %s, %llu of %llu slots used (%s), %llu pinned\n", i, t->state,
	       (unsigned long long)t->used, (unsigned long long)t->slots, used, (unsigned long long)t->pinned);
	printf("    reads %llu, writes %llu, landings %llu, moves in %llu, moves out %llu, errors %llu, stuck %llu\n",
	       (unsigned long long)t->reads, (unsigned long long)t->writes, (unsigned long long)t->landings,
	       (unsigned long long)t->moves_in, (unsigned long long)t->moves_out, (unsigned long long)t->errors,
	       (unsigned long long)t->stuck);
	free(used);
}

static void print_long(const struct device *d)
{
	const struct status_section *sec;
	const struct status *s = &d->s;
	unsigned int i, k;

	if (d->error[0])
		return;
	printf("\n%s\n", d->name);
	for (i = 0; i < s->nr_tiers; i++)
		print_tier(i, &s->tiers[i]);
	printf("  slots: %llu of %llu used, %llu ready, %llu dirty with %llu granules\n",
	       (unsigned long long)s->used_slots, (unsigned long long)usable_slots(s),
	       (unsigned long long)s->ready_slots, (unsigned long long)s->dirty_slots,
	       (unsigned long long)s->dirty_granules);
	printf("  journal: %llu of %llu blocks\n", (unsigned long long)s->journal_used,
	       (unsigned long long)s->journal_blocks);
	for (i = 0; i < STATUS_NR_SECTIONS; i++) {
		sec = &s->sections[i];
		if (i == STATUS_POLICY)
			printf("  policy %s:\n", s->policy);
		else
			printf("  %s:\n", section_names[i]);
		for (k = 0; k < sec->nr; k++)
			printf("    %-20s %s\n", sec->pairs[k].key, sec->pairs[k].value);
	}
}

/* ---- output for programs ---- */

static void json_ratio(struct json *j, const char *key, double ratio)
{
	if (ratio < 0)
		json_string(j, key, NULL);
	else
		json_real(j, key, ratio, 2);
}

/* behind a filter's "next NAME" come that policy's keys: an array keeps order and repeats */
static void json_policy(struct json *j, const struct status *s)
{
	const struct status_section *sec = &s->sections[STATUS_POLICY];
	unsigned int k;

	json_array(j, "policy");
	json_object(j, NULL);
	json_string(j, "name", s->policy);
	json_object(j, "tunables");
	for (k = 0; k < sec->nr; k++) {
		if (strcmp(sec->pairs[k].key, "next")) {
			json_word(j, sec->pairs[k].key, sec->pairs[k].value);
			continue;
		}
		json_object_end(j);
		json_object_end(j);
		json_object(j, NULL);
		json_string(j, "name", sec->pairs[k].value);
		json_object(j, "tunables");
	}
	json_object_end(j);
	json_object_end(j);
	json_array_end(j);
}

static void json_tiers(struct json *j, const struct status *s)
{
	unsigned int i;

	json_array(j, "tiers");
	for (i = 0; i < s->nr_tiers; i++) {
		const struct status_tier *t = &s->tiers[i];

		json_object(j, NULL);
		json_string(j, "state", t->state);
		json_u64(j, "slots", t->slots);
		json_u64(j, "bytes", t->slots * s->block_sectors * 512);
		json_u64(j, "used_slots", t->used);
		json_u64(j, "pinned_slots", t->pinned);
		json_u64(j, "reads", t->reads);
		json_u64(j, "writes", t->writes);
		json_u64(j, "landings", t->landings);
		json_u64(j, "moves_in", t->moves_in);
		json_u64(j, "moves_out", t->moves_out);
		json_u64(j, "errors", t->errors);
		json_u64(j, "stuck", t->stuck);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_device(struct json *j, const struct device *d)
{
	const struct status_section *sec;
	const struct status *s = &d->s;
	unsigned int i, k;

	json_string(j, "health", s->health);
	json_bool(j, "needs_check", s->needs_check);
	json_string(j, "mode", s->mode);
	json_string(j, "wanted_mode", s->wanted_mode);
	json_u64(j, "sectors", d->sectors);
	json_u64(j, "block_sectors", s->block_sectors);
	json_u64(j, "granule_sectors", s->granule_sectors);
	json_u64(j, "slots", s->nr_slots);
	json_u64(j, "used_slots", s->used_slots);
	json_u64(j, "ready_slots", s->ready_slots);
	json_u64(j, "dirty_slots", s->dirty_slots);
	json_u64(j, "dirty_granules", s->dirty_granules);
	json_u64(j, "dirty_bytes", s->dirty_granules * s->granule_sectors * 512);
	json_u64(j, "journal_used", s->journal_used);
	json_u64(j, "journal_blocks", s->journal_blocks);
	json_ratio(j, "read_hit_percent", hit_ratio(s, "read_hits", "read_misses"));
	json_ratio(j, "write_hit_percent", hit_ratio(s, "write_hits", "write_misses"));
	for (i = 0; i < STATUS_POLICY; i++) {
		sec = &s->sections[i];
		json_object(j, section_names[i]);
		for (k = 0; k < sec->nr; k++)
			json_word(j, sec->pairs[k].key, sec->pairs[k].value);
		json_object_end(j);
	}
	json_policy(j, s);
	if (s->nr_tiers)
		json_tiers(j, s);
}

static void print_json(const struct list *l)
{
	const struct device *d;
	struct json j;
	unsigned int i;

	json_begin(&j, stdout);
	json_array(&j, "devices");
	for (i = 0; i < l->nr; i++) {
		d = &l->devices[i];
		json_object(&j, NULL);
		json_string(&j, "name", d->name);
		if (d->error[0])
			json_string(&j, "error", d->error);
		else
			json_device(&j, d);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_end(&j);
}

/* most sentences name the device themselves */
static void tell_error(const struct device *d)
{
	if (strstr(d->error, d->name))
		text_error("%s", d->error);
	else
		text_error("%s: %s", d->name, d->error);
}

static int print(const struct list *l, bool json, bool all)
{
	struct device *there = text_alloc(l->nr + 1, sizeof(*there));
	unsigned int i, nr = 0;
	int code = TOOL_OK;

	if (json) {
		print_json(l);
		free(there);
		return code;
	}
	for (i = 0; i < l->nr; i++)
		if (!l->devices[i].absent)
			there[nr++] = l->devices[i];
	if (nr)
		code = print_table(columns, NR_COLUMNS, there, nr, sizeof(*there), fill_line) ?
		       TOOL_OPERATIONAL : TOOL_OK;
	free(there);
	for (i = 0; all && i < l->nr; i++)
		print_long(&l->devices[i]);
	for (i = 0; i < l->nr; i++)
		if (l->devices[i].error[0])
			tell_error(&l->devices[i]);
	return code;
}

static int run_status(int argc, char **argv)
{
	enum { JSON = OPT_OWN, LONG, FROM };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "long", no_argument, NULL, LONG },
		{ "from", required_argument, NULL, FROM },
		TOOL_OPTIONS
	};
	const char *from = NULL;
	bool json = false, all = false;
	struct list l = { };
	int o, r, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == JSON)
			json = true;
		else if (o == LONG)
			all = true;
		else if (o == FROM)
			from = optarg;
		else
			tool_common_option(&verb_status, o, &code);
	}
	if (code != TOOL_CONTINUE)
		return code;
	if (from && optind < argc) {
		text_error("--from shows all devices in the file, names don't go with it");
		return tool_usage(&verb_status);
	}
	if (from)
		code = read_file(&l, from);
	else if (optind < argc)
		code = ask_kernel(&l, argv + optind, (unsigned int)(argc - optind));
	else
		code = ask_for_all(&l);
	r = print(&l, json, all);
	list_free(&l);
	return code ? code : r;
}

const struct verb verb_status = {
	.name = "status",
	.synopsis = "[--json] [--long] [NAME...]\n[--json] [--long] --from FILE",
	.summary = "show what running tier devices are doing",
	.help =
"  --json       output for programs\n"
"  --long       all counters, state and tunables too\n"
"  --from FILE  read status lines as 'dmsetup status' prints them, \"-\" is standard input\n",
	.run = run_status,
};
