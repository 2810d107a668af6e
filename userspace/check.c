// SPDX-License-Identifier: GPL-2.0
/* dmtier check: look at everything in the metadata, change nothing. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/args.h"
#include "dmtier.h"
#include "lib/devices.h"
#include "lib/json.h"
#include "lib/superblock.h"
#include "lib/text.h"

/**
 * struct check - a run of this verb
 * @json: output for programs
 * @force: also if the device is in use
 * @clear: take the mark "needs check" off if nothing else is wrong
 * @cleared: that was done
 * @nr: of the devices given: 1, or all
 * @devs: the metadata device is always number DEV_META
 * @audit: result
 * @why: sentence of the first failure
 */
struct check {
	bool json;
	bool force;
	bool clear;
	bool cleared;
	unsigned int nr;
	struct bdev devs[MAX_DEVS];
	struct audit audit;
	char why[TEXT_LEN];
};

static unsigned long long ull(u64 v)
{
	return v;
}

static int open_devices(struct check *c, char **paths)
{
	unsigned int i;
	int r;

	if (c->nr > 1)
		r = devices_identify(c->devs, c->nr, paths, true, c->why);
	else
		r = bdev_identify(&c->devs[DEV_META], paths[0], c->why);
	if (!r)
		r = devices_refuse_live(&c->devs[DEV_META], c->force, c->why);
	for (i = 0; !r && i < MAX_DEVS; i++)
		if (c->devs[i].path && !c->devs[i].missing)
			r = bdev_open(&c->devs[i],
				      c->clear && i == DEV_META ? BDEV_WRITE | BDEV_EXCLUSIVE : 0, c->why);
	if (!r && c->nr > 1)
		r = devices_order(c->devs, c->nr, c->why);
	return r;
}

static int audit(struct check *c)
{
	const struct bdev *data[MAX_DEVS];

	devices_data(c->devs, c->nr, data);
	return audit_run(&c->audit, &c->devs[DEV_META], c->nr > 1 ? data : NULL, &tool_cancelled, c->why);
}

/* the mark is the one thing that is wrong: take it off, and look again */
static int clear_mark(struct check *c)
{
	int r;

	if (!(c->audit.sb.flags & TIER_SB_NEEDS_CHECK))
		return 0;
	if (c->audit.nr[AUDIT_ERROR] > 1)
		return text_why(c->why, -EILSEQ,
				"%.300s is damaged: the mark \"needs check\" stays; check without --clear-needs-check says what is wrong",
				c->devs[DEV_META].path);
	if (c->audit.mismatch)
		return text_why(c->why, -ENODEV,
				"%.600s: the mark \"needs check\" stays", c->audit.mismatch);
	r = superblock_clear_needs_check(&c->devs[DEV_META], &c->audit.sb, c->why);
	if (r)
		return r;
	c->cleared = true;
	audit_free(&c->audit);
	return audit(c);
}

static int exit_code(const struct check *c, int r)
{
	if (r == -EILSEQ)
		return TOOL_UNCORRECTED;
	if (r)
		return tool_exit_code(r);
	if (c->audit.nr[AUDIT_RECOVERABLE] || c->audit.nr[AUDIT_ERROR])
		return TOOL_UNCORRECTED;
	if (c->audit.mismatch)
		return TOOL_OPERATIONAL;
	return c->cleared ? TOOL_CORRECTED : TOOL_OK;
}

static const char *verdict(const struct check *c, int r)
{
	switch (r) {
	case 0:
		break;
	case -EILSEQ:
		return "damaged";
	case -EPROTONOSUPPORT:
		return "newer";
	case -ENODATA:
		return "no metadata";
	default:
		return "not checked";
	}
	if (c->audit.nr[AUDIT_ERROR])
		return "damaged";
	if (c->audit.nr[AUDIT_RECOVERABLE])
		return "recoverable";
	return c->audit.mismatch ? "mismatch" : "good";
}

static const char * const level_names[AUDIT_NR_LEVELS] = {
	[AUDIT_NOTE] = "note",
	[AUDIT_RECOVERABLE] = "recoverable",
	[AUDIT_MISMATCH] = "mismatch",
	[AUDIT_ERROR] = "error",
};

/* ---- output for people ---- */

