// SPDX-License-Identifier: GPL-2.0
/*
 * hotspot - admit blocks on evidence.
 *
 * For a fast device that wears, or where to admit a block costs the slow device a copy.  Each block
 * has a heat: a touch adds to it, at most once per touch window, and it halves with every epoch of
 * 8 touches per slot.  A block is admitted when it was touched often enough and is clearly hotter
 * than the coldest of a few slots at random; as long as there are free slots everything is.  The
 * victim is the coldest of a few at random, and its heat is remembered.
 *
 * Heat of blocks that are not resident lives in a hashed table of one cache line a bucket.
 *
 * Sources: frequency with lazy aging by halving, and admission by comparison with the victim, are
 * TinyLFU's (Einziger, Friedman, Manes: TinyLFU, a highly efficient cache admission policy, ACM TOS
 * 2017) and LRFU's (Lee and others, IEEE TC 2001); the victim by sampling is Psounis and
 * Prabhakar's (INFOCOM 2001).
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include "tier-policy.h"
#include "tunables.h"

#define TOUCH_HEAT	8	/* what a touch adds */
#define MAX_HEAT	248
#define EPOCH_TOUCHES	8ULL	/* per slot */
#define NR_SAMPLES	8
#define TOUCH_BATCH	64	/* touches counted per CPU before they are counted for all */
#define STAMPS_PER_WINDOW 4

/*
 * What is known of a resident block.  Written racily by hits, and under the lock by all others:
 * every field is a hint.
 */
struct heat {
	u8 heat;		/* at @epoch */
	u8 epoch;		/* of the last change, wrapping */
	u8 stamp;		/* of the last touch that counted, in quarters of the window */
};

#define NR_WAYS		12

/* Blocks that are not resident */
struct bucket {
	u16 print[NR_WAYS];	/* 0: free */
	struct heat heat[NR_WAYS];
} ____cacheline_aligned;

enum {
	TUNE_TOUCHES,
	TUNE_HYSTERESIS,
	TUNE_WINDOW,
	NR_TUNABLES,
};

static const struct tunable tunables[NR_TUNABLES] = {
	[TUNE_TOUCHES] = { "promote_touches", 1, 31, 2 },
	[TUNE_HYSTERESIS] = { "hysteresis", 0, 31, 2 },
	[TUNE_WINDOW] = { "touch_window_ms", 0, 10000, 20 },
};

struct hotspot {
	struct tier_policy policy;
	u32 nr_slots;
	u32 nr_buckets;
	unsigned int tunables[NR_TUNABLES];
	struct heat *heats;		/* per slot */
	u32 __percpu *uncounted;	/* touches, racy */
	atomic64_t touches;
	u32 epoch;			/* follows touches; racy, only the low 8 bits are used */

	/* guards all below */
	spinlock_t lock;
	unsigned long *candidates;	/* slots that may be proposed */
	u32 nr_resident;
	bool full;			/* a victim was asked for */
	u32 hand;			/* slot that joins the next sample */
	u64 random;			/* state of the generator */
	struct bucket *buckets;
};

static struct hotspot *to_hotspot(struct tier_policy *p)
{
	return container_of(p, struct hotspot, policy);
}

/* Twice as many entries as slots */
static u32 nr_buckets(u32 nr_slots)
{
	return DIV_ROUND_UP_ULL(2ULL * nr_slots, NR_WAYS);
}

static u64 hotspot_memory(const struct tier_policy_params *params)
{
	return sizeof(struct hotspot) + (u64)num_possible_cpus() * sizeof(u32) +
		(u64)params->nr_slots * sizeof(struct heat) +
		BITS_TO_LONGS((u64)params->nr_slots) * sizeof(long) +
		(u64)nr_buckets(params->nr_slots) * sizeof(struct bucket);
}

static void hotspot_destroy(struct tier_policy *p)
{
	struct hotspot *h = to_hotspot(p);

	kvfree(h->buckets);
	kvfree(h->candidates);
	free_percpu(h->uncounted);
	kvfree(h->heats);
	kfree(h);
}

static struct tier_policy *hotspot_create(const struct tier_policy_params *params,
					  struct tier_policy *next)
{
	struct hotspot *h = kzalloc(sizeof(*h), GFP_KERNEL);

	if (!h)
		return ERR_PTR(-ENOMEM);

