/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The target's own structures, shared by its files and by nothing else.
 *
 *	tier-target.c		life of a target: construct, resume, suspend, free
 *	tier-load.c		from metadata to core, and the clean stop
 *	tier-io.c		bios: what goes where, and what follows when it is done
 *	tier-copy.c		copies through memory: fill, promotion, write back
 *	tier-writeback.c	which dirty data go back when
 *	tier-reclaim.c		free slots kept ready
 *	tier-commit.c		flushes, commits, intents
 *	tier-discard.c		discards
 *	tier-move.c		tiered mode: landing, moves between tiers
 *	tier-change.c		tiered mode: tiers added, taken out, grown
 *	tier-settle.c		tiered mode: back to a plain disk
 *	tier-policy.c		policy registry and the target's policy
 *	tier-message.c		messages and range jobs
 *	tier-status.c		status and table
 *	tier-claim.c		which devices are active
 *
 * Lock order: life_mutex > job_mutex > config_sem > policy's own lock > stripe > free_lock, commit_lock,
 * io_lock, discard_lock, want_lock, promote_lock, move_lock.  None of the last seven nests in another.  claims_lock and
 * the policy registry's lock are taken under life_mutex at most, with nothing below them.
 */
#ifndef TIER_H
#define TIER_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/percpu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "core/args.h"
#include "core/fill.h"
#include "core/map.h"
#include "core/lock.h"
#include "tier-metadata.h"
#include "tier-policy.h"

#define DM_MSG_PREFIX "tier"

#define TIER_MAX_STRIPES	1024U
#define TIER_MAX_WB_REGIONS	16384U
#define TIER_MIN_WB_REGION_SECTORS 16384U	/* write back merges within a region */
#define TIER_MAX_JOBS		64U	/* range jobs waiting */
#define TIER_PROMOTE_RING	64U
#define TIER_TRIM_BATCH		256U	/* slots discarded at once */
#define TIER_WANT_CLEAN		256U	/* slots that the reclaimer may ask to be cleaned at once */

struct dm_io_region;
struct tier;

/* Worst one counts; once the target is constructed only tier_set_health() changes it */
enum tier_health {
	TIER_HEALTH_RW,
	TIER_HEALTH_DEGRADED,	/* the fast device fails: nothing new goes there */
	TIER_HEALTH_RO,		/* a metadata write failed, or the table is read-only: no writes */
	TIER_HEALTH_FAIL,	/* nothing can be served */
};

enum tier_stat {
	TIER_STAT_READ_HITS,
	TIER_STAT_READ_MISSES,
	TIER_STAT_WRITE_HITS,
	TIER_STAT_WRITE_MISSES,
	TIER_STAT_BYPASS_SEQ,
	TIER_STAT_BYPASS_POLICY,
	TIER_STAT_BYPASS_MODE,
	TIER_STAT_BYPASS_ERROR,
	TIER_STAT_BYPASS_PARTIAL,
	TIER_STAT_BYPASS_NOSLOT,
	TIER_STAT_PROMOTIONS,
	TIER_STAT_DEMOTIONS,
	TIER_STAT_POPULATES,
	TIER_STAT_FILLS,
	TIER_STAT_FILL_SECTORS,
	TIER_STAT_WRITE_BACKS,
	TIER_STAT_WRITE_BACK_SECTORS,
	TIER_STAT_COMMITS,
	TIER_STAT_CHECKPOINTS,
	TIER_STAT_DISCARDS,
	TIER_STAT_READ_ERRORS,
	TIER_STAT_WRITE_ERRORS,
	TIER_NR_STATS,
};

/* set in tier-status.c, in the order of enum tier_stat */
extern const char * const tier_stat_names[TIER_NR_STATS];

struct tier_stats {
	u64 v[TIER_NR_STATS];
};

enum tier_dev_stat {
	TIER_DEV_READS,
	TIER_DEV_WRITES,
	TIER_DEV_LANDINGS,
	TIER_DEV_MOVES_IN,
	TIER_DEV_MOVES_OUT,
	TIER_NR_DEV_STATS,
};

struct tier_dev_stats {
	u64 v[TIER_NR_DEV_STATS];
};

