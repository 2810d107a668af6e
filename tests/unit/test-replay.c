// SPDX-License-Identifier: GPL-2.0
/*
 * The journal after a power cut and after damage.  A model writes transactions into a small ring;
 * each test changes the ring as a power cut or a bad device would, and says what a scan must find.
 */
#include "tap.h"
#include "core-fixture.h"
#include <asm/byteorder.h>
#include <linux/crc32c.h>

#define RING		16U	/* blocks */
#define RING_BYTES	(RING * TIER_META_BLOCK_SIZE)
#define MAX_TXNS	64U

/* A journal and what was written to it */
static struct model {
	struct tier_sb sb;
	u8 *ring;
	u8 *txn;		/* buffer for one */
	u32 seed;
	u64 next_txn;
	u64 next_block;
	u32 nr_txns;		/* since the tail */
	struct {
		u32 nr;		/* entries */
		u64 block;
		u32 blocks;
		u64 salt;	/* the entries follow from it */
	} txns[MAX_TXNS];
} m;

static struct tier_journal_scan scan;
static const char *why;

static u8 *sector(u64 block, u32 s)
{
	return m.ring + block % RING * TIER_META_BLOCK_SIZE + s * TIER_JOURNAL_SECTOR;
}

/* A formatted ring of a live device, whose first transaction will be @txn at @block */
static void start(u32 block_sectors, u64 txn, u64 block)
{
	u32 i;

	fx_sb(&m.sb, block_sectors, 5000, 60000, RING);
	m.sb.flags = 0;
	m.next_txn = txn;
	m.next_block = block;
	m.sb.tail_txn = txn;
	m.sb.tail_block = block;
	m.sb.head_txn = txn - 1;
	m.seed = tier_csum_seed(m.sb.uuid);
	m.nr_txns = 0;
	for (i = 0; i < RING; i++)
		tier_journal_format_block(sector(i, 0), m.seed, i);
}

/* Makes the next transaction in m.txn; returns its blocks */
static u32 make(u32 nr, u64 salt)
{
	struct tier_jentry e;
	u32 i;

	tier_txn_init(&m.sb.geometry, m.txn, nr);
	for (i = 0; i < nr; i++) {
		fx_jentry(&m.sb.geometry, salt + i, &e);
		tier_txn_put(&m.sb.geometry, m.txn, i, &e);
	}
	tier_txn_seal(&m.sb.geometry, m.txn, nr, m.seed, m.next_txn, m.next_block);
	return tier_txn_blocks(&m.sb.geometry, nr);
}

/* The sector of m.txn reaches the ring */
static void put_sector(u32 s)
{
	memcpy(sector(m.next_block + s / 8, s % 8), m.txn + s * TIER_JOURNAL_SECTOR,
	       TIER_JOURNAL_SECTOR);
}

/* A transaction is written in whole */
static void commit(u32 nr, u64 salt)
{
	u32 blocks = make(nr, salt), s;

	for (s = 0; s < 8 * blocks; s++)
		put_sector(s);
	m.txns[m.nr_txns].nr = nr;
	m.txns[m.nr_txns].block = m.next_block;
	m.txns[m.nr_txns].blocks = blocks;
	m.txns[m.nr_txns++].salt = salt;
	m.next_txn++;
	m.next_block = (m.next_block + blocks) % RING;
}

/* The oldest transactions are checkpointed */
static void checkpoint(u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		m.sb.tail_block = (m.sb.tail_block + m.txns[i].blocks) % RING;
	m.sb.tail_txn += nr;
	m.sb.head_txn = m.next_txn - 1;
	m.nr_txns -= nr;
	memmove(m.txns, m.txns + nr, m.nr_txns * sizeof(m.txns[0]));
}

/* What a replay hands out is compared to the model */
struct replay_state {
	u32 txn;
	u32 entry;
	u32 left;	/* calls until an error is returned, 0: none */
	bool good;
};