	spin_lock_init(&h->lock);
	h->nr_slots = params->nr_slots;
	h->nr_buckets = nr_buckets(params->nr_slots);
	h->random = params->seed | 1;
	tunables_init(tunables, NR_TUNABLES, h->tunables);
	h->heats = kvcalloc(params->nr_slots, sizeof(*h->heats), GFP_KERNEL);
	h->uncounted = alloc_percpu(u32);
	h->candidates = kvcalloc(BITS_TO_LONGS((u64)params->nr_slots), sizeof(long), GFP_KERNEL);
	h->buckets = kvcalloc(h->nr_buckets, sizeof(*h->buckets), GFP_KERNEL);
	if (!h->heats || !h->uncounted || !h->candidates || !h->buckets) {
		hotspot_destroy(&h->policy);
		return ERR_PTR(-ENOMEM);
	}
	return &h->policy;
}

/*
 * Heat
 */

/* Counts touches without a cache line that all CPUs write. */
static void count_touch(struct hotspot *h)
{
	u32 *uncounted = raw_cpu_ptr(h->uncounted);
	u32 nr = READ_ONCE(*uncounted) + 1;
	u64 touches;

	/* Racy against a task that preempts this one: a touch more or less. */
	if (nr < TOUCH_BATCH && nr < h->nr_slots) {
		WRITE_ONCE(*uncounted, nr);
		return;
	}
	WRITE_ONCE(*uncounted, 0);
	touches = atomic64_add_return(nr, &h->touches);
	WRITE_ONCE(h->epoch, (u32)div64_u64(touches, EPOCH_TOUCHES * h->nr_slots));
}

static u8 heat_now(struct hotspot *h, const struct heat *heat)
{
	u8 age = READ_ONCE(h->epoch) - READ_ONCE(heat->epoch);

	return age < 8 ? READ_ONCE(heat->heat) >> age : 0;
}

static u8 stamp_now(struct hotspot *h, u64 now)
{
	u32 window = READ_ONCE(h->tunables[TUNE_WINDOW]);

	return (u32)now / max(1U, window / STAMPS_PER_WINDOW);
}

/* Was the last touch that counted within the window?  Wraps, so one in 64 is wrong. */
static bool in_window(struct hotspot *h, const struct heat *heat, u8 stamp)
{
	u32 window = READ_ONCE(h->tunables[TUNE_WINDOW]);
	u8 age = stamp - READ_ONCE(heat->stamp);

	return age < min_t(u32, window, STAMPS_PER_WINDOW);
}

static void set_heat(struct hotspot *h, struct heat *heat, u8 value, u8 stamp)
{
	WRITE_ONCE(heat->heat, value);
	WRITE_ONCE(heat->epoch, (u8)READ_ONCE(h->epoch));
	WRITE_ONCE(heat->stamp, stamp);
}

static void touch(struct hotspot *h, struct heat *heat, u64 now)
{
	u8 stamp = stamp_now(h, now);

	if (!in_window(h, heat, stamp))
		set_heat(h, heat, min(heat_now(h, heat) + TOUCH_HEAT, MAX_HEAT), stamp);
	count_touch(h);
}

/*
 * Table of blocks that are not resident
 */

static struct bucket *find_bucket(struct hotspot *h, tier_block_t block, u16 *print)
{
	u64 hash = tier_from_block(block) * GOLDEN_RATIO_64;

	/* Folded, because the low bits of a product depend on few bits of the block. */
	hash ^= hash >> 32;
	hash *= GOLDEN_RATIO_64;
	*print = (u16)hash ? (u16)hash : 1;
	return &h->buckets[((hash >> 32) * h->nr_buckets) >> 32];
}

static struct heat *__lookup(struct hotspot *h, tier_block_t block)
{
	struct bucket *bucket;
	u16 print;
	u32 i;

	lockdep_assert_held(&h->lock);

	bucket = find_bucket(h, block, &print);
	for (i = 0; i < NR_WAYS; i++)
		if (bucket->print[i] == print)
			return &bucket->heat[i];
	return NULL;
}

/* Makes an entry, in the place of the coldest in the bucket. */
static struct heat *__enter(struct hotspot *h, tier_block_t block)
{
	u32 i, coldest = 0, coldest_heat = U32_MAX, heat;
	struct bucket *bucket;
	u16 print;

	lockdep_assert_held(&h->lock);

	bucket = find_bucket(h, block, &print);
	for (i = 0; i < NR_WAYS; i++) {
		if (!bucket->print[i]) {
			coldest = i;
			break;
		}
		/* Among equals the one that was touched in an earlier epoch */
		heat = heat_now(h, &bucket->heat[i]) << 8 |
			(u8)(bucket->heat[i].epoch - READ_ONCE(h->epoch) - 1);
		if (heat < coldest_heat) {
			coldest_heat = heat;
			coldest = i;
		}
	}
	bucket->print[coldest] = print;
	return &bucket->heat[coldest];
}