/**
 * struct tier_dev - a data device
 * @dm: reference; NULL: a tier that is missing in a read-only table, requests to it fail
 * @sectors: size
 * @dirtied: acknowledged writes may be in its volatile cache.  Set after a write has completed and before
 *	it is acknowledged; cleared before a flush is sent
 * @acked: and these are not only copies of ours.  Likewise
 * @flushes_begun: flushes sent; one is counted before it clears dirtied
 * @flushes_ended: those of them that are over; one that failed sets dirtied before it is counted
 * @flush_errors: those that failed.  Counted before doubt is set
 * @doubt: one failed: the device may have thrown away what it had not written.  Cleared by the commit that sees to it
 * @inflight: foreground requests under way (not on the first device)
 * @last: jiffies of the last foreground request (not on the fast device of a cache)
 *
 * @policy: ranks its slots: those of a cache's fast device, or of any tier but the last; else NULL.  config_sem
 *
 * In tiered mode also:
 * @free: free slots; free_lock
 * @nr_slots: slots on it
 * @kept: free slots that are for moves only
 * @used: slots that belong to a block
 * @pinned: pinned slots
 * @leaving: moves from it that are not over: so many slots will be free
 * @cursor: next slot looked at to make room
 * @errors: of its requests
 * @errors_seen: when the current minute began
 * @failing: too many errors in a minute: nothing lands there or is moved there
 * @evacuate: to be emptied: the same
 * @settle: every block goes to the slot of its number there, and nothing else does; life_mutex and config_sem
 * @demoting: between the watermarks
 * @evac_moves: copies under way of the job that empties it
 * @evac_failed: those that failed since its pass began
 * @evac_done: those that did not
 * @stuck: blocks that evacuate or settle could not move in two passes in a row that did nothing but fail
 * @stats: counts
 */
struct tier_dev {
	struct dm_dev *dm;
	sector_t sectors;
	bool dirtied;
	bool acked;
	atomic_t flushes_begun;
	atomic_t flushes_ended;
	atomic_t flush_errors;
	bool doubt;
	atomic_t inflight;
	unsigned long last;

	struct tier_slot_list free;
	u32 nr_slots;
	u32 kept;
	atomic_t used;
	atomic_t pinned;
	atomic_t leaving;
	u32 cursor;
	atomic_t errors;
	int errors_seen;
	bool failing;
	bool evacuate;
	bool settle;
	bool demoting;
	atomic_t evac_moves;
	atomic_t evac_failed;
	atomic_t evac_done;
	u32 stuck;
	struct tier_policy *policy;
	struct tier_dev_stats __percpu *stats;
};

/* What a bio does; decided in tier-io.c */
enum tier_route {
	TIER_ROUTE_NONE,	/* not decided yet */
	TIER_ROUTE_FAST,	/* all on the fast device */
	TIER_ROUTE_SLOW,	/* all on the slow device */
	TIER_ROUTE_LEGS,	/* both: a leg for each run, or for each device */
	TIER_ROUTE_FILL,	/* read from the slow device into memory, keep it */
	TIER_ROUTE_PAD,		/* zeros around it first, then to its slot */
	TIER_ROUTE_ELSEWHERE,	/* its slot can't be written: find another one */
	TIER_ROUTE_FLUSH,	/* flush sent straight to a device */
	TIER_ROUTE_DONE,	/* only to be ended */
};

#define TIER_IO_WRITE		BIT(0)
#define TIER_IO_NO_FAST		BIT(1)	/* its device failed it: use the slow one, or another tier */
#define TIER_IO_NO_FILL		BIT(2)
#define TIER_IO_COMMIT		BIT(3)	/* FUA: acknowledge after a commit */
#define TIER_IO_HELD		BIT(4)	/* its hold was granted */
#define TIER_IO_INTENT		BIT(5)	/* counted in its region */
#define TIER_IO_COUNTED		BIT(6)	/* hit or miss was counted */
#define TIER_IO_DIRTYING	BIT(7)	/* counted in dirtying */
#define TIER_IO_SLOW		BIT(8)	/* counted in slow.inflight */
#define TIER_IO_ADMITTED	BIT(9)	/* the policy was asked */
#define TIER_IO_FUA		BIT(10)	/* came with FUA */
#define TIER_IO_FAST_FUA	BIT(11)	/* FUA on the fast device is enough */
#define TIER_IO_BOTH		BIT(12)	/* writethrough: @fast goes to both devices */
#define TIER_IO_STARVED		BIT(13)	/* found no free slot, and waited for a commit */
#define TIER_IO_TIMED		BIT(14)	/* its latency is taken */
#define TIER_IO_GIVE_UP		BIT(15)	/* the commit that would have freed slots failed */

/**
 * struct tier_io - per-bio data
 * @t: target
 * @hold: on the granules it touches
 * @list: on a queue of the target
 * @iter: as mapped, to send it again
 * @opf: as it came, without FUA
 * @slot: slot of its block, or TIER_NO_SLOT
 * @mask: granules it touches
 * @full: granules it covers
 * @fast: granules that go to the fast device
 * @drop: granules whose copy ends when the slow device has the data
 * @start: sector on the tier device
 * @sectors: length
 * @region: intent region; tiered mode, starved: slots freed so far
 * @begun: jiffies, if it is timed
 * @flush_errors: of all devices, when it was mapped
 * @slow_flush_errors: those of a cache's slow device
 * @route: enum tier_route
 * @dev: data device of its slot, or the one that is flushed
 * @admit: the policy's word
 * @flags: TIER_IO_*
 * @legs: outstanding
 * @fast_error: of the fast leg
 * @slow_error: of the slow leg
 */
