// SPDX-License-Identifier: GPL-2.0
/*
 * seqbypass - a filter that keeps long sequential runs off the fast device.
 *
 * A disk serves a sequential run almost as fast as an SSD, and a run much longer than anything that
 * is used again would wash the cache out.  So a miss that continues a run beyond the cutoff is
 * bypassed: the wrapped policy does not hear of it, and neither does it hear of hits in such a
 * run.  Blocks that are resident are served from where they are, as always.
 *
 * A run is followed by exact continuation: same direction, first sector where the last request
 * ended, not later than 5 s after it.  The table of runs is hashed by the sector expected next, so
 * a request that continues no run costs one look at one cache line.  When a set of the table is
 * full, runs that were never continued make way first: random I/O, which starts one "run" after the
 * other, does not push out real ones.
 *
 * A log that is written round and round is sequential too, but it is the best a cache can be
 * given.  The filter tells it from a bulk write by remembering the regions in which it bypassed
 * writes: a run that comes to such a region again is let in.
 *
 * The idea of bypassing by sequential cutoff is bcache's; its table and that of flashcache are
 * lists of 128 and 32 runs that random I/O can flush.
 */
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "tier-policy.h"
#include "tunables.h"

/* Room for 256 runs, so that 128 at once rarely push each other out of a set. */
#define SET_BITS	5
#define NR_SETS		(1U << SET_BITS)
#define NR_WAYS		8
#define EXPIRY_MS	5000U

#define REGION_SHIFT	11	/* 1 MiB */
#define NR_REGIONS	1024U

struct run {
	u32 sectors;		/* length so far, saturating */
	bool again;		/* a write to a region that was written like this before */
};

/* Runs that are expected to go on at sectors of the same hash */
struct run_set {
	u64 next[NR_WAYS];	/* sector << 1 | write, written under lock, read racily; 0: free */
	struct run run[NR_WAYS];
	u32 last[NR_WAYS];	/* time of the last request, ms */
	spinlock_t lock;	/* guards this set */
} ____cacheline_aligned;

enum {
	TUNE_READ,
	TUNE_WRITE,
	NR_TUNABLES,
};

static const struct tunable tunables[NR_TUNABLES] = {
	[TUNE_READ] = { "read_cutoff_sectors", 0, 1U << 30, 2048 },
	[TUNE_WRITE] = { "write_cutoff_sectors", 0, 1U << 30, 2048 },
};

struct seqbypass {
	struct tier_policy policy;
	unsigned int tunables[NR_TUNABLES];
	u32 regions[NR_REGIONS];	/* where writes were bypassed; racy */
	struct run_set sets[NR_SETS];
};

static struct seqbypass *to_seqbypass(struct tier_policy *p)
{
	return container_of(p, struct seqbypass, policy);
}

static u64 seqbypass_memory(const struct tier_policy_params *params)
{
	return sizeof(struct seqbypass);
}

static struct tier_policy *seqbypass_create(const struct tier_policy_params *params,
					    struct tier_policy *next)
{
	struct seqbypass *sb;
	u32 i;

	if (!next)
		return ERR_PTR(-EINVAL);
	sb = kvzalloc(sizeof(*sb), GFP_KERNEL);
	if (!sb)
		return ERR_PTR(-ENOMEM);
	tunables_init(tunables, NR_TUNABLES, sb->tunables);
	for (i = 0; i < NR_SETS; i++)
		spin_lock_init(&sb->sets[i].lock);
	return &sb->policy;
}

static void seqbypass_destroy(struct tier_policy *p)
{
	kvfree(to_seqbypass(p));
}

/*
 * Runs
 */

static u64 run_key(const struct tier_access *access, u64 sector)
{
	return (sector << 1) + !!(access->flags & TIER_ACCESS_WRITE);
}

static struct run_set *run_set(struct seqbypass *sb, u64 key)
{
	return &sb->sets[hash_64(key, SET_BITS)];
}

/* Lock-free: does a run expect this key?  May be wrong either way; take_run() makes sure. */
static bool may_continue(struct seqbypass *sb, u64 key)
{
	struct run_set *set = run_set(sb, key);
	u32 i;

	for (i = 0; i < NR_WAYS; i++)
		if (READ_ONCE(set->next[i]) == key)	/* pairs with take_run(), put_run() */
			return true;
	return false;
}

