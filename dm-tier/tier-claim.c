// SPDX-License-Identifier: GPL-2.0
/*
 * Which devices and which metadata are active: the same ones can't be in two targets at once.
 *
 * device-mapper itself lets any number of tables open one device.  A target claims its devices when it
 * becomes live and gives them up when it is suspended.
 */
#include <linux/kdev_t.h>
#include "tier.h"

static DEFINE_MUTEX(claims_lock);	/* guards the lists and the claim fields of targets */
static LIST_HEAD(claims);
static LIST_HEAD(losses);	/* targets that stopped without having all acknowledged writes on their devices */
static LIST_HEAD(stopped);	/* other targets that were live and have stopped, and are still there */

static bool uses(const struct tier *t, dev_t dev)
{
	u32 i;

	for (i = 0; i < t->nr_devs; i++)
		if (!tier_dev_missing(&t->devs[i]) && t->devs[i].dm->bdev->bd_dev == dev)
			return true;
	return t->meta_dev->bdev->bd_dev == dev;
}

/*
 * Another table of the same mapped device is no conflict: either it is active and about to be replaced, or it
 * has been replaced and waits for its end.
 */
static const char *conflict(struct tier *t, const u8 *uuid)
{
	struct mapped_device *md = dm_table_get_md(t->ti->table);
	struct tier *o;
	u32 i;

	lockdep_assert_held(&claims_lock);
	list_for_each_entry(o, &claims, claim) {
		if (o == t || (o->ti->table != t->ti->table && dm_table_get_md(o->ti->table) == md))
			continue;
		if (uses(o, t->meta_dev->bdev->bd_dev))
			return "metadata device is in use by another active tier device";
		for (i = 0; i < t->nr_devs; i++)
			if (!tier_dev_missing(&t->devs[i]) && uses(o, t->devs[i].dm->bdev->bd_dev))
				return tier_exclusive(t) ? "a data device is in use by another active tier device" :
				       i ? "slow device is in use by another active tier device" :
					   "fast device is in use by another active tier device";
		if (uuid && !memcmp(uuid, o->claim_uuid, sizeof(o->claim_uuid)))
			return "metadata with this UUID are active in another tier device";
	}
	return NULL;
}

/**
 * tier_claimed_by_other() - a first look, in the constructor
 * @t: target with its devices
 *
 * On a reload the table still active may have the same devices.
 * Return: NULL, or what is wrong.
 */
const char *tier_claimed_by_other(struct tier *t)
{
	const char *why;

	mutex_lock(&claims_lock);
	why = conflict(t, NULL);
	mutex_unlock(&claims_lock);
	return why;
}

/**
 * tier_claim() - claim the target's devices and metadata
 * @t: target
 * @uuid: of the metadata
 * @why: set if it fails
 *
 * If the table that this one replaces has lost acknowledged writes when it stopped, who uses the mapped device is to
 * know: its next flush will fail.
 * Return: 0 or -EBUSY.
 */
int tier_claim(struct tier *t, const u8 *uuid, const char **why)
{
	struct tier *o;

	mutex_lock(&claims_lock);
	*why = conflict(t, uuid);
	if (!*why) {
		memcpy(t->claim_uuid, uuid, sizeof(t->claim_uuid));
		list_move(&t->claim, &claims);
		list_for_each_entry(o, &losses, claim)
			if (dm_table_get_md(o->ti->table) == dm_table_get_md(t->ti->table) &&
			    !memcmp(uuid, o->claim_uuid, sizeof(o->claim_uuid)))
				WRITE_ONCE(t->lost, true);
	}
	mutex_unlock(&claims_lock);
	return *why ? -EBUSY : 0;
}

/**
 * tier_claim_headless() - tell the table that comes after this one which device the tier without header is
 * @t: loaded, with a claim
 *
 * Context: may sleep.
 */
void tier_claim_headless(struct tier *t)
{
	u32 i;

	mutex_lock(&claims_lock);
	for (i = 0; i < t->nr_devs; i++)
		if (t->g.devs[i].flags & TIER_DEV_NO_HEADER && !tier_dev_missing(&t->devs[i]))
			t->claim_headless = t->devs[i].dm->bdev->bd_dev;
	mutex_unlock(&claims_lock);
}

/* the tier without header as a target on a list knew it, or 0 */
static dev_t headless_on(const struct list_head *list, struct tier *t, const u8 *uuid)
{
	struct mapped_device *md = dm_table_get_md(t->ti->table);
	struct tier *o;

	lockdep_assert_held(&claims_lock);
	list_for_each_entry(o, list, claim)
		if (o != t && o->claim_headless && dm_table_get_md(o->ti->table) == md &&
		    !memcmp(uuid, o->claim_uuid, sizeof(o->claim_uuid)))
			return o->claim_headless;
	return 0;
}

/**
 * tier_known_headless() - which device is the tier without header, as the table that this one replaces knows it?
 * @t: constructed
 * @uuid: of the metadata
 *
 * That table is still there, and has the device open: its number says which it is.
 * Context: may sleep.
 * Return: its number, or 0 if there is no such table, or no such tier.
 */
dev_t tier_known_headless(struct tier *t, const u8 *uuid)
{
	dev_t dev;

	mutex_lock(&claims_lock);
	dev = headless_on(&claims, t, uuid) ?: headless_on(&stopped, t, uuid) ?: headless_on(&losses, t, uuid);
	mutex_unlock(&claims_lock);
	return dev;
}

/**
 * tier_unclaim() - give the claim up
 * @t: target, with or without a claim
 * @lost: acknowledged writes may not be on its devices
 *
 * Context: may sleep.
 */
void tier_unclaim(struct tier *t, bool lost)
{
	mutex_lock(&claims_lock);
	list_del_init(&t->claim);
	if (lost)
		list_add(&t->claim, &losses);
	else if (t->loaded)
		list_add(&t->claim, &stopped);
	else
		t->claim_headless = 0;
	mutex_unlock(&claims_lock);
}