struct tier_io {
	struct tier *t;
	struct tier_hold hold;
	struct list_head list;
	struct bvec_iter iter;
	blk_opf_t opf;
	tier_slot_t slot;
	u64 mask;
	u64 full;
	u64 fast;
	u64 drop;
	u64 start;
	u32 sectors;
	u32 region;
	u32 begun;
	int flush_errors;
	int slow_flush_errors;
	u8 route;
	u8 dev;
	u8 admit;
	u16 flags;
	atomic_t legs;
	blk_status_t fast_error;
	blk_status_t slow_error;
};

/**
 * struct tier_region - intent region
 * @inflight: writes under way that may make a clean copy differ
 * @durable: the mark is on the disk and not about to be cleared
 * @used: marked or written since the last look
 * @unmarking: taken off in core, the commit that takes it off on the disk is under way
 */
struct tier_region {
	atomic_t inflight;
	bool durable;
	bool used;
	bool unmarking;
};

/* A hold, and a thread that waits for it */
struct tier_hold_waiter {
	struct tier_hold hold;
	struct completion done;
};

/* A policy's name and arguments */
struct tier_policy_words {
	unsigned int argc;
	char **argv;
	char *text;	/* what argv points into */
};

/* A slot and its record as the commit under way writes it; a move that is part of it */
struct tier_snapshot {
	tier_slot_t slot;
	struct tier_record rec;
	struct tier_move *move;
	bool unsure;	/* its device could not be flushed: not in this commit */
	bool undone;	/* the block is in its old slot again */
};

/* A range job: work on a range of blocks in the background */
struct tier_job {
	struct list_head list;
	enum tier_message_op op;
	u64 first;	/* block */
	u64 next;	/* block; evacuation: slot of the tier */
	u64 end;	/* block; evacuation: slot of the tier */
	u32 tier;	/* move, evacuate */
	u32 pass;
	u32 retries;
	u64 skipped;
	bool no_slot;	/* tiered mode: a block was left out since there was no slot for it, ... */
	int freed;	/* ... when so many had been freed */
	unsigned long pause;	/* jiffies: nothing is done until then */
	u32 failed_passes;	/* evacuate: in a row that did nothing but fail */
};

/**
 * struct tier_latency - foreground requests of a CPU, tiered mode
 * @sum: of their jiffies
 * @nr: their number
 */
struct tier_latency {
	u64 sum;
	u64 nr;
};

/**
 * enum tier_move_cause - why a block is moved
 * @TIER_MOVE_PROMOTE: the policy of the tier it goes to admitted it
 * @TIER_MOVE_DEMOTE: the policy of its tier gave it up
 * @TIER_MOVE_HAND: a message
 * @TIER_MOVE_ROOM: its tier is fuller than it should be
 * @TIER_MOVE_EVACUATE: its tier is emptied
 * @TIER_MOVE_SETTLE: to its place on a tier that settles, or out of the way of another block
 */
enum tier_move_cause {
	TIER_MOVE_PROMOTE,
	TIER_MOVE_DEMOTE,
	TIER_MOVE_HAND,
	TIER_MOVE_ROOM,
	TIER_MOVE_EVACUATE,
	TIER_MOVE_SETTLE,
};

/**
 * struct tier_move - a block on its way to another slot
 * @list: on t->switched, t->leaving, or in the commit under way
 * @unrecorded: on t->unrecorded, from when the block is in its new slot until a commit has recorded that
 * @work: what follows the copy
 * @t: target
 * @hold: on the whole block: reads go on, writes and discards wait
 * @from: slot it leaves
 * @to: slot it gets
 * @from_dev: device of @from
 * @to_dev: device of @to
 * @cause: enum tier_move_cause
 * @failed: read and write errors of the copy, as kcopyd tells
 * @flush_errors: of the device of @to, when the copy began
 * @grown: granules that have become valid in its new slot: of them the old one has nothing; the block's stripe
 * @written: bit per sector of the block: written in its new slot; the block's stripe
 */
struct tier_move {
	struct list_head list;
	struct list_head unrecorded;
	struct work_struct work;
	struct tier *t;
	struct tier_hold hold;
	tier_slot_t from;
	tier_slot_t to;
	u8 from_dev;
	u8 to_dev;
	u8 cause;
	u8 failed;
	int flush_errors;
	u64 grown;
	unsigned long written[];
};

/* what tier-settle.c is at */
enum tier_settle_pass {
	TIER_SETTLE_LOOK,	/* what is there to do? */
	TIER_SETTLE_MOVE,	/* blocks in other slots than theirs */
	TIER_SETTLE_FILL,	/* zeros where a block has nothing */
	TIER_SETTLE_END,	/* the end of the device, and all is made durable */
	TIER_SETTLE_DONE,	/* nothing to do until something changes */
};