/* Removes the block's entry; gives its heat. */
static struct heat __take(struct hotspot *h, tier_block_t block)
{
	struct heat none = { .epoch = READ_ONCE(h->epoch) };
	struct bucket *bucket;
	u16 print;
	u32 i;

	lockdep_assert_held(&h->lock);

	bucket = find_bucket(h, block, &print);
	for (i = 0; i < NR_WAYS; i++) {
		if (bucket->print[i] == print) {
			bucket->print[i] = 0;
			return bucket->heat[i];
		}
	}
	return none;
}

/*
 * Sampling
 */

struct sample {
	u32 nr;
	struct {
		u32 slot;
		u32 heat;
	} of[NR_SAMPLES];
};

/* xorshift64* (Vigna 2016) */
static u32 __random_slot(struct hotspot *h)
{
	lockdep_assert_held(&h->lock);

	h->random ^= h->random >> 12;
	h->random ^= h->random << 25;
	h->random ^= h->random >> 27;
	return ((h->random * 0x2545f4914f6cdd1dULL >> 32) * h->nr_slots) >> 32;
}

static void __add_sample(struct hotspot *h, struct sample *s, u32 slot)
{
	u32 i, heat;

	lockdep_assert_held(&h->lock);

	if (!test_bit(slot, h->candidates))
		return;
	for (i = 0; i < s->nr; i++)
		if (s->of[i].slot == slot)
			return;
	/* Sorted, coldest first */
	heat = heat_now(h, &h->heats[slot]);
	for (i = s->nr++; i && s->of[i - 1].heat > heat; i--)
		s->of[i] = s->of[i - 1];
	s->of[i].slot = slot;
	s->of[i].heat = heat;
}

/* One at the hand, so that all slots have their turn, and the others at random. */
static void __take_sample(struct hotspot *h, struct sample *s)
{
	u32 i;

	lockdep_assert_held(&h->lock);

	s->nr = 0;
	__add_sample(h, s, h->hand);
	if (++h->hand >= h->nr_slots)
		h->hand = 0;
	for (i = 1; i < NR_SAMPLES; i++)
		__add_sample(h, s, __random_slot(h));
}

/*
 * Operations
 */

static void hotspot_hit(struct tier_policy *p, tier_slot_t slot, const struct tier_access *access)
{
	struct hotspot *h = to_hotspot(p);

	touch(h, &h->heats[tier_from_slot(slot)], access->now);
}

static bool __worth_a_slot(struct hotspot *h, u32 heat)
{
	struct sample s;

	lockdep_assert_held(&h->lock);

	if (!h->full)
		return true;
	if (heat < READ_ONCE(h->tunables[TUNE_TOUCHES]) * TOUCH_HEAT)
		return false;
	__take_sample(h, &s);
	return !s.nr || heat > s.of[0].heat + READ_ONCE(h->tunables[TUNE_HYSTERESIS]) * TOUCH_HEAT;
}

static enum tier_admit hotspot_miss(struct tier_policy *p, tier_block_t block,
				    const struct tier_access *access)
{
	struct hotspot *h = to_hotspot(p);
	struct heat *heat;
	bool worth;

	/* It has its slot already. */
	if (access->flags & TIER_ACCESS_PARTIAL)
		return TIER_FILL;

	spin_lock(&h->lock);
	heat = __lookup(h, block);
	if (heat) {
		touch(h, heat, access->now);
	} else {
		heat = __enter(h, block);
		set_heat(h, heat, TOUCH_HEAT, stamp_now(h, access->now));
		count_touch(h);
	}
	worth = __worth_a_slot(h, heat_now(h, heat));
	spin_unlock(&h->lock);
	return worth ? TIER_FILL : TIER_BYPASS;
}

static void hotspot_inserted(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			     const struct tier_access *access)
{
	struct hotspot *h = to_hotspot(p);
	u32 s = tier_from_slot(slot);
	struct heat heat;

	spin_lock(&h->lock);
	heat = __take(h, block);
	set_heat(h, &h->heats[s], max_t(u8, heat_now(h, &heat), TOUCH_HEAT), heat.stamp);
	if (!__test_and_set_bit(s, h->candidates))
		h->nr_resident++;
	spin_unlock(&h->lock);
}

static void hotspot_removed(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			    enum tier_removal why)
{
	struct hotspot *h = to_hotspot(p);
	u32 s = tier_from_slot(slot);
	u8 heat;

	spin_lock(&h->lock);
	heat = heat_now(h, &h->heats[s]);
	if (heat)
		set_heat(h, __enter(h, block), heat, READ_ONCE(h->heats[s].stamp));
	if (__test_and_clear_bit(s, h->candidates))
		h->nr_resident--;
	/* A large discard or the like: there is room again. */
	if (why == TIER_REMOVED_INVALID && h->nr_resident < h->nr_slots - h->nr_slots / 4)
		h->full = false;
	spin_unlock(&h->lock);
}

