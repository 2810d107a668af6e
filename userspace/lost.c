// SPDX-License-Identifier: GPL-2.0
/* dmtier lost: what only the SSD has, or a tier. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "dmtier.h"
#include "lib/devices.h"
#include "lib/fiemap.h"
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

/* in a tiered device all that is valid is dirty, too: there is no other copy */
static void collect(struct ranges *l, const struct audit *a, int tier)
{
	const struct tier_geometry *g = &a->sb.geometry;
	const struct tier_record **dirty = text_alloc(a->dirty_slots + 1, sizeof(*dirty));
	size_t i, n = 0;

	for (i = 0; i < g->nr_slots; i++)
		if ((a->records[i].flags & TIER_REC_MAPPED) && a->records[i].dirty &&
		    (tier < 0 || tier_slot_dev(g, tier_to_slot((u32)i)) == (u32)tier))
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
	if (l->nr && a->sb.geometry.exclusive)
		fprintf(stderr, "%llu ranges, %s: they are on that tier and nowhere else\n", ull(l->nr),
			text_size(l->sectors * 512, size));
	else if (l->nr)
		fprintf(stderr, "%llu ranges, %s: the HDD has older data there\n", ull(l->nr),
			text_size(l->sectors * 512, size));
	else
		fputs("nothing would be lost\n", stderr);
	if (!(a->sb.flags & TIER_SB_CLEAN))
		fputs("the last stop was not clean, or the device is active: writes that were not flushed are not listed\n",
		      stderr);
}

/* a sector of an extent of the file is in a range? */
static bool is_hit(const struct ranges *l, const struct file_map *map)
{
	size_t i, low, high, mid;

	for (i = 0; i < map->nr; i++) {
		const struct file_extent *e = &map->v[i];

		/* the first range that ends behind the extent's begin */
		for (low = 0, high = l->nr; low < high;) {
			mid = (low + high) / 2;
			if (l->v[mid].start + l->v[mid].sectors > e->first)
				high = mid;
			else
				low = mid + 1;
		}
		if (low < l->nr && l->v[low].start < e->first + e->sectors)
			return true;
	}
	return false;
}

/* those files that have lost something, by the file system that is mounted */
static int print_files(const struct ranges *l, const struct bdev *meta, char **files, int nr)
{
	char why[TEXT_LEN], who[TEXT_LEN];
	struct file_map map;
	int i, code = TOOL_OK;

	if (!bdev_holder(meta, who)) {
		text_error("the tier device with the metadata on %s is not active: whether a file is on it can't be told", meta->path);
		return TOOL_OPERATIONAL;
	}
	for (i = 0; i < nr; i++) {
		if (file_map_read(&map, files[i], why)) {
			text_error("%s", why);
			code = TOOL_OPERATIONAL;
		} else if (!bdev_held_by(meta, makedev(map.major, map.minor))) {
			text_error("%s is not on a file system on the tier device with the metadata on %s (%s)", files[i],
				   meta->path, who);
			code = TOOL_OPERATIONAL;
		} else if (is_hit(l, &map)) {
			printf("%s\n", files[i]);
		}
		file_map_free(&map);
	}
	return code;
}

/* does --tier go with these metadata? */
static int check_tier(const struct audit *a, int tier, char *why)
{
	const struct tier_geometry *g = &a->sb.geometry;

	if (!g->exclusive)
		return tier < 0 ? 0 : text_why(why, -EINVAL, "--tier is for tiered devices, and these are the metadata of a cache");
	if (tier < 0)
		return text_why(why, -EINVAL, "these are the metadata of a tiered device: --tier says which is lost, 0 to %u",
				g->nr_devs - 1);
	if (tier >= (int)g->nr_devs)
		return text_why(why, -EINVAL, "there is no tier %d: they are 0 to %u", tier, g->nr_devs - 1);
	return 0;
}

