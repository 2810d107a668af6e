// SPDX-License-Identifier: GPL-2.0
/* dmtier where: on which tier a range or a file is. */
#include <errno.h>
#include <getopt.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/args.h"
#include "dmtier.h"
#include "lib/dm.h"
#include "lib/fiemap.h"
#include "lib/json.h"
#include "lib/print-table.h"
#include "lib/text.h"
#include "lib/units.h"

/**
 * struct place - sectors that are alike
 * @offset: byte in the file, if it is about one
 * @first: sector of the tiered device
 * @sectors: length
 * @tier: -1: on none, nothing was written there
 * @pinned: it is
 */
struct place {
	u64 offset;
	u64 first;
	u64 sectors;
	int tier;
	bool pinned;
};

struct places {
	struct place *v;
	size_t nr;
};

static void add(struct places *l, const struct place *p)
{
	struct place *last = l->nr ? &l->v[l->nr - 1] : NULL, *v;

	if (last && last->first + last->sectors == p->first && last->offset + last->sectors * 512 == p->offset &&
	    last->tier == p->tier && last->pinned == p->pinned) {
		last->sectors += p->sectors;
		return;
	}
	v = reallocarray(l->v, l->nr + 1, sizeof(*v));
	if (!v) {
		text_error("out of memory");
		exit(TOOL_OPERATIONAL);
	}
	l->v = v;
	l->v[l->nr++] = *p;
}

static int bad_answer(const char *line, char *why)
{
	return text_why(why, -EPROTO, "the kernel answers '%.100s', which makes no sense", line);
}

/* a line of the answer, about whole blocks; what lies outside of the range is cut off */
static int take_line(struct places *l, const char *line, u64 offset, u64 first, u64 end, char *why)
{
	unsigned long long from, sectors, to;
	char tier[16], pinned[16];
	struct place p = { .tier = -1 };

	if (sscanf(line, "%llu %llu %15s %15s", &from, &sectors, tier, pinned) != 4 || !sectors)
		return bad_answer(line, why);
	if (strcmp(tier, "-") && sscanf(tier, "%d", &p.tier) != 1)
		return bad_answer(line, why);
	to = from + sectors < end ? from + sectors : end;
	p.first = from > first ? from : first;
	if (p.first >= to)
		return 0;
	p.sectors = to - p.first;
	p.offset = offset + (p.first - first) * 512;
	p.pinned = !strcmp(pinned, "pinned");
	add(l, &p);
	return 0;
}

/* the kernel says "more SECTOR" where it had no room to go on */
static int ask(const char *name, struct places *l, u64 offset, u64 first, u64 sectors, char *why)
{
	unsigned long long from = first, next;
	u64 end = first + sectors;
	char *answer, *line, *save, *message;
	bool more = true;
	int r = 0;

	while (more && !r) {
		message = text_format("where %llu %llu", from, (unsigned long long)end - from);
		r = mapper_ask(name, message, &answer, why);
		free(message);
		if (r)
			return r;
		more = false;
		save = NULL;
		for (line = strtok_r(answer, "\n", &save); line && !r; line = strtok_r(NULL, "\n", &save)) {
			if (sscanf(line, "more %llu", &next) != 1) {
				r = take_line(l, line, offset, first, end, why);
			} else if (next <= from || next >= end) {
				r = bad_answer(line, why);
			} else {
				more = true;
				from = next;
			}
		}
		free(answer);
		if (tool_cancelled && !r)
			r = text_why(why, -EINTR, "cancelled");
	}
	return r;
}

/* ---- output ---- */

enum { FIRST, SECTORS, TIER, PINNED, OFFSET, NR_COLUMNS };

static const struct table_column columns[NR_COLUMNS] = {
	[FIRST] = { "FIRST", SCOLS_FL_RIGHT },
	[SECTORS] = { "SECTORS", SCOLS_FL_RIGHT },
	[TIER] = { "TIER", SCOLS_FL_RIGHT },
	[PINNED] = { "PINNED", 0 },
	[OFFSET] = { "OFFSET", SCOLS_FL_RIGHT },
};

static char *number(u64 n)
{
	return text_format("%llu", (unsigned long long)n);
}

static void fill_line(struct libscols_line *line, const void *row)
{
	const struct place *p = row;

	scols_line_refer_data(line, FIRST, number(p->first));
	scols_line_refer_data(line, SECTORS, number(p->sectors));
	scols_line_refer_data(line, TIER, p->tier < 0 ? text_format("-") : number((u64)p->tier));
	scols_line_set_data(line, PINNED, p->pinned ? "pinned" : "-");
}

static void fill_file_line(struct libscols_line *line, const void *row)
{
	const struct place *p = row;

	fill_line(line, row);
	scols_line_refer_data(line, OFFSET, number(p->offset));
}

