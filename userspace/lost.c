// SPDX-License-Identifier: GPL-2.0
/* dmtier lost: what only the SSD has. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "dmtier.h"
#include "lib/devices.h"
#include "lib/json.h"
#include "lib/text.h"

/**
 * struct range - sectors of the tier device, which are those of the HDD
 * @start: sector
 * @sectors: length
 */
struct range {
	u64 start;
	u64 sectors;
};

/**
 * struct ranges - a list of them
 * @v: in ascending order, with gaps between them
 * @nr: ranges
 * @room: allocated
 * @sectors: in all
 */
struct ranges {
	struct range *v;
	size_t nr;
	size_t room;
	u64 sectors;
};

static unsigned long long ull(u64 v)
{
	return v;
}

static int by_block(const void *a, const void *b)
{
	u64 x = tier_from_block((*(const struct tier_record * const *)a)->block);
	u64 y = tier_from_block((*(const struct tier_record * const *)b)->block);

	return x < y ? -1 : x > y;
}

static void add(struct ranges *l, u64 start, u64 sectors)
{
	struct range *last = l->nr ? &l->v[l->nr - 1] : NULL;

	l->sectors += sectors;
	if (last && last->start + last->sectors == start) {
		last->sectors += sectors;
		return;
	}
	if (l->nr == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		l->v = reallocarray(l->v, l->room, sizeof(*l->v));
		if (!l->v) {
			text_error("out of memory");
			exit(TOOL_OPERATIONAL);
		}
	}
	l->v[l->nr++] = (struct range){ .start = start, .sectors = sectors };
}

/* the dirty granules of a block; the device may end in the last one */
static void add_dirty(struct ranges *l, const struct tier_geometry *g, const struct tier_record *rec)
{
	u64 block = tier_from_block(rec->block) * g->block_sectors, start, end;
	u32 i;

	for (i = 0; i < g->nr_granules; i++) {
		if (!(rec->dirty >> i & 1))
			continue;
		start = block + (u64)i * g->granule_sectors;
		end = start + g->granule_sectors;
		if (end > g->nr_sectors)
			end = g->nr_sectors;
		if (start < end)
			add(l, start, end - start);
	}
}

static void collect(struct ranges *l, const struct audit *a)
{
	const struct tier_geometry *g = &a->sb.geometry;
	const struct tier_record **dirty = text_alloc(a->dirty_slots + 1, sizeof(*dirty));
	size_t i, n = 0;

	for (i = 0; i < g->nr_slots; i++)
		if ((a->records[i].flags & TIER_REC_MAPPED) && a->records[i].dirty)
			dirty[n++] = &a->records[i];
	qsort(dirty, n, sizeof(*dirty), by_block);
	for (i = 0; i < n; i++)
		add_dirty(l, g, dirty[i]);
	free(dirty);
}

static void print_json(const struct ranges *l, const struct audit *a)
{
	struct json j;
	size_t i;

	json_begin(&j, stdout);
	json_u64(&j, "ranges", l->nr);
	json_u64(&j, "sectors", l->sectors);
	json_bool(&j, "clean", a->sb.flags & TIER_SB_CLEAN);
	json_u64(&j, "errors", a->nr[AUDIT_ERROR]);
	json_array(&j, "lost");
	for (i = 0; i < l->nr; i++) {
		json_object(&j, NULL);
		json_u64(&j, "first", l->v[i].start);
		json_u64(&j, "sectors", l->v[i].sectors);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_end(&j);
}

static void print_text(const struct ranges *l, const struct audit *a)
{
	char size[TEXT_SIZE_LEN];
	size_t i;

	for (i = 0; i < l->nr; i++)
		printf("%llu %llu\n", ull(l->v[i].start), ull(l->v[i].sectors));
	fflush(stdout);
	if (l->nr)
		fprintf(stderr, "%llu ranges, %s: the HDD has older data there\n", ull(l->nr),
			text_size(l->sectors * 512, size));
	else
		fputs("nothing would be lost\n", stderr);
	if (!(a->sb.flags & TIER_SB_CLEAN))
		fputs("the last stop was not clean, or the device is active: writes that were not flushed are not listed\n",
		      stderr);
}

static int list_lost(const char *path, bool json, bool force)
{
	struct bdev meta = { .fd = -1 };
	struct audit a = { };
	struct ranges l = { };
	char why[TEXT_LEN];
	int r, code;

	r = bdev_identify(&meta, path, why);
	if (!r)
		r = devices_refuse_live(&meta, force, why);
	if (!r)
		r = bdev_open(&meta, 0, why);
	if (!r)
		r = audit_run(&a, &meta, NULL, &tool_cancelled, why);
	if (!r && !a.records) {
		text_why(why, 0, "%s is damaged: dmtier check says how", path);
		r = -EILSEQ;
	}
	if (r) {
		code = r == -EILSEQ ? TOOL_UNCORRECTED : tool_exit_code(r);
		text_error("%s", why);
	} else {
		code = a.nr[AUDIT_ERROR] ? TOOL_UNCORRECTED : TOOL_OK;
		collect(&l, &a);
		if (json)
			print_json(&l, &a);
		else
			print_text(&l, &a);
		if (code != TOOL_OK)
			text_warn("%s is damaged: the list may lack something; dmtier check says what", path);
	}
	free(l.v);
	audit_free(&a);
	bdev_close(&meta);
	return code;
}

static int run_lost(int argc, char **argv)
{
	enum { JSON = OPT_OWN, FORCE };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "force", no_argument, NULL, FORCE },
		TOOL_OPTIONS
	};
	int o, code = TOOL_CONTINUE;
	bool json = false, force = false;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == JSON)
			json = true;
		else if (o == FORCE)
			force = true;
		else
			tool_common_option(&verb_lost, o, &code);
	}
	if (code != TOOL_CONTINUE)
		return code;
	if (argc - optind != 1) {
		text_error("it takes METADATA");
		return tool_usage(&verb_lost);
	}
	return list_lost(argv[optind], json, force);
}

const struct verb verb_lost = {
	.name = "lost",
	.synopsis = "[--json] [--force] METADATA",
	.summary = "list what would be lost with the SSD: sectors of which the HDD has older data",
	.help =
"  --json   output for programs\n"
"  --force  also if the metadata device is in use: what is dirty changes meanwhile\n"
"\n"
"A line for each range: first sector and number of sectors, of 512 bytes, on the tier device and on the HDD alike.\n"
"Exit code as of check.\n",
	.run = run_lost,
};
