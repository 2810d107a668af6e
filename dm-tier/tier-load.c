// SPDX-License-Identifier: GPL-2.0
/*
 * From metadata to core, and the clean stop.
 *
 * tier_load() runs when a table becomes live, never earlier: on a reload the old table is still writing.
 *
 *	open, check against the table -> claim -> check the fast device, or all tiers -> resize -> read all
 *	-> is the slow device the one we left? -> activate -> drop what can't be trusted
 *	-> a new fast device gets its header, now that no record claims anything of it
 *
 * With a read-only table it ends behind "read all", and nothing has been written.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "tier.h"

static int refuse(struct tier *t, int r, const char *why)
{
	DMERR("%s: %s", t->name, why);
	return r;
}

/* ---- checks ---- */

static int check_table(struct tier *t, const struct tier_sb *sb)
{
	const struct tier_geometry *g = &sb->geometry;

	if (g->exclusive && !tier_exclusive(t))
		return refuse(t, -EINVAL, "metadata are those of a tiered device: the table line lacks tiered");
	if (!g->exclusive && tier_exclusive(t))
		return refuse(t, -EINVAL, "metadata are those of a cache: the table line can't have the mode tiered");
	if (g->block_sectors != t->block_sectors) {
		DMERR("%s: block size %u in the table line, but %u in the metadata", t->name, t->block_sectors,
		      g->block_sectors);
		return -EINVAL;
	}
	if (t->ti->len < g->nr_sectors) {
		DMERR("%s: table is %llu sectors long, but the metadata are for %llu; a %s device can't shrink", t->name,
		      (unsigned long long)t->ti->len, g->nr_sectors, g->exclusive ? "tiered" : "slow");
		return -EINVAL;
	}
	if (sb->flags & TIER_SB_NEEDS_CHECK)
		return refuse(t, -EILSEQ, "metadata need a check: run dmtier check");
	return 0;
}

/* all tiers must be there, each in its place; of a read-only table some may be missing */
static int check_tiers(struct tier *t, struct tier_metadata *md)
{
	const struct tier_geometry *g = &tier_metadata_sb(md)->geometry;
	const char *why;
	u32 i;
	int r;

	for (i = 0; i < t->nr_devs; i++) {
		if (tier_dev_missing(&t->devs[i]))
			continue;
		r = tier_metadata_check_dev(md, i, t->devs[i].dm->bdev, &why);
		if (r == -ESTALE && g->devs[i].flags & TIER_DEV_NO_HEADER && t->accept_changed_slow) {
			DMWARN("%s: tier %u: %s", t->name, i, why);
		} else if (r) {
			DMERR("%s: tier %u: %s", t->name, i, why);
			return r == -EUCLEAN ? -ESTALE : r;
		}
		/* read-only: what it has grown is left alone.  Else tier_change_tiers() has looked */
		if (t->devs[i].sectors < g->devs[i].sectors) {
			DMERR("%s: tier %u has %llu sectors, but it had %llu", t->name, i,
			      (unsigned long long)t->devs[i].sectors, g->devs[i].sectors);
			return -ENOSPC;
		}
	}
	return 0;
}

/**
 * tier_check_sb() - do these metadata belong to this table line?
 * @t: constructed
 *
 * A first look, in the constructor: reads the superblock, and what the tiers are, nothing else.
 * Context: may sleep.
 * Return: 0 or an error, with a message in the kernel log.
 */
int tier_check_sb(struct tier *t)
{
	struct tier_metadata *md = tier_metadata_open(t->meta_dev->bdev, bdev_nr_sectors(t->meta_dev->bdev), t->name);
	int r;

	if (IS_ERR(md))
		return PTR_ERR(md);
	r = check_table(t, tier_metadata_sb(md));
	if (!r && tier_exclusive(t))
		r = tier_check_tiers(t, md) ?: (t->readonly ? check_tiers(t, md) : 0);
	tier_metadata_close(md);
	return r;
}

/* ---- core structures ---- */

