// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <linux/crc32c.h>

#include "fingerprint.h"

#define HEAD_BYTES	(TIER_FP_HEAD_SECTORS * 512)
#define SAMPLE_BYTES	(TIER_FP_SAMPLE_SECTORS * 512)

int fingerprint_take(const struct bdev *dev, u64 sectors, u32 seed, struct tier_fingerprint *fp)
{
	u8 *buf = bdev_alloc(TIER_FP_SAMPLES * SAMPLE_BYTES);
	u64 head = sectors * 512 < HEAD_BYTES ? sectors * 512 : HEAD_BYTES;
	int r = bdev_read(dev, buf, head, 0);
	u32 i;

	fp->sectors = sectors;
	fp->head = crc32c(~0U, buf, head);
	fp->samples = 0;
	for (i = 0; !r && sectors >= TIER_FP_SAMPLE_SECTORS && i < TIER_FP_SAMPLES; i++)
		r = bdev_read(dev, buf + i * SAMPLE_BYTES, SAMPLE_BYTES, tier_fingerprint_sample(sectors, seed, i) * 512);
	if (!r && sectors >= TIER_FP_SAMPLE_SECTORS)
		fp->samples = crc32c(~0U, buf, TIER_FP_SAMPLES * SAMPLE_BYTES);
	free(buf);
	return r;
}
