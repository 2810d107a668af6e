/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy interface: the only header of the project that a policy includes.
 *
 * A policy has an opinion; the core owns the mapping.  The core tells a policy of accesses, asks it
 * whether to admit a block and which slot to give up, and ticks it.  A policy never sees a bio, a
 * device or metadata, and keeps no second map of resident blocks.
 *
 * The same C file is a kernel module and part of the userspace simulator and unit tests.  Time and
 * randomness are passed in, so a replay is deterministic.
 *
 * Context: ->hit() may run on all CPUs at once, in process context, and must take no lock that CPUs
 * share and not sleep.  All other operations run in process context, may run at once with each other
 * and with ->hit(), must not sleep except for create() and destroy(), and do their own locking (plain
 * spinlocks).  The core calls none of them with one of its own locks held, except that a policy calls
 * the core back from ->victim().
 *
 * Between ->inserted(slot) and ->removed(slot) a slot is resident.  A slot is never inserted twice
 * without a removal between.  ->hit() may still come for a slot just removed, or already inserted again
 * for another block: it is an opinion and must tolerate that.
 */
#ifndef TIER_POLICY_H
#define TIER_POLICY_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>
#include "tier-types.h"

#define TIER_POLICY_NAME_LEN	16	/* with the final NUL */
#define TIER_POLICY_VERSION_LEN	3

/* struct tier_access.flags */
#define TIER_ACCESS_WRITE	BIT(0)
#define TIER_ACCESS_WHOLE	BIT(1)	/* covers the whole block */
#define TIER_ACCESS_SEQ		BIT(2)	/* part of a sequential run, set by a filter */
#define TIER_ACCESS_NEW		BIT(3)	/* the block is not resident */
#define TIER_ACCESS_PARTIAL	BIT(4)	/* the block is resident, not all of the data are */

/**
 * struct tier_access - one request, as far as it lies in one block
 * @sector: first sector on the tier device
 * @sectors: length
 * @now: coarse clock in ms, never running backwards
 * @flags: TIER_ACCESS_*
 */
struct tier_access {
	u64 sector;
	u32 sectors;
	u32 flags;
	u64 now;
};

/**
 * enum tier_admit - what to do with a miss
 * @TIER_BYPASS: leave the data on the slow device, the policy's choice
 * @TIER_BYPASS_SEQ: the same, because of a sequential run
 * @TIER_POPULATE: keep what the request carries, nothing more
 * @TIER_FILL: keep it, and the core may read and keep the neighbourhood too
 * @TIER_PROMOTE: serve from the slow device, copy the whole block when the device has time
 */
enum tier_admit {
	TIER_BYPASS,
	TIER_BYPASS_SEQ,
	TIER_POPULATE,
	TIER_FILL,
	TIER_PROMOTE,
};

/**
 * enum tier_verdict - the core's answer on a proposed victim
 * @TIER_VICTIM_TAKE: taken, ->removed() will follow
 * @TIER_VICTIM_SKIP: busy, pinned or dirty: propose another
 * @TIER_VICTIM_STOP: stop looking
 */
enum tier_verdict {
	TIER_VICTIM_TAKE,
	TIER_VICTIM_SKIP,
	TIER_VICTIM_STOP,
};

typedef enum tier_verdict (*tier_victim_fn)(void *context, tier_slot_t slot);

/**
 * enum tier_removal - why a slot is no longer resident
 * @TIER_REMOVED_EVICTED: chosen by ->victim()
 * @TIER_REMOVED_INVALID: written past, discarded, invalidated or failed: not the policy's choice
 */
enum tier_removal {
	TIER_REMOVED_EVICTED,
	TIER_REMOVED_INVALID,
};

enum tier_work_op {
	TIER_WORK_PROMOTE,	/* block: copy it in */
	TIER_WORK_DEMOTE,	/* slot: give it up, after write back if it is dirty */
	TIER_WORK_WRITE_BACK,	/* slot: write its dirty data back, keep it */
};

/**
 * struct tier_work - background work that a policy asks for
 * @op: what
 * @block: for TIER_WORK_PROMOTE
 * @slot: for the others
 */
struct tier_work {
	enum tier_work_op op;
	tier_block_t block;
	tier_slot_t slot;
};

