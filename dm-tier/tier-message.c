// SPDX-License-Identifier: GPL-2.0
/*
 * Messages.  Each answers at once; what takes longer goes on in the background and shows in the status:
 * a flush, a drain after a mode change, and range jobs (promote, demote, pin).
 */
#include <linux/slab.h>
#include "tier.h"

#define MAX_RETRIES		500	/* 10 ms each: for a free slot */
#define MAX_PROMOTE_PAGES	1024	/* 4 MiB of copies under way */

/* change the mode: bios decided from here on follow it; tier_drain_check() sees when the others are done */
static int set_mode(struct tier *t, enum tier_mode mode)
{
	lockdep_assert_held(&t->life_mutex);
	percpu_down_write(&t->config_sem);
	WRITE_ONCE(t->mode, mode);
	percpu_up_write(&t->config_sem);
	if (tier_metadata_set_mode(t->md, mode))
		tier_set_health(t, TIER_HEALTH_RO, "a metadata write failed, they need a check");
	tier_wb_kick(t);
	tier_event(t);
	return 0;
}

static void unknown_tunable(const struct tier_policy *p, enum tier_kind kind, const char *key, char *error)
{
	int len = scnprintf(error, TIER_ERROR_LEN, "unknown tunable \"%.32s\": dm-tier has ", key);

	len += tier_tunable_names(kind, error + len, TIER_ERROR_LEN - len);
	scnprintf(error + len, TIER_ERROR_LEN - len, "; policy %s has ", p->type->name);
	tier_policy_add_keys(p, true, error);
}

static int set_tunable(struct tier *t, const char *key, const char *value, char *error)
{
	u32 i;
	int r;

	lockdep_assert_held(&t->life_mutex);
	percpu_down_write(&t->config_sem);
	r = tier_tunable_set(&t->tune, key, value, error);
	if (r == -ENOENT) {
		r = t->policy->type->set(t->policy, key, value);
		/* they are of one kind: what the first takes the others take, too */
		for (i = 1; !r && t->devs[i].policy; i++)
			t->devs[i].policy->type->set(t->devs[i].policy, key, value);
		if (r == -ENOENT)
			unknown_tunable(t->policy, t->tune.kind, key, error);
		else if (r)
			tier_policy_bad_value(t->policy, key, value, error);
	}
	tier_set_reserve(t);
	t->round_over = false;
	percpu_up_write(&t->config_sem);
	/* it may wait for longer than it is to now */
	if (!strcmp(key, "commit_ms") && !READ_ONCE(t->stopping))
		mod_delayed_work(t->bg_wq, &t->commit_timer, 0);
	if (tier_exclusive(t))
		tier_move_kick(t);
	else
		tier_wb_kick(t);
	return r;
}

/* ---- promotions that the policy asked for ---- */

#define RING_TIER_SHIFT		56	/* the tier is kept above the block */

/* remember a block to promote, in tiered mode to @tier; false: too many wait */
bool tier_promote_later(struct tier *t, tier_block_t block, u32 tier)
{
	bool room;

	spin_lock(&t->promote_lock);
	room = t->promote_head - t->promote_tail < TIER_PROMOTE_RING;
	if (room)
		t->promote[t->promote_head++ % TIER_PROMOTE_RING] =
			tier_from_block(block) | (u64)tier << RING_TIER_SHIFT;
	spin_unlock(&t->promote_lock);
	if (room && !READ_ONCE(t->stopping))
		queue_delayed_work(t->bg_wq, &t->job_work, 1);
	return room;
}

bool tier_promote_waits(struct tier *t)
{
	return READ_ONCE(t->promote_head) != READ_ONCE(t->promote_tail);
}

/* the next block to promote; false: none */
bool tier_promote_take(struct tier *t, tier_block_t *block, u32 *tier)
{
	bool any;

	spin_lock(&t->promote_lock);
	any = t->promote_head != t->promote_tail;
	if (any) {
		u64 word = t->promote[t->promote_tail++ % TIER_PROMOTE_RING];

		*block = tier_to_block(word & (TIER_MAX_BLOCKS - 1));
		*tier = word >> RING_TIER_SHIFT;
	}
	spin_unlock(&t->promote_lock);
	return any;
}

