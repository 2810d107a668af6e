// SPDX-License-Identifier: GPL-2.0
/*
 * What a journal holds.
 *
 * A scan has three steps: every sector is verified by itself; the transactions are followed from
 * the tail as far as they are complete; what lies behind the last of them is judged.  Only one
 * transaction is ever in flight, so all that a power cut leaves there is a part of the next one.
 *
 * After a clean stop the pages have everything, and bad sectors hide nothing.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "replay.h"

static const struct tier_disk_jsector *sector_at(const void *ring, u64 block, u32 sector)
{
	const u8 *p = ring;

	return (const void *)(p + block * TIER_META_BLOCK_SIZE + sector * TIER_JOURNAL_SECTOR);
}

static u64 ring_add(const struct tier_geometry *g, u64 block, u64 nr)
{
	block += nr;
	return block >= g->journal_blocks ? block - g->journal_blocks : block;
}

static int damaged(struct tier_journal_scan *scan, u64 block, u32 sector, const char *message,
		   const char **why)
{
	scan->bad_block = block;
	scan->bad_sector = sector;
	*why = message;
	return -EILSEQ;
}

static const char *sector_message(enum tier_verify v)
{
	switch (v) {
	case TIER_BLANK:
		return "journal sector is blank";
	case TIER_NOT_OURS:
		return "journal sector has a wrong magic number";
	case TIER_BAD_CSUM:
		return "journal sector's checksum does not match";
	case TIER_MISPLACED:
		return "journal sector belongs to another place";
	default:
		return "journal sector has a field that is not valid";
	}
}

static enum tier_verify verify_sector(const struct tier_geometry *g, const void *ring, u32 seed,
				      u64 block, u32 s, struct tier_jhead *head)
{
	enum tier_verify v = tier_jsector_verify(g, sector_at(ring, block, s), seed, block, head);

	if (v == TIER_OK && head->index % TIER_JOURNAL_SECTORS_PER_BLOCK != s)
		return TIER_MISPLACED;
	return v;
}

static int verify_sectors(const struct tier_sb *sb, const void *ring,
			  struct tier_journal_scan *scan, const char **why)
{
	const struct tier_geometry *g = &sb->geometry;
	u32 seed = tier_csum_seed(sb->uuid);
	struct tier_jhead head;
	enum tier_verify v;
	u64 block;
	u32 s;

	for (block = 0; block < g->journal_blocks; block++) {
		for (s = 0; s < TIER_JOURNAL_SECTORS_PER_BLOCK; s++) {
			v = verify_sector(g, ring, seed, block, s, &head);
			if (v != TIER_OK)
				return damaged(scan, block, s, sector_message(v), why);
		}
	}
	return 0;
}

/* Did the last life end with a clean stop, which leaves nothing in the journal that counts? */
static bool stopped_clean(const struct tier_sb *sb)
{
	return (sb->flags & TIER_SB_CLEAN) && sb->head_txn < sb->tail_txn;
}

/*
 * Bad sectors after a clean stop.  A good one that is newer than the stop says that the superblock is
 * of an earlier stop: then they may have held something.
 */
static int judge_unneeded(const struct tier_sb *sb, const void *ring,
			  struct tier_journal_scan *scan, const char **why)
{
	const struct tier_geometry *g = &sb->geometry;
	u32 seed = tier_csum_seed(sb->uuid);
	struct tier_jhead head;
	u64 block;
	u32 s;

	for (block = 0; block < g->journal_blocks; block++)
		for (s = 0; s < TIER_JOURNAL_SECTORS_PER_BLOCK; s++)
			if (verify_sector(g, ring, seed, block, s, &head) == TIER_OK &&
			    head.txn >= sb->tail_txn)
				return damaged(scan, block, s,
					       "journal is damaged and has a transaction newer than the clean stop",
					       why);
	scan->renew = true;
	return 0;
}

/*
 * Ring blocks of transaction @txn at @block if all its sectors are there, else 0.
 * @room: ring blocks that it can take
 */
static u64 complete_blocks(const struct tier_geometry *g, const void *ring, u64 block, u64 room,
			   u64 txn)
{
	const struct tier_disk_jsector *first = sector_at(ring, block, 0), *d;
	u32 total = le16_to_cpu(first->total);
	u32 i;

	if (le64_to_cpu(first->txn) != txn || total / TIER_JOURNAL_SECTORS_PER_BLOCK > room)
		return 0;
	for (i = 0; i < total; i++) {
		d = sector_at(ring, block, i % TIER_JOURNAL_SECTORS_PER_BLOCK);
		if (d->txn != first->txn || d->total != first->total ||
		    d->txn_csum != first->txn_csum || le16_to_cpu(d->index) != i)
			return 0;
		if (i % TIER_JOURNAL_SECTORS_PER_BLOCK == TIER_JOURNAL_SECTORS_PER_BLOCK - 1)
			block = ring_add(g, block, 1);
	}
	return total / TIER_JOURNAL_SECTORS_PER_BLOCK;
}