static void hotspot_aborted(struct tier_policy *p, tier_block_t block)
{
}

static bool hotspot_victim(struct tier_policy *p, tier_victim_fn take, void *context, u32 budget,
			   tier_slot_t *slot)
{
	struct hotspot *h = to_hotspot(p);
	enum tier_verdict verdict = TIER_VICTIM_SKIP;
	struct sample s;
	u32 i;

	spin_lock(&h->lock);
	h->full = true;
	while (budget && verdict == TIER_VICTIM_SKIP) {
		__take_sample(h, &s);
		if (!s.nr)
			budget--;
		/* All of it in turn: where most are skipped, the coldest mostly are. */
		for (i = 0; i < s.nr && budget && verdict == TIER_VICTIM_SKIP; i++) {
			budget--;
			*slot = tier_to_slot(s.of[i].slot);
			verdict = take(context, *slot);
		}
	}
	if (verdict == TIER_VICTIM_TAKE) {
		__clear_bit(tier_from_slot(*slot), h->candidates);
		h->nr_resident--;
	}
	spin_unlock(&h->lock);
	return verdict == TIER_VICTIM_TAKE;
}

static void hotspot_victim_kept(struct tier_policy *p, tier_block_t block, tier_slot_t slot)
{
	struct hotspot *h = to_hotspot(p);

	spin_lock(&h->lock);
	if (!__test_and_set_bit(tier_from_slot(slot), h->candidates))
		h->nr_resident++;
	spin_unlock(&h->lock);
}

/* The hint is the heat, and a bit to tell it from 0. */
#define HINT_VALID	0x100

static u32 hotspot_save_hint(struct tier_policy *p, tier_slot_t slot)
{
	struct hotspot *h = to_hotspot(p);

	return HINT_VALID | heat_now(h, &h->heats[tier_from_slot(slot)]);
}

static void hotspot_load_hint(struct tier_policy *p, tier_block_t block, tier_slot_t slot, u32 hint)
{
	struct hotspot *h = to_hotspot(p);
	u32 s = tier_from_slot(slot);
	u8 heat = hint & HINT_VALID ? min_t(u32, hint & 0xff, MAX_HEAT) : TOUCH_HEAT;

	spin_lock(&h->lock);
	set_heat(h, &h->heats[s], heat, 0);
	if (!__test_and_set_bit(s, h->candidates))
		h->nr_resident++;
	spin_unlock(&h->lock);
}

static int hotspot_set(struct tier_policy *p, const char *key, const char *value)
{
	return tunables_set(tunables, NR_TUNABLES, to_hotspot(p)->tunables, key, value);
}

static int hotspot_emit(struct tier_policy *p, char *buf, size_t size, unsigned int *count)
{
	*count = 0;
	return tunables_emit(tunables, NR_TUNABLES, to_hotspot(p)->tunables, buf, size, count);
}

static struct tier_policy_type hotspot_type = {
	.name = "hotspot",
	.version = {1, 0, 0},
	.owner = THIS_MODULE,
	.memory = hotspot_memory,
	.create = hotspot_create,
	.destroy = hotspot_destroy,
	.hit = hotspot_hit,
	.miss = hotspot_miss,
	.inserted = hotspot_inserted,
	.removed = hotspot_removed,
	.aborted = hotspot_aborted,
	.victim = hotspot_victim,
	.victim_kept = hotspot_victim_kept,
	.save_hint = hotspot_save_hint,
	.load_hint = hotspot_load_hint,
	.set = hotspot_set,
	.emit = hotspot_emit,
	.tunables_help =
		"promote_touches: touches that a block needs to be admitted, touches, 1-31, 2\n"
		"hysteresis: how much hotter than the victim it must be, touches, 0-31, 2\n"
		"touch_window_ms: touches within this count once, ms, 0-10000, 20\n",
};

static int __init hotspot_module_init(void)
{
	return tier_policy_register(&hotspot_type);
}

static void __exit hotspot_module_exit(void)
{
	tier_policy_unregister(&hotspot_type);
}

module_init(hotspot_module_init);
module_exit(hotspot_module_exit);

MODULE_DESCRIPTION("dm-tier policy: admission and eviction by heat");
MODULE_AUTHOR("dm-tier developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
MODULE_ALIAS("dm-tier-policy-hotspot");