/* false: nothing waits, or not now */
static bool promote_next(struct tier *t)
{
	tier_block_t block;
	u32 tier;

	tier_tokens_refill(&t->mig_tokens, &t->mig_token_time, tier_tune(t, TIER_TUNE_MIG_RATE));
	if (t->mig_tokens < t->g.block_sectors || atomic_read(&t->fill_pages) > MAX_PROMOTE_PAGES)
		return false;
	if (!tier_promote_take(t, &block, &tier))
		return false;
	if (tier_copy_promote(t, block, false)) {
		t->mig_tokens -= min_t(u64, t->mig_tokens, t->g.block_sectors);
		return true;
	}
	percpu_down_read(&t->config_sem);
	t->policy->type->aborted(t->policy, block);
	percpu_up_read(&t->config_sem);
	return true;
}

/* ---- ranges ---- */

/* blocks that lie wholly or partly in a range */
static void range_blocks(struct tier *t, const struct tier_message *m, u64 *first, u64 *end)
{
	*first = m->first >> t->g.block_shift;
	*end = ((m->first + m->count - 1) >> t->g.block_shift) + 1;
}

/* free slots, beside those kept for moves, on all tiers but one that blocks may be moved to */
static u64 room_elsewhere(struct tier *t, u32 dev)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < t->nr_devs; i++)
		if (i != dev && tier_dev_takes(&t->devs[i]))
			sum += tier_dev_room(&t->devs[i]);
	return sum;
}

static void no_such_tier(struct tier *t, u32 tier, char *error)
{
	scnprintf(error, TIER_ERROR_LEN, "there is no tier %u: they are 0 to %u", tier, t->nr_devs - 1);
}

/* tiered mode: may anything be moved? */
static int check_moves(struct tier *t, char *error)
{
	if (tier_health(t) != TIER_HEALTH_RW) {
		scnprintf(error, TIER_ERROR_LEN, "nothing is moved while the health is not rw");
		return -EPERM;
	}
	if (!tier_tune(t, TIER_TUNE_MIG_RATE)) {
		scnprintf(error, TIER_ERROR_LEN, "nothing is moved while migration_rate is 0");
		return -EPERM;
	}
	return 0;
}

/* tiered mode: may this job be done? */
static int check_exclusive(struct tier *t, const struct tier_message *m, char *error)
{
	struct tier_dev *settling = tier_settling(t);
	u64 room;
	int r = check_moves(t, error);

	if (r)
		return r;
	if (settling) {
		scnprintf(error, TIER_ERROR_LEN, "nothing else is moved while tier %u is settled: keep %u ends that",
			  tier_dev_index(t, settling), tier_dev_index(t, settling));
		return -EPERM;
	}
	if (m->op != TIER_MSG_MOVE && m->op != TIER_MSG_EVACUATE)
		return 0;
	if (m->tier >= t->nr_devs) {
		no_such_tier(t, m->tier, error);
		return -EINVAL;
	}
	if (m->op == TIER_MSG_MOVE) {
		if (tier_dev_takes(&t->devs[m->tier]))
			return 0;
		scnprintf(error, TIER_ERROR_LEN, "nothing is moved to tier %u while it %s", m->tier,
			  t->devs[m->tier].evacuate ? "is to be emptied" : "has errors");
		return -EPERM;
	}
	room = room_elsewhere(t, m->tier);
	if (room < atomic_read(&t->devs[m->tier].used)) {
		scnprintf(error, TIER_ERROR_LEN,
			  "tier %u has %d blocks, the tiers that take some have room for only %llu besides that for moves",
			  m->tier, atomic_read(&t->devs[m->tier].used), room);
		return -ENOSPC;
	}
	return 0;
}

/* may this job be done? */
static int check_job(struct tier *t, const struct tier_message *m, char *error)
{
	lockdep_assert_held(&t->life_mutex);
	if (m->op != TIER_MSG_DEMOTE && (t->mode == TIER_MODE_PASSTHROUGH || !tier_may_use_fast(t))) {
		scnprintf(error, TIER_ERROR_LEN, "nothing is brought to the fast device %s",
			  t->mode == TIER_MODE_PASSTHROUGH ? "in mode passthrough" : "while the health is not rw");
		return -EPERM;
	}
	if (m->op != TIER_MSG_DEMOTE && !tier_tune(t, TIER_TUNE_MIG_RATE)) {
		scnprintf(error, TIER_ERROR_LEN, "nothing is promoted while migration_rate is 0");
		return -EPERM;
	}
	return 0;
}

/* NULL: no memory */
static struct tier_job *new_job(enum tier_message_op op, u32 tier)
{
	struct tier_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (job) {
		job->op = op;
		job->tier = tier;
		job->pause = jiffies;
	}
	return job;
}

