/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fingerprint of a data device, as the kernel takes it at a clean stop.
 */
#ifndef TIER_TOOLS_FINGERPRINT_H
#define TIER_TOOLS_FINGERPRINT_H

#include "bdev.h"
#include "core/codec.h"

/**
 * fingerprint_take() - read a device's head and samples
 * @dev: open
 * @sectors: of it, at most its size
 * @seed: of this tier device, tier_csum_seed()
 * @fp: result
 *
 * Return: 0 or -errno.
 */
int fingerprint_take(const struct bdev *dev, u64 sectors, u32 seed, struct tier_fingerprint *fp);

#endif /* TIER_TOOLS_FINGERPRINT_H */
