// SPDX-License-Identifier: GPL-2.0
/*
 * A cache without devices.
 *
 * It does what the core does, in the order of the trace: looks a block up, tells the policy, gives
 * an admitted block a free slot or a victim's.  Evictions take no time; with SIM_KEEP_WHOLE an
 * admitted block is resident after a delay, and requests for it meanwhile are misses that can't be
 * admitted again.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include "fill.h"
#include "policy-registry.h"
#include "sim.h"

#define NO_SLOT		U32_MAX
#define PENDING		(U32_MAX - 1)	/* in map: has a slot, the data are on their way */
#define VICTIM_BUDGET	100000U

struct slot {
	u64 block;
	u64 valid;		/* granules */
	u64 dirty;
	u64 spec;		/* kept without being asked for, not used yet */
	bool followed;		/* by the fill logic */
};

struct pending {
	u64 block;
	u64 due_ms;
	u32 slot;
	struct tier_access access;
};

struct sim {
	const struct sim_options *o;
	struct sim_result *r;
	struct tier_policy *p;
	struct tier_fill *fill;
	u64 nr_blocks;
	u32 granule;		/* sectors */
	u32 *map;		/* block to slot, NO_SLOT or PENDING */
	struct slot *slots;
	u32 *free;
	u32 nr_free;
	struct pending *pending;	/* ring of nr_slots entries */
	u32 first_pending;
	u32 nr_pending;
	u64 now;		/* ms */
	u64 next_tick;
	u64 read_to;		/* the request's data up to here were read from the slow device */
};

/* One block's part of a request */
struct piece {
	u64 block;
	u64 mask;		/* granules touched */
	u64 whole;		/* granules covered */
	struct tier_access access;
};

static void sim_exit(struct sim *s)
{
	tier_policy_chain_destroy(s->p);
	tier_fill_destroy(s->fill);
	free(s->map);
	free(s->slots);
	free(s->free);
	free(s->pending);
}

static int sim_init(struct sim *s, const struct sim_trace *trace, const struct sim_options *o,
		    struct sim_result *r, const char **error)
{
	struct tier_policy_params params = {
		.nr_slots = o->nr_slots,
		.nr_blocks = trace->end / o->block_sectors + 1,
		.block_sectors = o->block_sectors,
		.seed = o->seed,
	};
	u32 i;

	memset(s, 0, sizeof(*s));
	memset(r, 0, sizeof(*r));
	s->o = o;
	s->r = r;
	s->nr_blocks = params.nr_blocks;
	s->granule = tier_granule_sectors(o->block_sectors);
	s->p = tier_policy_chain_create_from(o->policy, &params, error);
	if (IS_ERR(s->p))
		return PTR_ERR(s->p);
	r->memory = tier_policy_chain_memory(s->p, &params);
	if (error)
		*error = "out of memory";
	s->map = malloc(s->nr_blocks * sizeof(*s->map));
	s->slots = calloc(o->nr_slots, sizeof(*s->slots));
	s->free = malloc(o->nr_slots * sizeof(*s->free));
	s->pending = malloc(o->nr_slots * sizeof(*s->pending));
	s->fill = tier_fill_create(s->nr_blocks * o->block_sectors, o->block_sectors, s->granule);
	if (!s->map || !s->slots || !s->free || !s->pending || !s->fill) {
		sim_exit(s);
		return -ENOMEM;
	}
	memset(s->map, 0xff, s->nr_blocks * sizeof(*s->map));
	for (i = 0; i < o->nr_slots; i++)
		s->free[s->nr_free++] = o->nr_slots - 1 - i;
	return 0;
}

/*
 * Slots
 */

static enum tier_verdict take(void *context, tier_slot_t slot)
{
	return TIER_VICTIM_TAKE;
}