static void add_job(struct tier *t, struct tier_job *job)
{
	lockdep_assert_held(&t->job_mutex);
	list_add_tail(&job->list, &t->jobs);
	WRITE_ONCE(t->nr_jobs, t->nr_jobs + 1);
}

static void drop_job(struct tier *t, struct tier_job *job)
{
	lockdep_assert_held(&t->job_mutex);
	list_del(&job->list);
	kfree(job);
	WRITE_ONCE(t->nr_jobs, t->nr_jobs - 1);
}

static int start_job(struct tier *t, const struct tier_message *m, char *error)
{
	struct tier_job *job = new_job(m->op, m->tier);
	int r = 0;

	if (!job)
		return -ENOMEM;
	if (m->op == TIER_MSG_EVACUATE)
		job->end = t->devs[m->tier].nr_slots;
	else
		range_blocks(t, m, &job->first, &job->end);
	job->next = job->first;
	mutex_lock(&t->job_mutex);
	if (t->nr_jobs >= TIER_MAX_JOBS) {
		scnprintf(error, TIER_ERROR_LEN, "%u range jobs are waiting already, try again later", t->nr_jobs);
		kfree(job);
		r = -EBUSY;
	} else {
		add_job(t, job);
	}
	mutex_unlock(&t->job_mutex);
	if (!r)
		mod_delayed_work(t->bg_wq, &t->job_work, 0);
	return r;
}

static int range_job(struct tier *t, const struct tier_message *m, char *error)
{
	int r = tier_exclusive(t) ? check_exclusive(t, m, error) : check_job(t, m, error);

	return r ?: start_job(t, m, error);
}

/* the job that empties a tier, or NULL */
static struct tier_job *find_evacuation(struct tier *t, u32 tier)
{
	struct tier_job *job;

	lockdep_assert_held(&t->job_mutex);
	list_for_each_entry(job, &t->jobs, list)
		if (job->op == TIER_MSG_EVACUATE && job->tier == tier)
			return job;
	return NULL;
}

void tier_jobs_free(struct tier *t)
{
	struct tier_job *job, *tmp;

	list_for_each_entry_safe(job, tmp, &t->jobs, list) {
		list_del(&job->list);
		kfree(job);
	}
	t->nr_jobs = 0;
}

static void change_pin(struct tier *t, tier_block_t block, bool pin)
{
	struct tier_stripe *s = tier_stripe(t, block);
	tier_slot_t slot;

	spin_lock_irq(&s->lock);
	slot = tier_map_lookup(&t->map, block);
	/* a copy under way has nothing valid yet, but its pin */
	if (slot != TIER_NO_SLOT && (!pin || tier_slot_valid(&t->map, slot)) &&
	    !(tier_slot_flags(&t->map, slot) & TIER_SLOT_PINNED) == pin)
		__tier_slot_pin(t, slot, pin);
	spin_unlock_irq(&s->lock);
}

static bool is_mapped(struct tier *t, tier_block_t block)
{
	struct tier_stripe *s = tier_stripe(t, block);
	bool mapped;

	spin_lock_irq(&s->lock);
	mapped = tier_map_lookup(&t->map, block) != TIER_NO_SLOT;
	spin_unlock_irq(&s->lock);
	return mapped;
}

static void demote_block(struct tier *t, tier_block_t block)
{
	struct tier_stripe *s = tier_stripe(t, block);
	tier_slot_t slot;

	spin_lock_irq(&s->lock);
	slot = tier_map_lookup(&t->map, block);
	if (slot != TIER_NO_SLOT)
		__tier_slot_evict(t, slot, block);
	spin_unlock_irq(&s->lock);
}

/* bring a block in, and pin it if asked to; false: come again later */
static bool promote_block(struct tier *t, struct tier_job *job, tier_block_t block)
{
	bool pin = job->op == TIER_MSG_PIN;

	tier_tokens_refill(&t->mig_tokens, &t->mig_token_time, tier_tune(t, TIER_TUNE_MIG_RATE));
	if (t->mig_tokens < t->g.block_sectors || atomic_read(&t->fill_pages) > MAX_PROMOTE_PAGES)
		return false;
	if (pin && atomic_read(&t->nr_pinned) >= t->map.nr_slots / 4 * 3) {
		job->skipped++;
		return true;
	}
	if (!READ_ONCE(t->map.free.nr) && !is_mapped(t, block)) {
		/* the reclaimer is at it, if it can be done */
		if (job->retries++ < MAX_RETRIES) {
			tier_reclaim_kick(t);
			return false;
		}
		job->skipped++;
	}
	job->retries = 0;
	if (pin)
		change_pin(t, block, true);
	if (tier_copy_promote(t, block, pin))
		t->mig_tokens -= min_t(u64, t->mig_tokens, t->g.block_sectors);
	return true;
}