#define TIER_SETTLE_FILLS	16	/* blocks that get zeros between two flushes */

/* A block that gets zeros: its hold has the granules, @place is its slot */
struct tier_settle_fill {
	struct tier_hold hold;
	tier_slot_t place;
};

/**
 * struct tier_settle - a tier on its way back to a plain disk
 * @dev: the tier, or NULL; life_mutex and config_sem
 * @again: something landed, or was moved or discarded, since the last look began
 * @tail_writes: writes so far to the block that only the end of the device has its place for; that block's stripe
 * @tail_copied: those of them that the end of the device has, durably
 * @failed: copies that failed since the last look
 * @left: blocks that are not in their place, or not wholly
 *
 * Written by tier_settle_step() alone:
 * @pass: what it is at
 * @next: the next block of it
 * @nr_away: blocks that the look has found elsewhere
 * @nr_gaps: blocks that it has found without all their data
 * @nr_beyond: blocks that have no place
 * @begun: moves begun, or blocks filled, by this pass; at its end, those that did not fail
 * @failed_passes: in a row that did nothing but fail
 * @any: something was done since the last look
 * @told: the log says that it is settled
 * @pause: jiffies: nothing is done until then
 * @fills: blocks whose zeros are written, but not flushed
 * @nr_fills: those in use
 * @flush_errors: of the device, before the first of them
 */
struct tier_settle {
	struct tier_dev *dev;
	bool again;
	u32 tail_writes;
	u32 tail_copied;
	atomic_t failed;
	u64 left;
	enum tier_settle_pass pass;
	u64 next;
	u64 nr_away;
	u64 nr_gaps;
	u64 nr_beyond;
	u32 begun;
	u32 failed_passes;
	bool any;
	bool told;
	unsigned long pause;
	struct tier_settle_fill fills[TIER_SETTLE_FILLS];
	u32 nr_fills;
	int flush_errors;
};

enum tier_flush_state {
	TIER_FLUSH_IDLE,
	TIER_FLUSH_RUNNING,
	TIER_FLUSH_FAILED,
};

/* A target */
struct tier {
	struct dm_target *ti;
	const char *name;
	struct list_head claim;		/* tier-claim.c */
	u8 claim_uuid[16];		/* tier-claim.c: of the metadata claimed */
	dev_t claim_headless;		/* tier-claim.c: the tier without header, or 0 */
	struct mutex life_mutex;	/* keeps what is loaded there for messages and status */
	bool loaded;			/* metadata are in core */
	bool live;			/* between resume and suspend */
	bool stopping;			/* no new background work */
	atomic_t flush_errors;		/* of all devices */
	bool lost;			/* acknowledged writes may be lost, and nobody was told: the next flush fails */

	struct tier_dev devs[TIER_MAX_DEVS];	/* data devices, fastest first */
	u32 nr_devs;
	struct tier_dev *fast;		/* the first */
	struct tier_dev *slow;		/* the second */
	struct dm_dev *meta_dev;
	struct tier_metadata *md;
	struct tier_geometry g;

	/* configuration: written under config_sem */
	struct percpu_rw_semaphore config_sem;
	bool config_ready;		/* config_sem was initialised */
	enum tier_mode mode;		/* wanted */
	enum tier_mode settled;		/* the last one that was wanted and drained */
	struct tier_tunables tune;
	struct tier_policy *policy;	/* of the first device */
	struct tier_policy_words policy_words;	/* as in the table line or the message */
	struct tier_policy *policy_sample;	/* holds the modules of these words */
	s64 __percpu *dirtying;		/* writes under way that were decided in writeback mode */
	u32 block_sectors;		/* of the table line */
	bool mode_given;
	bool readonly;			/* so is the table, tiered: nothing is written to any device */
	bool discard_passdown;
	bool accept_changed_slow;
	bool accept_new_fast;
	bool accept_new_tier;

	atomic_t health;		/* enum tier_health */
	struct work_struct event_work;

	/* mapping */
	struct tier_map map;
	struct tier_stripe *stripes;
	spinlock_t free_lock;		/* guards the map's free list */
	atomic_t nr_used;		/* mapped slots */
	atomic_t nr_evicted;		/* given up, not free yet */
	atomic_t nr_pinned;
	atomic_t nr_dirty_slots;
	atomic64_t nr_dirty;		/* granules */
	u32 reserve;			/* free slots to keep ready */
	struct tier_fill *fill;

	/* changed slots: bit per slot, bit per word of these; set under the slot's stripe, taken by the commit */
	unsigned long *changed;
	unsigned long *changed_sum;
	atomic_t nr_changed;