static int take_entry(void *context, u64 txn, const struct tier_jentry *e)
{
	struct replay_state *st = context;
	struct tier_jentry want;

	if (st->left && !--st->left)
		return -42;
	while (st->txn < m.nr_txns && st->entry == m.txns[st->txn].nr) {
		st->txn++;
		st->entry = 0;
	}
	if (st->txn >= m.nr_txns) {
		st->good = false;
		return -1;
	}
	fx_jentry(&m.sb.geometry, m.txns[st->txn].salt + st->entry++, &want);
	if (txn != m.sb.tail_txn + st->txn || !fx_same_jentry(e, &want))
		st->good = false;
	return 0;
}

/* A scan finds just the first @nr transactions of the model, and @torn sectors behind */
static bool finds(u32 nr, u32 torn)
{
	struct replay_state st = { .good = true };
	u32 i, entries = 0, old = m.nr_txns;
	u64 used = 0;
	int r;

	r = tier_journal_scan(&m.sb, m.ring, &scan, &why);
	if (r || why)
		return false;
	for (i = 0; i < nr; i++) {
		used += m.txns[i].blocks;
		entries += m.txns[i].nr;
	}
	if (scan.nr_txns != nr || scan.next_txn != m.sb.tail_txn + nr || scan.used_blocks != used ||
	    scan.next_block != (m.sb.tail_block + used) % RING || scan.torn_sectors != torn)
		return false;
	m.nr_txns = nr;
	r = tier_journal_replay(&m.sb, m.ring, &scan, take_entry, &st);
	m.nr_txns = old;
	for (i = 0; i < st.txn; i++)
		entries -= m.txns[i].nr;
	return !r && st.good && entries == st.entry;
}

static bool is_damage(u64 block, u32 s)
{
	int r = tier_journal_scan(&m.sb, m.ring, &scan, &why);

	return r == -EILSEQ && why && *why && scan.bad_block == block % RING &&
	       scan.bad_sector == s;
}

static bool is_damage_anywhere(void)
{
	return tier_journal_scan(&m.sb, m.ring, &scan, &why) == -EILSEQ && why && *why;
}

/* --- complete journals --- */

static void test_complete(u32 bs)
{
	u32 per_block, first, i, nr;
	u64 state = bs;

	for (first = 0; first < RING; first++) {
		start(bs, 1000, first);
		per_block = 8 * m.sb.geometry.entries_per_jsector;
		fx_check(finds(0, 0), "empty ring at %u", first);
		for (i = 0; i < 5; i++) {
			/* 0 to 3 blocks, and just at the border */
			nr = i == 2 ? per_block : fx_random(&state) % (3 * per_block);
			commit(nr, i * 1000 + first);
			fx_check(finds(i + 1, 0), "%u transactions from block %u: %s", i + 1, first,
				 why);
		}
	}
	/* several laps, with a tail that moves on */
	start(bs, 1, 3);
	for (i = 0; i < 200; i++) {
		u64 used = 0;
		u32 k;

		nr = fx_random(&state) % (3 * per_block);
		for (k = 0; k < m.nr_txns; k++)
			used += m.txns[k].blocks;
		while (used + tier_txn_blocks(&m.sb.geometry, nr) > RING) {
			used -= m.txns[0].blocks;
			checkpoint(1);
		}
		commit(nr, i * 7919);
		fx_check(finds(m.nr_txns, 0), "lap: transaction %u: %s", i, why);
	}
	/* a full ring, of one block each and of one transaction */
	start(bs, 5, 7);
	for (i = 0; i < RING; i++)
		commit(3, i);
	fx_check(finds(RING, 0) && scan.next_block == 7, "full ring: %s", why);
	start(bs, 5, 7);
	commit(per_block * RING, 1);
	fx_check(finds(1, 0) && scan.next_block == 7, "full ring of one transaction: %s", why);
	ok(!fx_failures(), "complete journals at block size %u", bs);
}

/* --- torn --- */

/* Before a torn write: three transactions; below the next one the ring is unwritten, or old */
static void before_torn(u32 bs, u32 first, bool old)
{
	u32 i;

	start(bs, 1, first);
	if (old) {
		for (i = 0; i < 2 * RING; i++) {
			if (m.nr_txns == 8)
				checkpoint(4);
			commit(5, i);
		}
		checkpoint(m.nr_txns - 1);
	}
	commit(10, 111);
	commit(0, 222);
	commit(33, 333);
}

