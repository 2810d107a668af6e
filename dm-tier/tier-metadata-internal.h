/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the metadata share, and nobody else sees.
 *
 *	tier-metadata.c			the object: open, activate, stop, close, information
 *	tier-metadata-io.c		reading and writing metadata blocks
 *	tier-metadata-sb.c		the superblock's two copies, failure
 *	tier-metadata-load.c		everything that is read once: pages, journal, hints
 *	tier-metadata-resize.c		formatting pages for a new geometry
 *	tier-journal.c			transactions, the ring
 *	tier-checkpoint.c		from the journal into the pages
 *	tier-metadata-fingerprint.c	what a data device looks like
 *
 * Lock order: ckpt_lock, sb_lock, lock.
 */
#ifndef TIER_METADATA_INTERNAL_H
#define TIER_METADATA_INTERNAL_H

#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/codec.h"
#include "core/geometry.h"
#include "tier-metadata.h"

#define DM_MSG_PREFIX "tier"

/* Pages that a checkpoint or a load handles at once: the slot pages of one group */
#define TIER_ROUND_PAGES	TIER_GROUP_PAGES

/* Ring blocks of a transaction at most */
#define TIER_MAX_TXN_BLOCKS	64U

/*
 * I/O (tier-metadata-io.c)
 */

/**
 * struct tier_batch - a number of I/Os that are waited for together; on the stack
 * @client: of dm-io
 * @plug: lets neighbours merge
 * @pending: I/Os in flight, and one for the submitter
 * @failed: one of them failed
 * @done: all of them are
 */
struct tier_batch {
	struct dm_io_client *client;
	struct blk_plug plug;
	atomic_t pending;
	atomic_t failed;
	struct completion done;
};

/**
 * struct tier_md_io - one I/O of a batch, lives until tier_batch_wait()
 * @batch: it belongs to
 * @buf: vmalloc memory
 * @zero: bytes of @buf that are cleared if the I/O fails
 */
struct tier_md_io {
	struct tier_batch *batch;
	void *buf;
	size_t zero;
};

void tier_batch_start(struct tier_batch *b, struct dm_io_client *client);

/**
 * tier_batch_add() - submit an I/O
 * @b: batch, started
 * @io: room for it
 * @opf: a read that fails leaves @buf all zero, which no check takes for a good block
 * @where: device, sector, length
 * @buf: vmalloc memory
 */
void tier_batch_add(struct tier_batch *b, struct tier_md_io *io, blk_opf_t opf,
		    struct dm_io_region *where, void *buf);

/* wait for all of them; 0, or -EIO if any failed */
int tier_batch_wait(struct tier_batch *b);

/* one I/O of whole 512-byte sectors on any device, from or to vmalloc memory */
int tier_bdev_rw(struct dm_io_client *client, blk_opf_t opf, struct block_device *bdev,
		 sector_t sector, sector_t sectors, void *buf);

/* where metadata blocks are */
struct dm_io_region tier_md_region(struct tier_metadata *md, u64 block, u64 nr);

/* metadata blocks from or to vmalloc memory; 0 or -errno */
int tier_md_rw(struct tier_metadata *md, blk_opf_t opf, u64 block, u64 nr, void *buf);

/* read neighbouring blocks; one that can't be read is left all zero, which passes no check */
void tier_md_read_run(struct tier_metadata *md, u64 block, u32 nr, void *buf);

/* flush the metadata device's write cache */
int tier_md_flush(struct tier_metadata *md);

/*
 * The object
 */

enum tier_md_state {
	TIER_MD_OPENED,
	TIER_MD_LOADED,
	TIER_MD_ACTIVE,
	TIER_MD_STOPPED,
};

/**
 * struct tier_ckpt_page - a page that a checkpoint round works on
 * @kind: TIER_PAGE_SLOTS or TIER_PAGE_INTENT
 * @page: its number
 * @first_key: first of its records in the sorted keys
 * @end_key: after its last one
 * @good: copy that the new content starts from; the other one is written first
 */
struct tier_ckpt_page {
	u32 kind;
	u32 page;
	u32 first_key;
	u32 end_key;
	unsigned int good;
};

/**
 * struct tier_ring_range - some of the ring's blocks
 * @block: the first
 * @nr: how many, may wrap
 */
struct tier_ring_range {
	u32 block;
	u32 nr;
};

struct tier_metadata {
	/* constant from open to close */
	struct block_device *bdev;
	sector_t sectors;
	char *name;
	struct dm_io_client *io;
	u32 csum_seed;

	/* constant from load to close */
	struct workqueue_struct *wq;
	void *ring;		/* image of the journal; a commit writes only to its free part */
	u32 ring_blocks;
	u32 txn_capacity;

	/* the caller's one thread */
	enum tier_md_state state;
	void *txn_buf;
	u32 txn_nr;		/* entries in txn_buf; what lies behind them is zero */
	bool txn_broken;
	bool renew_ring;	/* it is damaged, and not needed: see tier_md_renew_ring() */
	u64 intent[TIER_INTENT_WORDS];	/* as of the last transaction */

	/* a write failed: set once, never cleared; commit waiters are woken after it is set */
	unsigned long failed;

	/*
	 * sb_lock is held while the superblock is written, and guards the following.  The
	 * geometry in sb changes only in resize, which runs alone; readers of it take no lock.
	 */
	struct mutex sb_lock;
	struct tier_sb sb;	/* as on the disk */
	struct tier_sb sb_next;	/* as it is going to be */
	struct tier_sb sb_read[TIER_SB_COPIES];
	void *sb_buf;		/* both copies */
	unsigned int sb_first;	/* copy to write first: the worse one */