void tier_set_reserve(struct tier *t)
{
	u32 n = t->map.nr_slots, r = tier_tune(t, TIER_TUNE_RESERVE);

	if (!r)
		r = clamp(n / 64, 8U, 4096U);
	WRITE_ONCE(t->reserve, min(r, max(n / 4, 1U)));
}

static int alloc_core(struct tier *t)
{
	u32 n = t->g.nr_slots, i;
	u64 nr_regions;

	if (tier_map_init(&t->map, n, t->g.nr_granules, TIER_MAX_STRIPES))
		return -ENOMEM;
	t->stripes = kvmalloc_array(t->map.stripe_mask + 1, sizeof(*t->stripes), GFP_KERNEL);
	t->changed = vzalloc(BITS_TO_LONGS(n) * sizeof(long));
	t->changed_sum = vzalloc(BITS_TO_LONGS(BITS_TO_LONGS(n)) * sizeof(long));
	t->regions = kvcalloc(t->g.nr_regions, sizeof(*t->regions), GFP_KERNEL);

	t->wb_shift = 0;
	while ((nr_regions = ((t->g.nr_blocks - 1) >> t->wb_shift) + 1) > TIER_MAX_WB_REGIONS ||
	       t->g.block_sectors << t->wb_shift < TIER_MIN_WB_REGION_SECTORS)
		t->wb_shift++;
	t->nr_wb_regions = nr_regions;
	t->wb_dirty = kvcalloc(nr_regions, sizeof(*t->wb_dirty), GFP_KERNEL);
	if (!tier_exclusive(t))
		t->fill = tier_fill_create(t->g.nr_sectors, t->g.block_sectors, t->g.granule_sectors);
	if (!t->stripes || !t->changed || !t->changed_sum || !t->regions || !t->wb_dirty ||
	    (!tier_exclusive(t) && IS_ERR_OR_NULL(t->fill)))
		return -ENOMEM;
	for (i = 0; i <= t->map.stripe_mask; i++)
		tier_stripe_init(&t->stripes[i]);
	bitmap_zero(t->intent_changed, TIER_INTENT_WORDS);
	memset(t->intent, 0, sizeof(t->intent));
	t->nr_intents = 0;
	t->gave_up_fast = false;
	atomic_set(&t->nr_used, 0);
	atomic_set(&t->nr_evicted, 0);
	atomic_set(&t->nr_pinned, 0);
	atomic_set(&t->nr_dirty_slots, 0);
	atomic64_set(&t->nr_dirty, 0);
	atomic_set(&t->nr_changed, 0);
	atomic64_set(&t->unwritable, 0);
	t->nr_want_clean = 0;
	t->wb_cursor = 0;
	t->wb_active = false;
	t->flush_state = TIER_FLUSH_IDLE;
	tier_set_reserve(t);
	for (i = 0; i < t->nr_devs; i++) {
		struct tier_dev *d = &t->devs[i];

		tier_slot_list_init(&d->free, tier_exclusive(t));
		d->nr_slots = t->g.devs[i].nr_slots;
		d->kept = tier_exclusive(t) ? tier_kept_slots(d->nr_slots) : 0;
		d->evacuate = t->g.devs[i].flags & TIER_DEV_EVACUATE;
		d->demoting = false;
		d->cursor = 0;
		atomic_set(&d->used, 0);
		atomic_set(&d->pinned, 0);
		atomic_set(&d->leaving, 0);
		atomic_set(&d->evac_moves, 0);
		atomic_set(&d->evac_failed, 0);
		atomic_set(&d->evac_done, 0);
		d->stuck = 0;
	}
	tier_slot_list_init(&t->trim, false);
	tier_settle_load(t);
	return 0;
}

/**
 * tier_unload() - free all that tier_load() made; writes nothing
 * @t: loaded, half loaded or not loaded; nothing is under way
 */