static void print_time(const char *what, u64 seconds)
{
	time_t t = (time_t)seconds;
	char text[64];
	struct tm tm;

	if (t > 0 && localtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		printf("%s %s\n", what, text);
}

static void print_finding(const struct audit_finding *f)
{
	printf("%s: %s", level_names[f->level], f->structure);
	if (f->block >= 0)
		printf(", metadata block %lld", (long long)f->block);
	if (f->copy >= 0)
		printf(", copy %c", 'A' + f->copy);
	printf(": %s\n", f->text);
}

static bool is_settled(const struct audit *a, u32 tier)
{
	return a->sb.geometry.devs[tier].flags & TIER_DEV_SETTLE && a->sb.flags & TIER_SB_CLEAN &&
	       a->records && !audit_settle_left(a, tier);
}

static void print_intention(const struct audit *a, u32 tier)
{
	u32 flags = a->sb.geometry.devs[tier].flags;

	if (flags & TIER_DEV_EVACUATE)
		printf("; is to be emptied");
	if (is_settled(a, tier))
		printf("; is settled: this disk alone holds what the tiered device holds");
	else if (flags & TIER_DEV_SETTLE && a->records)
		printf("; is to be settled: %llu blocks are not in their place%s", ull(audit_settle_left(a, tier)),
		       a->sb.flags & TIER_SB_CLEAN ? "" : ", and the last stop was not clean");
	printf("\n");
}

static void print_tiers(const struct audit *a)
{
	const struct tier_geometry *g = &a->sb.geometry;
	char uuid[37];
	u32 i;

	for (i = 0; i < g->nr_devs; i++) {
		const struct tier_dev_geometry *d = &g->devs[i];

		printf("tier %-2u       %llu of %llu slots used, %llu pinned, %s", i, ull(a->tier_used[i]),
		       ull(d->nr_slots), ull(a->tier_pinned[i]), audit_tier_name(g, i, uuid));
		print_intention(a, i);
	}
}

static void print_summary(const struct check *c)
{
	const struct tier_sb *sb = &c->audit.sb;
	const struct tier_geometry *g = &sb->geometry;
	char uuid[37], a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN];

	printf("tier device   %s\n", text_uuid(sb->uuid, uuid));
	printf("mode          %s\n", tier_mode_name(sb->mode));
	printf("size          %s, blocks of %s\n", text_size(g->nr_sectors * 512, a),
	       text_size((u64)g->block_sectors * 512, b));
	if (g->exclusive)
		print_tiers(&c->audit);
	else
		printf("slots         %llu of %llu used, %llu dirty (%s), %llu pinned\n",
		       ull(c->audit.used_slots), ull(g->nr_slots), ull(c->audit.dirty_slots),
		       text_size(c->audit.dirty_granules * g->granule_sectors * 512, a),
		       ull(c->audit.pinned_slots));
	if (c->audit.journal_good)
		printf("journal       %llu of %llu blocks, %llu transactions\n",
		       ull(c->audit.scan.used_blocks), ull(g->journal_blocks),
		       ull(c->audit.scan.nr_txns));
	printf("last stop     %s\n",
	       sb->flags & TIER_SB_CLEAN ? "clean" : "not clean, or still active");
	print_time("formatted    ", sb->format_time);
}

/* which devices the metadata were compared with: of what does not fit there is a finding */
static void print_compared(const struct check *c)
{
	unsigned int i;

	if (c->nr == 1)
		return;
	printf("compared with");
	for (i = 0; i + 1 < c->nr; i++)
		if (!c->devs[device_of_tier(i)].missing)
			printf(" %s", c->devs[device_of_tier(i)].path);
	printf("\n");
}

static void print_report(const struct check *c, const char *text)
{
	const struct audit *a = &c->audit;
	u64 left = 0;
	unsigned int i;

	for (i = 0; i < AUDIT_NR_LEVELS; i++)
		left += a->nr[i];
	left -= a->nr_findings;
	print_summary(c);
	print_compared(c);
	for (i = 0; i < a->nr_findings; i++)
		print_finding(&a->findings[i]);
	if (left)
		printf("... and %llu more\n", ull(left));
	printf("%s: %s", c->devs[DEV_META].path, text);
	if (a->mismatch)
		printf("%s%s", *text ? "; " : "not damaged, but ", a->mismatch);
	printf("\n");
}