/* Every subset of the sectors of a transaction of one block */
static void test_torn_all(u32 bs, bool old)
{
	u8 *saved = fx_blocks(RING);
	u32 first, set, s;

	for (first = 0; first < RING; first++) {
		before_torn(bs, first, old);
		memcpy(saved, m.ring, RING_BYTES);
		make(70, 444);
		for (set = 0; set < 255; set++) {
			memcpy(m.ring, saved, RING_BYTES);
			for (s = 0; s < 8; s++)
				if (set & 1U << s)
					put_sector(s);
			fx_check(finds(m.nr_txns, hweight32(set)), "first %u set %#x: %s", first,
				 set, why);
		}
		memcpy(m.ring, saved, RING_BYTES);
		commit(70, 444);
		fx_check(finds(m.nr_txns, 0), "first %u: whole", first);
	}
	free(saved);
	ok(!fx_failures(), "every torn write of one block over %s, block size %u",
	   old ? "an old lap" : "a new ring", bs);
}

/* Every subset of the 16 sectors of two blocks, which wrap around */
static void test_torn_wrapped(void)
{
	u8 *saved = fx_blocks(RING);
	u32 set, s;

	before_torn(128, RING - 4, true);
	while (m.next_block != RING - 1) {
		checkpoint(1);
		commit(1, m.next_txn);
	}
	memcpy(saved, m.ring, RING_BYTES);
	make(200, 444);
	for (set = 0; set < 65535; set++) {
		memcpy(m.ring, saved, RING_BYTES);
		for (s = 0; s < 16; s++)
			if (set & 1U << s)
				put_sector(s);
		fx_check(finds(m.nr_txns, hweight32(set)), "set %#x: %s", set, why);
	}
	commit(200, 444);
	fx_check(finds(m.nr_txns, 0), "whole");
	free(saved);
	ok(!fx_failures(), "every torn write of two blocks around the end of the ring");
}

/* Prefixes, suffixes and random subsets of larger ones */
static void test_torn_large(u32 bs)
{
	u8 *saved = fx_blocks(RING), chosen[8 * 12];
	u32 per_block, blocks, k, s, n;
	u64 state = bs;

	before_torn(bs, 9, true);
	per_block = 8 * m.sb.geometry.entries_per_jsector;
	memcpy(saved, m.ring, RING_BYTES);
	for (blocks = 3; blocks <= 12; blocks += 3) {
		make(blocks * per_block - 5, 555);
		for (k = 0; k < 3 * 8 * blocks; k++) {
			memcpy(m.ring, saved, RING_BYTES);
			for (s = n = 0; s < 8 * blocks; s++) {
				if (k < 8 * blocks)
					chosen[s] = s < k;
				else if (k < 16 * blocks)
					chosen[s] = s > k - 8 * blocks;
				else
					chosen[s] = fx_random(&state) & 1;
				if (chosen[s]) {
					put_sector(s);
					n++;
				}
			}
			if (n < 8 * blocks)
				fx_check(finds(m.nr_txns, n), "%u blocks, case %u: %s", blocks, k,
					 why);
		}
	}
	free(saved);
	ok(!fx_failures(), "torn writes of 3 to 12 blocks at block size %u", bs);
}

/*
 * A torn transaction, a restart, another transaction with the same number in the same place, torn
 * again: sectors of the two must not pass for a whole one.
 */