	/* bios that wait; io_lock guards the lists */
	spinlock_t io_lock;
	struct list_head deferred;	/* decide again */
	struct list_head fills;		/* reads to be filled */
	struct work_struct io_work;
	struct bio_set bios;
	struct workqueue_struct *wq;	/* io_work, copies: anything a bio waits for */
	atomic_t copies;		/* under way */
	atomic_t fill_pages;		/* in use by fills */
	wait_queue_head_t copies_wait;

	/* commit; commit_lock guards the lists */
	spinlock_t commit_lock;
	struct list_head flushes;	/* flush bios */
	struct list_head commits;	/* FUA writes whose data are written */
	struct list_head intents;	/* writes that wait for their region's mark */
	struct list_head waiters;	/* threads that wait for a commit */
	bool commit_wanted;		/* by the reclaimer, or the drain */
	u32 commit_seq;			/* odd while a commit runs */
	bool commit_lost;		/* tiered mode: the last one could not flush some device */
	bool commit_tells;		/* flushes wait for the one under way; the commit thread's */
	struct workqueue_struct *commit_wq;
	struct work_struct commit_work;
	struct delayed_work commit_timer;
	struct tier_region *regions;
	struct tier_snapshot *snapshot;	/* slots of the transaction being written */
	u32 nr_snapshot;
	u32 nr_snapshot_moves;
	u32 max_snapshot;
	bool gave_up_fast;		/* nothing is clean on the fast device any more */
	u32 nr_intents;			/* marked regions */
	unsigned long intent_look;	/* jiffies of the last look for unused ones */
	u64 intent[TIER_INTENT_WORDS];	/* as on the disk, once intent_changed is written */
	DECLARE_BITMAP(intent_changed, TIER_INTENT_WORDS);

	/* background */
	struct workqueue_struct *bg_wq;
	struct delayed_work wb_work;
	struct work_struct reclaim_work;
	struct delayed_work tick_work;
	spinlock_t discard_lock;	/* guards the discard lists */
	struct list_head discards;	/* to be done */
	struct list_head discarding;	/* being done: nothing is copied in there */
	int nr_discarding;
	struct work_struct discard_work;
	spinlock_t promote_lock;	/* guards the ring of blocks to promote */
	u64 promote[TIER_PROMOTE_RING];
	u32 promote_head;
	u32 promote_tail;
	atomic_t *wb_dirty;		/* dirty slots in each write-back region */
	u32 wb_shift;			/* log2 of the blocks in one */
	u32 nr_wb_regions;
	u64 wb_cursor;			/* block */
	bool wb_active;			/* between the watermarks */
	atomic_t wb_inflight;		/* copies */
	atomic64_t wb_inflight_sectors;
	s64 wb_tokens;			/* sectors that the rate cap allows */
	s64 mig_tokens;
	unsigned long wb_token_time;
	unsigned long mig_token_time;
	enum tier_flush_state flush_state;
	bool flush_restart;
	u32 sweeps;			/* of the flush */
	u32 sweep_left;			/* regions still to look at */
	u32 wb_again;			/* so often was found that what was written back may not be there */
	atomic64_t unwritable;		/* slots whose last write back failed */
	spinlock_t want_lock;		/* guards want_clean and nr_want_clean */
	u32 want_clean[TIER_WANT_CLEAN];	/* slots that the reclaimer wants clean */
	u32 nr_want_clean;
	bool want_commit;		/* reclaim_work: what it wants has to be committed first */
	u64 want_blocks[TIER_WANT_CLEAN];	/* wb_work only */
	struct mutex job_mutex;		/* guards jobs */
	struct list_head jobs;
	u32 nr_jobs;
	struct delayed_work job_work;

	/* tiered mode */
	struct dm_kcopyd_client *kcopyd;
	atomic_t nr_moves;		/* copies under way */
	atomic_t nr_hand_moves;		/* those that a message asked for */
	spinlock_t move_lock;		/* guards the four below */
	struct list_head switched;	/* moves that are in core and not in a commit yet */
	struct list_head unrecorded;	/* those, and those in the commit under way */
	struct list_head leaving;	/* committed ones whose old slot is still read */
	u32 nr_switched;		/* unrecorded ones, and those that are leaving */
	unsigned long round_next;	/* jiffies: when automatic moves begin again */
	bool round_over;		/* they rest until then */
	struct tier_slot_list trim;	/* freed, to be discarded on their devices; free_lock */
	struct work_struct trim_work;
	u32 trim_batch[TIER_TRIM_BATCH];	/* trim_work only */
	struct list_head starved;	/* writes that wait for a free slot; io_lock */
	struct list_head trim_waiters;	/* those that wait for the end of trim_work; io_lock */
	atomic_t freed;			/* slots freed so far */
	struct tier_settle settle;
	struct tier_latency __percpu *latency;
	u64 latency_sum;		/* at the last look */
	u64 latency_nr;
	unsigned long latency_look;	/* jiffies */
	bool yielding;

	unsigned long minute;		/* jiffies when the current one began, for errors of devices */

