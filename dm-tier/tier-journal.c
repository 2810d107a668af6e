// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions and the ring they are written to.
 *
 * The ring's blocks from tail_block on, used_blocks of them, hold the transactions that the pages
 * do not hold yet.  A commit appends behind them; a checkpoint frees them from the tail on.  One
 * block always stays free, so that a full ring and an empty one look different.
 */
#include <linux/string.h>

#include "tier-metadata-internal.h"

static void *ring_block(struct tier_metadata *md, u32 block)
{
	return md->ring + (size_t)block * TIER_META_BLOCK_SIZE;
}

struct tier_ring_range tier_md_used_range(struct tier_metadata *md, u64 *next_txn)
{
	struct tier_ring_range range;

	spin_lock(&md->lock);
	range.block = md->tail_block;
	range.nr = md->used_blocks;
	*next_txn = md->next_txn;
	spin_unlock(&md->lock);
	return range;
}

u64 tier_md_last_txn(struct tier_metadata *md)
{
	u64 next_txn;

	tier_md_used_range(md, &next_txn);
	return next_txn - 1;
}

/*
 * Building a transaction
 */

u32 tier_metadata_txn_capacity(const struct tier_metadata *md)
{
	return md->txn_capacity;
}

void tier_metadata_begin(struct tier_metadata *md)
{
	/* clear what the last one used: the buffer is all zero behind the entries put so far */
	tier_txn_init(tier_md_geometry(md), md->txn_buf, md->txn_nr);
	md->txn_nr = 0;
	md->txn_broken = false;
}

static void add_entry(struct tier_metadata *md, const struct tier_jentry *e)
{
	if (WARN_ON_ONCE(md->txn_nr >= md->txn_capacity)) {
		md->txn_broken = true;
		return;
	}
	tier_txn_put(tier_md_geometry(md), md->txn_buf, md->txn_nr++, e);
}

void tier_metadata_add_slot(struct tier_metadata *md, tier_slot_t slot,
			    const struct tier_record *rec)
{
	struct tier_jentry e = {
		.type = TIER_JENTRY_SLOT,
		.key = tier_from_slot(slot),
		.rec = *rec,
	};

	add_entry(md, &e);
}

void tier_metadata_add_intent(struct tier_metadata *md, u32 word, u64 bits)
{
	struct tier_jentry e = {
		.type = TIER_JENTRY_INTENT,
		.key = word,
		.bits = bits,
	};

	if (WARN_ON_ONCE(word >= TIER_INTENT_WORDS)) {
		md->txn_broken = true;
		return;
	}
	md->intent[word] = bits;
	add_entry(md, &e);
}

/*
 * Commit
 */

static bool has_room(struct tier_metadata *md, u32 blocks)
{
	bool room;

	spin_lock(&md->lock);
	room = md->used_blocks + blocks < md->ring_blocks;
	spin_unlock(&md->lock);
	return room;
}

/*
 * A checkpoint that is queued now takes everything committed so far, also if one is running: so one
 * round of waiting is enough.
 */
static int wait_for_room(struct tier_metadata *md, u32 blocks)
{
	if (!has_room(md, blocks)) {
		queue_work(md->wq, &md->ckpt_work);
		wait_event(md->space, has_room(md, blocks) || tier_md_failed(md));
	}
	return tier_md_failed(md) ? -EIO : 0;
}

/*
 * Write @nr blocks of the transaction buffer at ring block @block, and into the image of the ring.
 * That part of the image is free, nobody reads it.
 */
static void write_part(struct tier_metadata *md, struct tier_batch *b, struct tier_md_io *io,
		       u32 block, u32 nr, void *buf)
{
	struct dm_io_region where =
		tier_md_region(md, tier_md_geometry(md)->journal_start + block, nr);

	memcpy(ring_block(md, block), buf, (size_t)nr * TIER_META_BLOCK_SIZE);
	tier_batch_add(b, io, REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA, &where, buf);
}

/*
 * Both parts of a transaction that wraps go out together: it counts only when all its sectors are
 * there.
 */