static void test_torn_twice(void)
{
	u8 *saved = fx_blocks(RING);
	u32 a, b, s;

	before_torn(128, 5, true);
	memcpy(saved, m.ring, RING_BYTES);
	for (a = 0; a < 255; a++) {
		for (b = 0; b < 255; b++) {
			memcpy(m.ring, saved, RING_BYTES);
			make(70, 666);
			for (s = 0; s < 8; s++)
				if (a & 1U << s)
					put_sector(s);
			make(71, 777);
			for (s = 0; s < 8; s++)
				if (b & 1U << s)
					put_sector(s);
			fx_check(finds(m.nr_txns, hweight32(a | b)), "sets %#x and %#x: %s", a, b,
				 why);
		}
	}
	/* the second one in whole, over whatever the first one left, and a third behind it */
	for (a = 0; a < 255; a++) {
		before_torn(128, 5, true);
		make(70, 666);
		for (s = 0; s < 8; s++)
			if (a & 1U << s)
				put_sector(s);
		commit(71, 777);
		commit(5, 888);
		fx_check(finds(m.nr_txns, 0), "set %#x, then whole: %s", a, why);
	}
	/* the rest of a longer first one lies behind the end and is old */
	for (a = 0; a < 256; a++) {
		u32 n;

		before_torn(128, 5, true);
		make(400, 666);
		for (s = 0; s < 24; s++)
			if (s >= 8 && a & 1U << (s - 8) % 8)
				put_sector(s);
		commit(71, 777);
		fx_check(finds(m.nr_txns, 0), "rest of a longer one: %s", why);
		make(3, 888);
		for (s = n = 0; s < 8; s++) {
			if (a & 1U << (7 - s)) {
				put_sector(s);
				n++;
			}
		}
		if (n < 8)
			fx_check(finds(m.nr_txns, n), "torn over the rest of a longer one: %s",
				 why);
	}
	free(saved);
	ok(!fx_failures(), "torn twice: two attempts at the same number don't mix");
}

/* --- damage --- */

/* Each sector of each complete transaction is damaged in turn */
static void test_damage(u32 bs)
{
	u8 *saved = fx_blocks(RING), *older = fx_blocks(RING);
	u32 block, s, bit;
	u64 state = 3;

	start(bs, 1, 0);
	while (m.next_txn <= RING) {
		if (m.nr_txns)
			checkpoint(1);
		commit(5, m.next_txn);
	}
	memcpy(older, m.ring, RING_BYTES);
	checkpoint(m.nr_txns);
	commit(10, 1);
	commit(200, 2);
	commit(7, 3);
	commit(70, 4);
	memcpy(saved, m.ring, RING_BYTES);
	fx_check(finds(4, 0), "good: %s", why);

	for (block = 0; block < RING; block++) {
		bool in_use = (block - m.sb.tail_block + RING) % RING < 5 + (bs >= 256);

		for (s = 0; s < 8; s++) {
			memset(sector(block, s), 0, 512);
			fx_check(is_damage(block, s), "block %u sector %u zero", block, s);
			memcpy(m.ring, saved, RING_BYTES);

			bit = fx_random(&state) % (8 * 512);
			sector(block, s)[bit / 8] ^= 1 << bit % 8;
			fx_check(is_damage(block, s), "block %u sector %u bit %u", block, s, bit);
			memcpy(m.ring, saved, RING_BYTES);

			memcpy(sector(block, s), sector(block + 1, s), 512);
			fx_check(is_damage(block, s), "block %u sector %u from the next block",
				 block, s);
			memcpy(m.ring, saved, RING_BYTES);

			memcpy(sector(block, s), sector(block, s ^ 1), 512);
			fx_check(is_damage(block, s), "block %u sector %u from beside", block, s);
			memcpy(m.ring, saved, RING_BYTES);

			/* a lost write: the sector is of the lap before, which makes a gap */
			memcpy(sector(block, s), older + (sector(block, s) - m.ring), 512);
			if (!in_use)
				fx_check(finds(4, 0), "block %u is not in use", block);
			else if (block != (m.next_block + RING - 1) % RING)
				fx_check(is_damage_anywhere(), "block %u sector %u old", block, s);
			memcpy(m.ring, saved, RING_BYTES);
		}
	}

	/* The last transaction lost: a power cut, unless the superblock knows better. */
	block = m.txns[3].block;
	memcpy(sector(block, 0), older + block * TIER_META_BLOCK_SIZE, TIER_META_BLOCK_SIZE);
	fx_check(finds(3, 0), "last one lost: %s", why);
	m.sb.head_txn = m.next_txn - 1;
	fx_check(is_damage(block, 0), "last one lost, superblock knows it");
	memcpy(m.ring, saved, RING_BYTES);
	fx_check(finds(4, 0), "superblock knows all");

	/* Another UUID: all checksums fail. */
	m.sb.uuid[0] ^= 1;
	fx_check(is_damage(0, 0), "journal of another tier device");
	m.sb.uuid[0] ^= 1;
	/* A tail that isn't one */
	m.sb.tail_txn--;
	m.sb.head_txn = m.sb.tail_txn - 1;
	fx_check(is_damage_anywhere(), "tail_txn one less");
	m.sb.tail_txn++;
	m.sb.tail_block = RING;
	fx_check(is_damage_anywhere(), "tail_block beyond the ring");
	free(saved);
	free(older);
	ok(!fx_failures(), "damage to every sector at block size %u", bs);
}