void tier_unload(struct tier *t)
{
	t->loaded = false;
	t->checkpoints_reset = 0;
	tier_unclaim(t, false);
	tier_move_forget(t);
	if (t->policy)
		tier_policy_stop(t);
	if (!IS_ERR_OR_NULL(t->fill))
		tier_fill_destroy(t->fill);
	t->fill = NULL;
	kvfree(t->wb_dirty);
	t->wb_dirty = NULL;
	kvfree(t->snapshot);
	t->snapshot = NULL;
	kvfree(t->regions);
	t->regions = NULL;
	vfree(t->changed_sum);
	t->changed_sum = NULL;
	vfree(t->changed);
	t->changed = NULL;
	kvfree(t->stripes);
	t->stripes = NULL;
	tier_map_exit(&t->map);
	if (t->md)
		tier_metadata_close(t->md);
	t->md = NULL;
}

/* ---- load ---- */

struct load {
	struct tier *t;
	u64 cut;		/* slots from here on are going to be cut */
	u64 cut_dirty;		/* dirty ones among them */
	u64 last;		/* slot with the last granule, which is short, plus one */
	bool hints;
};

/* the sector at which the last granule of the slow device begins, if it is short */
static bool short_granule(const struct tier_geometry *g, u64 *start)
{
	*start = round_down(g->nr_sectors, g->granule_sectors);
	return *start != g->nr_sectors;
}

static int look_at_slot(void *context, tier_slot_t slot, const struct tier_record *rec)
{
	struct load *l = context;
	const struct tier_geometry *old = &tier_metadata_sb(l->t->md)->geometry;
	u64 start;

	if (tier_from_slot(slot) >= l->cut) {
		l->cut_dirty += !!rec->dirty;
		return 0;
	}
	if (short_granule(old, &start) && tier_from_block(rec->block) == start >> old->block_shift &&
	    rec->valid >> ((start & (old->block_sectors - 1)) >> old->granule_shift) & 1)
		l->last = (u64)tier_from_slot(slot) + 1;
	return 0;
}

/*
 * The last granule was short and the device has grown: what the granule gains is not in its slot yet.  It is
 * put there, durably, while nothing says yet that the granule is longer, so that it never lacks it.
 */
static int complete_last_granule(struct tier *t, const struct load *l)
{
	const struct tier_geometry *old = &tier_metadata_sb(t->md)->geometry;
	u64 start, end, slot;
	int r;

	if (!l->last || t->ti->len <= old->nr_sectors || !short_granule(old, &start))
		return 0;
	end = min_t(u64, start + old->granule_sectors, t->ti->len);
	slot = old->devs[0].data_start + ((l->last - 1) << old->block_shift);
	/* a copy must be no more durable than what it is a copy of */
	r = blkdev_issue_flush(t->slow->dm->bdev);
	if (!r)
		r = tier_copy_sectors(t, old->nr_sectors, slot + (old->nr_sectors & (old->block_sectors - 1)),
				      end - old->nr_sectors);
	return r ? refuse(t, r, "the last granule can't be completed after the device has grown") : 0;
}

static int load_slot(void *context, tier_slot_t slot, const struct tier_record *rec)
{
	struct load *l = context;
	struct tier *t = l->t;
	u64 block = tier_from_block(rec->block);

	if (!rec->valid)
		return 0;
	if (tier_map_lookup(&t->map, rec->block) != TIER_NO_SLOT) {
		DMERR("%s: block %llu is in slot %u and in slot %u", t->name, block,
		      tier_from_slot(tier_map_lookup(&t->map, rec->block)), tier_from_slot(slot));
		return -EILSEQ;
	}
	tier_map_insert(&t->map, slot, rec->block, rec->flags & TIER_REC_FLAGS);
	tier_slot_set_granules(&t->map, slot, rec->valid, rec->dirty);
	atomic_inc(&t->nr_used);
	if (rec->flags & TIER_REC_PINNED)
		atomic_inc(&t->nr_pinned);
	if (tier_exclusive(t)) {
		atomic_inc(&tier_slot_device(t, slot)->used);
		if (rec->flags & TIER_REC_PINNED)
			atomic_inc(&tier_slot_device(t, slot)->pinned);
	}
	if (rec->dirty) {
		atomic64_add(hweight64(rec->dirty), &t->nr_dirty);
		atomic_inc(&t->nr_dirty_slots);
		atomic_inc(&t->wb_dirty[block >> t->wb_shift]);
	}
	return 0;
}

