// SPDX-License-Identifier: GPL-2.0
/* dmtier format: write the metadata of a new tier device, and the header of its SSD. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uuid/uuid.h>

#include "core/args.h"
#include "dmtier.h"
#include "lib/devices.h"
#include "lib/fingerprint.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/mode-word.h"
#include "lib/signature.h"
#include "lib/table-line.h"
#include "lib/text.h"
#include "lib/units.h"
#include "lib/block-size.h"

/**
 * struct format - a run of this verb
 * @block_sectors: asked for, 0: to be chosen
 * @mode: asked for
 * @force: overwrite what is there
 * @dry_run: write nothing
 * @json: output for programs
 * @take_data: tiered: the last device keeps its data
 * @size: tiered: length asked for in bytes, 0: as long as can be
 * @nr: of the devices
 * @paths: of the devices
 * @devs: SSD, HDD, METADATA, further tiers
 * @sb: what gets written
 * @why: sentence of the first failure
 */
struct format {
	u32 block_sectors;
	enum tier_mode mode;
	bool force;
	bool dry_run;
	bool json;
	bool take_data;
	u64 size;
	unsigned int nr;
	char **paths;
	struct bdev devs[MAX_DEVS];
	struct tier_sb sb;
	char why[TEXT_LEN];
};

static unsigned long long ull(u64 v)
{
	return v;
}

static bool tiered(const struct format *f)
{
	return f->mode == TIER_MODE_TIERED;
}

static unsigned int last_tier(const struct format *f)
{
	return device_of_tier(f->nr - 2);
}

/* is this a device that format leaves alone? */
static bool keeps_data(const struct format *f, unsigned int i)
{
	return tiered(f) ? f->take_data && i == last_tier(f) : i == DEV_HDD;
}

/* ---- what must hold before anything is written ---- */

static int open_devices(struct format *f)
{
	unsigned int i, flags;
	int r;

	for (i = 0; i < f->nr; i++) {
		/* what keeps its data is never written to */
		flags = BDEV_EXCLUSIVE | (f->dry_run || keeps_data(f, i) ? 0 : BDEV_WRITE);
		r = devices_refuse_held(f->devs, i, f->why);
		if (r)
			return r;
		r = bdev_open(&f->devs[i], flags, f->why);
		if (r == -EROFS || r == -EACCES)
			return text_why(f->why, r, "%s %.400s is read-only", device_name(i),
					f->paths[i]);
		if (r)
			return r;
	}
	return 0;
}

static int check_devices(struct format *f)
{
	const struct bdev *b;
	unsigned int i;

	for (i = 0; i < f->nr; i++) {
		b = &f->devs[i];
		if (b->read_only)
			return text_why(f->why, -EROFS, "%s %.400s is read-only", device_name(i),
					b->path);
		if (b->logical_bytes > TIER_META_BLOCK_SIZE)
			return text_why(f->why, -EINVAL,
					"%s %.300s has a logical block size of %u bytes, more than %u",
					device_name(i), b->path, b->logical_bytes,
					TIER_META_BLOCK_SIZE);
	}
	return 0;
}

static int check_metadata_size(struct format *f)
{
	u64 needed = f->sb.geometry.meta_blocks * TIER_META_BLOCK_SIZE, there = f->devs[DEV_META].bytes;
	char a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN];

	if (there >= needed)
		return 0;
	return text_why(f->why, -ENOSPC,
			"METADATA %.200s is too small: %llu bytes (%s) are needed, it has %llu (%s)",
			f->paths[DEV_META], ull(needed), text_size(needed, a), ull(there),
			text_size(there, b));
}

/* a device that is larger than a slower one may be in the wrong place */
static void warn_order(const struct format *f)
{
	char a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN];
	unsigned int i, d, e;

	for (i = 0; i + 2 < f->nr; i++) {
		d = device_of_tier(i);
		e = device_of_tier(i + 1);
		if (f->devs[d].bytes > f->devs[e].bytes)
			text_warn("%s %s (%s) is larger than the slower %s %s (%s): is the order right?", device_name(d),
				  f->paths[d], text_size(f->devs[d].bytes, a), device_name(e), f->paths[e],
				  text_size(f->devs[e].bytes, b));
	}
}