static void reseal(u8 *p)
{
	*(__le32 *)p = cpu_to_le32(crc32c(m.seed, p + 4, 508));
}

/* Damage that is none, since nothing of the journal counts; @first: the first damaged sector */
static bool is_unneeded(u64 first, u32 s)
{
	int r = tier_journal_scan(&m.sb, m.ring, &scan, &why);

	return !r && scan.renew && why && *why && scan.bad_block == first && scan.bad_sector == s &&
	       scan.next_txn == m.next_txn && scan.next_block == m.next_block && !scan.used_blocks &&
	       !scan.nr_txns && !scan.torn_sectors;
}

/* Each sector damaged in turn after a clean stop */
static void test_damage_clean(u32 bs)
{
	u8 *saved = fx_blocks(RING);
	u32 block, s, bit;
	u64 state = 11;

	start(bs, 1, 0);
	/* once around; the last blocks are of the lap before, or were never written */
	while (m.next_txn <= RING - 2) {
		commit(5, m.next_txn);
		checkpoint(1);
	}
	fx_check(finds(0, 0) && !scan.renew, "good, not clean: %s", why);
	m.sb.flags = TIER_SB_CLEAN;
	fx_check(finds(0, 0) && !scan.renew, "good: %s", why);
	memcpy(saved, m.ring, RING_BYTES);
	for (block = 0; block < RING; block++) {
		for (s = 0; s < 8; s++) {
			memset(sector(block, s), 0, 512);
			fx_check(is_unneeded(block, s), "block %u sector %u zero", block, s);
			m.sb.flags = 0;
			fx_check(is_damage(block, s), "block %u sector %u zero, not clean", block, s);
			m.sb.flags = TIER_SB_CLEAN;
			m.sb.head_txn++;
			fx_check(is_damage(block, s), "block %u sector %u zero, a transaction left", block, s);
			m.sb.head_txn--;
			memcpy(m.ring, saved, RING_BYTES);

			bit = fx_random(&state) % (8 * 512);
			sector(block, s)[bit / 8] ^= 1 << bit % 8;
			fx_check(is_unneeded(block, s), "block %u sector %u bit %u", block, s, bit);
			memcpy(m.ring, saved, RING_BYTES);

			memcpy(sector(block, s), sector(block + 1, s), 512);
			fx_check(is_unneeded(block, s), "block %u sector %u from the next block", block, s);
			memcpy(m.ring, saved, RING_BYTES);

			memcpy(sector(block, s), sector(block, s ^ 1), 512);
			fx_check(is_unneeded(block, s), "block %u sector %u from beside", block, s);
			memcpy(m.ring, saved, RING_BYTES);
		}
	}
	memset(m.ring, 0, RING_BYTES);
	fx_check(is_unneeded(0, 0), "blank ring");
	memset(m.ring, 0xff, RING_BYTES);
	fx_check(is_unneeded(0, 0), "ring of ones");
	for (s = 0; s < RING_BYTES; s += 8)
		*(u64 *)(m.ring + s) = fx_random(&state);
	fx_check(is_unneeded(0, 0), "garbage");

	/* the superblock is of an earlier stop: something newer is in the ring, and may have been in what is bad */
	for (block = 0; block < RING; block++) {
		memcpy(m.ring, saved, RING_BYTES);
		memset(sector(block, 5), 0, 512);
		make(5, 99);
		if (block != m.next_block) {
			put_sector(2);
			fx_check(is_damage(m.next_block, 2), "block %u and a newer sector", block);
		}
		m.next_txn++;
		make(5, 99);
		m.next_txn--;
		put_sector(7);
		fx_check(is_damage_anywhere() && !scan.renew, "block %u and one behind a gap", block);
	}
	memcpy(m.ring, saved, RING_BYTES);
	m.next_txn++;
	commit(5, 99);
	fx_check(is_damage_anywhere() && !scan.renew, "a gap");

	/* written anew, whole or in parts */
	start(bs, 30, 7);
	m.sb.flags = TIER_SB_CLEAN;
	fx_check(finds(0, 0) && !scan.renew && scan.next_txn == 30, "anew: %s", why);
	memset(sector(9, 0), 0, TIER_META_BLOCK_SIZE);
	fx_check(is_unneeded(9, 0), "anew but for a block");
	free(saved);
	ok(!fx_failures(), "damage to every sector after a clean stop, at block size %u", bs);
}