static void evict(struct sim *s, u32 slot)
{
	struct slot *t = &s->slots[slot];

	s->r->dirty_evictions += !!t->dirty;
	if (t->followed)
		tier_fill_evicted(s->fill, t->block);
	s->map[t->block] = NO_SLOT;
	s->p->type->removed(s->p, tier_to_block(t->block), tier_to_slot(slot),
			    TIER_REMOVED_EVICTED);
}

static u32 get_slot(struct sim *s)
{
	tier_slot_t victim;

	if (s->nr_free)
		return s->free[--s->nr_free];
	if (!s->p->type->victim(s->p, take, s, VICTIM_BUDGET, &victim))
		return NO_SLOT;
	evict(s, tier_from_slot(victim));
	return tier_from_slot(victim);
}

/* Gives @block an empty slot. */
static u32 make_resident(struct sim *s, u64 block, const struct tier_access *access)
{
	u32 slot = get_slot(s);

	if (slot == NO_SLOT) {
		s->r->no_victim++;
		s->p->type->aborted(s->p, tier_to_block(block));
		return NO_SLOT;
	}
	s->r->insertions++;
	s->slots[slot] = (struct slot){ .block = block };
	s->map[block] = slot;
	s->p->type->inserted(s->p, tier_to_block(block), tier_to_slot(slot), access);
	return slot;
}

/* The same, but the data come later. */
static void make_pending(struct sim *s, u64 block, const struct tier_access *access)
{
	u32 slot = get_slot(s);

	if (slot == NO_SLOT) {
		s->r->no_victim++;
		s->p->type->aborted(s->p, tier_to_block(block));
		return;
	}
	s->r->insertions++;
	s->r->fast_written += s->o->block_sectors * 512ULL;
	s->map[block] = PENDING;
	s->pending[(s->first_pending + s->nr_pending++) % s->o->nr_slots] = (struct pending){
		.block = block, .due_ms = s->now + s->o->delay_ms, .slot = slot, .access = *access,
	};
}

static void finish_pending(struct sim *s)
{
	while (s->nr_pending) {
		struct pending *p = &s->pending[s->first_pending];

		if (p->due_ms > s->now)
			break;
		s->slots[p->slot] = (struct slot){ .block = p->block };
		s->map[p->block] = p->slot;
		s->p->type->inserted(s->p, tier_to_block(p->block), tier_to_slot(p->slot),
				     &p->access);
		s->first_pending = (s->first_pending + 1) % s->o->nr_slots;
		s->nr_pending--;
	}
}

static void hit(struct sim *s, u32 slot, struct piece *p)
{
	struct slot *t = &s->slots[slot];

	s->r->spec_used += hweight64(t->spec & p->mask);
	t->spec &= ~p->mask;
	if (t->followed)
		t->followed = tier_fill_hit(s->fill, t->block, p->mask);
	s->p->type->hit(s->p, tier_to_slot(slot), &p->access);
}

static enum tier_admit miss(struct sim *s, struct piece *p, bool resident)
{
	enum tier_admit verdict;

	p->access.flags |= resident ? TIER_ACCESS_PARTIAL : TIER_ACCESS_NEW;
	verdict = s->p->type->miss(s->p, tier_to_block(p->block), &p->access);
	if (verdict == TIER_BYPASS || verdict == TIER_BYPASS_SEQ)
		s->r->bypassed++;
	return verdict;
}

/*
 * Requests
 */

static void cut(struct sim *s, const struct sim_request *q, u64 block, struct piece *p)
{
	u64 base = block * s->o->block_sectors;
	u64 from = max(q->sector, base);
	u64 to = min(q->sector + q->sectors, base + s->o->block_sectors);
	u32 first = (from - base) / s->granule, last = (to - 1 - base) / s->granule;
	u32 first_whole = (from - base + s->granule - 1) / s->granule,
	    end_whole = (to - base) / s->granule;

	p->block = block;
	p->mask = tier_granule_mask(first, last);
	p->whole = first_whole < end_whole ? tier_granule_mask(first_whole, end_whole - 1) : 0;
	p->access = (struct tier_access){
		.sector = from, .sectors = to - from, .now = s->now,
		.flags = (q->write ? TIER_ACCESS_WRITE : 0) |
			(to - from == s->o->block_sectors ? TIER_ACCESS_WHOLE : 0),
	};
}