/* Do the sectors of a complete transaction really belong together? */
static bool txn_csum_matches(const struct tier_geometry *g, const void *ring, u64 block, u64 blocks,
			     u32 seed)
{
	u32 want = le32_to_cpu(sector_at(ring, block, 0)->txn_csum);
	u32 csum = seed;
	u32 s;

	for (; blocks; blocks--, block = ring_add(g, block, 1))
		for (s = 0; s < TIER_JOURNAL_SECTORS_PER_BLOCK; s++)
			csum = crc32c(csum, sector_at(ring, block, s) + 1,
				      TIER_JOURNAL_SECTOR - sizeof(struct tier_disk_jsector));
	return csum == want;
}

static int follow_txns(const struct tier_sb *sb, const void *ring, struct tier_journal_scan *scan,
		       const char **why)
{
	const struct tier_geometry *g = &sb->geometry;
	u32 seed = tier_csum_seed(sb->uuid);
	u64 room = g->journal_blocks;
	u64 n;

	while (room) {
		n = complete_blocks(g, ring, scan->next_block, room, scan->next_txn);
		if (!n)
			break;
		if (!txn_csum_matches(g, ring, scan->next_block, n, seed))
			return damaged(scan, scan->next_block, 0,
				       "journal transaction's checksum does not match", why);
		scan->next_block = ring_add(g, scan->next_block, n);
		scan->used_blocks += n;
		room -= n;
		scan->next_txn++;
		scan->nr_txns++;
	}
	return 0;
}

/* Sectors that are newer than the last complete transaction */
static int judge_rest(const struct tier_sb *sb, const void *ring, struct tier_journal_scan *scan,
		      const char **why)
{
	const struct tier_geometry *g = &sb->geometry;
	const struct tier_disk_jsector *d;
	u64 offset, block = scan->next_block;
	u64 txn;
	u32 s;

	for (offset = 0; offset < g->journal_blocks; offset++, block = ring_add(g, block, 1)) {
		for (s = 0; s < TIER_JOURNAL_SECTORS_PER_BLOCK; s++) {
			d = sector_at(ring, block, s);
			txn = le64_to_cpu(d->txn);
			if (txn > scan->next_txn)
				return damaged(scan, block, s,
					       "journal has a gap before its newest transaction",
					       why);
			if (txn < scan->next_txn)
				continue;
			if (le16_to_cpu(d->index) / TIER_JOURNAL_SECTORS_PER_BLOCK != offset)
				return damaged(scan, block, s,
					       "journal's last transaction is in the wrong place",
					       why);
			scan->torn_sectors++;
		}
	}
	if (scan->next_txn <= sb->head_txn)
		return damaged(scan, scan->next_block, 0,
			       "journal ends before a transaction that was there once", why);
	return 0;
}

int tier_journal_scan(const struct tier_sb *sb, const void *ring, struct tier_journal_scan *scan,
		      const char **why)
{
	int r;

	memset(scan, 0, sizeof(*scan));
	*why = NULL;
	scan->next_txn = sb->tail_txn;
	scan->next_block = sb->tail_block;
	if (sb->tail_block >= sb->geometry.journal_blocks)
		return damaged(scan, 0, 0, "journal's tail is beyond its end", why);

	r = verify_sectors(sb, ring, scan, why);
	if (r && stopped_clean(sb))
		return judge_unneeded(sb, ring, scan, why);
	if (!r)
		r = follow_txns(sb, ring, scan, why);
	if (!r)
		r = judge_rest(sb, ring, scan, why);
	return r;
}

static int replay_sector(const struct tier_geometry *g, const struct tier_disk_jsector *d,
			 tier_replay_fn fn, void *context)
{
	u32 i, nr = le16_to_cpu(d->nr);
	struct tier_jentry e;
	int r;

	for (i = 0; i < nr; i++) {
		if (tier_jsector_entry(g, d, i, &e) != TIER_OK)
			return -EILSEQ;
		r = fn(context, le64_to_cpu(d->txn), &e);
		if (r)
			return r;
	}
	return 0;
}

int tier_journal_replay(const struct tier_sb *sb, const void *ring,
			const struct tier_journal_scan *scan, tier_replay_fn fn, void *context)
{
	const struct tier_geometry *g = &sb->geometry;
	u64 left, block = sb->tail_block;
	u32 s;
	int r;

	for (left = scan->used_blocks; left; left--, block = ring_add(g, block, 1)) {
		for (s = 0; s < TIER_JOURNAL_SECTORS_PER_BLOCK; s++) {
			r = replay_sector(g, sector_at(ring, block, s), fn, context);
			if (r)
				return r;
		}
	}
	return 0;
}
