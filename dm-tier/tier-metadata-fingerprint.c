// SPDX-License-Identifier: GPL-2.0
/*
 * Fingerprint of a data device: enough of it to notice that it was written to behind our back.
 */
#include <linux/crc32c.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "tier-metadata-internal.h"

#define SAMPLE_BYTES	(TIER_FP_SAMPLE_SECTORS << SECTOR_SHIFT)

/**
 * struct reader - what reading a fingerprint takes
 * @client: of dm-io
 * @bdev: device
 * @sectors: its size
 * @buf: room for the head, or all samples
 * @ios: for the samples
 */
struct reader {
	struct dm_io_client *client;
	struct block_device *bdev;
	u64 sectors;
	void *buf;
	struct tier_md_io ios[TIER_FP_SAMPLES];
};

static int read_head(struct reader *rd, u32 *crc)
{
	u32 sectors = min_t(u64, rd->sectors, TIER_FP_HEAD_SECTORS);
	int r;

	r = sectors ? tier_bdev_rw(rd->client, REQ_OP_READ, rd->bdev, 0, sectors, rd->buf) : 0;
	*crc = r ? 0 : crc32c(~0U, rd->buf, sectors << SECTOR_SHIFT);
	return r;
}

/* All at once: a disk sorts them. */
static int read_samples(struct reader *rd, u32 seed, u32 *crc)
{
	struct tier_batch b;
	u32 i;
	int r;

	*crc = 0;
	if (rd->sectors < TIER_FP_SAMPLE_SECTORS)
		return 0;	/* the head is all there is */
	tier_batch_start(&b, rd->client);
	for (i = 0; i < TIER_FP_SAMPLES; i++) {
		struct dm_io_region where = {
			.bdev = rd->bdev,
			.sector = tier_fingerprint_sample(rd->sectors, seed, i),
			.count = TIER_FP_SAMPLE_SECTORS,
		};

		tier_batch_add(&b, &rd->ios[i], REQ_OP_READ, &where, rd->buf + i * SAMPLE_BYTES);
	}
	r = tier_batch_wait(&b);
	if (!r)
		*crc = crc32c(~0U, rd->buf, TIER_FP_SAMPLES * SAMPLE_BYTES);
	return r;
}

static int read_all(struct reader *rd, u32 seed, struct tier_fingerprint *fp)
{
	int r;

	fp->sectors = rd->sectors;
	r = read_head(rd, &fp->head);
	return r ? r : read_samples(rd, seed, &fp->samples);
}

int tier_fingerprint_read(struct block_device *bdev, u64 sectors, u32 seed,
			  struct tier_fingerprint *fp)
{
	struct reader *rd;
	int r = -ENOMEM;

	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return r;
	rd->bdev = bdev;
	rd->sectors = sectors;
	rd->buf = vmalloc(TIER_FP_SAMPLES * SAMPLE_BYTES);
	rd->client = dm_io_client_create();
	if (IS_ERR(rd->client)) {
		r = PTR_ERR(rd->client);
		rd->client = NULL;
	} else if (rd->buf) {
		r = read_all(rd, seed, fp);
	}
	if (rd->client)
		dm_io_client_destroy(rd->client);
	vfree(rd->buf);
	kfree(rd);
	return r;
}