	/* lock guards the following */
	spinlock_t lock;
	u32 head_block;		/* ring block that the next transaction starts at */
	u32 tail_block;		/* ring block of the first transaction not checkpointed */
	u32 used_blocks;	/* from tail to head */
	u64 next_txn;
	u64 commits;
	u64 checkpoints;
	bool needs_check;
	wait_queue_head_t space;	/* for a smaller used_blocks, or failed */

	/*
	 * ckpt_lock is held for a whole checkpoint, load, resize and the writing of hints, and
	 * guards the following.
	 */
	struct mutex ckpt_lock;
	struct work_struct ckpt_work;
	u64 *keys;		/* newest record of each slot in a range, see tier_md_collect() */
	u32 nr_keys;
	struct tier_ring_range keys_range;
	u64 ckpt_intent[TIER_INTENT_WORDS];	/* newest intent words in the range */
	DECLARE_BITMAP(ckpt_intent_set, TIER_INTENT_WORDS);
	u8 *pages[2];		/* copies A and B of TIER_ROUND_PAGES pages */
	struct tier_md_io *ios;	/* one for each of those */
	struct tier_ckpt_page round[TIER_ROUND_PAGES];
	unsigned long *repair;	/* slot pages with one bad copy, found by load */
	u32 repair_pages;	/* bits in @repair */
	bool repair_intent;
};

static inline const struct tier_geometry *tier_md_geometry(const struct tier_metadata *md)
{
	return &md->sb.geometry;
}

static inline bool tier_md_failed(struct tier_metadata *md)
{
	return test_bit(0, &md->failed);
}

/*
 * Superblock (tier-metadata-sb.c)
 */

/* read both copies, choose; 0 or -errno with a message in the log.  Fills sb_read[*chosen] */
int tier_md_read_sb(struct tier_metadata *md, int *chosen);

/**
 * __tier_md_write_sb() - write sb_next over both copies, with the next sequence number
 * @md: sb_lock held, sb_next filled in
 *
 * On success sb is sb_next.  On failure sb keeps its content but the sequence number, which is
 * used up; the caller calls tier_md_fail() after it has let go of sb_lock.
 */
int __tier_md_write_sb(struct tier_metadata *md);

/**
 * tier_md_fail() - the metadata can't be written any more
 * @md: sb_lock not held
 * @what: what went wrong
 * @r: error
 *
 * The first call logs, wakes the waiters, and tries to set TIER_SB_NEEDS_CHECK.
 * Return: @r
 */
int tier_md_fail(struct tier_metadata *md, const char *what, int r);

/*
 * Pages (tier-metadata-load.c)
 */

/* block of a slot or intent page's copy */
u64 tier_md_page_block(struct tier_metadata *md, u32 kind, u64 page, unsigned int copy);

/**
 * tier_md_choose_copy() - the newer good one of a page's copies
 * @md: metadata
 * @kind: TIER_PAGE_*
 * @page: its number
 * @copies: content of the two
 * @seq: set to the sequence number of the chosen one
 * @bad: set to how many are bad
 * Return: 0, 1, or -EILSEQ if both are bad (with a message)
 */
int tier_md_choose_copy(struct tier_metadata *md, u32 kind, u64 page, void *const copies[2],
			u64 *seq, unsigned int *bad);

/* pages of the kind that lie next to each other in a group */
u32 tier_md_group_pages(const struct tier_geometry *g, u32 kind);

/*
 * Journal (tier-journal.c)
 */

/* ring blocks in use by all transactions before @next_txn */
struct tier_ring_range tier_md_used_range(struct tier_metadata *md, u64 *next_txn);

/* last durable transaction */
u64 tier_md_last_txn(struct tier_metadata *md);

/* ring block @nr (at most the ring's size) behind @block */
static inline u32 tier_ring_add(const struct tier_metadata *md, u32 block, u32 nr)
{
	block += nr;
	return block < md->ring_blocks ? block : block - md->ring_blocks;
}

/**
 * tier_md_renew_ring() - write a damaged ring anew, durably
 * @md: loaded, the superblock says TIER_SB_CLEAN if the ring is damaged
 *
 * The superblock keeps TIER_SB_CLEAN until this is done: it is what makes the damage harmless.
 * Return: 0, also if the ring is good and nothing was written, or -errno
 */
int tier_md_renew_ring(struct tier_metadata *md);

/**
 * tier_md_erase_torn() - remove what a power cut left of an incomplete transaction
 * @md: loaded, no transaction written yet in this life
 *
 * The next transaction gets the same number and place.  If that one is torn too, the sectors of
 * both might add up to a whole that never was.
 */
int tier_md_erase_torn(struct tier_metadata *md);

/*
 * Checkpoint (tier-checkpoint.c)
 */

/**
 * tier_md_collect() - find the newest records and intent words in a part of the ring
 * @md: ckpt_lock held; keys, nr_keys, keys_range, ckpt_intent and ckpt_intent_set are the result
 * @range: whole transactions
 *
 * There is one key for each slot that has a record, with the slot in its upper half.  The keys are
 * sorted.
 * Return: 0, or -EILSEQ for an entry that makes no sense
 */
int tier_md_collect(struct tier_metadata *md, const struct tier_ring_range *range);

/* the journal entry behind a key */
int tier_md_key_entry(struct tier_metadata *md, u64 key, struct tier_jentry *e);

static inline u32 tier_key_slot(u64 key)
{
	return key >> 32;
}

void tier_md_checkpoint_work(struct work_struct *work);

/* is there anything that a checkpoint would do? */
bool tier_md_checkpoint_due(struct tier_metadata *md);

#endif /* TIER_METADATA_INTERNAL_H */