/**
 * struct tier_policy_params - what a policy is made for
 * @nr_slots: slots of the cache, 1 to TIER_MAX_SLOTS
 * @nr_blocks: blocks of the tier device
 * @block_sectors: block size
 * @seed: for its pseudo-random numbers
 * @now: clock at creation, ms
 */
struct tier_policy_params {
	u32 nr_slots;
	u64 nr_blocks;
	u32 block_sectors;
	u64 seed;
	u64 now;
};

struct tier_policy_type;

/**
 * struct tier_policy - head of a policy's own structure
 * @type: its operations
 * @next: the policy that a filter wraps, NULL for others; owned by the core
 */
struct tier_policy {
	const struct tier_policy_type *type;
	struct tier_policy *next;
};

/**
 * struct tier_policy_type - a kind of policy
 * @list: for the registry
 * @name: as in the table line; the module is dm-tier-<name>
 * @version: major, minor, patch
 * @filter: wraps another policy: @create gets a non-NULL next and must pass every operation on
 * @owner: THIS_MODULE
 * @memory: predicted bytes for @params, without those of a wrapped policy
 * @create: make one; @next is NULL unless @filter.  Returns ERR_PTR(-ENOMEM) or another error
 * @destroy: free it, not @next
 * @hit: the block in @slot, all data asked for being there, is read or written
 * @miss: @block was asked for and isn't resident, or not all of the data are; decide
 * @inserted: @block is now in @slot.  @access is the request that caused it, or NULL (promotion by hand)
 * @removed: @block is no longer in @slot
 * @aborted: an admission that @miss asked for did not happen (no slot, an error)
 * @victim: propose slots to @take, coldest first, at most @budget of them, until it says TAKE or STOP; true
 *	if one was taken, then @slot is it.  A slot taken may stay resident for a while; it must not be proposed
 *	again before it was removed and inserted again, unless ->victim_kept() comes first
 * @victim_kept: a slot taken by @victim is still resident and will stay so (it was used again)
 * @get_work: next piece of background work; @idle: the slow device is idle.  False: none.  May be NULL
 * @tick: called about once a second.  May be NULL
 * @save_hint: 4 bytes worth keeping over a clean restart
 * @load_hint: in place of @inserted at start, in slot order, with what @save_hint of the same policy gave, or 0
 * @set: set a tunable; -ENOENT unknown key, -EINVAL bad value (nothing changed)
 * @emit: print all tunables, "key value key value", like scnprintf(); returns the length.  @count gets
 *	the number of words.  A filter prints its own, then "next", the wrapped policy's name and its tunables
 * @tunables_help: "key: meaning, unit, range, default" lines for tools and error messages
 */
struct tier_policy_type {
	struct list_head list;
	const char *name;
	unsigned int version[TIER_POLICY_VERSION_LEN];
	bool filter;
	struct module *owner;
	u64 (*memory)(const struct tier_policy_params *params);
	struct tier_policy *(*create)(const struct tier_policy_params *params, struct tier_policy *next);
	void (*destroy)(struct tier_policy *p);
	void (*hit)(struct tier_policy *p, tier_slot_t slot, const struct tier_access *access);
	enum tier_admit (*miss)(struct tier_policy *p, tier_block_t block, const struct tier_access *access);
	void (*inserted)(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			 const struct tier_access *access);
	void (*removed)(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			enum tier_removal why);
	void (*aborted)(struct tier_policy *p, tier_block_t block);
	bool (*victim)(struct tier_policy *p, tier_victim_fn take, void *context, u32 budget,
		       tier_slot_t *slot);
	void (*victim_kept)(struct tier_policy *p, tier_block_t block, tier_slot_t slot);
	bool (*get_work)(struct tier_policy *p, bool idle, struct tier_work *work);
	void (*tick)(struct tier_policy *p, u64 now);
	u32 (*save_hint)(struct tier_policy *p, tier_slot_t slot);
	void (*load_hint)(struct tier_policy *p, tier_block_t block, tier_slot_t slot, u32 hint);
	int (*set)(struct tier_policy *p, const char *key, const char *value);
	int (*emit)(struct tier_policy *p, char *buf, size_t size, unsigned int *count);
	const char *tunables_help;
};

int tier_policy_register(struct tier_policy_type *type);
void tier_policy_unregister(struct tier_policy_type *type);

#endif /* TIER_POLICY_H */
