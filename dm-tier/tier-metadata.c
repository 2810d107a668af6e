// SPDX-License-Identifier: GPL-2.0
/*
 * The metadata object: open, going live, clean stop, close.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "tier-metadata-internal.h"

/*
 * Open and close
 */

static int init(struct tier_metadata *md, struct block_device *bdev, sector_t sectors,
		const char *name)
{
	mutex_init(&md->sb_lock);
	mutex_init(&md->ckpt_lock);
	spin_lock_init(&md->lock);
	init_waitqueue_head(&md->space);
	INIT_WORK(&md->ckpt_work, tier_md_checkpoint_work);
	md->bdev = bdev;
	md->sectors = sectors;
	md->name = kstrdup(name, GFP_KERNEL);
	md->sb_buf = vmalloc((size_t)TIER_SB_COPIES * TIER_META_BLOCK_SIZE);
	if (!md->name || !md->sb_buf)
		return -ENOMEM;
	md->io = dm_io_client_create();
	if (IS_ERR(md->io)) {
		int r = PTR_ERR(md->io);

		md->io = NULL;
		return r;
	}
	return 0;
}

static int read_first_sb(struct tier_metadata *md)
{
	int r, chosen;

	mutex_lock(&md->sb_lock);
	r = tier_md_read_sb(md, &chosen);
	if (!r) {
		md->sb = md->sb_read[chosen];
		md->csum_seed = tier_csum_seed(md->sb.uuid);
		md->needs_check = md->sb.flags & TIER_SB_NEEDS_CHECK;
	}
	mutex_unlock(&md->sb_lock);

	if (!r && md->needs_check)
		DMWARN("%s: writing the metadata failed earlier, they need a check", md->name);
	return r;
}

struct tier_metadata *tier_metadata_open(struct block_device *bdev, sector_t sectors,
					 const char *name)
{
	struct tier_metadata *md;
	int r;

	md = kvzalloc(sizeof(*md), GFP_KERNEL);
	if (!md)
		return ERR_PTR(-ENOMEM);
	r = init(md, bdev, sectors, name);
	if (!r)
		r = read_first_sb(md);
	if (r) {
		tier_metadata_close(md);
		return ERR_PTR(r);
	}
	return md;
}

/* Takes any half-built object. */
void tier_metadata_close(struct tier_metadata *md)
{
	if (md->wq)
		destroy_workqueue(md->wq);
	if (md->io)
		dm_io_client_destroy(md->io);
	kvfree(md->repair);
	kvfree(md->ios);
	vfree(md->pages[1]);
	vfree(md->pages[0]);
	vfree(md->txn_buf);
	vfree(md->keys);
	vfree(md->ring);
	vfree(md->sb_buf);
	kfree(md->name);
	kvfree(md);
}

const struct tier_sb *tier_metadata_sb(const struct tier_metadata *md)
{
	return &md->sb;
}

int tier_metadata_set_mode(struct tier_metadata *md, enum tier_mode mode)
{
	int r = 0;

	if (mode < 0 || mode >= TIER_NR_MODES)
		return -EINVAL;
	if (tier_md_geometry(md)->exclusive ? mode != TIER_MODE_TIERED : mode == TIER_MODE_TIERED)
		return -EINVAL;
	if (tier_md_failed(md))
		return -EIO;
	mutex_lock(&md->sb_lock);
	if (md->sb.mode != mode) {
		md->sb_next = md->sb;
		md->sb_next.mode = mode;
		r = __tier_md_write_sb(md);
	}
	mutex_unlock(&md->sb_lock);
	return r ? tier_md_fail(md, "writing the superblock failed", r) : 0;
}

/*
 * Data devices: the fast one of a cache, all of a tiered device
 */

static bool has_header(const struct tier_geometry *g, u32 i)
{
	if (i >= g->nr_devs || g->devs[i].role == TIER_ROLE_SLOW)
		return false;
	return !(g->devs[i].flags & TIER_DEV_NO_HEADER);
}

/* What is said of a device: of the fast one of a cache, or of a tier. */
static const char *said(const struct tier_metadata *md, const char *of_fast, const char *of_tier)
{
	return tier_md_geometry(md)->exclusive ? of_tier : of_fast;
}

static int read_dev_header(struct tier_metadata *md, struct block_device *bdev,
			   struct tier_dev_header *h, const char **why)
{
	enum tier_verify v;
	void *buf;
	int r;