	struct tier_stats __percpu *stats;
	u64 checkpoints_reset;		/* the metadata's count at the last reset */
};

/* a tunable; who needs no more than one of them reads it without config_sem */
static inline u32 tier_tune(struct tier *t, enum tier_tunable tune)
{
	return READ_ONCE(t->tune.v[tune]);
}

static inline void tier_count(struct tier *t, enum tier_stat s, u64 n)
{
	this_cpu_add(t->stats->v[s], n);
}

static inline struct tier_stripe *tier_stripe(struct tier *t, tier_block_t block)
{
	return &t->stripes[tier_map_stripe(&t->map, block)];
}

/* functions that are called with a block's stripe locked begin with this */
static inline void tier_assert_locked(struct tier *t, tier_block_t block)
{
	lockdep_assert_held(&tier_stripe(t, block)->lock);
}

/* tiered mode: each block is in one slot of one device; constant in a target's life */
static inline bool tier_exclusive(const struct tier *t)
{
	return t->mode == TIER_MODE_TIERED;
}

/* only in a read-only table */
static inline bool tier_dev_missing(const struct tier_dev *d)
{
	return !d->dm;
}

static inline u32 tier_dev_index(const struct tier *t, const struct tier_dev *d)
{
	return d - t->devs;
}

static inline struct tier_dev *tier_slot_device(struct tier *t, tier_slot_t slot)
{
	return &t->devs[tier_slot_dev(&t->g, slot)];
}

/* sector on its device */
static inline sector_t tier_slot_sector(struct tier *t, tier_slot_t slot)
{
	return tier_slot_dev_sector(&t->g, slot);
}

/* its number among the slots of its device, as the policy there knows it */
static inline tier_slot_t tier_slot_number(struct tier *t, tier_slot_t slot)
{
	return tier_to_slot(tier_slot_local(&t->g, slot));
}

static inline void tier_dev_count(struct tier_dev *d, enum tier_dev_stat s)
{
	this_cpu_inc(d->stats->v[s]);
}

static inline sector_t tier_block_sector(struct tier *t, tier_block_t block)
{
	return tier_from_block(block) << t->g.block_shift;
}

/* sectors of a block: fewer in the last one */
static inline u32 tier_block_len(struct tier *t, tier_block_t block)
{
	return min_t(u64, t->g.block_sectors, t->ti->len - tier_block_sector(t, block));
}

/* granules of a block: fewer in the last one */
static inline u64 tier_block_mask(struct tier *t, tier_block_t block)
{
	return tier_granule_mask(0, (tier_block_len(t, block) - 1) >> t->g.granule_shift);
}

/* highest granule of a mask, which isn't 0 */
static inline u32 tier_last_granule(u64 mask)
{
	return fls64(mask) - 1;
}

/* monotonic ms, coarse */
static inline u64 tier_now(void)
{
	return jiffies_to_msecs(get_jiffies_64());
}

/* fewer free slots than half of what is kept ready: the reclaimer works in batches, each costs a commit */
static inline bool tier_slots_low(struct tier *t)
{
	return READ_ONCE(t->map.free.nr) + atomic_read(&t->nr_evicted) < DIV_ROUND_UP(READ_ONCE(t->reserve), 2);
}

/* acknowledged writes may sit in the device's cache; call between completion and answer */
static inline void tier_dev_dirtied(struct tier_dev *d)
{
	if (!READ_ONCE(d->dirtied))
		WRITE_ONCE(d->dirtied, true);
}

/* the same, of requests of others: they are to know if a flush fails */
static inline void tier_dev_acked(struct tier_dev *d)
{
	if (!READ_ONCE(d->acked))
		WRITE_ONCE(d->acked, true);
	tier_dev_dirtied(d);
}

/* call before a flush is sent; see tier_flush_needed().  Return: is it for acknowledged requests of others? */
static inline bool tier_dev_flush_begin(struct tier_dev *d)
{
	bool acked;

	atomic_inc(&d->flushes_begun);
	smp_mb__after_atomic();	/* pairs with tier_flush_needed() */
	acked = xchg(&d->acked, false);
	WRITE_ONCE(d->dirtied, false);
	smp_mb();	/* pairs with tier_dev_dirtied(): who sees it still set has completed before the flush */
	return acked;
}

/* call when a flush has completed, before its answer */
static inline void tier_dev_flush_end(struct tier *t, struct tier_dev *d, bool failed)
{
	if (failed) {
		atomic_inc(&t->flush_errors);
		atomic_inc(&d->flush_errors);
		smp_mb__after_atomic();	/* pairs with xchg() in look_at_doubts() */
		WRITE_ONCE(d->doubt, true);
		tier_dev_dirtied(d);
	}
	smp_mb__before_atomic();	/* pairs with tier_flush_needed() */
	atomic_inc(&d->flushes_ended);
}

static inline enum tier_health tier_health(struct tier *t)
{
	return atomic_read(&t->health);
}