/* NULL, or what is wrong */
static const char *tiered_geometry(struct format *f, const u64 *sizes, u64 nr_sectors)
{
	return (f->take_data ? tier_geometry_take : tier_geometry_tiered)(&f->sb.geometry, f->block_sectors, f->nr - 1, sizes,
									  nr_sectors);
}

static int plan_tiers(struct format *f)
{
	struct tier_geometry *g = &f->sb.geometry;
	u64 sizes[TIER_MAX_DEVS], bytes;
	char a[TEXT_SIZE_LEN];
	const char *wrong;
	unsigned int i;

	for (i = 0; i + 1 < f->nr; i++)
		sizes[i] = f->devs[device_of_tier(i)].bytes / 512;
	if (!f->block_sectors)
		f->block_sectors = block_size_choose_tiered(f->nr - 1, sizes);
	bytes = (u64)f->block_sectors * 512;
	if (f->size % bytes)
		return text_why(f->why, -EINVAL, "size %llu is no multiple of the block size, %s: %llu would be right",
				ull(f->size), text_size(bytes, a), ull((f->size / bytes + 1) * bytes));
	wrong = tiered_geometry(f, sizes, f->size / 512);
	if (wrong && f->size) {
		const char *without = tiered_geometry(f, sizes, 0);
		u64 most = tier_usable_slots(g) * bytes, least = (sizes[f->nr - 2] * 512 + bytes - 1) / bytes * bytes;

		if (!without)
			return text_why(f->why, -EINVAL, "size %llu: %s: at %s %llu", ull(f->size), wrong,
					f->size > most ? "most" : "least", ull(f->size > most ? most : least));
		wrong = without;
	}
	if (wrong && g->nr_devs < f->nr - 1) {
		i = device_of_tier(g->nr_devs);	/* the one that could not be added */
		return text_why(f->why, -EINVAL, "%s %.200s (%s): %s", device_name(i), f->paths[i],
				text_size(f->devs[i].bytes, a), wrong);
	}
	if (wrong)
		return text_why(f->why, -EINVAL, "%s", wrong);
	warn_order(f);
	return check_metadata_size(f);
}

static int plan_geometry(struct format *f)
{
	u64 fast = f->devs[DEV_SSD].bytes / 512, slow = f->devs[DEV_HDD].bytes / 512;
	u64 needed, there = f->devs[DEV_META].bytes;
	char a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN];
	const char *wrong;
	int r;

	if (tiered(f))
		return plan_tiers(f);
	if (!f->block_sectors)
		f->block_sectors = block_size_choose(fast, slow);
	wrong = tier_geometry_cache(&f->sb.geometry, f->block_sectors, fast, slow);
	if (wrong)
		return text_why(f->why, -EINVAL, "SSD %.120s (%s) and HDD %.120s (%s): %s", f->paths[DEV_SSD],
				text_size(fast * 512, a), f->paths[DEV_HDD], text_size(slow * 512, b), wrong);
	if (fast > slow && !f->force)
		return text_why(f->why, -EINVAL,
				"SSD %.200s (%s) is larger than HDD %.200s (%s): is the order right? --force formats it all the same",
				f->paths[DEV_SSD], text_size(fast * 512, a), f->paths[DEV_HDD],
				text_size(slow * 512, b));
	r = check_metadata_size(f);
	if (r)
		return r;
	needed = f->sb.geometry.meta_blocks * TIER_META_BLOCK_SIZE;
	if (fast > slow)
		text_warn("SSD %s is larger than HDD %s: is the order right?", f->paths[DEV_SSD],
			  f->paths[DEV_HDD]);
	if (there / 64 > needed && there > fast * 512)
		text_warn("METADATA %s is larger than SSD %s, and only %s of it are needed: is the order right?",
			  f->paths[DEV_META], f->paths[DEV_SSD], text_size(needed, a));
	return 0;
}