	buf = vmalloc(TIER_META_BLOCK_SIZE);
	if (!buf)
		return -ENOMEM;
	r = tier_bdev_rw(md->io, REQ_OP_READ | REQ_META, bdev, 0, TIER_META_BLOCK_SECTORS, buf);
	if (r) {
		*why = said(md, "fast device: header cannot be read", "header cannot be read");
	} else {
		v = tier_unpack_dev_header(buf, h, why);
		if (v == TIER_BLANK)
			*why = said(md, "fast device is not formatted", "device is not formatted");
		else if (v == TIER_NOT_OURS)
			*why = said(md, "fast device holds something else", "device holds something else");
		r = v == TIER_OK ? 0 : v == TIER_BLANK ? -ENODATA : -ENODEV;
	}
	vfree(buf);
	return r;
}

/* Is it the header of device @i?  That of a tier keeps the index that it had when it was written. */
static const char *foreign(const struct tier_metadata *md, u32 i, const struct tier_dev_header *h)
{
	const struct tier_geometry *g = tier_md_geometry(md);

	if (memcmp(h->uuid, md->sb.uuid, sizeof(h->uuid)))
		return said(md, "fast device belongs to other metadata", "device belongs to other metadata");
	if ((!g->exclusive && h->index != i) || memcmp(h->dev_uuid, g->devs[i].uuid, sizeof(h->dev_uuid)))
		return said(md, "device is not this tier device's fast device", "device is another tier, or none");
	/* the number of slots may be from before a resize: the next activation writes it */
	if (h->block_sectors != g->block_sectors || h->data_start != g->devs[i].data_start)
		return said(md, "fast device has another block size or data start than the metadata say",
			    "device has another block size or data start than the metadata say");
	return NULL;
}

/* See tier_metadata_activate(). */
static const char *generation_problem(const struct tier_metadata *md, const struct tier_dev_header *h)
{
	const struct tier_sb *sb = &md->sb;

	if (h->generation == sb->generation)
		return NULL;
	if ((sb->flags & TIER_SB_ACTIVATING) && h->generation + 1 == sb->generation)
		return NULL;
	if (h->generation < sb->generation)
		return said(md, "fast device is stale: the tier device has been active without it",
			    "device is stale: the tier device has been active without it");
	return said(md, "metadata are stale: the fast device has been active with newer ones",
		    "metadata are stale: the device has been active with newer ones");
}

/* A device without header: is it as it was at the last clean stop, if it was one, and else of its size, or larger? */
static int check_headless(struct tier_metadata *md, u32 i, struct block_device *bdev, bool larger, const char **why)
{
	const struct tier_fingerprint *was = &md->sb.fp[i];
	u64 sectors = bdev_nr_sectors(bdev);
	struct tier_fingerprint now;
	int r;

	if (!(md->sb.flags & TIER_SB_CLEAN) || !was->sectors) {
		u64 had = tier_md_geometry(md)->devs[i].sectors;

		if (sectors == had || (larger && sectors > had))
			return 0;
		*why = "device has another size than the tier without header";
		return -ENODEV;
	}
	if (sectors < was->sectors) {
		*why = "device is smaller than the tier without header";
		return -ENODEV;
	}
	r = tier_fingerprint_read(bdev, was->sectors, md->csum_seed, &now);
	if (r) {
		*why = "device cannot be read";
		return r;
	}
	if (now.head == was->head && now.samples == was->samples)
		return 0;
	*why = "device is not the tier without header, or it was written to since the last clean stop";
	return -ESTALE;
}

int tier_metadata_check_dev(struct tier_metadata *md, u32 index, struct block_device *bdev, const char **why)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	struct tier_dev_header h;
	int r;

	*why = NULL;
	if (index >= g->nr_devs || g->devs[index].role == TIER_ROLE_SLOW) {
		*why = "there is no such device with slots";
		return -EINVAL;
	}
	if (!has_header(g, index))
		return check_headless(md, index, bdev, true, why);
	r = read_dev_header(md, bdev, &h, why);
	if (r)
		return r;
	*why = foreign(md, index, &h);
	if (*why)
		return -ENODEV;
	*why = generation_problem(md, &h);
	if (!*why)
		return 0;
	return h.generation < md->sb.generation ? -ESTALE : -EUCLEAN;
}

