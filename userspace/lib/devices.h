/* SPDX-License-Identifier: GPL-2.0 */
/* The devices of one tier device, in the order of every command line: fast, slow, metadata. */
#ifndef TIER_TOOLS_DEVICES_H
#define TIER_TOOLS_DEVICES_H

#include "audit.h"
#include "bdev.h"

enum {
	DEV_SSD,
	DEV_HDD,
	DEV_META,
	NR_DEVS,
};

/* "SSD", "HDD", "METADATA" */
extern const char * const device_names[NR_DEVS];

/**
 * devices_identify() - identify all three; refuse those that share sectors
 * @devs: NR_DEVS of them; devices_close() is allowed whatever comes back
 * @paths: NR_DEVS of them, kept
 * @why: TEXT_LEN bytes
 *
 * Return: 0 or -errno.
 */
int devices_identify(struct bdev *devs, char **paths, char *why);

/**
 * devices_order() - refuse devices that say themselves that they belong in another order
 * @devs: NR_DEVS of them, open
 * @why: TEXT_LEN bytes
 *
 * The metadata and the fast device of a tier device can be told, the slow device can't.
 * Return: 0, also if nothing can be told; -EINVAL.
 */
int devices_order(const struct bdev *devs, char *why);

/**
 * devices_open_sb() - identify, open for reading and see that they belong together
 * @devs: NR_DEVS of them
 * @paths: NR_DEVS of them, kept
 * @new_fast: the SSD may be another one than that of the metadata: the kernel is to judge it
 * @a: gets the superblock; to be freed with audit_free()
 * @why: TEXT_LEN bytes
 *
 * The devices may be in use.
 * Return: 0 or -errno; -EPROTONOSUPPORT for metadata of a newer version.
 */
int devices_open_sb(struct bdev *devs, char **paths, bool new_fast, struct audit *a, char *why);

/**
 * devices_refuse_held() - refuse a device that somebody has mounted, or otherwise for himself
 * @devs: NR_DEVS of them, identified
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

void devices_close(struct bdev *devs);

#endif /* TIER_TOOLS_DEVICES_H */