static inline bool tier_may_use_fast(struct tier *t)
{
	return tier_health(t) == TIER_HEALTH_RW;
}

/* tier-target.c */
void tier_set_health(struct tier *t, enum tier_health health, const char *why);
void tier_look_at_metadata(struct tier *t);
void tier_event(struct tier *t);
void tier_set_reserve(struct tier *t);
void tier_dev_error(struct tier *t, struct tier_dev *d, const char *what, sector_t sector);

/* tier-load.c */
int tier_check_sb(struct tier *t);
int tier_load(struct tier *t);
int tier_reactivate(struct tier *t);
void tier_stop(struct tier *t);
void tier_unload(struct tier *t);
void tier_drop_clean(struct tier *t);

/* tier-io.c */
int tier_io_map(struct tier *t, struct bio *bio);
int tier_io_end(struct tier *t, struct bio *bio, blk_status_t *error);
void tier_io_work(struct work_struct *work);
void tier_io_defer(struct tier_io *io);
void tier_io_queue(struct tier *t, struct tier_io *io, struct list_head *list);
void tier_io_complete(struct tier_io *io, blk_status_t status);
void __tier_slot_changed(struct tier *t, tier_slot_t slot);
void __tier_slot_update(struct tier *t, tier_slot_t slot, u64 valid, u64 dirty);
void __tier_slot_replaced(struct tier *t, tier_slot_t slot, u64 valid, u64 dirty, u64 replaced);
void __tier_slot_pin(struct tier *t, tier_slot_t slot, bool pin);
void __tier_slot_reuse(struct tier *t, tier_slot_t slot);
tier_slot_t __tier_slot_alloc(struct tier *t, tier_block_t block);
void tier_hold_release(struct tier *t, struct tier_hold *h);
void __tier_hold_get(struct tier_stripe *s, struct tier_hold_waiter *w);

void tier_slot_untrack(struct tier *t, tier_slot_t slot, tier_block_t block);
void tier_io_retry(struct tier *t, struct list_head *list);

/* tier-change.c */
int tier_check_tiers(struct tier *t, struct tier_metadata *md);
int tier_change_tiers(struct tier *t, u64 *intent, bool *changed);

/* tier-settle.c */
tier_slot_t tier_settle_place(struct tier *t, const struct tier_dev *d, tier_block_t block);
u64 tier_settle_discard_start(struct tier *t);
void tier_settle_again(struct tier *t);
void __tier_settle_grew(struct tier *t, tier_block_t block, u64 granules);
void tier_settle_written(struct tier *t, tier_block_t block);
void tier_settle_failed(struct tier *t);
bool tier_settle_step(struct tier *t);
bool tier_settle_works(struct tier *t);
const char *tier_settle_state(struct tier *t);
u64 tier_settle_beyond(struct tier *t, const struct tier_dev *d);
void tier_settle_set(struct tier *t, struct tier_dev *d);
void tier_settle_retry(struct tier *t);
void tier_settle_load(struct tier *t);
int tier_settle_stop(struct tier *t);

/* the tier that settles, or NULL */
static inline struct tier_dev *tier_settling(struct tier *t)
{
	return READ_ONCE(t->settle.dev);
}

/* tier-move.c */
int tier_move_init(struct tier *t);
void tier_move_exit(struct tier *t);
tier_slot_t tier_slot_take(struct tier *t, tier_slot_t slot);
void __tier_slot_begin(struct tier *t, tier_slot_t slot, tier_block_t block);
tier_slot_t __tier_slot_land(struct tier *t, tier_block_t block, bool sequential, int avoid);
int tier_move_start(struct tier *t, tier_block_t block, tier_slot_t from, u32 to_dev, enum tier_move_cause cause);
int tier_move_to(struct tier *t, tier_block_t block, tier_slot_t from, tier_slot_t to);
bool tier_moves(struct tier *t);
bool tier_may_move(struct tier *t);
bool tier_dev_takes(const struct tier_dev *d);
u32 tier_dev_room(const struct tier_dev *d);
u32 tier_with_room(struct tier *t, u32 from, bool faster_too);
void tier_demote_slot(struct tier *t, u32 dev, tier_slot_t local);
void tier_dev_stuck(struct tier *t, struct tier_dev *d, u32 *passes, u32 nr);
void tier_move_forget(struct tier *t);
void tier_move_committed(struct tier *t, struct tier_move *m);
void tier_move_again(struct tier *t, struct tier_move *m);
bool tier_moves_undo(struct tier *t, u32 dev, bool *gone);
bool tier_move_doubtful(const struct tier_move *m);
void __tier_move_written(struct tier *t, tier_slot_t slot, u32 first, u32 nr);
void __tier_move_grew(struct tier *t, tier_slot_t slot, u64 granules);
int tier_move_copy(struct tier *t, const struct dm_io_region *from, const struct dm_io_region *to, bool *read_failed);
tier_slot_t tier_move_target(struct tier *t, tier_slot_t from);
struct tier_move *tier_move_find(struct tier *t, tier_slot_t to);
void tier_slot_freed(struct tier *t, tier_slot_t slot);
void tier_trim_work(struct work_struct *work);
void tier_move_kick(struct tier *t);
bool tier_moves_wait(struct tier *t);