/* Takes the run that @access continues out of the table; it has no sectors if there is none. */
static struct run take_run(struct seqbypass *sb, const struct tier_access *access)
{
	u64 key = run_key(access, access->sector);
	struct run_set *set = run_set(sb, key);
	struct run run = { .sectors = 0 };
	u32 i;

	if (!may_continue(sb, key))
		return run;

	spin_lock(&set->lock);
	for (i = 0; i < NR_WAYS; i++) {
		if (set->next[i] != key)
			continue;
		WRITE_ONCE(set->next[i], 0);	/* pairs with may_continue() */
		if ((u32)access->now - set->last[i] <= EXPIRY_MS)
			run = set->run[i];
	}
	spin_unlock(&set->lock);
	return run;
}

/* Does way @a make way before way @b?  Free, then expired, then never continued, then oldest. */
static bool sooner(const struct run_set *set, u32 a, u32 b, u32 now, u32 single)
{
	u32 idle_a = now - set->last[a];
	u32 idle_b = now - set->last[b];
	bool over_a = idle_a > EXPIRY_MS, over_b = idle_b > EXPIRY_MS;
	bool single_a = set->run[a].sectors <= single, single_b = set->run[b].sectors <= single;

	if (!set->next[a] || !set->next[b])
		return !set->next[a];
	if (over_a != over_b)
		return over_a;
	if (single_a != single_b)
		return single_a;
	return idle_a > idle_b;
}

/* Puts a run, that @access is the last part of, into the table. */
static void put_run(struct seqbypass *sb, const struct tier_access *access, const struct run *run)
{
	u64 key = run_key(access, access->sector + access->sectors);
	struct run_set *set = run_set(sb, key);
	u32 i, victim = 0;

	spin_lock(&set->lock);
	for (i = 0; i < NR_WAYS; i++) {
		if (set->next[i] == key) {
			victim = i;
			break;
		}
		if (i && sooner(set, i, victim, (u32)access->now, access->sectors))
			victim = i;
	}
	WRITE_ONCE(set->next[victim], key);	/* pairs with may_continue() */
	set->run[victim] = *run;
	set->last[victim] = (u32)access->now;
	spin_unlock(&set->lock);
}

/*
 * Regions in which writes were bypassed: direct-mapped, the last one wins.  Racy, it is a guess.
 */

static bool region_noted(struct seqbypass *sb, u64 region)
{
	return READ_ONCE(sb->regions[region % NR_REGIONS]) == (u32)(region + 1);
}

static void note_region(struct seqbypass *sb, u64 region)
{
	WRITE_ONCE(sb->regions[region % NR_REGIONS], (u32)(region + 1));
}

/* Follows runs; is @access part of one that the fast device is not for? */
static bool follow(struct seqbypass *sb, const struct tier_access *access, bool hit)
{
	bool write = access->flags & TIER_ACCESS_WRITE;
	u32 cutoff = READ_ONCE(sb->tunables[write ? TUNE_WRITE : TUNE_READ]);
	struct run run = take_run(sb, access);
	u64 region = access->sector >> REGION_SHIFT;
	bool was_long = run.sectors > cutoff;
	bool is_long;

	/* Runs begin with a miss, so that hits at random write nothing. */
	if (hit && !run.sectors)
		return false;

	run.sectors = min_t(u64, (u64)run.sectors + access->sectors, U32_MAX);
	is_long = cutoff && run.sectors > cutoff;
	/* A block, and so an access, lies in one region. */
	if (write && is_long && (!was_long || (access->sector - 1) >> REGION_SHIFT != region))
		run.again = region_noted(sb, region);
	put_run(sb, access, &run);
	if (write && is_long && !run.again && !hit)
		note_region(sb, region);
	return is_long && !run.again;
}

/*
 * Operations
 */

static void seqbypass_hit(struct tier_policy *p, tier_slot_t slot, const struct tier_access *access)
{
	bool bypass = follow(to_seqbypass(p), access, true);

	/* What a write run finds resident is rewritten: that is use. */
	if (!bypass || access->flags & TIER_ACCESS_WRITE)
		p->next->type->hit(p->next, slot, access);
}