/* Sectors that are good by themselves but lie about the transaction */
static void test_lies(void)
{
	struct tier_disk_jsector *d;
	u8 *saved = fx_blocks(RING);
	u64 block;
	u32 i;

	start(128, 100, 13);
	commit(200, 1);
	commit(20, 2);
	commit(30, 3);
	memcpy(saved, m.ring, RING_BYTES);
	block = m.txns[1].block;
	d = (void *)sector(block, 0);

/* a field of all sectors of the block */
#define ALL(change) ({								\
	for (i = 0; i < 8; i++)							\
		((struct tier_disk_jsector *)sector(block, i))->change;		\
})
#define LIE(change, name) do {				\
	change;						\
	for (i = 0; i < 8; i++)				\
		reseal(sector(block, i));		\
	fx_check(is_damage_anywhere(), name);		\
	memcpy(m.ring, saved, RING_BYTES);		\
} while (0)

	LIE(d->total = cpu_to_le16(16), "first sector says 16 sectors");
	LIE(d->total = cpu_to_le16(0), "total 0");
	LIE(d->total = cpu_to_le16(5), "total 5");
	LIE(d->total = cpu_to_le16(136), "total beyond the ring");
	LIE(d->index = cpu_to_le16(8), "index 8 of 8");
	LIE(d->txn = cpu_to_le64(100), "number of the one before");
	LIE(d->txn = cpu_to_le64(103), "number of the one to come");
	LIE(d->txn = cpu_to_le64(104), "number after the one to come");
	LIE(d->txn_csum ^= cpu_to_le32(1), "one sector's transaction checksum");
	LIE(ALL(txn_csum ^= cpu_to_le32(1)),
	    "all sectors' transaction checksum");
	LIE(ALL(total = cpu_to_le16(128)),
	    "all say that it fills the ring");
	LIE(sector(block, 3)[100] ^= 1, "an entry");
	LIE(((struct tier_disk_jsector *)sector(block, 3))->total = cpu_to_le16(16),
	    "one sector's total");
	block = m.txns[0].block + 1;
	LIE(ALL(index = cpu_to_le16(i)),
	    "a second block that says it is the first");
	block = m.txns[1].block;
	LIE(d->nr = cpu_to_le16(21), "too many entries");
	LIE(d->block = cpu_to_le32((u32)block + 1), "another block");

	/* the same at the end, where a torn write may be */
	block = m.next_block;
	d = (void *)sector(block, 0);
	for (i = 0; i < 8; i++) {
		memcpy(sector(block, i), sector(m.txns[2].block, i), 512);
		((struct tier_disk_jsector *)sector(block, i))->block = cpu_to_le32((u32)block);
		((struct tier_disk_jsector *)sector(block, i))->txn = cpu_to_le64(103);
		reseal(sector(block, i));
	}
	fx_check(!tier_journal_scan(&m.sb, m.ring, &scan, &why) && scan.nr_txns == 4,
		 "a fourth one: %s", why);
	memcpy(saved, m.ring, RING_BYTES);
	LIE(ALL(txn = cpu_to_le64(104)),
	    "a complete one behind a gap");
	LIE(({ ALL(index = cpu_to_le16(8 + i)); ALL(total = cpu_to_le16(16)); }),
	    "the second half of the next one in the place of the first");
	free(saved);
	ok(!fx_failures(), "sectors that are good by themselves and wrong together");
}