/* the tier that a job moves a block to, which is on @dev; nr_devs: none */
static u32 job_target(struct tier *t, const struct tier_job *job, u32 dev)
{
	switch (job->op) {
	case TIER_MSG_PROMOTE:
		return dev ? dev - 1 : t->nr_devs;
	case TIER_MSG_DEMOTE:
		return dev + 1;
	case TIER_MSG_EVACUATE:
		return tier_with_room(t, dev, true);
	default:
		return job->tier;
	}
}

/*
 * Tiered mode: a block can't be moved now; is it to be tried again?  It is in use, or there is no slot for it just now.
 * Only the first one waits for a slot if none is freed, or a job could take days.
 */
static bool try_again(struct tier *t, struct tier_job *job, int error)
{
	bool no_slot = error == -ENOSPC;
	int freed = atomic_read(&t->freed);

	if (no_slot && job->no_slot && job->freed == freed)
		return false;
	if (job->retries++ < MAX_RETRIES)
		return true;
	job->no_slot = no_slot;
	job->freed = freed;
	return false;
}

/* tiered mode: a step of a job; false: come again later */
static bool move_step(struct tier *t, struct tier_job *job)
{
	bool evacuate = job->op == TIER_MSG_EVACUATE;
	tier_block_t block = tier_to_block(job->next);
	tier_slot_t slot = TIER_NO_SLOT;
	struct tier_stripe *s;
	u32 to = t->nr_devs;
	int r = -ENOENT;

	if (!tier_may_move(t))
		return false;
	if (evacuate) {
		slot = tier_local_slot(&t->g, job->tier, job->next);
		if (!(tier_slot_flags(&t->map, slot) & TIER_SLOT_MAPPED))
			return true;
		block = tier_slot_block(&t->map, slot);
		to = job_target(t, job, job->tier);
	} else {
		s = tier_stripe(t, block);
		spin_lock_irq(&s->lock);
		slot = tier_map_lookup(&t->map, block);
		if (slot != TIER_NO_SLOT)
			to = job_target(t, job, tier_slot_dev(&t->g, slot));
		spin_unlock_irq(&s->lock);
	}
	if (slot != TIER_NO_SLOT && (to < t->nr_devs || evacuate)) {
		if (evacuate)
			atomic_inc(&t->devs[job->tier].evac_moves);
		percpu_down_read(&t->config_sem);
		r = to == t->nr_devs ? -ENOSPC :
		    tier_move_start(t, block, slot, to, evacuate ? TIER_MOVE_EVACUATE : TIER_MOVE_HAND);
		percpu_up_read(&t->config_sem);
		if (evacuate && r)
			atomic_dec(&t->devs[job->tier].evac_moves);
	}
	if (!r)
		t->mig_tokens -= t->g.block_sectors;
	if (r && r != -ENOENT && r != -EEXIST) {
		if (try_again(t, job, r))
			return false;
		if (evacuate && r == -ENOSPC)
			atomic_inc(&t->devs[job->tier].evac_failed);
		job->skipped++;
	}
	job->retries = 0;
	return true;
}

/* a step of a job; false: come again later */
static bool job_block(struct tier *t, struct tier_job *job)
{
	tier_block_t block = tier_to_block(job->next);
	u64 pos = tier_block_sector(t, block);
	u64 end = pos + tier_block_len(t, block);

	lockdep_assert_held(&t->job_mutex);
	if (tier_exclusive(t))
		return move_step(t, job);
	switch (job->op) {
	case TIER_MSG_PROMOTE:
	case TIER_MSG_PIN:
		return promote_block(t, job, block);
	case TIER_MSG_DEMOTE:
		if (job->pass) {
			demote_block(t, block);
			return true;
		}
		if (atomic_read(&t->wb_inflight) > 4)
			return false;
		while (pos < end && tier_copy_write_back(t, &pos, end, t->g.block_sectors, false))
			;
		return true;
	default:
		return true;
	}
}

/* tiers that were being emptied when the device was stopped; 0 or -ENOMEM */
int tier_resume_evacuations(struct tier *t)
{
	struct tier_job *job;
	u32 i;

	for (i = 0; tier_exclusive(t) && !t->readonly && i < t->nr_devs; i++) {
		if (!t->devs[i].evacuate || !atomic_read(&t->devs[i].used))
			continue;
		job = new_job(TIER_MSG_EVACUATE, i);
		if (!job)
			return -ENOMEM;
		job->end = t->devs[i].nr_slots;
		mutex_lock(&t->job_mutex);
		add_job(t, job);
		mutex_unlock(&t->job_mutex);
	}
	return 0;
}