/* metadata of a tier device on @b; false if there are none */
static bool holds_metadata(const struct bdev *b, char *text)
{
	char why[TEXT_LEN], uuid[37], size[TEXT_SIZE_LEN];
	struct audit a;
	bool found = true;
	int r;

	r = audit_run(&a, b, NULL, &tool_cancelled, why);
	if (r == -EPROTONOSUPPORT)
		text_why(text, 0, "tier metadata of a newer version");
	else if (r == -EILSEQ)
		text_why(text, 0, "damaged tier metadata");
	else if (r)
		found = false;
	else if (a.sb.geometry.exclusive)
		text_why(text, 0, "the metadata of tiered device %s, with %s of data on its tiers",
			 text_uuid(a.sb.uuid, uuid),
			 text_size(a.dirty_granules * a.sb.geometry.granule_sectors * 512, size));
	else if (a.dirty_slots)
		text_why(text, 0,
			 "the metadata of tier device %s, with %s of data not written back",
			 text_uuid(a.sb.uuid, uuid),
			 text_size(a.dirty_granules * a.sb.geometry.granule_sectors * 512, size));
	else
		text_why(text, 0, "the metadata of tier device %s", text_uuid(a.sb.uuid, uuid));
	audit_free(&a);
	return found;
}

/* header of a fast device on @b */
static bool holds_header(const struct bdev *b, char *text)
{
	struct tier_dev_header h;
	enum tier_verify v = TIER_BLANK;
	const char *bad;
	char uuid[37];
	void *buf = bdev_alloc(TIER_META_BLOCK_SIZE);

	if (b->bytes >= TIER_META_BLOCK_SIZE && !bdev_read(b, buf, TIER_META_BLOCK_SIZE, 0))
		v = tier_unpack_dev_header(buf, &h, &bad);
	free(buf);
	if (v == TIER_BLANK || v == TIER_NOT_OURS)
		return false;
	if (v == TIER_OK)
		text_why(text, 0, "the data of tier device %s", text_uuid(h.uuid, uuid));
	else
		text_why(text, 0, "the header of a tier device's fast device");
	return true;
}

/* without --force, whatever is recognized stays; with it, it is named */
static int overwrite(struct format *f, unsigned int i, const char *holds, const char *found)
{
	if (!f->force)
		return text_why(f->why, -EEXIST, "%s %.150s %s %s; --force overwrites it", device_name(i),
				f->paths[i], holds, found);
	text_warn("%s %.150s %s %s: that is overwritten%s", device_name(i), f->paths[i], holds, found,
		  f->dry_run ? " without --dry-run" : "");
	return 0;
}

/* a HDD that belongs to a tier device: format leaves it alone, what is written to the new one later does not */
static int take_hdd(struct format *f, unsigned int i, const char *found)
{
	if (tiered(f))
		return text_why(f->why, -EEXIST, "%s %.150s holds %.300s: those are no data to be taken over", device_name(i),
				f->paths[i], found);
	if (!f->force)
		return text_why(f->why, -EEXIST,
				"HDD %.150s holds %.300s: is the order right? format leaves it alone, but what is written to the new tier device will overwrite it; --force takes it as HDD all the same",
				f->paths[DEV_HDD], found);
	text_warn("HDD %.150s holds %.300s: format leaves it alone, what is written to the new tier device will overwrite it",
		  f->paths[DEV_HDD], found);
	return 0;
}

