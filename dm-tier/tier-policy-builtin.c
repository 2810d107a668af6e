// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in policy: used when the module of the wanted one can't be loaded, so that a device always
 * starts.  Admits everything, evicts by a one-bit clock (Corbato, "A Paging Experiment with the Multics
 * System", 1968).  One byte a slot.
 */
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include "tier.h"
#include "tier-policy-builtin.h"

#define RESIDENT	BIT(0)
#define USED		BIT(1)	/* set without lock by hits, cleared by the hand: a lost bit is a lost opinion */

struct builtin {
	struct tier_policy policy;
	spinlock_t lock;	/* guards the hand, and the slots' RESIDENT bits */
	u32 nr_slots;
	u32 hand;
	u8 *state;
};

static struct builtin *to_builtin(struct tier_policy *p)
{
	return container_of(p, struct builtin, policy);
}

static u64 builtin_memory(const struct tier_policy_params *params)
{
	return sizeof(struct builtin) + params->nr_slots;
}

static struct tier_policy *builtin_create(const struct tier_policy_params *params, struct tier_policy *next)
{
	struct builtin *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return ERR_PTR(-ENOMEM);
	b->state = vzalloc(params->nr_slots);
	if (!b->state) {
		kfree(b);
		return ERR_PTR(-ENOMEM);
	}
	spin_lock_init(&b->lock);
	b->nr_slots = params->nr_slots;
	return &b->policy;
}

static void builtin_destroy(struct tier_policy *p)
{
	struct builtin *b = to_builtin(p);

	vfree(b->state);
	kfree(b);
}

static void builtin_hit(struct tier_policy *p, tier_slot_t slot, const struct tier_access *access)
{
	u8 *state = &to_builtin(p)->state[tier_from_slot(slot)];

	if (READ_ONCE(*state) == RESIDENT)
		WRITE_ONCE(*state, RESIDENT | USED);
}

static enum tier_admit builtin_miss(struct tier_policy *p, tier_block_t block, const struct tier_access *access)
{
	return TIER_FILL;
}

static void set_state(struct tier_policy *p, tier_slot_t slot, u8 state)
{
	struct builtin *b = to_builtin(p);

	spin_lock(&b->lock);
	WRITE_ONCE(b->state[tier_from_slot(slot)], state);
	spin_unlock(&b->lock);
}

static void builtin_inserted(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			     const struct tier_access *access)
{
	set_state(p, slot, RESIDENT);
}

static void builtin_removed(struct tier_policy *p, tier_block_t block, tier_slot_t slot, enum tier_removal why)
{
	set_state(p, slot, 0);
}

static void builtin_aborted(struct tier_policy *p, tier_block_t block)
{
}

static bool builtin_victim(struct tier_policy *p, tier_victim_fn take, void *context, u32 budget,
			   tier_slot_t *slot)
{
	struct builtin *b = to_builtin(p);
	bool took = false;

	spin_lock(&b->lock);
	while (budget-- && !took) {
		u32 s = b->hand;
		enum tier_verdict verdict;

		b->hand = s + 1 < b->nr_slots ? s + 1 : 0;
		if (!(b->state[s] & RESIDENT))
			continue;
		if (b->state[s] & USED) {
			WRITE_ONCE(b->state[s], RESIDENT);
			continue;
		}
		verdict = take(context, tier_to_slot(s));
		if (verdict == TIER_VICTIM_STOP)
			break;
		if (verdict == TIER_VICTIM_TAKE) {
			*slot = tier_to_slot(s);
			WRITE_ONCE(b->state[s], 0);
			took = true;
		}
	}
	spin_unlock(&b->lock);
	return took;
}

static void builtin_kept(struct tier_policy *p, tier_block_t block, tier_slot_t slot)
{
	set_state(p, slot, RESIDENT);
}

static u32 builtin_save_hint(struct tier_policy *p, tier_slot_t slot)
{
	return to_builtin(p)->state[tier_from_slot(slot)] & USED;
}

static void builtin_load_hint(struct tier_policy *p, tier_block_t block, tier_slot_t slot, u32 hint)
{
	set_state(p, slot, RESIDENT | (hint & USED));
}

static int builtin_set(struct tier_policy *p, const char *key, const char *value)
{
	return -ENOENT;
}

static int builtin_emit(struct tier_policy *p, char *buf, size_t size, unsigned int *count)
{
	*count = 0;
	if (size)
		*buf = '\0';
	return 0;
}

struct tier_policy_type tier_policy_builtin = {
	.name = "builtin",
	.version = { 1, 0, 0 },
	.owner = THIS_MODULE,
	.memory = builtin_memory,
	.create = builtin_create,
	.destroy = builtin_destroy,
	.hit = builtin_hit,
	.miss = builtin_miss,
	.inserted = builtin_inserted,
	.removed = builtin_removed,
	.aborted = builtin_aborted,
	.victim = builtin_victim,
	.victim_kept = builtin_kept,
	.save_hint = builtin_save_hint,
	.load_hint = builtin_load_hint,
	.set = builtin_set,
	.emit = builtin_emit,
	.tunables_help = "",
};