static const char *job_name(enum tier_message_op op)
{
	switch (op) {
	case TIER_MSG_PIN:
		return "pin";
	case TIER_MSG_DEMOTE:
		return "demote";
	case TIER_MSG_MOVE:
		return "move";
	default:
		return "promote";
	}
}

/*
 * A pass over all slots of a tier that is emptied: is anything left there?  What failed is not tried again at once.
 * Nor is it empty before its last moves are recorded: they may still be undone, and are if a device can't be flushed.
 */
static bool evacuation_goes_on(struct tier *t, struct tier_job *job)
{
	struct tier_dev *d = &t->devs[job->tier];
	u32 failed, done, used, leaving;

	if (atomic_read_acquire(&d->evac_moves))
		return true;
	failed = atomic_xchg(&d->evac_failed, 0);
	done = atomic_xchg(&d->evac_done, 0);
	leaving = atomic_read(&d->leaving);
	smp_rmb();	/* pairs with undo() */
	used = atomic_read(&d->used);
	if (failed || READ_ONCE(t->commit_lost))
		job->pause = jiffies + HZ;
	if (READ_ONCE(t->commit_lost))
		tier_dev_stuck(t, d, &job->failed_passes, used + leaving);
	else
		tier_dev_stuck(t, d, &job->failed_passes, !done && failed >= used ? used : 0);
	if (!used && !atomic_read(&t->nr_moves))
		return leaving;
	job->next = job->first;	/* those that were in use, too */
	return true;
}

/* has a job that has looked at all of its range still something to do? */
static bool job_goes_on(struct tier *t, struct tier_job *job)
{
	if (job->op == TIER_MSG_EVACUATE)
		return evacuation_goes_on(t, job);
	if (tier_exclusive(t))
		return atomic_read(&t->nr_hand_moves);
	if (job->op != TIER_MSG_DEMOTE || job->pass)
		return false;
	if (!atomic_read(&t->wb_inflight)) {
		tier_commit_wait(t);	/* if that fails, some can't be given up */
		job->pass = 1;
		job->next = job->first;
	}
	return true;
}

static void job_ended(struct tier *t, const struct tier_job *job)
{
	if (tier_exclusive(t) || job->op == TIER_MSG_DEMOTE)
		tier_commit_kick(t, true);
	if (job->op == TIER_MSG_EVACUATE) {
		DMINFO("%s: tier %u is empty", t->name, job->tier);
		tier_event(t);
	} else if (job->skipped) {
		DMWARN("%s: %s: %llu blocks were left out, no slot could be had for them (of %u slots, %d are pinned)",
		       t->name, job_name(job->op), job->skipped, t->map.nr_slots, atomic_read(&t->nr_pinned));
	}
}

/* the first job that does not rest, or NULL */
static struct tier_job *next_job(struct tier *t)
{
	struct tier_job *job;

	lockdep_assert_held(&t->job_mutex);
	list_for_each_entry(job, &t->jobs, list)
		if (!time_before(jiffies, job->pause))
			return job;
	return NULL;
}

/* Context: worker, one at a time */
void tier_job_work(struct work_struct *work)
{
	struct tier *t = container_of(to_delayed_work(work), struct tier, job_work);
	unsigned long until = jiffies + msecs_to_jiffies(50);
	struct tier_job *job;
	bool later = false, more = false;

	if (tier_exclusive(t)) {
		more = tier_settle_step(t);
		more |= tier_moves(t);
	}
	while (!tier_exclusive(t) && !READ_ONCE(t->stopping) && time_before(jiffies, until) && promote_next(t))
		;
	mutex_lock(&t->job_mutex);
	job = next_job(t);
	while (job && !READ_ONCE(t->stopping) && time_before(jiffies, until) && !later) {
		if (job->next < job->end) {
			if (job_block(t, job))
				job->next++;
			else
				later = true;
			cond_resched();
			continue;
		}
		if (job_goes_on(t, job)) {
			later = job->next == job->end || tier_exclusive(t);
			continue;
		}
		job_ended(t, job);
		drop_job(t, job);
		job = next_job(t);
	}
	later = (t->nr_jobs || more || (!tier_exclusive(t) && tier_promote_waits(t))) && !READ_ONCE(t->stopping);
	mutex_unlock(&t->job_mutex);
	if (later)
		queue_delayed_work(t->bg_wq, &t->job_work, msecs_to_jiffies(10));
}

