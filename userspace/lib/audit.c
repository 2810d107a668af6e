// SPDX-License-Identifier: GPL-2.0
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "core/args.h"
#include "fingerprint.h"
#include "text.h"

#ifndef CHUNK_BLOCKS				/* tests of many small devices have their own */
#define CHUNK_BLOCKS		256U		/* metadata blocks read at once */
#endif

/**
 * struct walk - state of a running audit
 * @a: result
 * @meta: metadata device
 * @ssd: fast device of a cache, or NULL
 * @hdd: its slow device, or NULL
 * @tiers: of a tiered device, in the order given; NULL ends the list
 * @cancel: polled
 * @g: geometry in force
 * @seed: of the checksums
 * @ssd_good: @ssd is the one that the superblock speaks of
 * @ssd_wrong: why it is not, as of audit_fast_device()
 * @clean: the superblock says so
 * @ring: image of the journal, or NULL
 * @touched: bit a slot page: the journal changes it
 * @intent_touched: the journal changes the intent page
 * @intent: bitmap, after replay
 * @cache: for each copy, the metadata blocks read ahead
 * @cache_first: first block in @cache
 * @cache_blocks: blocks in @cache
 * @unreadable: those of them that could not be read
 */
struct walk {
	struct audit *a;
	const struct bdev *meta;
	const struct bdev *ssd;
	const struct bdev *hdd;
	const struct bdev *tiers[TIER_MAX_DEVS + 1];
	const volatile int *cancel;
	const struct tier_geometry *g;
	u32 seed;
	bool ssd_good;
	int ssd_wrong;
	bool clean;
	void *ring;
	u64 *touched;
	bool intent_touched;
	u64 intent[TIER_INTENT_WORDS];
	void *cache[2];
	u64 cache_first[2];
	u64 cache_blocks[2];
	bool unreadable[2][CHUNK_BLOCKS];
};

/* what became of one copy of a page */
struct copy {
	void *buf;
	u64 block;
	u64 seq;
	bool good;
};

static void __attribute__((format(printf, 6, 7)))
find(struct audit *a, enum audit_level level, const char *structure, s64 block, int copy,
     const char *fmt, ...)
{
	struct audit_finding *f;
	va_list ap;

	if (a->nr[level]++ >= AUDIT_MAX_FINDINGS)
		return;
	if (!a->findings)
		a->findings =
			text_alloc(AUDIT_MAX_FINDINGS * AUDIT_NR_LEVELS, sizeof(*a->findings));
	f = &a->findings[a->nr_findings++];
	f->level = level;
	f->structure = structure;
	f->block = block;
	f->copy = copy;
	va_start(ap, fmt);
	f->text = text_vformat(fmt, ap);
	va_end(ap);
}

void audit_free(struct audit *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_findings; i++)
		free(a->findings[i].text);
	free(a->findings);
	a->findings = NULL;
	a->nr_findings = 0;
	free(a->records);
	a->records = NULL;
}

static unsigned long long ull(u64 v)
{
	return v;
}

/* ---- superblock ---- */

/* one copy; an unreadable one counts as damaged */
static enum tier_verify read_sb(const struct bdev *meta, u64 block, void *buf, struct tier_sb *sb,
				const char **why)
{
	enum tier_verify v;
	int r;

	*why = NULL;
	memset(sb, 0, sizeof(*sb));
	r = bdev_read(meta, buf, TIER_META_BLOCK_SIZE, block * TIER_META_BLOCK_SIZE);
	if (r) {
		*why = "it cannot be read";
		return TIER_BAD_CSUM;
	}
	v = tier_unpack_sb(buf, block, sb, why);
	if (v != TIER_OK && !*why)
		*why = tier_verify_text(v);
	return v;
}

/* both copies are good: do they say the same? */
static void compare_sbs(struct audit *a, const struct tier_sb *sbs, const void *buf0,
			const void *buf1, int chosen)
{
	const size_t head = offsetof(struct tier_disk_sb, compat);
	u64 newer = sbs[chosen].seq, older = sbs[!chosen].seq;
	s64 block = chosen ? TIER_SB_BLOCK_0 : TIER_SB_BLOCK_1;

	if (newer == older && memcmp((const u8 *)buf0 + head, (const u8 *)buf1 + head,
					  TIER_META_BLOCK_SIZE - head))
		find(a, AUDIT_ERROR, "superblock", block, !chosen,
		     "differs from the other copy, and neither is newer");
	else if (newer - older == 1)
		find(a, AUDIT_NOTE, "superblock", block, !chosen,
		     "is one update behind the other copy: writing it was interrupted");
	else if (newer != older)
		find(a, AUDIT_RECOVERABLE, "superblock", block, !chosen,
		     "is %llu updates behind the other copy, which is good", ull(newer - older));
}

/* 0; -ENODATA: there is none; -EILSEQ, -EIO */
static int read_header(const struct bdev *dev, struct tier_dev_header *h, char *why)
{
	const char *bad = NULL;
	enum tier_verify v;
	void *buf;
	int r;

	buf = bdev_alloc(TIER_META_BLOCK_SIZE);
	r = bdev_read(dev, buf, TIER_META_BLOCK_SIZE, 0);
	if (r) {
		free(buf);
		return text_why(why, -EIO, "%s: cannot read its header: %s", dev->path,
				strerror(-r));
	}
	v = tier_unpack_dev_header(buf, h, &bad);
	free(buf);
	if (v == TIER_OK)
		return 0;
	if (v == TIER_BLANK || v == TIER_NOT_OURS)
		return -ENODATA;
	return text_why(why, -EILSEQ, "%s: its header: %s", dev->path,
			bad ? bad : tier_verify_text(v));
}