static int write_txn(struct tier_metadata *md, u32 block, u32 blocks)
{
	u32 first = min(blocks, md->ring_blocks - block);
	struct tier_md_io io[2];
	struct tier_batch b;

	tier_batch_start(&b, md->io);
	write_part(md, &b, &io[0], block, first, md->txn_buf);
	if (first < blocks)
		write_part(md, &b, &io[1], 0, blocks - first,
			   md->txn_buf + (size_t)first * TIER_META_BLOCK_SIZE);
	return tier_batch_wait(&b);
}

/* The transaction is durable: from here on a checkpoint sees it. */
static void publish_txn(struct tier_metadata *md, u32 blocks)
{
	bool half_full;

	spin_lock(&md->lock);
	md->head_block = tier_ring_add(md, md->head_block, blocks);
	md->used_blocks += blocks;
	md->next_txn++;
	md->commits++;
	half_full = md->used_blocks > md->ring_blocks / 2;
	spin_unlock(&md->lock);

	if (half_full)
		queue_work(md->wq, &md->ckpt_work);
}

int tier_metadata_commit(struct tier_metadata *md)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	u32 block, blocks = tier_txn_blocks(g, md->txn_nr);
	u64 txn;
	int r;

	if (tier_md_failed(md))
		return -EIO;
	if (WARN_ON_ONCE(md->state != TIER_MD_ACTIVE || md->txn_broken))
		return tier_md_fail(md, "impossible transaction", -EIO);
	if (!md->txn_nr)
		return 0;

	r = wait_for_room(md, blocks);
	if (r)
		return r;

	spin_lock(&md->lock);
	block = md->head_block;
	txn = md->next_txn;
	spin_unlock(&md->lock);

	tier_txn_seal(g, md->txn_buf, md->txn_nr, md->csum_seed, txn, block);
	r = write_txn(md, block, blocks);
	if (r)
		return tier_md_fail(md, "writing the journal failed", r);
	publish_txn(md, blocks);
	return 0;
}

/*
 * After damage
 */

/* A power cut in here leaves a ring that is new in parts, and as little needed as before. */
int tier_md_renew_ring(struct tier_metadata *md)
{
	u32 block;
	int r;

	if (!md->renew_ring)
		return 0;
	for (block = 0; block < md->ring_blocks; block++)
		tier_journal_format_block(ring_block(md, block), md->csum_seed, block);
	r = tier_md_rw(md, REQ_OP_WRITE | REQ_SYNC, tier_md_geometry(md)->journal_start,
		       md->ring_blocks, md->ring);
	if (!r)
		r = tier_md_flush(md);
	if (r)
		return tier_md_fail(md, "writing the journal anew failed", r);
	md->renew_ring = false;
	DMINFO("%s: the journal was written anew", md->name);
	return 0;
}

/*
 * After a power cut
 */

/* Has a block of the ring's free part anything of a transaction that isn't complete? */
static bool is_torn(struct tier_metadata *md, u32 block, u64 next_txn)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	struct tier_jhead head;
	u32 i;

	for (i = 0; i < TIER_JOURNAL_SECTORS_PER_BLOCK; i++) {
		const void *sector = ring_block(md, block) + i * TIER_JOURNAL_SECTOR;

		if (tier_jsector_verify(g, sector, md->csum_seed, block, &head) != TIER_OK ||
		    head.txn >= next_txn)
			return true;
	}
	return false;
}

/* Sectors only ever go away from the incomplete transaction: a power cut in here does no harm. */
static int erase_block(struct tier_metadata *md, u32 block)
{
	tier_journal_format_block(ring_block(md, block), md->csum_seed, block);
	return tier_md_rw(md, REQ_OP_WRITE | REQ_SYNC | REQ_FUA,
			  tier_md_geometry(md)->journal_start + block, 1, ring_block(md, block));
}

int tier_md_erase_torn(struct tier_metadata *md)
{
	struct tier_ring_range used;
	u64 next_txn;
	u32 i, block;
	int r;

	used = tier_md_used_range(md, &next_txn);
	for (i = used.nr; i < md->ring_blocks; i++) {
		block = tier_ring_add(md, used.block, i);
		if (!is_torn(md, block, next_txn))
			continue;
		r = erase_block(md, block);
		if (r)
			return tier_md_fail(md, "cleaning the journal failed", r);
	}
	return 0;
}