/* in a cache only to unpin: pinning there is a job, which promotes */
static void pin_range(struct tier *t, const struct tier_message *m, bool pin)
{
	struct tier_job *job;
	u64 first, end;

	lockdep_assert_held(&t->life_mutex);
	range_blocks(t, m, &first, &end);
	/* what is still to be pinned there is only promoted */
	mutex_lock(&t->job_mutex);
	list_for_each_entry(job, &t->jobs, list)
		if (job->op == TIER_MSG_PIN && first <= job->next && job->end <= end)
			job->op = TIER_MSG_PROMOTE;
	mutex_unlock(&t->job_mutex);
	if (end - first <= t->map.nr_slots) {
		for (; first < end; first++) {
			change_pin(t, tier_to_block(first), pin);
			cond_resched();
		}
	} else {
		u32 i;

		for (i = 0; i < t->map.nr_slots; i++) {
			u64 b = tier_from_block(tier_slot_block(&t->map, tier_to_slot(i)));

			if (b >= first && b < end)
				change_pin(t, tier_to_block(b), pin);
			cond_resched();
		}
	}
}

/* a block at which dirty data lie in the range, or TIER_NO_BLOCK */
static tier_block_t find_dirty(struct tier *t, const struct tier_message *m)
{
	u32 i;

	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		tier_block_t block = tier_slot_block(&t->map, slot);
		struct tier_stripe *s = tier_stripe(t, block);
		u64 mask = tier_range_mask(t, block, m->first, m->first + m->count);
		bool dirty;

		cond_resched();
		if (!mask)
			continue;
		spin_lock_irq(&s->lock);
		dirty = tier_map_lookup(&t->map, block) == slot && (tier_slot_dirty(&t->map, slot) & mask);
		spin_unlock_irq(&s->lock);
		if (dirty)
			return block;
	}
	return TIER_NO_BLOCK;
}

/*
 * Drop the clean copies of a range: the slow device was changed by other means.  If there are dirty data in
 * the range nothing is dropped; what becomes dirty meanwhile stays.
 */
static int invalidate_range(struct tier *t, const struct tier_message *m, char *error)
{
	tier_block_t block = find_dirty(t, m);
	int r;

	lockdep_assert_held(&t->life_mutex);
	if (block != TIER_NO_BLOCK) {
		scnprintf(error, TIER_ERROR_LEN,
			  "the block at sector %llu holds dirty data: flush first; nothing was invalidated",
			  (unsigned long long)tier_block_sector(t, block));
		return -EBUSY;
	}
	/* first what was written back becomes durable */
	r = tier_commit_wait(t);
	if (r) {
		scnprintf(error, TIER_ERROR_LEN,
			  "what was written back can't be made durable (error %d); nothing was invalidated", r);
		return r;
	}
	tier_drop_range(t, m->first, m->first + m->count, false);
	return tier_commit_wait(t);
}

/* keep a tier's flag beyond a restart */
static int set_dev_flag(struct tier *t, u32 tier, u32 flag, bool set)
{
	int r = tier_metadata_set_dev_flags(t->md, tier, flag, set ? flag : 0);

	if (r)
		tier_set_health(t, TIER_HEALTH_RO, "a metadata write failed, they need a check");
	return r;
}

/* the tier is to be emptied, also after a restart, until it is taken out of the table */
static int set_evacuate(struct tier *t, u32 tier, bool evacuate)
{
	/* whatever lands or begins to move from here on knows it */
	percpu_down_write(&t->config_sem);
	WRITE_ONCE(t->devs[tier].evacuate, evacuate);
	percpu_up_write(&t->config_sem);
	WRITE_ONCE(t->devs[tier].stuck, 0);
	return set_dev_flag(t, tier, TIER_DEV_EVACUATE, evacuate);
}

/*
 * Somebody asks for it again, and may have mended what failed: it is tried at once, and what failed before forgotten.
 * Return: is there a job for it?
 */
static bool evacuate_again(struct tier *t, u32 tier)
{
	struct tier_job *job;

	mutex_lock(&t->job_mutex);
	job = find_evacuation(t, tier);
	if (job) {
		job->pause = jiffies;
		job->failed_passes = 0;
		WRITE_ONCE(t->devs[tier].stuck, 0);
	}
	mutex_unlock(&t->job_mutex);
	tier_move_kick(t);
	return job;
}