/* Blocks are all or nothing. */
static bool access_whole(struct sim *s, struct piece *p)
{
	u32 slot = s->map[p->block];
	enum tier_admit verdict;

	if (slot != NO_SLOT && slot != PENDING) {
		hit(s, slot, p);
		if (p->access.flags & TIER_ACCESS_WRITE) {
			s->slots[slot].dirty = 1;
			s->r->fast_written += p->access.sectors * 512ULL;
		}
		return true;
	}
	verdict = miss(s, p, false);
	if (verdict == TIER_BYPASS || verdict == TIER_BYPASS_SEQ)
		return false;
	if (slot == PENDING)
		s->p->type->aborted(s->p, tier_to_block(p->block));
	else
		make_pending(s, p->block, &p->access);
	return false;
}

/* True: nothing went to the slow device. */
static bool access_write(struct sim *s, struct piece *p)
{
	u32 slot = s->map[p->block];
	struct slot *t = slot == NO_SLOT ? NULL : &s->slots[slot];
	enum tier_admit verdict;

	if (t && !(p->mask & ~p->whole & ~t->valid)) {
		hit(s, slot, p);
	} else {
		verdict = miss(s, p, t);
		if (t)
			hit(s, slot, p);
		else if (verdict != TIER_BYPASS && verdict != TIER_BYPASS_SEQ)
			slot = make_resident(s, p->block, &p->access);
		if (slot == NO_SLOT)
			return false;
		t = &s->slots[slot];
	}
	t->spec &= ~p->mask;
	s->r->fast_written += hweight64(p->whole | (p->mask & t->valid)) * s->granule * 512ULL;
	t->valid |= p->whole;
	t->dirty |= p->mask & t->valid;
	return !(p->mask & ~t->valid);
}

/* Keeps what of [@from, @to) lies in @block; @asked was asked for, the rest wasn't. */
static void keep(struct sim *s, u64 block, u64 from, u64 to, u64 asked,
		 const struct tier_access *access)
{
	u64 base = block * s->o->block_sectors, mask, spec;
	u32 slot = s->map[block];
	struct slot *t;

	from = max(from, base);
	to = min(to, base + s->o->block_sectors);
	mask = tier_granule_mask((from - base) / s->granule, (to - 1 - base) / s->granule);
	if (slot == NO_SLOT)
		slot = make_resident(s, block, access);
	if (slot == NO_SLOT)
		return;
	t = &s->slots[slot];
	mask &= ~t->valid;
	spec = mask & ~asked;
	t->valid |= mask;
	t->spec |= spec;
	s->r->fast_written += hweight64(mask) * s->granule * 512ULL;
	s->r->spec_kept += hweight64(spec);
	if (spec && s->o->keep == SIM_KEEP_ADAPTIVE && tier_fill_done(s->fill, block, spec))
		t->followed = true;
}

static u32 extent(struct sim *s, u64 sector)
{
	switch (s->o->keep) {
	case SIM_KEEP_EXTENT:
		return s->o->extent_sectors;
	case SIM_KEEP_ADAPTIVE:
		return tier_fill_extent(s->fill, sector);
	default:
		return 0;
	}
}

/* A request reads upwards, nothing twice. */
static void read_slow(struct sim *s, u64 from, u64 to)
{
	from = max(from, s->read_to);
	if (from >= to)
		return;
	s->r->slow_sectors += to - from;
	s->read_to = to;
}

/* The miss of a read: @verdict is for the block it begins in. */
static void fill(struct sim *s, const struct sim_request *q, struct piece *p,
		 enum tier_admit verdict)
{
	u64 from = p->access.sector, to = from + p->access.sectors, block, base;
	u32 ext = verdict == TIER_FILL ? extent(s, from) : 0;

