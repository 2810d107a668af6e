/* SPDX-License-Identifier: GPL-2.0 */
/* The devices of one tier device, in the order of every command line: fast, slow, metadata, further tiers. */
#ifndef TIER_TOOLS_DEVICES_H
#define TIER_TOOLS_DEVICES_H

#include "audit.h"
#include "bdev.h"

enum {
	DEV_SSD,
	DEV_HDD,
	DEV_META,
	NR_DEVS,	/* of a cache; further tiers stand behind */
};

#define MAX_DEVS	(TIER_MAX_DEVS + 1U)

/* "SSD", "HDD", "METADATA", "TIER" */
const char *device_name(unsigned int i);

/* place of data device @tier, from 0, among the devices */
static inline unsigned int device_of_tier(unsigned int tier)
{
	return tier < DEV_META ? tier : tier + 1;
}

/**
 * devices_count_is_right() - can a command line have so many devices?
 * @nr: number
 *
 * Return: true; false after a message.
 */
bool devices_count_is_right(int nr);

/**
 * devices_data() - the data devices, fast to slow, also missing ones
 * @devs: devices
 * @nr: their number
 * @data: gets them, and NULL behind the last; MAX_DEVS
 */
void devices_data(const struct bdev *devs, unsigned int nr, const struct bdev **data);

/**
 * devices_identify() - identify all; refuse those that share sectors
 * @devs: devices; devices_close() is allowed whatever comes back
 * @nr: their number
 * @paths: as many, kept
 * @missing: TIER_MISSING may stand in place of a tier, else it is a path
 * @why: TEXT_LEN bytes
 *
 * Return: 0 or -errno.
 */
int devices_identify(struct bdev *devs, unsigned int nr, char **paths, bool missing, char *why);

/**
 * devices_order() - refuse devices that say themselves that they belong in another order
 * @devs: devices, open
 * @nr: their number
 * @why: TEXT_LEN bytes
 *
 * The metadata and the fast device of a tier device can be told, the slow device can't.  Tiers may come in any
 * order: what the kernel is given is what it makes of them.  A cache can't have missing devices.
 * Return: 0, also if nothing can be told; -EINVAL.
 */
int devices_order(const struct bdev *devs, unsigned int nr, char *why);

/**
 * devices_open_sb() - identify, open for reading and see that they belong together
 * @devs: devices
 * @nr: their number
 * @paths: as many, kept
 * @accept_new: the SSD of a cache may be another one than that of the metadata, a tiered device may have more tiers: the
 *	kernel is to judge it
 * @a: gets the superblock; to be freed with audit_free()
 * @why: TEXT_LEN bytes
 *
 * The devices may be in use.  Where a tier is missing all others have to be in their places.
 * Return: 0 or -errno; -EPROTONOSUPPORT for metadata of a newer version.
 */
int devices_open_sb(struct bdev *devs, unsigned int nr, char **paths, bool accept_new, struct audit *a,
		    char *why);

/**
 * devices_refuse_held() - refuse a device that somebody has mounted, or otherwise for himself
 * @devs: devices, identified
 * @i: which one
 * @why: TEXT_LEN bytes
 *
 * Return: 0, or -EBUSY, and @why names who has it.
 */
int devices_refuse_held(const struct bdev *devs, unsigned int i, char *why);

/**
 * devices_refuse_live() - what a running target writes meanwhile looks like damage
 * @meta: metadata device, identified
 * @force: only warn
 * @why: TEXT_LEN bytes
 *
 * Return: 0, or -EBUSY if somebody uses it.
 */
int devices_refuse_live(const struct bdev *meta, bool force, char *why);

void devices_close(struct bdev *devs, unsigned int nr);

#endif /* TIER_TOOLS_DEVICES_H */