static int evacuate(struct tier *t, const struct tier_message *m, char *error)
{
	int r;

	if (m->tier < t->nr_devs && t->devs[m->tier].evacuate) {
		struct tier_dev *d = &t->devs[m->tier];

		if (evacuate_again(t, m->tier) || !(atomic_read(&d->used) || atomic_read(&d->leaving)))
			return 0;	/* it is under way, or done */
		return check_exclusive(t, m, error) ?: start_job(t, m, error);
	}
	r = check_exclusive(t, m, error);
	if (r)
		return r;
	/* before the job, which ends as soon as the tier is empty: nothing lands there any more */
	r = set_evacuate(t, m->tier, true);
	if (r)
		return r;
	r = start_job(t, m, error);
	if (r)
		set_evacuate(t, m->tier, false);
	return r;
}

/* may this tier become a plain disk? */
static int check_settle(struct tier *t, u32 tier, char *error)
{
	u64 beyond;
	int r = check_moves(t, error);
	u32 i;

	if (r)
		return r;
	if (tier >= t->nr_devs) {
		no_such_tier(t, tier, error);
		return -EINVAL;
	}
	if (!(t->g.devs[tier].flags & TIER_DEV_NO_HEADER)) {
		scnprintf(error, TIER_ERROR_LEN,
			  "tier %u has a header where block 0 would have to be: only a disk that was taken over with its data can become one again",
			  tier);
		return -EINVAL;
	}
	if (READ_ONCE(t->nr_jobs)) {
		scnprintf(error, TIER_ERROR_LEN, "%u range jobs are waiting, try again later", t->nr_jobs);
		return -EBUSY;
	}
	for (i = 0; i < t->nr_devs; i++)
		if (t->devs[i].evacuate) {
			scnprintf(error, TIER_ERROR_LEN, "tier %u is to be emptied, or is empty: keep %u ends that",
				  i, i);
			return -EPERM;
		}
	beyond = tier_settle_beyond(t, &t->devs[tier]);
	if (beyond) {
		scnprintf(error, TIER_ERROR_LEN,
			  "%llu blocks with data lie behind the end of tier %u, which has %llu sectors: shrink the file system, and discard what is behind it",
			  beyond, tier, t->g.devs[tier].sectors);
		return -ENOSPC;
	}
	return 0;
}

/* every block goes to its own place on a tier, also after a restart */
static int settle(struct tier *t, const struct tier_message *m, char *error)
{
	int r;

	if (m->tier < t->nr_devs && t->devs[m->tier].settle) {
		tier_settle_retry(t);	/* it is under way, or done */
		return 0;
	}
	r = check_settle(t, m->tier, error) ?: set_dev_flag(t, m->tier, TIER_DEV_SETTLE, true);
	if (!r)
		tier_settle_set(t, &t->devs[m->tier]);
	return r;
}

/* the opposite of both: the tier is used again */
static int keep(struct tier *t, const struct tier_message *m, char *error)
{
	struct tier_job *job;

	if (m->tier >= t->nr_devs) {
		no_such_tier(t, m->tier, error);
		return -EINVAL;
	}
	mutex_lock(&t->job_mutex);
	job = find_evacuation(t, m->tier);
	if (job)
		drop_job(t, job);
	mutex_unlock(&t->job_mutex);
	if (t->devs[m->tier].settle) {
		tier_settle_set(t, NULL);
		return set_dev_flag(t, m->tier, TIER_DEV_SETTLE, false);
	}
	return t->devs[m->tier].evacuate ? set_evacuate(t, m->tier, false) : 0;
}

/* where a block lives: a tier, or -1; and whether it is pinned */
static int place_of(struct tier *t, tier_block_t block, bool *pinned)
{
	struct tier_stripe *s = tier_stripe(t, block);
	tier_slot_t slot;
	int dev = -1;

	*pinned = false;
	spin_lock_irq(&s->lock);
	slot = tier_map_lookup(&t->map, block);
	if (slot != TIER_NO_SLOT && tier_slot_valid(&t->map, slot)) {
		dev = tier_slot_dev(&t->g, slot);
		*pinned = tier_slot_flags(&t->map, slot) & TIER_SLOT_PINNED;
	}
	spin_unlock_irq(&s->lock);
	return dev;
}

/*
 * Runs of blocks that are alike, a line each: first sector, sectors, tier or "-", and "pinned" or "-".  If there
 * is no room for all, the last line is "more" and the sector to go on from.
 */
