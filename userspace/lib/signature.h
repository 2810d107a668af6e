/* SPDX-License-Identifier: GPL-2.0 */
/* Signatures of file systems, volume managers, RAID, partition tables, as libblkid knows them. */
#ifndef TIER_TOOLS_SIGNATURE_H
#define TIER_TOOLS_SIGNATURE_H

#include "bdev.h"

/**
 * signature_find() - what does a device carry?
 * @b: open
 * @found: TEXT_LEN bytes: "an ext4 file system, a gpt partition table"
 * @why: TEXT_LEN bytes, set on failure
 *
 * Return: number of signatures, or -errno.
 */
int signature_find(const struct bdev *b, char *found, char *why);

/**
 * signature_wipe() - remove them all, durably
 * @b: open for writing
 * @why: TEXT_LEN bytes, set on failure
 *
 * Return: number of signatures removed, or -errno.
 */
int signature_wipe(const struct bdev *b, char *why);

#endif /* TIER_TOOLS_SIGNATURE_H */
