// SPDX-License-Identifier: GPL-2.0
/*
 * Tiered mode: the tiers of the table line, and those that the metadata know.
 *
 * When a table becomes live its tiers may stand in another order than so far, some may be new, some may have
 * grown, and some may be gone that were emptied before.  A tier is recognised by the UUID in its header; the one
 * without header by its device, if the table before this one still has it open, else by its fingerprint or size.
 *
 *	match -> look what is in use -> headers of new tiers -> pages for their slots -> superblock
 *
 * With a read-only table nothing may change, and each tier has to be in its place, or missing there.
 *
 * The superblock is what counts: a power cut before it leaves the tiers as they were, and headers that no
 * superblock knows.
 */
#include <linux/slab.h>
#include <linux/uuid.h>
#include "tier.h"

struct change {
	struct tier *t;
	struct tier_metadata *md;
	struct tier_geometry g;		/* as it is going to be */
	struct tier_change tiers[TIER_MAX_DEVS];
	u64 used[TIER_MAX_DEVS];	/* slots in use on each tier so far */
};

static const struct tier_geometry *old_geometry(const struct change *c)
{
	return &tier_metadata_sb(c->md)->geometry;
}

/* index in the metadata of the tier without header, or TIER_NEW_TIER */
static u32 headless(const struct change *c)
{
	u32 i;

	for (i = 0; i < old_geometry(c)->nr_devs; i++)
		if (old_geometry(c)->devs[i].flags & TIER_DEV_NO_HEADER)
			return i;
	return TIER_NEW_TIER;
}

static bool has_device(const struct tier *t, dev_t dev)
{
	u32 i;

	for (i = 0; i < t->nr_devs; i++)
		if (t->devs[i].dm->bdev->bd_dev == dev)
			return true;
	return false;
}

/* the tier without header, known by its device: has it been left alone?  Its index in the metadata, or an error */
static int check_known(const struct change *c, struct block_device *bdev, const char **why)
{
	u32 i = headless(c);
	int r = tier_metadata_check_dev(c->md, i, bdev, why);

	return !r || (r == -ESTALE && c->t->accept_changed_slow) ? i : r;
}

/* by size alone, or if both read the same, two devices may look like the tier without header */
static int check_ambiguous(const struct change *c)
{
	u32 is = headless(c), i, first = TIER_NEW_TIER;

	for (i = 0; is != TIER_NEW_TIER && i < c->t->nr_devs; i++) {
		if (c->tiers[i].was != is)
			continue;
		if (first != TIER_NEW_TIER) {
			DMERR("%s: tiers %u and %u: either may be the tier without header, nothing tells which: start without the new one, and take it in by another table while the device is in use",
			      c->t->name, first, i);
			return -EINVAL;
		}
		first = i;
	}
	return 0;
}

/* which tier is each device of the table? */
static int match(struct change *c)
{
	struct tier *t = c->t;
	u32 how = (t->accept_changed_slow ? TIER_FIND_CHANGED : 0) | (t->accept_new_tier ? 0 : TIER_FIND_LARGER);
	dev_t known = tier_known_headless(t, tier_metadata_sb(c->md)->uuid);
	const char *why;
	u32 i;
	int r;

	/* if it is not there, another device may be a copy of it */
	if (known && has_device(t, known))
		how |= TIER_FIND_OTHERS;

	for (i = 0; i < t->nr_devs; i++) {
		struct tier_change *tier = &c->tiers[i];

		tier->sectors = t->devs[i].sectors;
		if (t->devs[i].dm->bdev->bd_dev == known)
			r = check_known(c, t->devs[i].dm->bdev, &why);
		else
			r = tier_metadata_find_dev(c->md, t->devs[i].dm->bdev, how, &why);
		if (r >= 0) {
			tier->was = r;
			continue;
		}
		if (r == -ESTALE) {
			DMERR("%s: tier %u: %s; or it is the tier without header, written to by others (feature accept_changed_slow starts all the same)",
			      t->name, i, why);
			return r;
		}
		if (r != -ENODATA && r != -ENOENT) {
			DMERR("%s: tier %u: %s", t->name, i, why);
			return r;
		}
		if (!t->accept_new_tier) {
			DMERR("%s: tier %u: %s (feature accept_new_tier takes it in as a new, empty one)", t->name, i, why);
			return r == -ENODATA ? -ENODEV : r;
		}
		tier->was = TIER_NEW_TIER;
		generate_random_uuid(tier->uuid);
	}
	return check_ambiguous(c);
}

static bool is_gone(const struct change *c, u32 was)
{
	u32 i;

	for (i = 0; i < c->t->nr_devs; i++)
		if (c->tiers[i].was == was)
			return false;
	return true;
}

static int count_used(void *context, tier_slot_t slot, const struct tier_record *rec)
{
	struct change *c = context;

	c->used[tier_slot_dev(old_geometry(c), slot)]++;
	return 0;
}