static enum tier_admit seqbypass_miss(struct tier_policy *p, tier_block_t block,
				      const struct tier_access *access)
{
	if (follow(to_seqbypass(p), access, false))
		return TIER_BYPASS_SEQ;
	return p->next->type->miss(p->next, block, access);
}

static void seqbypass_inserted(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			       const struct tier_access *access)
{
	p->next->type->inserted(p->next, block, slot, access);
}

static void seqbypass_removed(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
			      enum tier_removal why)
{
	p->next->type->removed(p->next, block, slot, why);
}

static void seqbypass_aborted(struct tier_policy *p, tier_block_t block)
{
	p->next->type->aborted(p->next, block);
}

static bool seqbypass_victim(struct tier_policy *p, tier_victim_fn take, void *context, u32 budget,
			     tier_slot_t *slot)
{
	return p->next->type->victim(p->next, take, context, budget, slot);
}

static void seqbypass_victim_kept(struct tier_policy *p, tier_block_t block, tier_slot_t slot)
{
	p->next->type->victim_kept(p->next, block, slot);
}

static bool seqbypass_get_work(struct tier_policy *p, bool idle, struct tier_work *work)
{
	return p->next->type->get_work && p->next->type->get_work(p->next, idle, work);
}

static void seqbypass_tick(struct tier_policy *p, u64 now)
{
	if (p->next->type->tick)
		p->next->type->tick(p->next, now);
}

static u32 seqbypass_save_hint(struct tier_policy *p, tier_slot_t slot)
{
	return p->next->type->save_hint(p->next, slot);
}

static void seqbypass_load_hint(struct tier_policy *p, tier_block_t block, tier_slot_t slot,
				u32 hint)
{
	p->next->type->load_hint(p->next, block, slot, hint);
}

static int seqbypass_set(struct tier_policy *p, const char *key, const char *value)
{
	int r = tunables_set(tunables, NR_TUNABLES, to_seqbypass(p)->tunables, key, value);

	return r == -ENOENT ? p->next->type->set(p->next, key, value) : r;
}

static int seqbypass_emit(struct tier_policy *p, char *buf, size_t size, unsigned int *count)
{
	unsigned int next_count = 0;
	int len, next_len;

	*count = 0;
	len = tunables_emit(tunables, NR_TUNABLES, to_seqbypass(p)->tunables, buf, size, count);
	len += scnprintf(buf + len, size - len, " next %s", p->next->type->name);
	*count += 2;
	if (len + 1 < size) {
		next_len = p->next->type->emit(p->next, buf + len + 1, size - len - 1, &next_count);
		if (next_len) {
			buf[len] = ' ';
			len += 1 + next_len;
		}
		*count += next_count;
	}
	return len;
}

static struct tier_policy_type seqbypass_type = {
	.name = "seqbypass",
	.version = {1, 0, 0},
	.filter = true,
	.owner = THIS_MODULE,
	.memory = seqbypass_memory,
	.create = seqbypass_create,
	.destroy = seqbypass_destroy,
	.hit = seqbypass_hit,
	.miss = seqbypass_miss,
	.inserted = seqbypass_inserted,
	.removed = seqbypass_removed,
	.aborted = seqbypass_aborted,
	.victim = seqbypass_victim,
	.victim_kept = seqbypass_victim_kept,
	.get_work = seqbypass_get_work,
	.tick = seqbypass_tick,
	.save_hint = seqbypass_save_hint,
	.load_hint = seqbypass_load_hint,
	.set = seqbypass_set,
	.emit = seqbypass_emit,
	.tunables_help =
		"read_cutoff_sectors: bypass reads beyond, sectors, 0 (never)-1073741824, 2048\n"
		"write_cutoff_sectors: bypass writes beyond, sectors, 0 (never)-1073741824, 2048\n",
};

static int __init seqbypass_module_init(void)
{
	return tier_policy_register(&seqbypass_type);
}

static void __exit seqbypass_module_exit(void)
{
	tier_policy_unregister(&seqbypass_type);
}

module_init(seqbypass_module_init);
module_exit(seqbypass_module_exit);

MODULE_DESCRIPTION("dm-tier policy: filter that bypasses sequential runs");
MODULE_AUTHOR("dm-tier developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
MODULE_ALIAS("dm-tier-policy-seqbypass");