/* The device without header, if that is what it looks like; else -ESTALE or @r, which says why it is no other. */
static int find_headless(struct tier_metadata *md, struct block_device *bdev, u32 how, int r)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	const char *ignored;
	u32 i;

	for (i = 0; i < g->nr_devs; i++) {
		int looks;

		if (!(g->devs[i].flags & TIER_DEV_NO_HEADER) || how & TIER_FIND_OTHERS)
			continue;
		looks = check_headless(md, i, bdev, how & TIER_FIND_LARGER, &ignored);
		if (!looks || (looks == -ESTALE && how & TIER_FIND_CHANGED))
			return i;
		if (looks == -ESTALE && r == -ENODEV)
			r = looks;
	}
	return r;
}

/*
 * Block 0 is another tier device's: the data of the tier without header may begin with that.  Its size alone does not
 * tell: a tier of that other device may well be just as large.
 */
static int find_nested(struct tier_metadata *md, struct block_device *bdev, u32 how, const char **why)
{
	int r = find_headless(md, bdev, how & ~TIER_FIND_LARGER, -ENODEV);

	*why = "device belongs to other metadata";
	if (r < 0 || how & TIER_FIND_CHANGED)
		return r;
	return md->sb.flags & TIER_SB_CLEAN && md->sb.fp[r].sectors ? r : -ESTALE;
}

int tier_metadata_find_dev(struct tier_metadata *md, struct block_device *bdev, u32 how, const char **why)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	struct tier_dev_header h;
	int r;
	u32 i;

	*why = NULL;
	r = read_dev_header(md, bdev, &h, why);
	if (r == -ENODATA || r == -ENODEV)
		return find_headless(md, bdev, how, r);
	if (r)
		return r;
	if (memcmp(h.uuid, md->sb.uuid, sizeof(h.uuid)))
		return find_nested(md, bdev, how, why);
	for (i = 0; i < g->nr_devs; i++)
		if (has_header(g, i) && !memcmp(h.dev_uuid, g->devs[i].uuid, sizeof(h.dev_uuid)))
			return i;
	*why = said(md, "device is not this tier device's fast device",
		    "device is no tier of this tiered device any more, or was never taken in");
	return -ENOENT;
}

static int write_dev_header(struct tier_metadata *md, const struct tier_geometry *g, u32 i,
			    struct block_device *bdev)
{
	struct tier_dev_header h = {
		.index = i,
		.block_sectors = g->block_sectors,
		.generation = md->sb.generation,
		.data_start = g->devs[i].data_start,
		.nr_slots = g->devs[i].nr_slots,
	};
	void *buf;
	int r;

	memcpy(h.uuid, md->sb.uuid, sizeof(h.uuid));
	memcpy(h.dev_uuid, g->devs[i].uuid, sizeof(h.dev_uuid));

	buf = vmalloc(TIER_META_BLOCK_SIZE);
	if (!buf)
		return -ENOMEM;
	tier_pack_dev_header(&h, buf);
	r = tier_bdev_rw(md->io, REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA, bdev, 0,
			 TIER_META_BLOCK_SECTORS, buf);
	vfree(buf);
	if (r && g->exclusive)
		DMERR("%s: writing the header of tier %u failed: error %d", md->name, i, r);
	else if (r)
		DMERR("%s: writing the header of the fast device failed: error %d", md->name, r);
	return r;
}

static int write_dev_headers(struct tier_metadata *md, struct block_device *const devs[])
{
	const struct tier_geometry *g = tier_md_geometry(md);
	int r = 0;
	u32 i;

	for (i = 0; i < g->nr_devs && !r; i++)
		if (has_header(g, i))
			r = write_dev_header(md, g, i, devs[i]);
	return r;
}

/*
 * Going live
 */

/* Not clean, no hints, and the next generation, unless an earlier attempt with it was cut short. */
static int begin_generation(struct tier_metadata *md, bool complete, bool suspect)
{
	struct tier_sb *next = &md->sb_next;
	bool again;
	int r;

	mutex_lock(&md->sb_lock);
	*next = md->sb;
	again = complete && (next->flags & TIER_SB_ACTIVATING);
	if (!again)
		next->generation++;
	next->flags &= ~(TIER_SB_CLEAN | TIER_SB_ACTIVATING);
	if (complete)
		next->flags |= TIER_SB_ACTIVATING;
	if (suspect)
		next->flags |= TIER_SB_SUSPECT;
	next->hint_seq = 0;
	next->stop_time = 0;
	r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);

	return r ? tier_md_fail(md, "writing the superblock failed", r) : 0;
}

static int clear_flag(struct tier_metadata *md, u32 flag)
{
	int r;

	mutex_lock(&md->sb_lock);
	md->sb_next = md->sb;
	md->sb_next.flags &= ~flag;
	r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);

	return r ? tier_md_fail(md, "writing the superblock failed", r) : 0;
}