static void where(struct tier *t, const struct tier_message *m, char *result, unsigned int maxlen)
{
	const unsigned int line = 80;
	u64 first, end, b, from;
	bool pinned, p;
	unsigned int sz = 0;
	int dev, d;

	range_blocks(t, m, &first, &end);
	*result = '\0';
	dev = place_of(t, tier_to_block(first), &pinned);
	for (b = first + 1, from = first; from < end; b++) {
		d = b < end ? place_of(t, tier_to_block(b), &p) : 0;
		cond_resched();
		if (b < end && d == dev && p == pinned)
			continue;
		if (maxlen - sz < 2 * line) {
			DMEMIT("more %llu\n", (unsigned long long)tier_block_sector(t, tier_to_block(from)));
			return;
		}
		DMEMIT("%llu %llu ", (unsigned long long)tier_block_sector(t, tier_to_block(from)),
		       min_t(u64, b << t->g.block_shift, t->ti->len) - tier_block_sector(t, tier_to_block(from)));
		if (dev < 0)
			DMEMIT("- -\n");
		else
			DMEMIT("%d %s\n", dev, pinned ? "pinned" : "-");
		from = b;
		dev = d;
		pinned = p;
	}
}

static void reset_stats(struct tier *t)
{
	struct tier_metadata_info info;
	int cpu;
	u32 i;

	lockdep_assert_held(&t->life_mutex);
	tier_metadata_info(t->md, &info);
	t->checkpoints_reset = info.checkpoints;
	/* counts that come in meanwhile may be lost, which nobody can tell from having come before */
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(t->stats, cpu), 0, sizeof(struct tier_stats));
	for (i = 0; i < t->nr_devs; i++)
		for_each_possible_cpu(cpu)
			memset(per_cpu_ptr(t->devs[i].stats, cpu), 0, sizeof(struct tier_dev_stats));
}

/**
 * tier_message() - message of the target
 * @t: target
 * @argc: words
 * @argv: words
 * @result: for `where`; all others are answered in the status
 * @maxlen: of @result
 *
 * Context: may sleep.
 * Return: 0; 1 with text in @result; -EINVAL with a sentence in the kernel log, and nothing changed; other errors.
 */
int tier_message(struct tier *t, unsigned int argc, char **argv, char *result, unsigned int maxlen)
{
	struct tier_message m;
	char *error = kzalloc(TIER_ERROR_LEN, GFP_KERNEL);
	int r;

	if (!error)
		return -ENOMEM;
	mutex_lock(&t->life_mutex);
	r = tier_message_parse(&m, argc, argv, t->tune.kind, t->ti->len, error);
	if (!r && !READ_ONCE(t->live)) {
		scnprintf(error, TIER_ERROR_LEN, "the device is suspended");
		r = -EAGAIN;
	}
	if (!r && t->readonly && m.op != TIER_MSG_WHERE && m.op != TIER_MSG_STATS_RESET) {
		scnprintf(error, TIER_ERROR_LEN, "the device is read-only: it takes where and stats reset only");
		r = -EROFS;
	}
	if (!r)
		switch (m.op) {
		case TIER_MSG_MODE:
			r = set_mode(t, m.mode);
			break;
		case TIER_MSG_FLUSH:
			tier_wb_flush(t);
			break;
		case TIER_MSG_POLICY:
			/* the name stands before the words of its arguments */
			r = tier_policy_switch(t, m.argc + 1, m.argv - 1, error);
			break;
		case TIER_MSG_SET:
			r = set_tunable(t, m.key, m.value, error);
			break;
		case TIER_MSG_PIN:
			if (tier_exclusive(t))
				pin_range(t, &m, true);
			else
				r = range_job(t, &m, error);
			break;
		case TIER_MSG_PROMOTE:
		case TIER_MSG_DEMOTE:
		case TIER_MSG_MOVE:
			r = range_job(t, &m, error);
			break;
		case TIER_MSG_EVACUATE:
			r = evacuate(t, &m, error);
			break;
		case TIER_MSG_SETTLE:
			r = settle(t, &m, error);
			break;
		case TIER_MSG_KEEP:
			r = keep(t, &m, error);
			break;
		case TIER_MSG_WHERE:
			where(t, &m, result, maxlen);
			r = 1;
			break;
		case TIER_MSG_UNPIN:
			pin_range(t, &m, false);
			break;
		case TIER_MSG_INVALIDATE:
			r = invalidate_range(t, &m, error);
			break;
		case TIER_MSG_STATS_RESET:
			reset_stats(t);
			break;
		}
	mutex_unlock(&t->life_mutex);
	if (r < 0)
		DMERR("%s: message %s: %s", t->name, argc ? argv[0] : "", *error ? error : "failed");
	kfree(error);
	return r;
}
