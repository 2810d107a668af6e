// SPDX-License-Identifier: GPL-2.0
/*
 * Reading and writing metadata blocks, one at a time or many at once.
 *
 * All buffers are from vmalloc.  Nothing here allocates but from dm-io's mempools.
 */
#include <linux/string.h>

#include "tier-metadata-internal.h"

static bool is_read(blk_opf_t opf)
{
	return (opf & REQ_OP_MASK) == REQ_OP_READ;
}

/* Context: any, also interrupt */
static void batch_put(struct tier_batch *b)
{
	if (atomic_dec_and_test(&b->pending))
		complete(&b->done);
}

/* Context: any, also interrupt */
static void io_done(unsigned long error, unsigned long unsup, void *context)
{
	struct tier_md_io *io = context;

	if (error | unsup) {
		memset(io->buf, 0, io->zero);
		atomic_set(&io->batch->failed, 1);
	}
	batch_put(io->batch);
}

DEFINE_TIER_DM_IO_NOTIFY(io_done)

void tier_batch_start(struct tier_batch *b, struct dm_io_client *client)
{
	b->client = client;
	atomic_set(&b->pending, 1);
	atomic_set(&b->failed, 0);
	init_completion(&b->done);
	blk_start_plug(&b->plug);
}

void tier_batch_add(struct tier_batch *b, struct tier_md_io *io, blk_opf_t opf,
		    struct dm_io_region *where, void *buf)
{
	struct dm_io_request req = {
		.bi_opf = opf,
		.mem.type = DM_IO_VMA,
		.mem.ptr.vma = buf,
		.notify.fn = tier_dm_io_notify(io_done),
		.notify.context = io,
		.client = b->client,
	};

	io->batch = b;
	io->buf = buf;
	io->zero = is_read(opf) ? where->count << SECTOR_SHIFT : 0;
	atomic_inc(&b->pending);
	if (dm_io(&req, 1, where, NULL, NULL, IOPRIO_DEFAULT))
		io_done(1, 0, io);
}

int tier_batch_wait(struct tier_batch *b)
{
	blk_finish_plug(&b->plug);
	batch_put(b);
	wait_for_completion_io(&b->done);
	return atomic_read(&b->failed) ? -EIO : 0;
}

int tier_bdev_rw(struct dm_io_client *client, blk_opf_t opf, struct block_device *bdev,
		 sector_t sector, sector_t sectors, void *buf)
{
	struct dm_io_region where = { .bdev = bdev, .sector = sector, .count = sectors };
	struct dm_io_request req = {
		.bi_opf = opf,
		.mem.type = DM_IO_VMA,
		.mem.ptr.vma = buf,
		.client = client,
	};
	unsigned long error = 0, unsup = 0;
	int r;

	r = dm_io(&req, 1, &where, &error, &unsup, IOPRIO_DEFAULT);
	if (!r && (error | unsup))
		r = -EIO;
	return r;
}

struct dm_io_region tier_md_region(struct tier_metadata *md, u64 block, u64 nr)
{
	return (struct dm_io_region) {
		.bdev = md->bdev,
		.sector = block * TIER_META_BLOCK_SECTORS,
		.count = nr * TIER_META_BLOCK_SECTORS,
	};
}

int tier_md_rw(struct tier_metadata *md, blk_opf_t opf, u64 block, u64 nr, void *buf)
{
	return tier_bdev_rw(md->io, opf | REQ_META, md->bdev, block * TIER_META_BLOCK_SECTORS,
			    nr * TIER_META_BLOCK_SECTORS, buf);
}

static void read_one(struct tier_metadata *md, u64 block, void *buf)
{
	int r = tier_md_rw(md, REQ_OP_READ, block, 1, buf);

	if (!r)
		return;
	DMERR_LIMIT("%s: metadata block %llu: read error %d", md->name, block, r);
	memset(buf, 0, TIER_META_BLOCK_SIZE);
}

void tier_md_read_run(struct tier_metadata *md, u64 block, u32 nr, void *buf)
{
	u32 i;

	if (!tier_md_rw(md, REQ_OP_READ, block, nr, buf))
		return;
	for (i = 0; i < nr; i++)
		read_one(md, block + i, buf + (size_t)i * TIER_META_BLOCK_SIZE);
}

int tier_md_flush(struct tier_metadata *md)
{
	return blkdev_issue_flush(md->bdev);
}