/* Are all devices with a header there?  A cache may go on without its fast device, tiers may not. */
static int check_complete(struct tier_metadata *md, struct block_device *const devs[], bool *complete)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	u32 i;

	*complete = true;
	for (i = 0; i < g->nr_devs; i++)
		if (has_header(g, i) && !devs[i])
			*complete = false;
	if (*complete || !g->exclusive)
		return 0;
	DMERR("%s: a tier is missing, not activated", md->name);
	return -ENODEV;
}

/*
 * The generation says which devices took part in the last life.  With g in the superblock before:
 *
 *	1. superblock: generation g + 1, ACTIVATING, not clean
 *	2. header of the fast device, or of each tier that has one: generation g + 1
 *	3. superblock: without ACTIVATING
 *
 * Each step is durable before the next one.  The first transaction comes after step 3, so a
 * superblock with ACTIVATING means that nothing has changed since generation g ended: a
 * device is up to date with either number.  An activation cut short is taken up again with the
 * same g + 1, whatever the headers have.
 *
 * Without the fast device (a new one is attached later) there is only one step, to g + 1 (or g + 2 after
 * an activation cut short) without ACTIVATING: its header stays behind, and it is refused as stale from
 * then on.
 */
int tier_metadata_activate(struct tier_metadata *md, struct block_device *const devs[], bool suspect)
{
	bool complete;
	int r;

	if (WARN_ON_ONCE(md->state != TIER_MD_LOADED && md->state != TIER_MD_STOPPED))
		return -EINVAL;
	if (tier_md_failed(md) || md->needs_check) {
		DMERR("%s: metadata need a check, not activated", md->name);
		return -EIO;
	}
	r = check_complete(md, devs, &complete);
	if (!r)
		r = tier_md_renew_ring(md);
	if (!r)
		r = tier_md_erase_torn(md);
	if (!r)
		r = begin_generation(md, complete, suspect);
	if (!r && complete)
		r = write_dev_headers(md, devs);
	if (!r && complete)
		r = clear_flag(md, TIER_SB_ACTIVATING);
	if (r)
		return r;
	md->state = TIER_MD_ACTIVE;
	if (tier_md_checkpoint_due(md))
		queue_work(md->wq, &md->ckpt_work);
	return 0;
}

int tier_metadata_trust(struct tier_metadata *md)
{
	if (tier_md_failed(md))
		return -EIO;
	return md->sb.flags & TIER_SB_SUSPECT ? clear_flag(md, TIER_SB_SUSPECT) : 0;
}

int tier_metadata_attach_dev(struct tier_metadata *md, const struct tier_geometry *g, u32 index,
			     struct block_device *bdev)
{
	if (WARN_ON_ONCE(md->state == TIER_MD_OPENED || !has_header(g, index)))
		return -EINVAL;
	return tier_md_failed(md) ? -EIO : write_dev_header(md, g, index, bdev);
}

int tier_metadata_set_dev_flags(struct tier_metadata *md, u32 index, u32 mask, u32 flags)
{
	struct tier_dev_geometry *d;
	int r = 0;

	if (WARN_ON_ONCE(!tier_md_geometry(md)->exclusive || index >= tier_md_geometry(md)->nr_devs ||
			 (mask | flags) & ~(TIER_DEV_EVACUATE | TIER_DEV_SETTLE)))
		return -EINVAL;
	if (tier_md_failed(md))
		return -EIO;
	mutex_lock(&md->sb_lock);
	md->sb_next = md->sb;
	d = &md->sb_next.geometry.devs[index];
	d->flags = (d->flags & ~mask) | flags;
	if (d->flags != md->sb.geometry.devs[index].flags)
		r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);
	return r ? tier_md_fail(md, "writing the superblock failed", r) : 0;
}

/*
 * Clean stop
 */

static void fill_hint_page(struct tier_metadata *md, void *buf, u32 page, u64 hint_seq,
			   tier_hint_fn hint, void *context)
{
	u64 first = (u64)page * TIER_HINTS_PER_PAGE;
	u32 i, nr = min_t(u64, TIER_HINTS_PER_PAGE, tier_md_geometry(md)->nr_slots - first);
	__le32 *hints = tier_page_payload(buf);

	tier_page_init(buf, TIER_PAGE_HINTS, page, nr);
	for (i = 0; i < nr; i++)
		hints[i] = cpu_to_le32(hint(context, tier_to_slot(first + i)));
	tier_page_seal(buf, md->csum_seed, hint_seq);
}