static int refuse_signatures(struct format *f)
{
	char found[TEXT_LEN];
	unsigned int n, i;
	int r;

	for (n = 0; n < f->nr; n++) {
		/* the metadata first: they know of dirty data */
		i = n ? device_of_tier(n - 1) : DEV_META;
		if (holds_header(&f->devs[i], found) || holds_metadata(&f->devs[i], found)) {
			r = keeps_data(f, i) ? take_hdd(f, i, found) : overwrite(f, i, "holds", found);
			if (r)
				return r;
			continue;
		}
		if (keeps_data(f, i))
			continue;
		r = signature_find(&f->devs[i], found, f->why);
		if (r > 0)
			r = overwrite(f, i, "holds:", found);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_header(const struct tier_dev_geometry *d)
{
	return d->role != TIER_ROLE_SLOW && !(d->flags & TIER_DEV_NO_HEADER);
}

static int fill_sb(struct format *f)
{
	struct tier_sb *sb = &f->sb;
	u32 i;

	uuid_generate(sb->uuid);
	for (i = 0; i < sb->geometry.nr_devs; i++)
		if (has_header(&sb->geometry.devs[i]))
			uuid_generate(sb->geometry.devs[i].uuid);
	if (tiered(f))
		sb->incompat = TIER_FEATURE_INCOMPAT_EXCLUSIVE;
	sb->flags = TIER_SB_CLEAN;
	sb->version = TIER_FORMAT_VERSION;
	sb->seq = 1;
	sb->generation = 1;
	sb->mode = f->mode;
	sb->tail_txn = 1;
	sb->tail_block = 0;
	sb->head_txn = 0;
	sb->format_time = (u64)time(NULL);
	sb->stop_time = sb->format_time;
	return 0;
}

/* ---- writing: nothing on the devices is valid until the last step ---- */

static int failed_write(struct format *f, unsigned int dev, int r)
{
	return text_why(f->why, r, "%s %.400s: cannot write: %s", device_name(dev), f->paths[dev],
			strerror(-r));
}

static int sync_device(struct format *f, unsigned int dev)
{
	int r = bdev_sync(&f->devs[dev]);

	return r ? failed_write(f, dev, r) : 0;
}

static int write_blocks(struct format *f, u64 block, const void *buf, u64 nr)
{
	int r = bdev_write(&f->devs[DEV_META], buf, nr * TIER_META_BLOCK_SIZE,
			   block * TIER_META_BLOCK_SIZE);

	return r ? failed_write(f, DEV_META, r) : 0;
}

/* zero the start of a device: old superblocks, headers and most foreign signatures are there */
static int zero_head(struct format *f, unsigned int dev, u64 bytes)
{
	void *buf = bdev_alloc(bytes);
	int r;

	r = bdev_write(&f->devs[dev], buf, bytes, 0);
	free(buf);
	return r ? failed_write(f, dev, r) : sync_device(f, dev);
}

static int remove_old(struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u32 i;
	int r;

	r = zero_head(f, DEV_META, TIER_FIRST_FREE_BLOCK * TIER_META_BLOCK_SIZE);
	for (i = 0; !r && i < g->nr_devs; i++)
		if (has_header(&g->devs[i]))
			r = zero_head(f, device_of_tier(i), g->devs[i].data_start * 512);
	if (!r)
		r = signature_wipe(&f->devs[DEV_META], f->why);
	for (i = 0; r >= 0 && i < g->nr_devs; i++)
		if (has_header(&g->devs[i]))
			r = signature_wipe(&f->devs[device_of_tier(i)], f->why);
	return r < 0 ? r : 0;
}

/* blocks that the device whose data are taken over has, also one that it has only a part of */
static u64 taken_blocks(const struct format *f, u64 *tail_sectors)
{
	const struct tier_geometry *g = &f->sb.geometry;
	const struct tier_dev_geometry *d = &g->devs[g->nr_devs - 1];

	*tail_sectors = 0;
	if (!(d->flags & TIER_DEV_NO_HEADER))
		return 0;
	*tail_sectors = d->sectors & (g->block_sectors - 1);
	return d->nr_slots + !!*tail_sectors;
}

/*
 * What is taken over is where it is: block n in slot n of its device.  A part of a block at its end is no slot there:
 * it goes to the first slot of the fastest device.
 */
static void taken_record(const struct format *f, u64 slot, struct tier_record *rec)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u64 tail, nr = taken_blocks(f, &tail);
	tier_slot_t s = tier_to_slot((u32)slot);

	memset(rec, 0, sizeof(*rec));
	if (!nr)
		return;
	if (tier_slot_dev(g, s) == g->nr_devs - 1) {
		rec->block = tier_to_block(tier_slot_local(g, s));
		rec->valid = tier_granule_mask(0, g->nr_granules - 1);
	} else if (!slot && tail) {
		rec->block = tier_to_block(nr - 1);
		rec->valid = tier_granule_mask(0, (u32)((tail - 1) >> g->granule_shift));
	} else {
		return;
	}
	rec->dirty = rec->valid;
	rec->flags = TIER_REC_MAPPED;
}

/* the part of a block at the end of a device that is taken over, zeros behind it */
static int copy_tail(struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u64 tail, nr = taken_blocks(f, &tail), at;
	unsigned int from = last_tier(f);
	u8 *buf;
	int r;

	if (!nr || !tail)
		return 0;
	buf = bdev_alloc((size_t)g->block_sectors * 512);
	at = (nr - 1) << g->block_shift;
	r = bdev_read(&f->devs[from], buf, tail * 512, at * 512);
	if (r)
		r = text_why(f->why, r, "%s %.400s: cannot read its last sectors: %s", device_name(from), f->paths[from],
			     strerror(-r));
	else
		r = bdev_write(&f->devs[DEV_SSD], buf, (size_t)g->block_sectors * 512, g->devs[0].data_start * 512) ?
		    failed_write(f, DEV_SSD, -EIO) : sync_device(f, DEV_SSD);
	free(buf);
	return r;
}

/* what is taken over looks so from now on: another disk in its place, or one that others write to, is noticed */
static int take_fingerprint(struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	unsigned int dev = last_tier(f);
	u32 i = g->nr_devs - 1;
	int r;

	if (!(g->devs[i].flags & TIER_DEV_NO_HEADER))
		return 0;
	r = fingerprint_take(&f->devs[dev], g->devs[i].sectors, tier_csum_seed(f->sb.uuid), &f->sb.fp[i]);
	return r ? text_why(f->why, r, "%s %.400s: cannot be read: %s", device_name(dev), f->paths[dev], strerror(-r)) : 0;
}

static int write_intent_and_journal(struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u32 seed = tier_csum_seed(f->sb.uuid);
	u64 i, nr = g->slot_start - TIER_FIRST_FREE_BLOCK;
	u8 *buf = bdev_alloc(nr * TIER_META_BLOCK_SIZE);
	int r;

	for (i = 0; i < 2; i++) {
		u64 at = g->intent_start + i - TIER_FIRST_FREE_BLOCK;
		u8 *page = buf + at * TIER_META_BLOCK_SIZE;

		tier_page_init(page, TIER_PAGE_INTENT, 0, TIER_INTENT_WORDS);
		tier_page_seal(page, seed, 0);
	}
	for (i = 0; i < g->journal_blocks; i++)
		tier_journal_format_block(buf + (g->journal_start + i - TIER_FIRST_FREE_BLOCK) *
					  TIER_META_BLOCK_SIZE, seed, i);
	r = write_blocks(f, TIER_FIRST_FREE_BLOCK, buf, nr);
	free(buf);
	return r;
}

/* blocks of one group, from the distance of the first pages of two groups */
static u64 group_blocks(const struct tier_geometry *g)
{
	return tier_slot_page_block(g, TIER_GROUP_PAGES, 0) - tier_slot_page_block(g, 0, 0);
}

static void fill_records(const struct format *f, u64 page, u8 *buf)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u32 i, nr = tier_slot_page_records(g, page);
	struct tier_record rec;

	for (i = 0; f->take_data && i < nr; i++) {
		taken_record(f, page * g->records_per_page + i, &rec);
		tier_pack_record(g, &rec, tier_page_record(g, buf, i));
	}
}