static void load_hint(void *context, tier_slot_t slot, u32 hint)
{
	struct load *l = context;
	struct tier *t = l->t;

	if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED))
		return;
	l->hints = true;
	tier_policy_load_slot(t, slot, hint);
}

static int refuse_new_fast(struct tier *t, u64 dirty)
{
	DMERR("%s: this is not the fast device that %llu slots with dirty data are on: start with that one, or see what would be lost (dmtier lost) and format again",
	      t->name, dirty);
	return -EBUSY;
}

/* the devices have other sizes than at the last stop: change the metadata, which are read anew afterwards */
static int resize(struct tier *t, u64 *intent, bool new_fast)
{
	struct tier_geometry *g = kmalloc(sizeof(*g), GFP_KERNEL);
	const struct tier_metadata_load_ops ops = { .slot = look_at_slot };
	struct load l = { .t = t };
	const char *why;
	int r;

	if (!g)
		return -ENOMEM;
	*g = tier_metadata_sb(t->md)->geometry;
	why = tier_geometry_resize(g, t->fast->sectors, t->ti->len);
	if (why) {
		r = refuse(t, -EINVAL, why);
		goto out;
	}
	l.cut = new_fast ? 0 : g->nr_slots;
	r = tier_metadata_load(t->md, "", &ops, &l, intent);
	if (r)
		goto out;
	if (l.cut_dirty && new_fast) {
		r = refuse_new_fast(t, l.cut_dirty);
		goto out;
	}
	if (l.cut_dirty) {
		DMERR("%s: fast device shrank to %llu slots, but %llu slots behind that hold dirty data: give it its old size and flush first",
		      t->name, g->nr_slots, l.cut_dirty);
		r = -EBUSY;
		goto out;
	}
	r = complete_last_granule(t, &l) ?: tier_metadata_checkpoint(t->md) ?: tier_metadata_resize(t->md, g, new_fast);
	if (!r)
		DMINFO("%s: now %llu slots, %llu sectors", t->name, g->nr_slots, g->nr_sectors);
out:
	kfree(g);
	return r;
}

static bool size_changed(struct tier *t)
{
	struct tier_geometry *g = kmalloc(sizeof(*g), GFP_KERNEL);
	const struct tier_geometry *now = &tier_metadata_sb(t->md)->geometry;
	bool changed = true;

	if (!g)
		return true;
	*g = *now;
	/* the rest of a slot at the end of the device is no change */
	if (!tier_geometry_resize(g, t->fast->sectors, t->ti->len))
		changed = g->nr_slots != now->nr_slots || g->nr_sectors != now->nr_sectors;
	kfree(g);
	return changed;
}

static int open_metadata(struct tier *t)
{
	t->md = tier_metadata_open(t->meta_dev->bdev, bdev_nr_sectors(t->meta_dev->bdev), t->name);
	if (IS_ERR(t->md)) {
		int r = PTR_ERR(t->md);

		t->md = NULL;
		return r;
	}
	return 0;
}

/* every clean granule becomes invalid, in core; the caller commits */
void tier_drop_clean(struct tier *t)
{
	u32 i;

	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		struct tier_stripe *s;

		tier_block_t block = tier_slot_block(&t->map, slot);

		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED))
			continue;
		s = tier_stripe(t, block);
		spin_lock_irq(&s->lock);
		if (tier_map_lookup(&t->map, block) == slot)
			__tier_slot_update(t, slot, tier_slot_dirty(&t->map, slot), tier_slot_dirty(&t->map, slot));
		spin_unlock_irq(&s->lock);
		cond_resched();
	}
}

