// SPDX-License-Identifier: GPL-2.0
/*
 * Free slots kept ready.  A slot is given up in two steps: its granules become invalid in core, and when
 * a commit has made that durable it goes to the free list.  So a foreground miss never waits for either.
 */
#include "tier.h"
#include "tier-trace.h"

#define VICTIM_BUDGET	512U	/* slots looked at for one victim */

void tier_reclaim_kick(struct tier *t)
{
	if (!READ_ONCE(t->stopping))
		queue_work(t->bg_wq, &t->reclaim_work);
}

/**
 * __tier_slot_evict() - give up a slot, if nothing stands against it
 * @t: target
 * @slot: slot
 * @block: its block; the stripe is locked
 *
 * Return: true if the next commit will free it.
 */
bool __tier_slot_evict(struct tier *t, tier_slot_t slot, tier_block_t block)
{
	u32 flags = tier_slot_flags(&t->map, slot);

	tier_assert_locked(t, block);
	/* written back: if the flush of that fails, it is the only copy */
	if (!(flags & TIER_SLOT_MAPPED) || tier_slot_block(&t->map, slot) != block ||
	    (flags & (TIER_SLOT_PINNED | TIER_SLOT_EVICTED | TIER_SLOT_WRITTEN)) ||
	    tier_slot_dirty(&t->map, slot) || __tier_block_busy(tier_stripe(t, block), block))
		return false;
	tier_slot_change_flags(&t->map, slot, 0, TIER_SLOT_EVICTED);
	atomic_inc(&t->nr_evicted);
	__tier_slot_update(t, slot, 0, 0);
	__tier_slot_changed(t, slot);
	return true;
}

/* a dirty victim is cleaned first: write back gets to know */
static void __want_clean(struct tier *t, tier_slot_t slot)
{
	tier_assert_locked(t, tier_slot_block(&t->map, slot));
	spin_lock(&t->want_lock);
	if (t->nr_want_clean < TIER_WANT_CLEAN)
		t->want_clean[t->nr_want_clean++] = tier_from_slot(slot);
	spin_unlock(&t->want_lock);
}

static enum tier_verdict take(void *context, tier_slot_t slot)
{
	struct tier *t = context;
	tier_block_t block = tier_slot_block(&t->map, slot);
	struct tier_stripe *s = tier_stripe(t, block);
	enum tier_verdict verdict = TIER_VICTIM_SKIP;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (__tier_slot_evict(t, slot, block)) {
		verdict = TIER_VICTIM_TAKE;
	} else if (tier_slot_block(&t->map, slot) == block) {
		u32 state = tier_slot_flags(&t->map, slot);

		if (tier_slot_dirty(&t->map, slot) && !(state & TIER_SLOT_WB_FAILED))
			__want_clean(t, slot);
		else if (state & TIER_SLOT_WRITTEN)
			t->want_commit = true;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return verdict;
}

/* the policy asks to write a slot back, and to give it up if it is clean.  config_sem held for reading */
void tier_reclaim_slot(struct tier *t, tier_slot_t slot, bool demote)
{
	tier_block_t block = tier_slot_block(&t->map, slot);
	struct tier_stripe *s = tier_stripe(t, block);
	unsigned long flags;

	lockdep_assert_held(&t->config_sem);
	spin_lock_irqsave(&s->lock, flags);
	if (tier_map_lookup(&t->map, block) == slot) {
		if (tier_slot_dirty(&t->map, slot))
			__want_clean(t, slot);
		else if (demote)
			__tier_slot_evict(t, slot, block);
	}
	spin_unlock_irqrestore(&s->lock, flags);
}

/* Context: worker, one at a time */
void tier_reclaim_work(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, reclaim_work);
	int need;

	if (READ_ONCE(t->stopping) || tier_health(t) >= TIER_HEALTH_RO)
		return;
	t->want_commit = false;
	for (;;) {
		tier_slot_t slot;
		bool took;

		need = (int)READ_ONCE(t->reserve) - (int)READ_ONCE(t->map.free.nr) - atomic_read(&t->nr_evicted);
		if (need <= 0)
			break;
		percpu_down_read(&t->config_sem);
		took = t->policy->type->victim(t->policy, take, t, VICTIM_BUDGET, &slot);
		percpu_up_read(&t->config_sem);
		if (!took)
			break;
		t->want_commit = true;
		cond_resched();
	}
	if (t->want_commit)
		tier_commit_kick(t, true);
	if (need > 0 && READ_ONCE(t->nr_want_clean))
		tier_wb_kick(t);
}