/* it may be one of the other devices of a tier device */
static int no_metadata(const struct bdev *meta, char *why)
{
	struct tier_dev_header h = { };
	char ignored[TEXT_LEN], uuid[37];

	if (read_header(meta, &h, ignored))
		return text_why(why, -ENODATA, "%s holds no tier metadata", meta->path);
	return text_why(why, -ENODATA, "%s holds no tier metadata: it is %s of tier device %s", meta->path,
			h.index ? "a tier" : "the SSD, or the first tier,", text_uuid(h.uuid, uuid));
}

int audit_superblock(struct audit *a, const struct bdev *meta, char *why)
{
	static const u64 blocks[] = { TIER_SB_BLOCK_0, TIER_SB_BLOCK_1 };
	enum tier_verify v[2];
	struct tier_sb sbs[2];
	const char *bad[2];
	void *buf[2];
	int c, chosen, r = 0;

	memset(a, 0, sizeof(*a));
	if (meta->bytes < TIER_FIRST_FREE_BLOCK * TIER_META_BLOCK_SIZE)
		return text_why(why, -ENODATA, "%s is too small to hold tier metadata", meta->path);
	for (c = 0; c < 2; c++) {
		buf[c] = bdev_alloc(TIER_META_BLOCK_SIZE);
		v[c] = read_sb(meta, blocks[c], buf[c], &sbs[c], &bad[c]);
	}
	chosen = tier_choose_sb(v[0], &sbs[0], v[1], &sbs[1]);
	if (v[0] == TIER_NEWER || v[1] == TIER_NEWER) {
		c = v[0] == TIER_NEWER ? 0 : 1;
		a->sb = sbs[c];
		r = text_why(why, -EPROTONOSUPPORT, "%s: %s", meta->path, bad[c]);
	} else if (chosen >= 0) {
		a->sb = sbs[chosen];
		if (v[!chosen] == TIER_OK)
			compare_sbs(a, sbs, buf[0], buf[1], chosen);
		else
			find(a, AUDIT_RECOVERABLE, "superblock", (s64)blocks[!chosen], !chosen,
			     "%s; the other copy is good", bad[!chosen]);
	} else if ((v[0] == TIER_BLANK || v[0] == TIER_NOT_OURS) &&
		   (v[1] == TIER_BLANK || v[1] == TIER_NOT_OURS)) {
		r = no_metadata(meta, why);
	} else if (v[0] == TIER_OK && v[1] == TIER_OK) {
		find(a, AUDIT_ERROR, "superblock", -1, -1,
		     "its copies belong to different tier devices");
		r = text_why(why, -EILSEQ,
			     "%s: the copies of the superblock belong to different tier devices",
			     meta->path);
	} else {
		for (c = 0; c < 2; c++)
			find(a, AUDIT_ERROR, "superblock", (s64)blocks[c], c, "%s", bad[c]);
		r = text_why(why, -EILSEQ, "%s: both copies of the superblock are damaged",
			     meta->path);
	}
	free(buf[0]);
	free(buf[1]);
	return r;
}

/* ---- device header ---- */

static bool generation_fits(const struct tier_sb *sb, u64 generation)
{
	if (generation == sb->generation)
		return true;
	return (sb->flags & TIER_SB_ACTIVATING) && generation + 1 == sb->generation;
}

/* is it the header of device @i, and is that up to date?  A tier may have had another place when it was written */
static int compare_header(const struct tier_sb *sb, const struct tier_dev_header *h, u32 i,
			  const char *path, char *why)
{
	const struct tier_dev_geometry *d = &sb->geometry.devs[i];
	char theirs[37];

	if (memcmp(h->uuid, sb->uuid, sizeof(h->uuid)))
		return text_why(why, -ENODEV, "%s belongs to another tier device, %s", path,
				text_uuid(h->uuid, theirs));
	if (memcmp(h->dev_uuid, d->uuid, sizeof(h->dev_uuid)) || (h->index != i && !sb->geometry.exclusive))
		return text_why(why, -ENODEV, "%s is another device of this tier device, %s", path,
				text_uuid(h->dev_uuid, theirs));
	/* its number of slots may be from before a change of size: the next activation writes it */
	if (h->block_sectors != sb->geometry.block_sectors || h->data_start != d->data_start)
		return text_why(why, -EILSEQ,
				"%s: its header and the metadata disagree about its layout", path);
	if (!generation_fits(sb, h->generation))
		return text_why(why, -ESTALE,
				"%s was last in use at activation %llu, the metadata at %llu: %s",
				path, ull(h->generation), ull(sb->generation),
				h->generation < sb->generation ? "its data are out of date" :
								 "the metadata are out of date");
	return 0;
}

int audit_fast_device(const struct tier_sb *sb, const struct bdev *ssd, char *why)
{
	struct tier_dev_header h = { };
	int r;

	if (ssd->bytes < TIER_META_BLOCK_SIZE)
		return text_why(why, -ENODEV, "%s is too small for the fast device of a tier device",
				ssd->path);
	r = read_header(ssd, &h, why);
	if (r == -ENODATA)
		return text_why(why, -ENODEV,
				"%s is not the fast device of a tier device: it has no header",
				ssd->path);
	return r ? r : compare_header(sb, &h, 0, ssd->path, why);
}