/* a commit takes so many slots at once that all intent words have room beside them */
static int alloc_snapshot(struct tier *t)
{
	u32 capacity = tier_metadata_txn_capacity(t->md);

	if (capacity < TIER_INTENT_WORDS + 2 * BITS_PER_LONG)
		return refuse(t, -EINVAL, "journal is too small");
	t->max_snapshot = min(capacity - TIER_INTENT_WORDS, 8192U);
	t->snapshot = kvmalloc_array(t->max_snapshot, sizeof(*t->snapshot), GFP_KERNEL);
	return t->snapshot ? 0 : refuse(t, -ENOMEM, "not enough memory");
}

static u32 fingerprint_seed(const struct tier_sb *sb)
{
	return tier_csum_seed(sb->uuid);
}

/* I13: was the slow device written to since the clean stop? */
static int check_slow(struct tier *t, bool *changed)
{
	const struct tier_sb *sb = tier_metadata_sb(t->md);
	const struct tier_fingerprint *was = &sb->fp[1];
	struct tier_fingerprint now;
	int r;

	/* in tiered mode check_tiers() has looked at the device that has no header */
	if (tier_exclusive(t))
		return 0;
	/* a start that was to drop them has been cut short */
	*changed = sb->flags & TIER_SB_SUSPECT;
	if (*changed || !(sb->flags & TIER_SB_CLEAN) || !was->sectors)
		return 0;
	if (was->sectors > bdev_nr_sectors(t->slow->dm->bdev)) {
		*changed = true;
	} else {
		r = tier_fingerprint_read(t->slow->dm->bdev, was->sectors, fingerprint_seed(sb), &now);
		if (r)
			return refuse(t, r, "slow device can't be read");
		*changed = now.head != was->head || now.samples != was->samples;
	}
	if (!*changed)
		return 0;
	if (atomic64_read(&t->nr_dirty) && !t->accept_changed_slow) {
		DMERR("%s: slow device was written to since the last clean stop, while %lld granules of newer data are on the fast device; feature accept_changed_slow starts all the same: the newer data win, all clean copies are dropped",
		      t->name, (long long)atomic64_read(&t->nr_dirty));
		return -ESTALE;
	}
	DMWARN("%s: slow device was written to since the last clean stop: clean copies are dropped", t->name);
	return 0;
}

static void put_free(struct tier *t, tier_slot_t slot)
{
	u32 dev = tier_slot_dev(&t->g, slot);

	if (dev == TIER_EXTENT_HOLE)
		return;
	tier_map_put(&t->map, tier_exclusive(t) ? &t->devs[dev].free : &t->map.free, slot);
}

static int read_metadata(struct tier *t, u64 *intent)
{
	const struct tier_metadata_load_ops ops = { .slot = load_slot, .hint = load_hint };
	struct load l = { .t = t };
	char *error;
	u32 i;
	int r;

	t->g = tier_metadata_sb(t->md)->geometry;
	r = alloc_core(t);
	if (r)
		return refuse(t, r, "not enough memory");
	error = kzalloc(TIER_ERROR_LEN, GFP_KERNEL);
	if (!error)
		return -ENOMEM;
	r = tier_policy_start(t, error);
	if (r)
		refuse(t, r, error);
	kfree(error);
	if (r)
		return r;
	r = tier_metadata_load(t->md, tier_policy_ranking(t->policy)->type->name, &ops, &l, intent);
	if (!r)
		r = alloc_snapshot(t);	/* the size of a transaction is known now */
	if (r)
		return r;
	if (!l.hints)
		tier_policy_load(t);
	for (i = t->map.nr_slots; i--;)
		if (!(tier_slot_flags(&t->map, tier_to_slot(i)) & TIER_SLOT_MAPPED))
			put_free(t, tier_to_slot(i));
	return 0;
}

/*
 * What is to be known before go_live()
 * @new_fast: the fast device is another one
 * @drop: no clean copy can be trusted
 */
struct start {
	bool new_fast;
	bool drop;
};

static int activate(struct tier *t, bool without_fast, bool suspect)
{
	struct block_device *devs[TIER_MAX_DEVS] = { NULL };
	u32 i;

	for (i = without_fast; i < t->nr_devs; i++)
		devs[i] = t->devs[i].dm->bdev;
	return tier_metadata_activate(t->md, devs, suspect);
}