/* tier-discard.c */
u64 tier_range_mask(struct tier *t, tier_block_t block, u64 start, u64 end);
void tier_drop_range(struct tier *t, u64 start, u64 end, bool dirty_too);
int tier_discard_map(struct tier *t, struct tier_io *io, struct bio *bio);
void tier_discard_work(struct work_struct *work);
bool __tier_in_discard(struct tier *t, u64 start, u32 sectors);

/* is a discard under way there?  Stripe locked */
static inline bool tier_in_discard(struct tier *t, u64 start, u32 sectors)
{
	tier_assert_locked(t, tier_to_block(start >> t->g.block_shift));
	return unlikely(READ_ONCE(t->nr_discarding)) && __tier_in_discard(t, start, sectors);
}

/* tier-copy.c */
int tier_copy_init(void);
void tier_copy_exit(void);
void tier_copy_fill(struct tier_io *io);
bool tier_copy_promote(struct tier *t, tier_block_t block, bool pin);
u32 tier_copy_write_back(struct tier *t, u64 *pos, u64 end, u32 max_sectors, bool urgent);
void tier_copies_wait(struct tier *t);
int tier_copy_sectors(struct tier *t, sector_t slow, sector_t fast, u32 sectors);

/* tier-writeback.c */
void tier_wb_work(struct work_struct *work);
void tier_wb_kick(struct tier *t);
void tier_wb_done(struct tier *t, u32 sectors);
void tier_wb_flush(struct tier *t);
void tier_wb_forget_failures(struct tier *t);
bool tier_slow_idle(struct tier *t);
void tier_tokens_refill(s64 *tokens, unsigned long *time, u32 rate);
void tier_drain_check(struct tier *t);

/* tier-reclaim.c */
void tier_reclaim_work(struct work_struct *work);
void tier_reclaim_kick(struct tier *t);
void tier_reclaim_slot(struct tier *t, tier_slot_t slot, bool demote);
bool __tier_slot_evict(struct tier *t, tier_slot_t slot, tier_block_t block);

/* tier-commit.c */
void tier_commit_work(struct work_struct *work);
void tier_commit_timer(struct work_struct *work);
void tier_commit_kick(struct tier *t, bool wanted);
int tier_commit_final(struct tier *t);
int tier_commit_wait(struct tier *t);
bool tier_commit_pending(struct tier *t);
int tier_flush_devices(struct tier *t, u32 *failed);
bool tier_flush_needed(struct tier *t, struct tier_dev *d);
bool tier_intent_take(struct tier *t, u32 region);
void tier_intent_put(struct tier *t, u32 region);
int tier_commit_recovered(struct tier *t, const u64 *intent);

/* tier-policy.c */
int tier_policy_choose(struct tier *t, unsigned int argc, char **argv, char *error);
void tier_policy_forget(struct tier *t);
int tier_policy_start(struct tier *t, char *error);
void tier_policy_load(struct tier *t);
int tier_policy_switch(struct tier *t, unsigned int argc, char **argv, char *error);
void tier_policy_stop(struct tier *t);
void tier_policy_load_slot(struct tier *t, tier_slot_t slot, u32 hint);
struct tier_policy *tier_policy_ranking(struct tier_policy *p);
int tier_policy_emit(struct tier *t, char *buf, size_t size);
void tier_policy_add_keys(const struct tier_policy *p, bool chain, char *error);
void tier_policy_bad_value(const struct tier_policy *p, const char *key, const char *value, char *error);

/* tier-message.c */
bool tier_promote_later(struct tier *t, tier_block_t block, u32 tier);
bool tier_promote_waits(struct tier *t);
bool tier_promote_take(struct tier *t, tier_block_t *block, u32 *tier);
int tier_message(struct tier *t, unsigned int argc, char **argv, char *result, unsigned int maxlen);
void tier_job_work(struct work_struct *work);
void tier_jobs_free(struct tier *t);
int tier_resume_evacuations(struct tier *t);

/* tier-status.c */
void tier_status(struct tier *t, status_type_t type, unsigned int flags, char *result, unsigned int maxlen);

/* tier-claim.c */
int tier_claim(struct tier *t, const u8 *uuid, const char **why);
void tier_unclaim(struct tier *t, bool lost);
void tier_claim_headless(struct tier *t);
dev_t tier_known_headless(struct tier *t, const u8 *uuid);
const char *tier_claimed_by_other(struct tier *t);

#endif /* TIER_H */