	if (ext) {
		from &= ~(u64)(ext - 1);
		to = (to + ext - 1) & ~(u64)(ext - 1);
		to = min(to, s->nr_blocks * s->o->block_sectors);
		read_slow(s, from, to);
	}
	from -= from % s->granule;
	to += s->granule - 1 - (to - 1) % s->granule;

	for (block = from / s->o->block_sectors; block <= (to - 1) / s->o->block_sectors; block++) {
		base = block * s->o->block_sectors;
		/* What the request itself asks for there is dealt with in its turn. */
		if (block != p->block && base < q->sector + q->sectors &&
		    base + s->o->block_sectors > q->sector)
			continue;
		keep(s, block, from, to, block == p->block ? p->mask : 0, &p->access);
	}
}

/* True: nothing came from the slow device. */
static bool access_read(struct sim *s, const struct sim_request *q, struct piece *p)
{
	u32 slot = s->map[p->block];
	struct slot *t = slot == NO_SLOT ? NULL : &s->slots[slot];
	enum tier_admit verdict;

	if (t && !(p->mask & ~t->valid)) {
		hit(s, slot, p);
		return true;
	}
	verdict = miss(s, p, t);
	if (t)
		hit(s, slot, p);
	if (verdict != TIER_BYPASS && verdict != TIER_BYPASS_SEQ)
		fill(s, q, p, verdict);
	read_slow(s, p->access.sector, p->access.sector + p->access.sectors);
	return false;
}

static void request(struct sim *s, const struct sim_request *q)
{
	u64 block, last = (q->sector + q->sectors - 1) / s->o->block_sectors;
	bool fast = true, good;
	struct piece p;

	s->read_to = 0;
	for (block = q->sector / s->o->block_sectors; block <= last; block++) {
		cut(s, q, block, &p);
		if (s->o->keep == SIM_KEEP_WHOLE)
			good = access_whole(s, &p);
		else if (q->write)
			good = access_write(s, &p);
		else
			good = access_read(s, q, &p);
		s->r->accesses++;
		s->r->hits += good;
		fast &= good;
	}
	if (q->write) {
		s->r->writes++;
		s->r->slow_writes += !fast;
	} else {
		s->r->reads++;
		s->r->slow_reads += !fast;
	}
}

int sim_run(const struct sim_trace *trace, const struct sim_options *options,
	    struct sim_result *result, const char **error)
{
	struct tier_fill_stats stats;
	struct sim s;
	u64 i;
	int r;

	r = sim_init(&s, trace, options, result, error);
	if (r)
		return r;
	assert(s.map && s.slots);
	for (i = 0; i < trace->nr; i++) {
		s.now = trace->request[i].time_us / 1000;
		finish_pending(&s);
		if (s.now >= s.next_tick) {
			if (s.p->type->tick)
				s.p->type->tick(s.p, s.now);
			s.next_tick = s.now + 1000;
		}
		request(&s, &trace->request[i]);
	}
	tier_fill_stats(s.fill, &stats);
	result->mean_extent = stats.mean_sectors;
	sim_exit(&s);
	return 0;
}

u32 sim_slots(const struct sim_trace *trace, u32 unit_sectors, u32 block_sectors, double percent)
{
	double slots = sim_trace_footprint(trace, unit_sectors) * percent / 100 * unit_sectors /
		       block_sectors;

	return slots < 1 ? 1 : (u32)slots;
}

double sim_block_cost(const struct sim_result *r, u32 block_sectors, bool fill)
{
	double transfer = block_sectors / SIM_SECTORS_PER_SEEK;

	return 100.0 * (r->accesses - r->hits + r->insertions * (fill ? transfer : 1 + transfer)) /
	       r->accesses;
}

double sim_read_cost(const struct sim_result *r)
{
	return r->reads
		       ? 100.0 * (r->slow_reads + r->slow_sectors / SIM_SECTORS_PER_SEEK) / r->reads
		       : 0;
}