static int go_live(struct tier *t, const u64 *intent, const struct start *start)
{
	bool clean = tier_metadata_sb(t->md)->flags & TIER_SB_CLEAN;
	int r;

	r = activate(t, start->new_fast, start->drop);
	if (r)
		return refuse(t, r, "metadata can't be written");
	if (start->drop || start->new_fast)
		tier_drop_clean(t);
	if (!clean)
		r = tier_commit_recovered(t, intent);
	if (!r && atomic_read(&t->nr_changed))
		r = tier_commit_final(t);
	if (!r)
		r = tier_metadata_trust(t->md);
	if (r || !start->new_fast)
		return r;
	r = tier_metadata_attach_dev(t->md, &tier_metadata_sb(t->md)->geometry, 0, t->fast->dm->bdev);
	if (r)
		return refuse(t, r, "the new fast device can't be written");
	DMINFO("%s: new fast device taken in, %u slots, all free", t->name, t->map.nr_slots);
	return 0;
}

/*
 * A blank device, or our own of an earlier life, can be taken in if nothing is dirty.  Whatever else is
 * there may be somebody's data.
 */
static int check_fast(struct tier *t, bool *is_new)
{
	const char *why;
	int r = tier_metadata_check_dev(t->md, 0, t->fast->dm->bdev, &why);

	*is_new = r == -ENODATA || r == -ESTALE;
	if (!r)
		return 0;
	if (!*is_new)
		return refuse(t, r == -EUCLEAN ? -ESTALE : r, why);
	if (!t->accept_new_fast) {
		DMERR("%s: %s (feature accept_new_fast takes it in if nothing was dirty)", t->name, why);
		return r == -ENODATA ? -ENODEV : r;
	}
	DMWARN("%s: %s: it is taken in as a new one", t->name, why);
	return 0;
}

static void tell_missing(struct tier *t)
{
	u32 i;

	DMINFO("%s: read-only, nothing is written to its devices", t->name);
	for (i = 0; i < t->nr_devs; i++)
		if (tier_dev_missing(&t->devs[i]))
			DMWARN("%s: tier %u (UUID %pUb) is missing: the %d blocks on it can't be read", t->name, i,
			       t->g.devs[i].uuid, atomic_read(&t->devs[i].used));
}

static int load(struct tier *t, u64 *intent)
{
	const struct tier_sb *sb;
	struct start start = { };
	bool changed = false;
	const char *why;
	int r;

	r = open_metadata(t) ?: check_table(t, tier_metadata_sb(t->md));
	if (r)
		return r;
	sb = tier_metadata_sb(t->md);
	r = tier_claim(t, sb->uuid, &why);
	if (r)
		return refuse(t, r, why);
	if (tier_exclusive(t)) {
		r = tier_change_tiers(t, intent, &changed);
	} else {
		r = check_fast(t, &start.new_fast);
		changed = !r && size_changed(t);
		if (changed)
			r = resize(t, intent, start.new_fast);
	}
	if (changed) {
		tier_metadata_close(t->md);
		t->md = NULL;
		r = r ?: open_metadata(t);
	}
	if (!r && tier_exclusive(t))
		r = check_tiers(t, t->md);
	if (r)
		return r;
	sb = tier_metadata_sb(t->md);
	if (!t->mode_given)
		t->mode = sb->mode;
	r = read_metadata(t, intent);
	if (!r && start.new_fast && atomic_read(&t->nr_dirty_slots))
		r = refuse_new_fast(t, atomic_read(&t->nr_dirty_slots));
	if (!r && t->readonly) {
		tell_missing(t);
		t->settled = t->mode;
		t->loaded = true;
		return 0;
	}
	r = r ?: check_slow(t, &start.drop) ?: go_live(t, intent, &start);
	if (r)
		return r;
	/* with dirty data, what was wanted last can't be known to be reached */
	t->settled = atomic64_read(&t->nr_dirty) && !tier_exclusive(t) ? TIER_MODE_WRITEBACK : t->mode;
	t->loaded = true;
	return tier_metadata_set_mode(t->md, t->mode);
}