static void fill_group(const struct format *f, u64 group, u32 seed, u8 *buf)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u64 first = tier_slot_page_block(g, group * TIER_GROUP_PAGES, 0);
	u64 hints = group_blocks(g) - 2 * TIER_GROUP_PAGES;
	u64 page, left;
	u32 copy;
	u8 *at;

	memset(buf, 0, group_blocks(g) * TIER_META_BLOCK_SIZE);
	for (page = group * TIER_GROUP_PAGES; page < (group + 1) * TIER_GROUP_PAGES; page++) {
		for (copy = 0; copy < 2 && page < g->nr_slot_pages; copy++) {
			at = buf +
			     (tier_slot_page_block(g, page, copy) - first) * TIER_META_BLOCK_SIZE;
			tier_page_init(at, TIER_PAGE_SLOTS, page, tier_slot_page_records(g, page));
			fill_records(f, page, at);
			tier_page_seal(at, seed, 0);
		}
	}
	for (page = group * hints; page < (group + 1) * hints && page < tier_nr_hint_pages(g);
	     page++) {
		at = buf + (tier_hint_page_block(g, page) - first) * TIER_META_BLOCK_SIZE;
		left = g->nr_slots - page * TIER_HINTS_PER_PAGE;
		tier_page_init(at, TIER_PAGE_HINTS, page,
			       left < TIER_HINTS_PER_PAGE ? (u32)left : TIER_HINTS_PER_PAGE);
		tier_page_seal(at, seed, 0);
	}
}