/**
 * struct question - what is asked
 * @json: output for programs
 * @force: also if the metadata are in use
 * @tier: which is lost, -1: it is about a cache
 * @files: names of files that may have lost something
 * @nr_files: their number
 */
struct question {
	bool json;
	bool force;
	int tier;
	char **files;
	int nr_files;
};

static int list_lost(const char *path, const struct question *q)
{
	struct bdev meta = { .fd = -1 };
	struct audit a = { };
	struct ranges l = { };
	char why[TEXT_LEN];
	int r, code;

	r = bdev_identify(&meta, path, why);
	if (!r)
		r = devices_refuse_live(&meta, q->force, why);
	if (!r)
		r = bdev_open(&meta, 0, why);
	if (!r)
		r = audit_run(&a, &meta, NULL, &tool_cancelled, why);
	if (!r && !a.records) {
		text_why(why, 0, "%s is damaged: dmtier check says how", path);
		r = -EILSEQ;
	}
	if (!r)
		r = check_tier(&a, q->tier, why);
	if (r) {
		code = r == -EILSEQ ? TOOL_UNCORRECTED : tool_exit_code(r);
		text_error("%s", why);
	} else {
		code = a.nr[AUDIT_ERROR] ? TOOL_UNCORRECTED : TOOL_OK;
		collect(&l, &a, q->tier);
		if (q->nr_files)
			r = print_files(&l, &meta, q->files, q->nr_files);
		else if (q->json)
			print_json(&l, &a);
		else
			print_text(&l, &a);
		code = r ? r : code;
		if (a.nr[AUDIT_ERROR])
			text_warn("%s is damaged: the list may lack something; dmtier check says what", path);
	}
	free(l.v);
	audit_free(&a);
	bdev_close(&meta);
	return code;
}

static int parse_tier(const char *text, int *tier)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && n < TIER_MAX_DEVS) {
		*tier = (int)n;
		return TOOL_CONTINUE;
	}
	text_error("tier '%s' is not the number of a tier: they are 0 to %u at most, fastest first", text,
		   TIER_MAX_DEVS - 1);
	return TOOL_USAGE;
}

static int run_lost(int argc, char **argv)
{
	enum { JSON = OPT_OWN, FORCE, TIER };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "force", no_argument, NULL, FORCE },
		{ "tier", required_argument, NULL, TIER },
		TOOL_OPTIONS
	};
	struct question q = { .tier = -1 };
	int o, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == JSON)
			q.json = true;
		else if (o == FORCE)
			q.force = true;
		else if (o == TIER)
			code = parse_tier(optarg, &q.tier);
		else
			tool_common_option(&verb_lost, o, &code);
	}
	if (code != TOOL_CONTINUE)
		return code;
	q.files = argv + optind + 1;
	q.nr_files = argc - optind - 1;
	if (q.nr_files < 0 || (q.nr_files && q.tier < 0)) {
		text_error("it takes METADATA, and behind it files if a tier is given");
		return tool_usage(&verb_lost);
	}
	if (q.nr_files && q.json) {
		text_error("--json does not go with files: their names are printed, one a line");
		return tool_usage(&verb_lost);
	}
	return list_lost(argv[optind], &q);
}

const struct verb verb_lost = {
	.name = "lost",
	.synopsis = "[--json] [--force] METADATA\n[--json] [--force] --tier TIER METADATA [FILE...]",
	.summary = "list what would be lost with the SSD: sectors of which the HDD has older data; or with a tier",
	.help =
"  --json   output for programs\n"
"  --force  also if the metadata device is in use: what is dirty changes meanwhile\n"
"  --tier TIER  of a tiered device: what is on that tier, 0 is the fastest; with FILEs on the mounted device, the names\n"
"           of those of them that have something there.  A file on another file system is an error\n"
"\n"
"A line for each range: first sector and number of sectors, of 512 bytes, on the tier device and on the HDD alike.\n"
"Exit code as of check.\n",
	.run = run_lost,
};