/* ---- output for programs ---- */

static void json_findings(struct json *j, const struct audit *a)
{
	const struct audit_finding *f;
	unsigned int i;

	json_array(j, "findings");
	for (i = 0; i < a->nr_findings; i++) {
		f = &a->findings[i];
		json_object(j, NULL);
		json_string(j, "level", level_names[f->level]);
		json_string(j, "structure", f->structure);
		if (f->block >= 0)
			json_u64(j, "block", (u64)f->block);
		if (f->copy >= 0)
			json_string(j, "copy", f->copy ? "B" : "A");
		json_string(j, "text", f->text);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_tiers(struct json *j, const struct audit *a)
{
	const struct tier_geometry *g = &a->sb.geometry;
	char uuid[37];
	u32 i;

	json_array(j, "tiers");
	for (i = 0; i < g->nr_devs; i++) {
		const struct tier_dev_geometry *d = &g->devs[i];

		json_object(j, NULL);
		json_string(j, "uuid", d->flags & TIER_DEV_NO_HEADER ? NULL : text_uuid(d->uuid, uuid));
		json_u64(j, "sectors", d->sectors);
		json_u64(j, "slots", d->nr_slots);
		json_u64(j, "used_slots", a->tier_used[i]);
		json_u64(j, "pinned_slots", a->tier_pinned[i]);
		json_bool(j, "evacuate", d->flags & TIER_DEV_EVACUATE);
		json_bool(j, "settle", d->flags & TIER_DEV_SETTLE);
		json_bool(j, "settled", is_settled(a, i));
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_contents(struct json *j, const struct audit *a)
{
	const struct tier_sb *sb = &a->sb;
	const struct tier_geometry *g = &sb->geometry;
	char uuid[37];

	json_string(j, "uuid", text_uuid(sb->uuid, uuid));
	json_u64(j, "version", sb->version);
	json_string(j, "mode", tier_mode_name(sb->mode));
	json_bool(j, "clean", sb->flags & TIER_SB_CLEAN);
	json_bool(j, "needs_check", sb->flags & TIER_SB_NEEDS_CHECK);
	json_u64(j, "generation", sb->generation);
	json_u64(j, "block_bytes", (u64)g->block_sectors * 512);
	json_u64(j, "granule_bytes", (u64)g->granule_sectors * 512);
	json_u64(j, "sectors", g->nr_sectors);
	json_u64(j, "slots", tier_real_slots(g));
	json_u64(j, "used_slots", a->used_slots);
	/* the records of a tiered device call dirty all that is valid */
	json_u64(j, "dirty_slots", sb->mode == TIER_MODE_TIERED ? 0 : a->dirty_slots);
	json_u64(j, "dirty_granules", sb->mode == TIER_MODE_TIERED ? 0 : a->dirty_granules);
	json_u64(j, "pinned_slots", a->pinned_slots);
	json_u64(j, "intent_regions", a->intent_regions);
	json_u64(j, "metadata_blocks", g->meta_blocks);
	json_u64(j, "journal_blocks", g->journal_blocks);
	json_u64(j, "journal_transactions", a->journal_good ? a->scan.nr_txns : 0);
	json_u64(j, "format_time", sb->format_time);
	json_u64(j, "stop_time", sb->stop_time);
	if (g->exclusive)
		json_tiers(j, a);
}

static void print_json(const struct check *c, int r)
{
	const struct audit *a = &c->audit;
	struct json j;

	json_begin(&j, stdout);
	json_string(&j, "device", c->devs[DEV_META].path);
	json_string(&j, "verdict", verdict(c, r));
	json_u64(&j, "exit_code", (u64)exit_code(c, r));
	json_bool(&j, "mark_cleared", c->cleared);
	if (r)
		json_string(&j, "error", c->why);
	else
		json_contents(&j, a);
	json_u64(&j, "notes", a->nr[AUDIT_NOTE]);
	json_u64(&j, "recoverable", a->nr[AUDIT_RECOVERABLE]);
	json_u64(&j, "mismatches", a->nr[AUDIT_MISMATCH]);
	json_u64(&j, "errors", a->nr[AUDIT_ERROR]);
	json_findings(&j, a);
	json_end(&j);
}

/* what is left to do */
static void print_damaged(const struct check *c)
{
	const char *meta = c->devs[DEV_META].path;

	print_report(c, "DAMAGED");
	if (c->audit.sb.flags & TIER_SB_NEEDS_CHECK && c->audit.nr[AUDIT_ERROR] == 1)
		printf("The mark is the only thing that is wrong: dmtier check --clear-needs-check takes it off.\n");
	else if (c->audit.sb.geometry.exclusive)
		printf("The target does not start like this. Damage of the metadata can't be mended: dmtier lost --tier N %s lists what is known to be on a tier; to go on, format anew and restore the data.\n",
		       meta);
	else
		printf("The target does not start like this. Damage of the metadata can't be mended: dmtier lost %s lists where the HDD is known to lack the last data; to go on, use the HDD alone, or format anew (--force).\n",
		       meta);
}

static void print_text(const struct check *c, int r)
{
	unsigned int i;

	if (r) {
		for (i = 0; i < c->audit.nr_findings; i++)
			print_finding(&c->audit.findings[i]);
		fflush(stdout);
		text_error("%s", c->why);
	} else if (c->audit.nr[AUDIT_ERROR]) {
		print_damaged(c);
	} else if (c->audit.nr[AUDIT_RECOVERABLE]) {
		print_report(c, c->audit.mismatch ? "damaged, but all of it can be made good" :
			     "damaged, but all of it can be made good: the target will start");
	} else if (c->audit.mismatch) {
		print_report(c, "");
	} else {
		print_report(c, c->cleared ? "good; the mark \"needs check\" was taken off" : "good");
	}
}

static int run_check(int argc, char **argv)
{
	enum { JSON = OPT_OWN, FORCE, CLEAR };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "force", no_argument, NULL, FORCE },
		{ "clear-needs-check", no_argument, NULL, CLEAR },
		TOOL_OPTIONS
	};
	struct check c = { };
	int o, r, code = TOOL_CONTINUE;
	unsigned int i;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == JSON)
			c.json = true;
		else if (o == FORCE)
			c.force = true;
		else if (o == CLEAR)
			c.clear = true;
		else
			tool_common_option(&verb_check, o, &code);
	}
	if (code != TOOL_CONTINUE)
		return code;
	if (c.clear && c.force) {
		text_error("--clear-needs-check writes: it does not go with --force, which is for devices in use");
		return tool_usage(&verb_check);
	}
	argc -= optind;
	if (argc != 1 && argc < NR_DEVS) {
		text_error("it takes METADATA, or SSD HDD METADATA, and perhaps further tiers behind them");
		return tool_usage(&verb_check);
	}
	if (argc != 1 && !devices_count_is_right(argc))
		return tool_usage(&verb_check);
	c.nr = (unsigned int)argc;
	for (i = 0; i < MAX_DEVS; i++)
		c.devs[i].fd = -1;
	r = open_devices(&c, argv + optind);
	if (!r)
		r = audit(&c);
	if (!r && c.clear)
		r = clear_mark(&c);
	if (c.json)
		print_json(&c, r);
	else
		print_text(&c, r);
	code = exit_code(&c, r);
	audit_free(&c.audit);
	devices_close(c.devs, MAX_DEVS);
	return code;
}

const struct verb verb_check = {
	.name = "check",
	.synopsis = "[--json] [--force | --clear-needs-check] METADATA\n"
		    "[--json] [--force | --clear-needs-check] SSD HDD METADATA [TIER...]",
	.summary = "check the metadata of a tier device; changes nothing without being told",
	.help =
"  --json               output for programs\n"
"  --force              check also if the metadata device is in use\n"
"  --clear-needs-check  if the only thing wrong is the mark that a failed write left, take it off:\n"
"                       the device can start then, as after a power cut\n"
"\n"
"Exit code: 0 good, 1 the mark was taken off, 4 damage found, 8 could not be checked, or the devices don't belong\n"
"together or can't be read, 16 usage, 32 cancelled, 64 written by a newer version.\n"
"\n"
"- stands for a tier of a tiered device that is missing.\n",
	.run = run_check,
};