static int write_slot_groups(struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u64 group, nr = (g->meta_blocks - g->slot_start) / group_blocks(g);
	u8 *buf = bdev_alloc(group_blocks(g) * TIER_META_BLOCK_SIZE);
	int r = 0;

	for (group = 0; !r && group < nr; group++) {
		if (tool_cancelled) {
			r = text_why(f->why, -EINTR,
				     "cancelled: the devices hold no valid metadata now");
			break;
		}
		text_progress("writing metadata", group, nr);
		fill_group(f, group, tier_csum_seed(f->sb.uuid), buf);
		r = write_blocks(f, tier_slot_page_block(g, group * TIER_GROUP_PAGES, 0), buf,
				 group_blocks(g));
	}
	text_progress("writing metadata", nr, nr);
	free(buf);
	return r ? r : sync_device(f, DEV_META);
}

static int write_device_header(struct format *f, u32 i)
{
	const struct tier_geometry *g = &f->sb.geometry;
	unsigned int dev = device_of_tier(i);
	struct tier_dev_header h = {
		.index = i,
		.block_sectors = g->block_sectors,
		.generation = f->sb.generation,
		.data_start = g->devs[i].data_start,
		.nr_slots = g->devs[i].nr_slots,
	};
	void *buf = bdev_alloc(TIER_META_BLOCK_SIZE);
	int r;

	memcpy(h.uuid, f->sb.uuid, sizeof(h.uuid));
	memcpy(h.dev_uuid, g->devs[i].uuid, sizeof(h.dev_uuid));
	tier_pack_dev_header(&h, buf);
	r = bdev_write(&f->devs[dev], buf, TIER_META_BLOCK_SIZE, 0);
	free(buf);
	return r ? failed_write(f, dev, r) : sync_device(f, dev);
}

static int write_device_headers(struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	int r = 0;
	u32 i;

	for (i = 0; !r && i < g->nr_devs; i++)
		if (has_header(&g->devs[i]))
			r = write_device_header(f, i);
	return r;
}

static int write_superblocks(struct format *f)
{
	static const u64 blocks[] = { TIER_SB_BLOCK_1, TIER_SB_BLOCK_0 };
	void *buf = bdev_alloc(TIER_META_BLOCK_SIZE);
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < 2; i++) {
		tier_pack_sb(&f->sb, blocks[i], buf);
		r = write_blocks(f, blocks[i], buf, 1);
		if (!r)
			r = sync_device(f, DEV_META);
	}
	free(buf);
	return r;
}

/* ---- report ---- */

static void report_json_tiers(struct json *j, const struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	u32 i;

	json_array(j, "tiers");
	for (i = 0; i < g->nr_devs; i++) {
		json_object(j, NULL);
		json_string(j, "device", f->paths[device_of_tier(i)]);
		json_u64(j, "slots", g->devs[i].nr_slots);
		json_u64(j, "kept", tier_kept_slots(g->devs[i].nr_slots));
		json_bool(j, "keeps_data", g->devs[i].flags & TIER_DEV_NO_HEADER);
		json_object_end(j);
	}
	json_array_end(j);
}

static void report_json(const struct format *f, const char *table, u64 core, u64 policy, bool exact)
{
	const struct tier_geometry *g = &f->sb.geometry;
	struct json j;
	char uuid[37];

	json_begin(&j, stdout);
	json_bool(&j, "dry_run", f->dry_run);
	json_string(&j, "uuid", text_uuid(f->sb.uuid, uuid));
	json_string(&j, "mode", tier_mode_name(f->mode));
	json_u64(&j, "block_bytes", (u64)g->block_sectors * 512);
	json_u64(&j, "granule_bytes", (u64)g->granule_sectors * 512);
	json_u64(&j, "slots", g->nr_slots);
	json_u64(&j, "sectors", g->nr_sectors);
	json_u64(&j, "metadata_bytes", g->meta_blocks * TIER_META_BLOCK_SIZE);
	json_u64(&j, "metadata_device_bytes", f->devs[DEV_META].bytes);
	json_u64(&j, "memory_core_bytes", core);
	json_u64(&j, "memory_policy_bytes", policy);
	json_bool(&j, "memory_policy_exact", exact);
	json_string(&j, "table", table);
	if (tiered(f))
		report_json_tiers(&j, f);
	json_end(&j);
}