/* is a device as it was when @fp was taken?  -errno: it can't be read */
static int looks_like(const struct bdev *dev, const struct tier_sb *sb, const struct tier_fingerprint *fp)
{
	struct tier_fingerprint now;
	int r = fingerprint_take(dev, fp->sectors, tier_csum_seed(sb->uuid), &now);

	return r ? r : now.head == fp->head && now.samples == fp->samples;
}

/* as far as it can be told: of all that has a header, only what is as it was at the last stop */
static int find_nested(const struct tier_sb *sb, const struct bdev *dev)
{
	const struct tier_geometry *g = &sb->geometry;
	u32 i;

	for (i = 0; i < g->nr_devs; i++) {
		const struct tier_fingerprint *fp = &sb->fp[i];

		if (!(g->devs[i].flags & TIER_DEV_NO_HEADER))
			continue;
		if (!(sb->flags & TIER_SB_CLEAN) || !fp->sectors) {
			if (dev->bytes / 512 == g->devs[i].sectors)
				return (int)i;	/* the target asks for accept_changed_slow */
		} else if (dev->bytes / 512 >= fp->sectors && looks_like(dev, sb, fp) > 0) {
			return (int)i;
		}
	}
	return -ENODEV;
}

int audit_find_tier(const struct tier_sb *sb, const struct bdev *dev, char *why)
{
	const struct tier_geometry *g = &sb->geometry;
	struct tier_dev_header h = { };
	char theirs[37];
	u32 i;
	int r;

	r = dev->bytes < TIER_META_BLOCK_SIZE ? -ENODATA : read_header(dev, &h, why);
	if (r == -ENODATA)
		return text_why(why, r, "%s is no tier of a tiered device: it has no header", dev->path);
	if (r)
		return r;
	if (memcmp(h.uuid, sb->uuid, sizeof(h.uuid))) {
		/* data that begin like a tier: a tier device on top of this one */
		r = find_nested(sb, dev);
		return r >= 0 ? r : text_why(why, r, "%s belongs to another tier device, %s", dev->path,
					     text_uuid(h.uuid, theirs));
	}
	for (i = 0; i < g->nr_devs; i++)
		if (!memcmp(h.dev_uuid, g->devs[i].uuid, sizeof(h.dev_uuid)))
			break;
	if (i == g->nr_devs)
		return text_why(why, -ENOENT,
				"%s was a tier of this tiered device once, and is none any more (feature accept_new_tier takes it in as a new, empty one)",
				dev->path);
	r = compare_header(sb, &h, i, dev->path, why);
	return r ? r : (int)i;
}

const char *audit_tier_name(const struct tier_geometry *g, u32 tier, char *uuid)
{
	const struct tier_dev_geometry *d = &g->devs[tier];

	return d->flags & TIER_DEV_NO_HEADER ? "without header" : text_uuid(d->uuid, uuid);
}

