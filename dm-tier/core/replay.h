/* SPDX-License-Identifier: GPL-2.0 */
/* What a journal holds: which transactions are complete, and their entries in order. */
#ifndef TIER_REPLAY_H
#define TIER_REPLAY_H

#include "codec.h"

/**
 * struct tier_journal_scan - result of tier_journal_scan()
 * @nr_txns: complete transactions from the tail on
 * @next_txn: number that the next transaction gets
 * @next_block: ring block at which it will be written
 * @used_blocks: ring blocks from the tail to next_block
 * @torn_sectors: sectors of a last transaction that a power cut left incomplete
 * @renew: sectors are damaged, but nothing of the journal counts: the whole ring is to be written anew, as
 *	at format, before the superblock loses TIER_SB_CLEAN
 * @bad_block: ring block of the damage, the first, if the scan failed or @renew is set
 * @bad_sector: sector in it
 */
struct tier_journal_scan {
	u64 nr_txns;
	u64 next_txn;
	u64 next_block;
	u64 used_blocks;
	u32 torn_sectors;
	bool renew;
	u64 bad_block;
	u32 bad_sector;
};

typedef int (*tier_replay_fn)(void *context, u64 txn, const struct tier_jentry *e);

/**
 * tier_journal_scan() - find the complete transactions of a journal
 * @sb: superblock: geometry, flags, tail_txn, tail_block, head_txn
 * @ring: the whole ring, geometry.journal_blocks metadata blocks; those that can't be read hold no good sector
 * @scan: result
 * @why: set to a message if it fails or the ring is to be written anew, else to NULL
 *
 * From the tail, transactions must follow each other without a gap.  The scan ends where sectors are
 * older than the expected transaction.  An incomplete last one is a torn write and is ignored.  It is
 * damage, and an error, if any sector of the ring fails its checksum or is misplaced, if the ring holds
 * a complete transaction newer than the end, or if the journal ends before head_txn.
 *
 * After a clean stop bad sectors are no error, but make the ring one that is to be written anew, unless a
 * good one is newer than the stop.  The numbers of transactions go on.
 *
 * Return: 0, or -EILSEQ.
 */
int tier_journal_scan(const struct tier_sb *sb, const void *ring, struct tier_journal_scan *scan,
		      const char **why);

/**
 * tier_journal_replay() - hand out the entries of all complete transactions, oldest first
 * @sb: as in tier_journal_scan()
 * @ring: as in tier_journal_scan()
 * @scan: its result
 * @fn: called for each entry; a non-zero return ends the replay
 * @context: for @fn
 *
 * Return: 0, what @fn returned, or -EILSEQ for an entry that makes no sense.
 */
int tier_journal_replay(const struct tier_sb *sb, const void *ring, const struct tier_journal_scan *scan,
			tier_replay_fn fn, void *context);

#endif /* TIER_REPLAY_H */