static void report_tiers(const struct format *f)
{
	const struct tier_geometry *g = &f->sb.geometry;
	char a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN];
	u32 i;

	printf("size             %s, blocks of %s\n", text_size(g->nr_sectors * 512, a),
	       text_size((u64)g->block_sectors * 512, b));
	for (i = 0; i < g->nr_devs; i++)
		printf("tier %-2u          %s, %s, %llu blocks, %u of them kept back for moves%s\n", i,
		       f->paths[device_of_tier(i)], text_size(g->devs[i].sectors * 512, a), ull(g->devs[i].nr_slots),
		       tier_kept_slots(g->devs[i].nr_slots),
		       g->devs[i].flags & TIER_DEV_NO_HEADER ? "; keeps its data" : "");
}

static void report_text(const struct format *f, const char *table, u64 core, u64 policy, bool exact)
{
	const struct tier_geometry *g = &f->sb.geometry;
	char a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN], uuid[37];

	if (!f->dry_run)
		printf("tier device      %s\n", text_uuid(f->sb.uuid, uuid));
	if (tiered(f)) {
		report_tiers(f);
	} else {
		printf("SSD              %s, %llu blocks of %s\n", text_size(g->devs[0].sectors * 512, a),
		       ull(g->nr_slots), text_size((u64)g->block_sectors * 512, b));
		printf("HDD              %s\n", text_size(g->nr_sectors * 512, a));
	}
	printf("metadata         %s of %s\n", text_size(g->meta_blocks * TIER_META_BLOCK_SIZE, a),
	       text_size(f->devs[DEV_META].bytes, b));
	printf("kernel memory    %s, and %s%s for the policy\n", text_size(core, a),
	       exact ? "" : "about ", text_size(policy, b));
	if (table)
		printf("table            %s\n", table);
	if (f->dry_run)
		printf("Dry run: nothing was written.\n");
}

static int report(struct format *f)
{
	const struct table_options opt = { };
	u64 core = memory_core(&f->sb.geometry), policy;
	char *params, *table = NULL;
	bool exact;

	policy = memory_policy(table_default_policy(&f->sb), &f->sb.geometry, &exact);
	params = table_params(&f->sb, f->paths, f->nr, &opt, f->why);
	if (params)
		table = text_format("0 %llu " TABLE_TARGET " %s", ull(f->sb.geometry.nr_sectors),
				    params);
	if (f->json)
		report_json(f, table, core, policy, exact);
	else
		report_text(f, table, core, policy, exact);
	free(params);
	free(table);
	return 0;
}

static int run_steps(struct format *f)
{
	/* The headers are durable before a superblock speaks of them, all else before both. */
	static int (* const before[])(struct format *f) = {
		open_devices, check_devices, plan_geometry, refuse_signatures, fill_sb,
	};
	static int (* const writing[])(struct format *f) = {
		take_fingerprint, remove_old, write_intent_and_journal, write_slot_groups, copy_tail, write_device_headers,
		write_superblocks,
	};
	unsigned int i;
	int r;

	r = devices_identify(f->devs, f->nr, f->paths, false, f->why);
	for (i = 0; !r && i < sizeof(before) / sizeof(before[0]); i++)
		r = before[i](f);
	for (i = 0; !r && !f->dry_run && i < sizeof(writing) / sizeof(writing[0]); i++)
		r = writing[i](f);
	if (!r)
		r = report(f);
	return r;
}

/* ---- command line ---- */

static int parse_mode(struct format *f, const char *text)
{
	if (!mode_word_parse(text, TIER_KIND_BOTH, &f->mode, f->why))
		return TOOL_CONTINUE;
	text_error("%s", f->why);
	return TOOL_USAGE;
}