static void test_garbage(void)
{
	u64 state = 5, i;
	u32 k;

	start(128, 1, 0);
	memset(m.ring, 0, RING_BYTES);
	ok(is_damage(0, 0), "blank ring");
	memset(m.ring, 0xff, RING_BYTES);
	ok(is_damage(0, 0), "ring of ones");
	for (k = 0; k < 200; k++) {
		for (i = 0; i < RING_BYTES; i += 8)
			*(u64 *)(m.ring + i) = fx_random(&state);
		fx_check(is_damage(0, 0), "garbage");
	}
	/* with good magic numbers and checksums */
	for (k = 0; k < 5000; k++) {
		start(128, 1 + fx_random(&state) % 3, fx_random(&state) % RING);
		for (i = 0; i < RING * 8; i++) {
			struct tier_disk_jsector *d = (void *)(m.ring + i * 512);

			d->txn = cpu_to_le64(fx_random(&state) % 4);
			d->index = cpu_to_le16(i % 8 + fx_random(&state) % 3 * 8);
			d->total = cpu_to_le16(fx_random(&state) % 4 * 8);
			d->nr = cpu_to_le16(fx_random(&state) % 3);
			if (!d->txn || d->total <= d->index)
				tier_txn_seal(&m.sb.geometry, (u8 *)d - i % 8 * 512, 0, m.seed, 1,
					      i / 8);
			else
				reseal((u8 *)d);
		}
		if (!tier_journal_scan(&m.sb, m.ring, &scan, &why))
			fx_check(scan.used_blocks <= RING && scan.next_block < RING &&
				 scan.nr_txns <= scan.used_blocks, "sane");
	}
	ok(!fx_failures(), "garbage");
}

static void test_replay_errors(void)
{
	struct replay_state st = { .good = true, .left = 15 };
	struct tier_jentry e;
	u32 i;

	start(128, 1, 0);
	commit(10, 1);
	commit(10, 2);
	is(tier_journal_scan(&m.sb, m.ring, &scan, &why), 0, "scan");
	is(tier_journal_replay(&m.sb, m.ring, &scan, take_entry, &st), -42,
	   "an error of the callback ends the replay");
	is(st.txn * 10 + st.entry, 14, "at once");

	/* a transaction that is whole, with an entry that makes no sense */
	start(128, 1, 0);
	tier_txn_init(&m.sb.geometry, m.txn, 2);
	for (i = 0; i < 2; i++) {
		fx_jentry(&m.sb.geometry, 1, &e);
		e.key = i ? 5000 : 4999;
		tier_txn_put(&m.sb.geometry, m.txn, i, &e);
	}
	tier_txn_seal(&m.sb.geometry, m.txn, 2, m.seed, 1, 0);
	for (i = 0; i < 8; i++)
		put_sector(i);
	is(tier_journal_scan(&m.sb, m.ring, &scan, &why), 0, "scan");
	m.nr_txns = 1;
	m.txns[0].nr = 2;
	st = (struct replay_state){ 0 };
	is(tier_journal_replay(&m.sb, m.ring, &scan, take_entry, &st), -EILSEQ,
	   "a slot beyond the last is damage");
}

int main(void)
{
	u32 i;

	m.ring = fx_blocks(RING);
	m.txn = fx_blocks(RING);
	for (i = 0; i < FX_NR_BLOCK_SIZES; i++)
		test_complete(fx_block_sizes[i]);
	test_torn_all(8, false);
	test_torn_all(128, true);
	test_torn_all(2048, true);
	test_torn_wrapped();
	test_torn_large(64);
	test_torn_large(1024);
	test_torn_twice();
	test_damage(64);
	test_damage(1024);
	test_damage_clean(64);
	test_damage_clean(1024);
	test_lies();
	test_garbage();
	test_replay_errors();
	free(m.ring);
	free(m.txn);
	return tap_done();
}