/* no damage, but this is not the device; @which says so in short */
static void __attribute__((format(printf, 4, 5)))
mismatch(struct walk *w, const char *structure, const char *which, const char *fmt, ...)
{
	char text[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	find(w->a, AUDIT_MISMATCH, structure, -1, -1, "%s", text);
	if (!w->a->mismatch)
		w->a->mismatch = which;
}

/* with dirty data on the SSD, which of the two is right is not ours to say */
static void report_changed(struct walk *w, const char *path, const char *what)
{
	if (w->a->dirty_slots)
		mismatch(w, "slow device",
			 "this HDD was changed since the last stop, while the SSD holds newer data: the target starts only with feature accept_changed_slow, and then the data on the SSD win",
			 "%s %s since the last stop: the target will not start while the SSD holds dirty data",
			 path, what);
	else
		find(w->a, AUDIT_NOTE, "slow device", -1, -1,
		     "%s %s since the last stop: the copies on the SSD will be dropped", path, what);
}

/* a tier without header: is it as it was at the last stop? */
static void audit_headless(struct walk *w, u32 i, const struct bdev *dev)
{
	const struct tier_fingerprint *fp = &w->a->sb.fp[i];
	int same;

	if (!w->clean || !fp->sectors || dev->bytes / 512 < fp->sectors)
		return;
	same = looks_like(dev, &w->a->sb, fp);
	if (same < 0)
		mismatch(w, "tier", "a tier cannot be read", "tier %u, %s: cannot read it", i, dev->path);
	else if (!same)
		mismatch(w, "tier", "a tier was changed since the last stop, or is another device",
			 "tier %u, %s was written to since the last stop: the target starts only with feature accept_changed_slow",
			 i, dev->path);
}

static void audit_tier(struct walk *w, const struct bdev *dev, bool *found)
{
	const struct tier_geometry *g = w->g;
	char why[TEXT_LEN];
	int i = audit_find_tier(&w->a->sb, dev, why);
	u32 k;

	/* what has no header can only be the tier that has none */
	for (k = 0; i == -ENODATA && k < g->nr_devs; k++)
		if (g->devs[k].flags & TIER_DEV_NO_HEADER && !found[k])
			i = (int)k;
	if (i == -EILSEQ) {
		find(w->a, AUDIT_ERROR, "device header", -1, -1, "%s", why);
	} else if (i < 0) {
		mismatch(w, "device header", i == -ESTALE ? "a tier and this metadata are not of the same time" :
			 i == -EIO ? "a tier cannot be read" : "a device is no tier of this metadata", "%s", why);
	} else {
		found[i] = true;
		if (dev->bytes / 512 < g->devs[i].sectors)
			mismatch(w, "tier", "a tier has become smaller", "tier %d, %s has %llu sectors, it had %llu: the target will not start",
				 i, dev->path, ull(dev->bytes / 512), ull(g->devs[i].sectors));
		else if (g->devs[i].flags & TIER_DEV_NO_HEADER)
			audit_headless(w, (u32)i, dev);
	}
}

static int audit_tiers(struct walk *w)
{
	bool found[TIER_MAX_DEVS] = { };
	u32 i, nr_missing = 0;
	char uuid[37];

	if (!w->tiers[0])
		return 0;
	for (i = 0; w->tiers[i]; i++)
		if (w->tiers[i]->missing)
			nr_missing++;
		else
			audit_tier(w, w->tiers[i], found);
	for (i = 0; i < w->g->nr_devs; i++) {
		const char *name = audit_tier_name(w->g, i, uuid);

		if (found[i])
			continue;
		if (nr_missing) {
			nr_missing--;
			find(w->a, AUDIT_NOTE, "tier", -1, -1, "tier %u (%s) is missing, and %llu blocks are on it", i, name,
			     ull(w->a->tier_used[i]));
		} else if (w->a->tier_used[i]) {
			mismatch(w, "tier", "a tier is missing", "tier %u (%s) is not among the devices given, and %llu blocks are on it",
				 i, name, ull(w->a->tier_used[i]));
		} else if (!(w->g->devs[i].flags & TIER_DEV_EVACUATE)) {
			mismatch(w, "tier", "a tier is missing", "tier %u (%s) is not among the devices given: only one that is to be emptied may be left out, " TIER_MISSING " stands for one that is missing",
				 i, name);
		}
	}
	return 0;
}

static int audit_slow_device(struct walk *w)
{
	const struct tier_fingerprint *fp = &w->a->sb.fp[1];
	u64 sectors;
	int same;

	if (!w->hdd)
		return 0;
	sectors = w->hdd->bytes / 512;
	if (sectors < w->g->nr_sectors)
		mismatch(w, "slow device", "this HDD is not the one of this metadata",
			 "%s has %llu sectors, the tier device %llu", w->hdd->path, ull(sectors),
			 ull(w->g->nr_sectors));
	if (sectors < w->g->nr_sectors || !w->clean || !fp->sectors)
		return 0;
	if (fp->sectors > sectors) {		/* a larger one may have the same data */
		report_changed(w, w->hdd->path, "has become smaller");
		return 0;
	}
	same = looks_like(w->hdd, &w->a->sb, fp);
	if (same < 0)
		mismatch(w, "slow device", "this HDD cannot be read", "%s: cannot read it", w->hdd->path);
	else if (!same)
		report_changed(w, w->hdd->path, "was written to");
	return 0;
}

static int audit_fast(struct walk *w)
{
	char why[TEXT_LEN];
	int r = w->ssd ? audit_fast_device(&w->a->sb, w->ssd, why) : 0;

	if (r == -ENODEV)
		mismatch(w, "device header", "this SSD is not the one of this metadata", "%s", why);
	else if (r == -ESTALE)
		mismatch(w, "device header", "this SSD and this metadata are not of the same time", "%s",
			 why);
	else if (r == -EIO)
		mismatch(w, "device header", "this SSD cannot be read", "%s", why);
	else if (r)
		find(w->a, AUDIT_ERROR, "device header", -1, -1, "%s", why);
	w->ssd_wrong = r;
	w->ssd_good = !r;
	return 0;
}

/* after the mapping: what can be done about an SSD that can't be used, by what is dirty on it */
static void advise_fast(struct walk *w)
{
	bool dirty = w->a->dirty_slots;

	if (w->ssd_wrong == -EIO)
		w->a->mismatch = dirty ? "this SSD cannot be read, and it holds data that the HDD lacks (dmtier lost lists them)" :
			"this SSD cannot be read; nothing on it is dirty: with feature accept_new_fast another one takes its place";
	else if (w->ssd_wrong == -ENODEV)
		w->a->mismatch = dirty ? "this SSD is not the one of this metadata, which holds data that the HDD lacks (dmtier lost lists them)" :
			"this SSD is not the one of this metadata, on which nothing is dirty: with feature accept_new_fast a blank one takes its place";
	else if (w->ssd_wrong == -ESTALE && !dirty)
		w->a->mismatch = "this SSD and this metadata are not of the same time; nothing is dirty: with feature accept_new_fast the SSD is taken in again, as an empty one";
}

/* after the mapping: an SSD that was made smaller loses clean copies; dirty ones it must not lose */
static int audit_fast_size(struct walk *w)
{
	const struct tier_dev_geometry *d = &w->g->devs[0];
	u64 sectors, s, lost = 0;

	if (w->ssd_wrong)
		advise_fast(w);
	if (!w->ssd || !w->ssd_good)
		return 0;
	sectors = w->ssd->bytes / 512;
	if (sectors >= d->sectors)
		return 0;
	for (s = 0; s < w->g->nr_slots; s++)
		if (d->data_start + (s + 1) * w->g->block_sectors > sectors)
			lost += !!w->a->records[s].dirty;
	if (sectors < d->data_start + w->g->block_sectors)
		find(w->a, AUDIT_ERROR, "fast device", -1, -1,
		     "%s has %llu sectors, that is not enough for a block", w->ssd->path, ull(sectors));
	else if (lost)
		find(w->a, AUDIT_ERROR, "fast device", -1, -1,
		     "%s has shrunk to %llu sectors, and %llu slots with dirty data are behind its end: the target will not start until it has %llu again",
		     w->ssd->path, ull(sectors), ull(lost), ull(d->sectors));
	else
		find(w->a, AUDIT_NOTE, "fast device", -1, -1,
		     "%s has shrunk to %llu sectors, from %llu: the copies behind its end will be dropped",
		     w->ssd->path, ull(sectors), ull(d->sectors));
	return 0;
}

/* ---- reading ---- */

/* blocks that can't be read become garbage with a mark */
static void read_blocks(struct walk *w, u64 first, u64 nr, void *buf, bool *unreadable)
{
	u64 i;

	memset(unreadable, 0, nr * sizeof(*unreadable));
	if (!bdev_read(w->meta, buf, nr * TIER_META_BLOCK_SIZE, first * TIER_META_BLOCK_SIZE))
		return;
	for (i = 0; i < nr; i++) {
		u8 *at = (u8 *)buf + i * TIER_META_BLOCK_SIZE;

		if (bdev_read(w->meta, at, TIER_META_BLOCK_SIZE,
			      (first + i) * TIER_META_BLOCK_SIZE)) {
			memset(at, 0xff, TIER_META_BLOCK_SIZE);
			unreadable[i] = true;
		}
	}
}

/* a block by way of read-ahead stream @stream; NULL if it can't be read */
static void *get_block(struct walk *w, unsigned int stream, u64 block)
{
	u64 i;

	if (!w->cache[stream])
		w->cache[stream] = bdev_alloc((size_t)CHUNK_BLOCKS * TIER_META_BLOCK_SIZE);
	if (block < w->cache_first[stream] ||
	    block - w->cache_first[stream] >= w->cache_blocks[stream]) {
		u64 left = w->g->meta_blocks - block;

		w->cache_first[stream] = block;
		w->cache_blocks[stream] = left < CHUNK_BLOCKS ? left : CHUNK_BLOCKS;
		read_blocks(w, block, w->cache_blocks[stream], w->cache[stream],
			    w->unreadable[stream]);
	}
	i = block - w->cache_first[stream];
	return w->unreadable[stream][i] ? NULL : (u8 *)w->cache[stream] + i * TIER_META_BLOCK_SIZE;
}

static u32 page_nr(const void *buf)
{
	return le32toh((__force u32)((const struct tier_disk_page *)buf)->nr);
}

static bool test_bit64(const u64 *map, u64 bit)
{
	return map[bit / 64] >> (bit % 64) & 1;
}

/* ---- journal ---- */

static int note_touched(void *context, u64 txn, const struct tier_jentry *e)
{
	struct walk *w = context;
	u64 page;

	(void)txn;
	if (e->type == TIER_JENTRY_INTENT) {
		w->intent_touched = true;
		return 0;
	}
	page = e->key / w->g->records_per_page;
	w->touched[page / 64] |= 1ULL << (page % 64);
	return 0;
}

/* read and scan the ring; 0, or -EILSEQ with what was found */
static int scan_ring(struct walk *w)
{
	const struct tier_geometry *g = w->g;
	bool *unreadable = text_alloc(g->journal_blocks, sizeof(*unreadable));
	struct tier_journal_scan *scan = &w->a->scan;
	const char *bad = NULL;
	enum audit_level level;
	u64 i;
	int r;

	w->ring = bdev_alloc(g->journal_blocks * TIER_META_BLOCK_SIZE);
	read_blocks(w, g->journal_start, g->journal_blocks, w->ring, unreadable);
	r = tier_journal_scan(&w->a->sb, w->ring, scan, &bad);
	level = scan->renew ? AUDIT_RECOVERABLE : AUDIT_ERROR;
	for (i = 0; i < g->journal_blocks; i++)
		if (unreadable[i])
			find(w->a, level, "journal", (s64)(g->journal_start + i), -1, "it cannot be read");
	free(unreadable);
	if (bad)
		find(w->a, level, "journal", (s64)(g->journal_start + scan->bad_block), -1, "sector %u: %s%s",
		     scan->bad_sector, bad,
		     scan->renew ? "; after a clean stop nothing of it is needed, the next start writes it anew" : "");
	return r;
}

static int audit_journal(struct walk *w)
{
	const struct tier_geometry *g = w->g;
	const struct tier_sb *sb = &w->a->sb;

	w->touched = text_alloc((g->nr_slot_pages + 63) / 64, sizeof(u64));
	if (scan_ring(w))
		return 0;
	if (tier_journal_replay(sb, w->ring, &w->a->scan, note_touched, w)) {
		find(w->a, AUDIT_ERROR, "journal", (s64)g->journal_start, -1,
		     "a complete transaction holds an entry that makes no sense");
		memset(w->touched, 0, (g->nr_slot_pages + 63) / 64 * sizeof(u64));
		w->intent_touched = false;
		return 0;
	}
	w->a->journal_good = true;
	if (w->clean && w->a->scan.nr_txns)
		find(w->a, AUDIT_ERROR, "journal", (s64)g->journal_start, -1,
		     "holds %llu transactions although the last stop was clean",
		     ull(w->a->scan.nr_txns));
	if (w->a->scan.torn_sectors)
		find(w->a, AUDIT_NOTE, "journal", (s64)(g->journal_start + w->a->scan.next_block),
		     -1,
		     "the last transaction was cut off after %u sectors: it does not count",
		     w->a->scan.torn_sectors);
	return 0;
}

/* ---- pages ---- */

/* newest transaction that a page may speak of */
static u64 head_txn(const struct walk *w)
{
	return w->a->journal_good ? w->a->scan.next_txn - 1 : w->a->sb.head_txn;
}

/* NULL, or what is wrong with the payload */
typedef const char *(*payload_fn)(const struct walk *w, u64 page, void *buf);

/*
 * A change of size writes the page at the smaller end first, with its new number of records, and the superblock
 * last.  Interrupted in between, the page has another number than the superblock says; what either has beyond
 * the other's end is free.
 */
static bool nr_fits(const struct walk *w, u64 page, void *buf)
{
	u32 expected = tier_slot_page_records(w->g, page), nr = page_nr(buf), i;
	struct tier_record rec;

	if (nr == expected)
		return true;
	if (nr > w->g->records_per_page || (nr > expected && page + 1 != w->g->nr_slot_pages))
		return false;
	for (i = nr < expected ? nr : expected; i < w->g->records_per_page; i++)
		if (tier_unpack_record(w->g, tier_page_record(w->g, buf, i), &rec) != TIER_OK ||
		    rec.flags || rec.valid)
			return false;
	return true;
}

static const char *slots_wrong(const struct walk *w, u64 page, void *buf)
{
	u32 i, nr = tier_slot_page_records(w->g, page);
	struct tier_record rec;

	if (!nr_fits(w, page, buf))
		return "has a wrong number of records";
	for (i = 0; i < nr; i++)
		if (tier_unpack_slot_record(w->g, tier_to_slot((u32)(page * w->g->records_per_page + i)),
					    tier_page_record(w->g, buf, i), &rec) != TIER_OK)
			return "holds a record that makes no sense";
	return NULL;
}

static u64 intent_word(const void *buf, u32 i)
{
	const u64 *words = tier_page_payload((void *)buf);

	return le64toh(words[i]);
}

static bool region_exists(const struct walk *w, u32 word, u64 bits)
{
	u64 first = (u64)word * 64;

	if (first >= w->g->nr_regions)
		return !bits;
	return w->g->nr_regions - first >= 64 || !(bits >> (w->g->nr_regions - first));
}

static const char *intent_wrong(const struct walk *w, u64 page, void *buf)
{
	u32 i;

	(void)page;
	for (i = 0; i < TIER_INTENT_WORDS; i++)
		if (!region_exists(w, i, intent_word(buf, i)))
			return "marks a region that does not exist";
	return NULL;
}

/* NULL, or what is wrong with one copy */
static const char *copy_wrong(const struct walk *w, struct copy *c, u32 kind, u64 page,
			      payload_fn payload)
{
	enum tier_verify v;

	if (!c->buf)
		return "it cannot be read";
	v = tier_page_verify(c->buf, w->seed, kind, page, &c->seq);
	if (v != TIER_OK)
		return tier_verify_text(v);
	if (c->seq > head_txn(w))
		return "is newer than the end of the journal";
	return payload(w, page, c->buf);
}

/**
 * judge() - look at both copies of a page and take the better one
 * @w: audit
 * @structure: its name
 * @kind: TIER_PAGE_*
 * @page: its number
 * @c: both copies, buf and block set
 * @payload: checks what follows the head
 * @in_flux: the journal changes it: a power cut may have hit one copy, and they may differ
 *
 * Return: the copy in force, or NULL.
 */
static const struct copy *judge(struct walk *w, const char *structure, u32 kind, u64 page,
				struct copy *c, payload_fn payload, bool in_flux)
{
	const char *bad[2];
	int i;

	for (i = 0; i < 2; i++) {
		bad[i] = copy_wrong(w, &c[i], kind, page, payload);
		c[i].good = !bad[i];
	}
	if (!c[0].good && !c[1].good) {
		for (i = 0; i < 2; i++)
			find(w->a, AUDIT_ERROR, structure, (s64)c[i].block, i,
			     "%s; the other copy is bad too", bad[i]);
		return NULL;
	}
	for (i = 0; i < 2; i++) {
		if (c[i].good)
			continue;
		if (in_flux && c[i].buf)
			find(w->a, AUDIT_NOTE, structure, (s64)c[i].block, i,
			     "%s: torn by a power cut; the other copy and the journal make it good",
			     bad[i]);
		else
			find(w->a, AUDIT_RECOVERABLE, structure, (s64)c[i].block, i,
			     "%s; the other copy is good", bad[i]);
		return &c[!i];
	}
	i = c[0].seq >= c[1].seq ? 0 : 1;
	/* a checkpoint that was interrupted has written one of them; before that they were the same */
	if (in_flux && c[i].seq >= w->a->sb.tail_txn)
		return &c[i];
	if (c[0].seq != c[1].seq)
		find(w->a, AUDIT_RECOVERABLE, structure, (s64)c[!i].block, !i,
		     "is older than the other copy: a write to it was lost");
	else if (memcmp(tier_page_payload(c[0].buf), tier_page_payload(c[1].buf),
			TIER_META_BLOCK_SIZE - sizeof(struct tier_disk_page)))	/* see nr_fits() */
		find(w->a, AUDIT_ERROR, structure, (s64)c[1].block, 1,
		     "differs from copy A, and neither is newer");
	return &c[i];
}

static int audit_intent(struct walk *w)
{
	struct copy c[2] = { };
	const struct copy *good;
	u32 i;

	for (i = 0; i < 2; i++) {
		c[i].block = w->g->intent_start + i;
		c[i].buf = get_block(w, i, c[i].block);
	}
	good = judge(w, "intent page", TIER_PAGE_INTENT, 0, c, intent_wrong,
		     !w->clean && w->intent_touched);
	if (good)
		for (i = 0; i < TIER_INTENT_WORDS; i++)
			w->intent[i] = intent_word(good->buf, i);
	return 0;
}

static int audit_slot_pages(struct walk *w)
{
	const struct tier_geometry *g = w->g;
	const struct copy *good;
	u64 page;
	u32 i, nr;

	w->a->records = text_alloc(g->nr_slots, sizeof(*w->a->records));
	for (page = 0; page < g->nr_slot_pages; page++) {
		struct copy c[2] = { };

		if (*w->cancel)
			return -EINTR;
		text_progress("checking slot pages", page, g->nr_slot_pages);
		for (i = 0; i < 2; i++) {
			c[i].block = tier_slot_page_block(g, page, i);
			c[i].buf = get_block(w, i, c[i].block);
		}
		good = judge(w, "slot page", TIER_PAGE_SLOTS, page, c, slots_wrong,
			     !w->clean && test_bit64(w->touched, page));
		if (!good)
			continue;
		nr = tier_slot_page_records(g, page);
		for (i = 0; i < nr; i++)
			tier_unpack_record(g, tier_page_record(g, good->buf, i),
					   &w->a->records[page * g->records_per_page + i]);
	}
	text_progress("checking slot pages", page, page);
	return 0;
}

static int apply_entry(void *context, u64 txn, const struct tier_jentry *e)
{
	struct walk *w = context;

	(void)txn;
	if (e->type == TIER_JENTRY_SLOT)
		w->a->records[e->key] = e->rec;
	else if (e->key < TIER_INTENT_WORDS)
		w->intent[e->key] = e->bits;
	return 0;
}

static int apply_journal(struct walk *w)
{
	u32 i;

	if (w->a->journal_good)
		tier_journal_replay(&w->a->sb, w->ring, &w->a->scan, apply_entry, w);
	for (i = 0; i < TIER_INTENT_WORDS; i++) {
		w->a->intent_regions += (u64)__builtin_popcountll(w->intent[i]);
		if (!region_exists(w, i, w->intent[i]))
			find(w->a, AUDIT_ERROR, "journal", -1, -1,
			     "marks an intent region that does not exist");
	}
	if (w->clean && w->a->intent_regions)
		find(w->a, AUDIT_ERROR, "intent page", (s64)w->g->intent_start, -1,
		     "%llu regions are marked although the last stop was clean",
		     ull(w->a->intent_regions));
	return 0;
}

/* hints are opinions: losing them costs some hits, no data */
static int audit_hints(struct walk *w)
{
	u64 page, seq, block, nr = tier_nr_hint_pages(w->g), hint_seq = w->a->sb.hint_seq;
	enum tier_verify v;
	void *buf;

	for (page = 0; hint_seq && page < nr; page++) {
		if (*w->cancel)
			return -EINTR;
		block = tier_hint_page_block(w->g, page);
		buf = get_block(w, 0, block);
		v = buf ? tier_page_verify(buf, w->seed, TIER_PAGE_HINTS, page, &seq) :
			  TIER_BAD_CSUM;
		if (v != TIER_OK)
			find(w->a, AUDIT_RECOVERABLE, "hint page", (s64)block, -1,
			     "%s; the policy starts without these hints",
			     buf ? tier_verify_text(v) : "it cannot be read");
		else if (seq != hint_seq)
			find(w->a, AUDIT_RECOVERABLE, "hint page", (s64)block, -1,
			     "is of another stop; the policy starts without these hints");
	}
	return 0;
}

/* ---- records against each other ---- */

static u64 hash_block(u64 block, u32 bits)
{
	return (block + 1) * 0x9e3779b97f4a7c15ULL >> (64 - bits);
}

static void count_record(struct audit *a, u64 slot, const struct tier_record *rec)
{
	const struct tier_geometry *g = &a->sb.geometry;
	u32 dev = tier_slot_dev(g, tier_to_slot((u32)slot));

	if (g->exclusive && dev < g->nr_devs) {
		a->tier_used[dev]++;
		a->tier_pinned[dev] += !!(rec->flags & TIER_REC_PINNED);
	}
	a->used_slots++;
	a->pinned_slots += !!(rec->flags & TIER_REC_PINNED);
	a->dirty_slots += !!rec->dirty;
	a->dirty_granules += (u64)__builtin_popcountll(rec->dirty);
}

/* each block in one slot at most */
static int audit_mapping(struct walk *w)
{
	u64 nr_slots = w->g->nr_slots, mapped = 0, s, at, mask;
	u32 bits = 4, *table;
	int r = 0;

	for (s = 0; s < nr_slots; s++)
		mapped += !!(w->a->records[s].flags & TIER_REC_MAPPED);
	while ((1ULL << bits) < mapped * 2)
		bits++;
	mask = (1ULL << bits) - 1;
	table = text_alloc(mask + 1, sizeof(*table));	/* slot + 1; slots end well below 2^32 */
	for (s = 0; s < nr_slots; s++) {
		const struct tier_record *rec = &w->a->records[s];
		u64 block = tier_from_block(rec->block);

		if (!(rec->flags & TIER_REC_MAPPED))
			continue;
		if (*w->cancel) {
			r = -EINTR;
			break;
		}
		count_record(w->a, s, rec);
		for (at = hash_block(block, bits); table[at]; at = (at + 1) & mask)
			if (tier_from_block(w->a->records[table[at] - 1].block) == block)
				break;
		if (table[at])
			find(w->a, AUDIT_ERROR, "mapping", -1, -1,
			     "slots %llu and %llu both claim block %llu", ull(table[at] - 1),
			     ull(s), ull(block));
		else
			table[at] = (u32)(s + 1);
	}
	free(table);
	return r;
}

u64 audit_settle_left(const struct audit *a, u32 tier)
{
	const struct tier_geometry *g = &a->sb.geometry;
	const struct tier_dev_geometry *d = &g->devs[tier];
	u64 places = d->nr_slots < g->nr_blocks ? d->nr_slots : g->nr_blocks, left = places, s;
	u64 all = tier_granule_mask(0, g->nr_granules - 1), tail_granules = 0;
	u64 tail = d->sectors & (g->block_sectors - 1);

	if (tail)
		tail_granules = tier_granule_mask(0, (u32)((tail - 1) >> g->granule_shift));
	for (s = 0; a->records && s < g->nr_slots; s++) {
		const struct tier_record *rec = &a->records[s];
		u64 block = tier_from_block(rec->block);

		if (!(rec->flags & TIER_REC_MAPPED))
			continue;
		if (block < places)
			left -= tier_slot_dev(g, tier_to_slot((u32)s)) == tier &&
				tier_slot_local(g, tier_to_slot((u32)s)) == block && rec->valid == all;
		else
			left += !!(rec->valid & ~(block == d->nr_slots ? tail_granules : 0));
	}
	return left;
}

/* ---- the whole ---- */

static int audit_flags(struct walk *w)
{
	const struct tier_sb *sb = &w->a->sb;

	if (sb->compat_ro & ~TIER_FEATURE_COMPAT_RO)
		find(w->a, AUDIT_NOTE, "superblock", -1, -1,
		     "has features of a newer version (%#llx): this version may only read",
		     ull(sb->compat_ro));
	if (sb->flags & TIER_SB_NEEDS_CHECK)
		find(w->a, AUDIT_ERROR, "superblock", -1, -1,
		     "is marked \"needs check\": a write to the metadata device failed");
	if (w->clean && (sb->flags & TIER_SB_ACTIVATING))
		find(w->a, AUDIT_ERROR, "superblock", -1, -1,
		     "says both stopped in order and being activated");
	if (sb->flags & TIER_SB_SUSPECT)
		find(w->a, w->clean ? AUDIT_ERROR : AUDIT_NOTE, "superblock", -1, -1,
		     w->clean ? "says both stopped in order and that clean copies are still to be dropped" :
		     "the slow device was written to by others: the next start drops all clean copies");
	if (w->clean && sb->tail_txn != sb->head_txn + 1)
		find(w->a, AUDIT_ERROR, "superblock", -1, -1,
		     "says stopped in order, but transactions %llu to %llu are not in the pages",
		     ull(sb->tail_txn), ull(sb->head_txn));
	return 0;
}

static void walk_free(struct walk *w)
{
	free(w->ring);
	free(w->touched);
	free(w->cache[0]);
	free(w->cache[1]);
}

static void set_data(struct walk *w, const struct bdev *const *data)
{
	u32 i;

	if (w->g->exclusive) {
		for (i = 0; data && i < TIER_MAX_DEVS && data[i]; i++)
			w->tiers[i] = data[i];
		return;
	}
	w->ssd = data ? data[0] : NULL;
	w->hdd = w->ssd ? data[1] : NULL;
}

int audit_run(struct audit *a, const struct bdev *meta, const struct bdev *const *data,
	      const volatile int *cancel, char *why)
{
	/* pages come after the journal, what depends on the dirty data after the mapping */
	static int (*const steps[])(struct walk * w) = {
		audit_flags,   audit_fast,  audit_journal, audit_intent,    audit_slot_pages,
		apply_journal, audit_hints, audit_mapping, audit_fast_size, audit_slow_device,
		audit_tiers,
	};
	struct walk *w;
	unsigned int i;
	int r;

	r = audit_superblock(a, meta, why);
	if (r)
		return r;
	if (a->sb.geometry.meta_blocks > meta->bytes / TIER_META_BLOCK_SIZE) {
		find(a, AUDIT_ERROR, "superblock", -1, -1,
		     "the metadata take %llu blocks, %s has only %llu: it was cut short",
		     ull(a->sb.geometry.meta_blocks), meta->path,
		     ull(meta->bytes / TIER_META_BLOCK_SIZE));
		return 0;
	}
	w = text_alloc(1, sizeof(*w));
	w->a = a;
	w->meta = meta;
	w->cancel = cancel;
	w->g = &a->sb.geometry;
	w->seed = tier_csum_seed(a->sb.uuid);
	w->clean = a->sb.flags & TIER_SB_CLEAN;
	set_data(w, data);
	for (i = 0; !r && i < sizeof(steps) / sizeof(steps[0]); i++)
		r = steps[i](w);
	walk_free(w);
	free(w);
	if (r == -EINTR)
		text_why(why, r, "cancelled");
	return r;
}