static void print_json(const struct places *l, bool file)
{
	struct json j;
	size_t i;

	json_begin(&j, stdout);
	json_array(&j, "ranges");
	for (i = 0; i < l->nr; i++) {
		json_object(&j, NULL);
		json_u64(&j, "first", l->v[i].first);
		json_u64(&j, "sectors", l->v[i].sectors);
		if (l->v[i].tier < 0)
			json_string(&j, "tier", NULL);
		else
			json_u64(&j, "tier", (u64)l->v[i].tier);
		json_bool(&j, "pinned", l->v[i].pinned);
		if (file)
			json_u64(&j, "offset", l->v[i].offset);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_end(&j);
}

static int print(const struct places *l, bool json, bool file)
{
	if (json) {
		print_json(l, file);
		return TOOL_OK;
	}
	return print_table(columns, file ? NR_COLUMNS : OFFSET, l->v, (unsigned int)l->nr, sizeof(*l->v),
			   file ? fill_file_line : fill_line) ? TOOL_OPERATIONAL : TOOL_OK;
}

/* ---- command line ---- */

/* its name, by itself or by a path of its node; to be freed, NULL after a message */
static char *device_of_word(const char *word)
{
	char why[TEXT_LEN], *name;
	struct stat st;

	if (!strchr(word, '/'))
		return text_format("%s", word);
	if (stat(word, &st)) {
		text_error("%s: %s", word, strerror(errno));
		return NULL;
	}
	if (!S_ISBLK(st.st_mode)) {
		text_error("%s is no block device; --file is for files", word);
		return NULL;
	}
	name = mapper_name_of(major(st.st_rdev), minor(st.st_rdev), why);
	if (!name)
		text_error("%s %s", word, why);
	return name;
}

static int device_sectors(const char *name, u64 *sectors, char *why)
{
	struct mapper_line line;
	int r = mapper_status(name, &line, why);

	*sectors = line.sectors;
	free(line.params);
	return r;
}

/* @from or @count may be NULL: from the beginning, to the end */
static int where_range(const char *dev, const char *from, const char *count, bool json)
{
	u64 first = 0, sectors = 0, end;
	struct places l = { };
	char why[TEXT_LEN], *name;
	int r = 0;

	if (from && units_parse_sectors(from, 512, &first)) {
		text_error("FIRST '%s' is neither a number of sectors nor a size", from);
		return TOOL_USAGE;
	}
	if (count && (units_parse_sectors(count, 512, &sectors) || !sectors)) {
		text_error("COUNT '%s' is neither a number of sectors nor a size, or it is 0", count);
		return TOOL_USAGE;
	}
	if (first + sectors < first) {
		text_error("FIRST and COUNT are beyond the end of any device");
		return TOOL_USAGE;
	}
	name = device_of_word(dev);
	if (!name)
		return TOOL_OPERATIONAL;
	if (!count) {
		r = device_sectors(name, &end, why);
		if (!r && first >= end)
			r = text_why(why, -ERANGE, "FIRST %llu is behind the end: %s has %llu sectors",
				     (unsigned long long)first, name, (unsigned long long)end);
		sectors = end - first;
	}
	r = r ? r : ask(name, &l, 0, first, sectors, why);
	if (r)
		text_error("%s", why);
	r = r ? tool_exit_code(r) : print(&l, json, false);
	free(name);
	free(l.v);
	return r;
}

static int where_file(const char *path, bool json)
{
	char why[TEXT_LEN], *name = NULL;
	struct places l = { };
	struct file_map map;
	u64 sectors;
	size_t i;
	int r;

	r = file_map_read(&map, path, why);
	if (!r) {
		name = mapper_name_of(map.major, map.minor, why);
		if (!name) {
			text_error("the device that %s is on %s", path, why);
			file_map_free(&map);
			return TOOL_OPERATIONAL;
		}
		r = device_sectors(name, &sectors, why);
		if (r == -EMEDIUMTYPE)
			text_why(why, r, "%.300s is not on a file system that is on a tier device", path);
	}
	for (i = 0; !r && i < map.nr; i++)
		r = ask(name, &l, map.v[i].offset, map.v[i].first, map.v[i].sectors, why);
	if (r)
		text_error("%s", why);
	r = r ? tool_exit_code(r) : print(&l, json, true);
	file_map_free(&map);
	free(name);
	free(l.v);
	return r;
}

static int run_where(int argc, char **argv)
{
	enum { JSON = OPT_OWN, FILE_PATH };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "file", required_argument, NULL, FILE_PATH },
		TOOL_OPTIONS
	};
	int o, code = TOOL_CONTINUE;
	const char *file = NULL;
	bool json = false;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == JSON)
			json = true;
		else if (o == FILE_PATH)
			file = optarg;
		else
			tool_common_option(&verb_where, o, &code);
	}
	if (code != TOOL_CONTINUE)
		return code;
	if (file && optind == argc)
		return where_file(file, json);
	if (!file && argc - optind >= 1 && argc - optind <= 3)	/* argv ends with NULL */
		return where_range(argv[optind], argv[optind + 1], argc - optind == 3 ? argv[optind + 2] : NULL, json);
	text_error("it takes a device, perhaps a first sector and a number of them, or --file and a path");
	return tool_usage(&verb_where);
}

const struct verb verb_where = {
	.name = "where",
	.synopsis = "[--json] DEV [FIRST [COUNT]]\n[--json] --file PATH",
	.summary = "tell on which tier a range of a tiered device is, or a file on it",
	.help =
"  --json       output for programs\n"
"  --file PATH  a file on a file system that is on the tiered device itself, with no other layer between\n"
"\n"
"DEV is a name, or the path of its node.  FIRST and COUNT are sectors, or sizes such as 64k and 10g;\n"
"without them all of it, or all from FIRST on.\n"
"Tiers are numbered from 0, fastest first; \"-\" is where nothing was written yet.\n",
	.run = run_where,
};