/* tiers that the table has no more must be empty, and meant to be */
static int check_gone(const struct change *c)
{
	const struct tier_geometry *old = old_geometry(c);
	char name[48];
	u32 i;

	for (i = 0; i < old->nr_devs; i++) {
		if (!is_gone(c, i))
			continue;
		if (old->devs[i].flags & TIER_DEV_NO_HEADER)
			strscpy(name, "without header", sizeof(name));
		else
			scnprintf(name, sizeof(name), "UUID %pUb", old->devs[i].uuid);
		if (!(old->devs[i].flags & TIER_DEV_EVACUATE)) {
			DMERR("%s: tier %u of so far (%s) is not in the table: only one that was emptied may be left out (message evacuate %u)",
			      c->t->name, i, name, i);
			return -EBUSY;
		}
		if (c->used[i]) {
			DMERR("%s: tier %u of so far (%s) is not in the table, but %llu blocks are still on it: give it until it is empty",
			      c->t->name, i, name, c->used[i]);
			return -EBUSY;
		}
	}
	return 0;
}

/* the tiers and their slots are as they were; without a header a tier is known by its size, to the sector */
static bool nothing_changes(const struct change *c)
{
	const struct tier_geometry *old = old_geometry(c), *g = &c->g;
	u32 i;

	if (g->nr_devs != old->nr_devs || g->nr_slots != old->nr_slots || g->nr_sectors != old->nr_sectors)
		return false;
	for (i = 0; i < g->nr_devs; i++)
		if (c->tiers[i].was != i || g->devs[i].nr_slots != old->devs[i].nr_slots ||
		    (g->devs[i].flags & TIER_DEV_NO_HEADER && g->devs[i].sectors != old->devs[i].sectors))
			return false;
	return true;
}

static int new_headers(struct change *c)
{
	struct tier *t = c->t;
	int r = 0;
	u32 i;

	for (i = 0; i < t->nr_devs && !r; i++)
		if (c->tiers[i].was == TIER_NEW_TIER)
			r = tier_metadata_attach_dev(c->md, &c->g, i, t->devs[i].dm->bdev);
	return r;
}

static int change(struct change *c, u64 *intent)
{
	const struct tier_metadata_load_ops ops = { .slot = count_used };
	struct tier *t = c->t;
	u32 nr_old = old_geometry(c)->nr_devs;
	int r;

	r = tier_metadata_load(c->md, "", &ops, c, intent) ?: check_gone(c) ?: tier_metadata_checkpoint(c->md) ?:
	    new_headers(c) ?: tier_metadata_resize(c->md, &c->g, false);
	if (!r)
		DMINFO("%s: now %u tiers (there were %u), %llu slots, %llu sectors", t->name, c->g.nr_devs, nr_old,
		       tier_real_slots(&c->g), c->g.nr_sectors);
	return r;
}

/* the tiers that the table wants; 0 or an error, with a message */
static int plan(struct change *c)
{
	struct tier *t = c->t;
	const char *why;
	int r = match(c);

	if (r)
		return r;
	why = tier_geometry_change(&c->g, old_geometry(c), t->nr_devs, c->tiers, t->ti->len);
	if (why) {
		DMERR("%s: %s", t->name, why);
		return -EINVAL;
	}
	return check_gone(c);
}

static struct change *change_new(struct tier *t, struct tier_metadata *md)
{
	struct change *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (c) {
		c->t = t;
		c->md = md;
	}
	return c;
}

/* a read-only table has to be what the metadata say; which tier is which is looked at by check_tiers() */
static int check_same(struct tier *t, struct tier_metadata *md)
{
	const struct tier_geometry *g = &tier_metadata_sb(md)->geometry;

	if (t->nr_devs != g->nr_devs) {
		DMERR("%s: %u tiers in the table, %u in the metadata: read-only it can't change (- is a missing one)",
		      t->name, t->nr_devs, g->nr_devs);
		return -EINVAL;
	}
	if (t->ti->len != g->nr_sectors) {
		DMERR("%s: table is %llu sectors long, but the metadata are for %llu: read-only it can't grow", t->name,
		      (unsigned long long)t->ti->len, g->nr_sectors);
		return -EINVAL;
	}
	return 0;
}

/**
 * tier_check_tiers() - a first look at the table's tiers, in the constructor
 * @t: tiered
 * @md: opened; another table may be writing it
 *
 * So that a table that will not do is refused while the one before is still there.
 * Context: may sleep.
 * Return: 0 or an error, with a message in the kernel log.
 */
int tier_check_tiers(struct tier *t, struct tier_metadata *md)
{
	struct change *c;
	int r;

	if (t->readonly)
		return check_same(t, md);
	c = change_new(t, md);
	r = c ? plan(c) : -ENOMEM;
	kvfree(c);
	return r;
}

/**
 * tier_change_tiers() - bring the metadata in line with the table's tiers
 * @t: tiered, its metadata opened and nothing more
 * @intent: room for the marks
 * @changed: set: the metadata are to be opened anew
 *
 * Context: may sleep.
 * Return: 0 or an error, with a message in the kernel log; then the metadata say what they said.
 */
int tier_change_tiers(struct tier *t, u64 *intent, bool *changed)
{
	struct change *c;
	int r;

	*changed = false;
	if (t->readonly)
		return check_same(t, t->md);
	c = change_new(t, t->md);
	if (!c)
		return -ENOMEM;
	r = plan(c);
	if (!r && !nothing_changes(c)) {
		*changed = true;
		r = change(c, intent);
	}
	kvfree(c);
	return r;
}