/**
 * tier_load() - load the metadata and go live
 * @t: constructed
 *
 * Context: may sleep.
 * Return: 0 or an error, with a message in the kernel log; then nothing is left behind in core.
 */
int tier_load(struct tier *t)
{
	u64 *intent = kcalloc(TIER_INTENT_WORDS, sizeof(*intent), GFP_KERNEL);
	int r;

	lockdep_assert_held(&t->life_mutex);
	if (!intent)
		return -ENOMEM;
	r = load(t, intent);
	kfree(intent);
	if (!r)
		r = tier_resume_evacuations(t);
	if (r)
		tier_unload(t);
	else
		tier_claim_headless(t);
	return r;
}

/**
 * tier_reactivate() - go live again after a stop, with what is still in core
 * @t: loaded, and stopped or not
 *
 * Context: may sleep.
 * Return: 0; -ESTALE if others have used the metadata since; other errors.
 */
int tier_reactivate(struct tier *t)
{
	const char *why;
	int r;

	lockdep_assert_held(&t->life_mutex);
	r = tier_claim(t, tier_metadata_sb(t->md)->uuid, &why);
	if (r)
		return refuse(t, r, why);
	if (!tier_metadata_unchanged(t->md))
		r = -ESTALE;
	else if (!t->readonly && !tier_metadata_active(t->md))
		r = activate(t, false, false);
	/* else the stop failed: what is in core is newer than what is on the disk */
	if (r)
		tier_unclaim(t, false);
	return r;
}

static u32 save_hint(void *context, tier_slot_t slot)
{
	struct tier *t = context;
	struct tier_policy *p;

	if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED))
		return 0;
	p = tier_slot_device(t, slot)->policy;
	if (!p)
		return 0;
	p = tier_policy_ranking(p);
	return p->type->save_hint(p, tier_slot_number(t, slot));
}

/* fingerprints of the devices that others may write to: a cache's slow one, a tier without header */
static void take_fingerprints(struct tier *t, struct tier_fingerprint *fp)
{
	const struct tier_sb *sb = tier_metadata_sb(t->md);
	u32 i;

	for (i = 0; i < t->nr_devs; i++) {
		struct block_device *bdev = t->devs[i].dm->bdev;

		if (tier_exclusive(t) ? !(sb->geometry.devs[i].flags & TIER_DEV_NO_HEADER) : i != 1)
			continue;
		if (tier_fingerprint_read(bdev, bdev_nr_sectors(bdev), fingerprint_seed(sb), &fp[i]))
			memset(&fp[i], 0, sizeof(fp[i]));
	}
}

/**
 * tier_stop() - clean stop: all is recorded, dirty data stay where they are; of a read-only table nothing
 * @t: loaded, nothing under way
 *
 * Context: may sleep.  An error leaves the metadata not clean, which the next start copes with.
 */
void tier_stop(struct tier *t)
{
	struct tier_fingerprint *fp;
	bool lost = false;
	int r;

	lockdep_assert_held(&t->life_mutex);
	if (t->readonly)
		goto out;
	r = tier_commit_final(t);
	flush_work(&t->trim_work);
	r = r ?: tier_settle_stop(t);
	r = r ?: tier_flush_devices(t, NULL);	/* what these have discarded and written */
	if (r) {
		DMERR("%s: stopped, but not cleanly: error %d", t->name, r);
		lost = true;
		goto out;
	}
	fp = kcalloc(TIER_MAX_DEVS, sizeof(*fp), GFP_KERNEL);
	if (fp)
		take_fingerprints(t, fp);
	r = tier_metadata_stop(t->md, tier_policy_ranking(t->policy)->type->name, save_hint, t, fp);
	kfree(fp);
	if (r)
		DMERR("%s: stopped, but not cleanly: error %d", t->name, r);
out:
	tier_unclaim(t, lost || READ_ONCE(t->lost));
}