static int write_hints(struct tier_metadata *md, u64 hint_seq, tier_hint_fn hint, void *context)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	u32 group = tier_md_group_pages(g, TIER_PAGE_HINTS);
	u32 page, i, nr, end = tier_nr_hint_pages(g);
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	for (page = 0; page < end; page += nr) {
		nr = min(end - page, group);
		for (i = 0; i < nr; i++)
			fill_hint_page(md, md->pages[0] + (size_t)i * TIER_META_BLOCK_SIZE,
				       page + i, hint_seq, hint, context);
		r = tier_md_rw(md, REQ_OP_WRITE, tier_hint_page_block(g, page), nr, md->pages[0]);
		if (r)
			return tier_md_fail(md, "writing hints failed", r);
		cond_resched();
	}
	r = tier_md_flush(md);
	return r ? tier_md_fail(md, "writing hints failed", r) : 0;
}

static int write_clean_sb(struct tier_metadata *md, const char *policy, u64 hint_seq,
			  const struct tier_fingerprint *fp)
{
	u64 last_txn = tier_md_last_txn(md);
	struct tier_sb *next = &md->sb_next;
	int r;

	mutex_lock(&md->sb_lock);
	*next = md->sb;
	next->flags |= TIER_SB_CLEAN;
	next->head_txn = last_txn;
	next->stop_time = ktime_get_real_seconds();
	next->hint_seq = hint_seq;
	strscpy_pad(next->policy, policy ?: "", sizeof(next->policy));
	if (fp)
		memcpy(next->fp, fp, sizeof(next->fp));
	else
		memset(next->fp, 0, sizeof(next->fp));
	r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);

	return r ? tier_md_fail(md, "writing the superblock failed", r) : 0;
}

/* Hints get a number that no superblock has had yet: no other stop ever has the same. */
static int write_stop(struct tier_metadata *md, const char *policy, tier_hint_fn hint,
		      void *context, const struct tier_fingerprint *fp)
{
	u64 hint_seq = 0;
	int r;

	if (policy && hint) {
		mutex_lock(&md->sb_lock);
		hint_seq = md->sb.seq + 1;
		mutex_unlock(&md->sb_lock);
		mutex_lock(&md->ckpt_lock);
		r = write_hints(md, hint_seq, hint, context);
		mutex_unlock(&md->ckpt_lock);
		if (r)
			return r;
	}
	return write_clean_sb(md, policy, hint_seq, fp);
}

int tier_metadata_stop(struct tier_metadata *md, const char *policy, tier_hint_fn hint,
		       void *context, const struct tier_fingerprint *fp)
{
	int r;

	if (tier_md_failed(md))
		return -EIO;
	if (WARN_ON_ONCE(md->state != TIER_MD_ACTIVE))
		return -EINVAL;
	if (memchr_inv(md->intent, 0, sizeof(md->intent))) {
		DMERR("%s: no clean stop: intents are left", md->name);
		return -EBUSY;
	}
	flush_work(&md->ckpt_work);
	r = tier_metadata_checkpoint(md);
	if (!r)
		r = write_stop(md, policy, hint, context, fp);
	if (!r)
		md->state = TIER_MD_STOPPED;
	return r;
}

bool tier_metadata_unchanged(struct tier_metadata *md)
{
	const struct tier_sb *disk;
	bool same = false;
	int chosen;

	mutex_lock(&md->sb_lock);
	if (!tier_md_read_sb(md, &chosen)) {
		disk = &md->sb_read[chosen];
		same = !memcmp(disk->uuid, md->sb.uuid, sizeof(disk->uuid)) &&
		       (disk->seq == md->sb.seq || (tier_metadata_active(md) && tier_md_failed(md))) &&
		       disk->generation == md->sb.generation;
	}
	mutex_unlock(&md->sb_lock);
	return same;
}

bool tier_metadata_active(const struct tier_metadata *md)
{
	return md->state == TIER_MD_ACTIVE;
}

/*
 * Information
 */

void tier_metadata_info(struct tier_metadata *md, struct tier_metadata_info *info)
{
	spin_lock(&md->lock);
	info->journal_used = md->used_blocks;
	info->commits = md->commits;
	info->checkpoints = md->checkpoints;
	info->needs_check = md->needs_check;
	spin_unlock(&md->lock);
	info->journal_blocks = tier_md_geometry(md)->journal_blocks;
	info->failed = tier_md_failed(md);
}
