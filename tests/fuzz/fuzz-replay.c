// SPDX-License-Identifier: GPL-2.0
/*
 * Journals from anybody's hand.
 *
 * Input: block size (0: 16-byte records, else 32; bit 7: the superblock says *clean*), transactions, ring block of the first, a number
 * that their sizes follow from; then changes of the ring of 16 blocks, 4 bytes each:
 *	operation	bit 0: make the sector's checksum right afterwards; bits 1 and 2: set, add,
 *			copy the sector from another, format the block
 *	place		16 bits, little endian: byte of the ring
 *	value
 */
#include "fuzz.h"
#include <asm/byteorder.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include "core/replay.h"

#define FUZZ_RING	16U

static uint8_t ring[FUZZ_RING * TIER_META_BLOCK_SIZE] __aligned(4096);
static uint8_t txn_buf[4 * TIER_META_BLOCK_SIZE] __aligned(4096);

static void make_sb(struct tier_sb *sb, uint32_t block_sectors)
{
	struct tier_geometry *g = &sb->geometry;

	memset(sb, 0, sizeof(*sb));
	fuzz_assert(!tier_geometry_cache(g, block_sectors, 1 << 23, 1 << 26));
	g->journal_blocks = FUZZ_RING;
	g->slot_start = g->journal_start + FUZZ_RING;
	fuzz_assert(!tier_geometry_resize(g, 1 << 23, 1 << 26));
	sb->version = TIER_FORMAT_VERSION;
	sb->tail_txn = 1;
}

/* A journal as it should be */
static void make_ring(struct tier_sb *sb, uint32_t seed, const uint8_t *how)
{
	const struct tier_geometry *g = &sb->geometry;
	struct tier_jentry e = { .type = TIER_JENTRY_SLOT };
	uint32_t nr_txns = how[1] % 8, i, k, n, blocks;
	u64 at = how[2] % FUZZ_RING;

	sb->tail_block = at;
	for (i = 0; i < FUZZ_RING; i++)
		tier_journal_format_block(ring + i * TIER_META_BLOCK_SIZE, seed, i);
	for (i = 0; i < nr_txns; i++) {
		n = (how[3] * (i + 1) * 7) % (8 * g->entries_per_jsector * 2);
		blocks = tier_txn_blocks(g, n);
		tier_txn_init(g, txn_buf, n);
		for (k = 0; k < n; k++) {
			e.key = (k * 17 + i) % g->nr_slots;
			e.rec.block = tier_to_block(k);
			e.rec.valid = 1;
			e.rec.dirty = 1;
			e.rec.flags = TIER_REC_MAPPED;
			tier_txn_put(g, txn_buf, k, &e);
		}
		tier_txn_seal(g, txn_buf, n, seed, i + 1, at);
		for (k = 0; k < blocks; k++, at = (at + 1) % FUZZ_RING)
			memcpy(ring + at * TIER_META_BLOCK_SIZE, txn_buf + k * TIER_META_BLOCK_SIZE,
			       TIER_META_BLOCK_SIZE);
	}
}

static void change_ring(uint32_t seed, const uint8_t *op)
{
	uint32_t place = op[1] | op[2] << 8, block = place / TIER_META_BLOCK_SIZE;
	uint8_t *sector = ring + place / TIER_JOURNAL_SECTOR * TIER_JOURNAL_SECTOR;

	switch (op[0] >> 1 & 3) {
	case 0:
		ring[place] = op[3];
		break;
	case 1:
		ring[place] += op[3];
		break;
	case 2:
		memmove(sector, ring + op[3] % (FUZZ_RING * 8) * TIER_JOURNAL_SECTOR,
			TIER_JOURNAL_SECTOR);
		break;
	case 3:
		tier_journal_format_block(ring + block * TIER_META_BLOCK_SIZE, seed, block);
		break;
	}
	if (op[0] & 1)
		*(__le32 *)sector = cpu_to_le32(crc32c(seed, sector + 4, TIER_JOURNAL_SECTOR - 4));
}

struct replayed {
	const struct tier_sb *sb;
	u64 txn;
	u64 entries;
};

static int take_entry(void *context, u64 txn, const struct tier_jentry *e)
{
	struct replayed *re = context;
	const struct tier_geometry *g = &re->sb->geometry;

	fuzz_assert(txn >= re->txn);
	re->txn = txn;
	re->entries++;
	if (e->type == TIER_JENTRY_SLOT) {
		fuzz_assert(e->key < g->nr_slots);
		fuzz_assert(!(e->rec.dirty & ~e->rec.valid));
		fuzz_assert(tier_from_block(e->rec.block) < g->nr_blocks);
	} else {
		fuzz_assert(e->type == TIER_JENTRY_INTENT && e->key < TIER_INTENT_WORDS);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tier_journal_scan scan;
	struct tier_sb sb;
	struct replayed re = { .sb = &sb };
	const char *why;
	uint32_t seed;
	int r;

	if (size < 4)
		return 0;
	make_sb(&sb, data[0] ? 2048 : 64);
	seed = tier_csum_seed(sb.uuid);
	make_ring(&sb, seed, data);
	if (data[0] & 0x80)
		sb.flags = TIER_SB_CLEAN;
	for (data += 4, size -= 4; size >= 4; data += 4, size -= 4)
		change_ring(seed, data);

	r = tier_journal_scan(&sb, ring, &scan, &why);
	fuzz_assert(r == 0 || r == -EILSEQ);
	fuzz_assert(!(r || scan.renew) == !why);
	fuzz_assert(!scan.renew || (!r && sb.flags && !scan.nr_txns));
	if (r) {
		fuzz_assert(scan.bad_block < FUZZ_RING && scan.bad_sector < 8);
		return 0;
	}
	fuzz_assert(scan.used_blocks <= FUZZ_RING && scan.nr_txns <= scan.used_blocks);
	fuzz_assert(scan.next_block == (sb.tail_block + scan.used_blocks) % FUZZ_RING);
	fuzz_assert(scan.next_txn == sb.tail_txn + scan.nr_txns);
	r = tier_journal_replay(&sb, ring, &scan, take_entry, &re);
	fuzz_assert(r == 0 || r == -EILSEQ);
	fuzz_assert(re.txn < scan.next_txn && re.entries <= scan.used_blocks * 160);
	return 0;
}