/* do number of devices and options go with the mode? */
static int check_line(const struct format *f, int nr)
{
	if (tiered(f) && block_size_check_tiered(f->block_sectors))
		return TOOL_USAGE;
	if (tiered(f))
		return devices_count_is_right(nr) ? TOOL_CONTINUE : tool_usage(&verb_format);
	if (nr > NR_DEVS)
		text_error("a cache takes three devices, SSD HDD METADATA; more go with --mode tiered");
	else if (nr < NR_DEVS)
		text_error("it takes three devices: SSD HDD METADATA");
	else if (f->size)
		text_error("--size goes with --mode tiered: a cache is as large as its HDD");
	else if (f->take_data)
		text_error("--take-data goes with --mode tiered: the HDD of a cache always keeps its data");
	else
		return TOOL_CONTINUE;
	return tool_usage(&verb_format);
}

static int parse_options(struct format *f, int argc, char **argv)
{
	enum { BLOCK_SIZE = OPT_OWN, MODE, SIZE, TAKE_DATA, FORCE, DRY_RUN, JSON };
	static const struct option options[] = {
		{ "block-size", required_argument, NULL, BLOCK_SIZE },
		{ "mode", required_argument, NULL, MODE },
		{ "size", required_argument, NULL, SIZE },
		{ "take-data", no_argument, NULL, TAKE_DATA },
		{ "force", no_argument, NULL, FORCE },
		{ "dry-run", no_argument, NULL, DRY_RUN },
		{ "json", no_argument, NULL, JSON },
		TOOL_OPTIONS
	};
	int o, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case BLOCK_SIZE:
			if (block_size_parse(optarg, &f->block_sectors))
				code = TOOL_USAGE;
			break;
		case MODE:
			code = parse_mode(f, optarg);
			break;
		case SIZE:
			if (units_parse(optarg, 1, &f->size) || !f->size) {
				text_error("size '%s' is no size such as 500g", optarg);
				code = TOOL_USAGE;
			}
			break;
		case TAKE_DATA:
			f->take_data = true;
			break;
		case FORCE:
			f->force = true;
			break;
		case DRY_RUN:
			f->dry_run = true;
			break;
		case JSON:
			f->json = true;
			break;
		default:
			tool_common_option(&verb_format, o, &code);
		}
	}
	if (code == TOOL_CONTINUE)
		code = check_line(f, argc - optind);
	f->nr = (unsigned int)(argc - optind);
	f->paths = argv + optind;
	return code;
}

static int run_format(int argc, char **argv)
{
	struct format f = { .mode = TIER_MODE_WRITEBACK };
	unsigned int i;
	int r;

	for (i = 0; i < MAX_DEVS; i++)
		f.devs[i].fd = -1;
	r = parse_options(&f, argc, argv);
	if (r != TOOL_CONTINUE)
		return r;
	r = run_steps(&f);
	devices_close(f.devs, f.nr);
	if (r)
		text_error("%s", f.why);
	return tool_exit_code(r);
}

const struct verb verb_format = {
	.name = "format",
	.synopsis =
"[--block-size SIZE] [--mode MODE] [--force] [--dry-run] [--json] SSD HDD METADATA\n"
"--mode tiered [--size SIZE] [--take-data] [--block-size SIZE] [--force] [--dry-run] [--json] SSD HDD METADATA [TIER...]",
	.summary = "write the metadata of a new tier device",
	.help =
"A cache: writes to METADATA and to the start of SSD.  HDD keeps its data and is not written to.\n"
"Tiered: the data on SSD, HDD and the further TIERs, fastest first, are lost.\n"
"\n"
"  --block-size SIZE  power of two from 4k (tiered: 64k) to 1m; default 64k unless the SSD is very\n"
"                     small, or the devices are large\n"
"  --mode MODE        writeback (default), writethrough, writearound, passthrough, or tiered\n"
"  --size SIZE        of a tiered device; default: all that its tiers can hold\n"
"  --take-data        the last (slowest) device keeps its data: they are those of the tiered\n"
"                     device, and nothing is written to it\n"
"  --force            overwrite file systems, partition tables, tier metadata and so on;\n"
"                     take an SSD that is larger than the HDD\n"
"  --dry-run          check everything, write nothing\n"
"  --json             output for programs\n",
	.run = run_format,
};
