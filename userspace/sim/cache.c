// SPDX-License-Identifier: GPL-2.0
/* A tier device without devices: see cache.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "cache.h"
#include "core/fill.h"
#include "core/map.h"
#include "lib/policy-registry.h"
#include "lib/text.h"

#define SEED		1	/* of the policy's pseudo-random numbers */
#define VICTIM_BUDGET	100000U
#define TICK_MS		1000

#define ACCESS_MS	8.0
#define SECTOR_MS	(512 * 1000 / 150e6)

/* A block that has a slot but is not resident yet: no granule of it is valid. */
struct pending {
	u64 due_ms;
	tier_slot_t slot;
	struct tier_access access;
};

struct sim {
	const struct sim_options *o;
	struct sim_result *r;
	struct tier_policy *policy;
	struct tier_fill *fill;
	struct tier_map map;
	u64 end;			/* of the device, in sectors: whole blocks */
	u32 granule;			/* sectors */
	u64 *extra;			/* per slot: granules kept without being asked for, not used yet */
	struct pending *pending;	/* SIM_KEEP_COPY: a ring of nr_slots entries */
	u32 first_pending;
	u32 nr_pending;
	u64 now;			/* ms */
	u64 next_tick;
	u64 read_to;			/* this request: read from the slow device up to here */
};

/* One block's part of a request */
struct piece {
	tier_block_t block;
	u64 mask;			/* granules touched */
	u64 whole;			/* granules covered */
	struct tier_access access;
};

static void sim_exit(struct sim *s)
{
	tier_policy_chain_destroy(s->policy);
	tier_fill_destroy(s->fill);
	tier_map_exit(&s->map);
	free(s->extra);
	free(s->pending);
}

static int sim_init(struct sim *s, const struct sim_trace *trace, const struct sim_options *o, struct sim_result *r,
		    char *why)
{
	struct tier_policy_params params = {
		.nr_slots = o->nr_slots,
		.nr_blocks = DIV_ROUND_UP(trace->end, o->block_sectors),
		.block_sectors = o->block_sectors,
		.seed = SEED,
	};
	const char *error;
	u32 i;

	memset(s, 0, sizeof(*s));
	memset(r, 0, sizeof(*r));
	s->o = o;
	s->r = r;
	s->end = params.nr_blocks * o->block_sectors;
	s->granule = tier_granule_sectors(o->block_sectors);
	s->policy = tier_policy_chain_create_from(o->policy, &params, &error);
	if (IS_ERR(s->policy)) {
		text_why(why, 0, "%s", error);
		return PTR_ERR(s->policy);
	}
	s->fill = tier_fill_create(s->end, o->block_sectors, s->granule);
	s->extra = calloc(o->nr_slots, sizeof(*s->extra));
	if (o->keep == SIM_KEEP_COPY)
		s->pending = calloc(o->nr_slots, sizeof(*s->pending));
	if (tier_map_init(&s->map, o->nr_slots, o->block_sectors / s->granule, 1) || !s->fill || !s->extra ||
	    (o->keep == SIM_KEEP_COPY && !s->pending)) {
		sim_exit(s);
		text_why(why, 0, "not enough memory for an SSD of %u blocks", o->nr_slots);
		return -ENOMEM;
	}
	for (i = o->nr_slots; i--;)
		tier_map_put(&s->map, &s->map.free, tier_to_slot(i));
	return 0;
}

/* ---- slots ---- */

static enum tier_verdict take(void *context, tier_slot_t slot)
{
	(void)context;
	(void)slot;
	return TIER_VICTIM_TAKE;
}

static void evict(struct sim *s, tier_slot_t slot)
{
	tier_block_t block = tier_slot_block(&s->map, slot);

	s->r->evicted_dirty += !!tier_slot_dirty(&s->map, slot);
	if (tier_slot_flags(&s->map, slot) & TIER_SLOT_TRACKED)
		tier_fill_evicted(s->fill, tier_from_block(block));
	tier_map_remove(&s->map, slot);
	s->policy->type->removed(s->policy, block, slot, TIER_REMOVED_EVICTED);
}

/* Gives @block a slot without data; the policy does not hear of it yet. */
static tier_slot_t get_slot(struct sim *s, tier_block_t block)
{
	tier_slot_t slot = tier_map_take(&s->map, &s->map.free);

	if (slot == TIER_NO_SLOT) {
		if (!s->policy->type->victim(s->policy, take, NULL, VICTIM_BUDGET, &slot)) {
			s->r->no_victim++;
			s->policy->type->aborted(s->policy, block);
			return TIER_NO_SLOT;
		}
		evict(s, slot);
	}
	s->r->insertions++;
	s->extra[tier_from_slot(slot)] = 0;
	tier_map_insert(&s->map, slot, block, 0);
	return slot;
}

static tier_slot_t insert(struct sim *s, tier_block_t block, const struct tier_access *access)
{
	tier_slot_t slot = get_slot(s, block);

	if (slot != TIER_NO_SLOT)
		s->policy->type->inserted(s->policy, block, slot, access);
	return slot;
}

static void start_copy(struct sim *s, const struct piece *p)
{
	tier_slot_t slot = get_slot(s, p->block);

	if (slot == TIER_NO_SLOT)
		return;
	s->r->copies++;
	s->r->slow_sectors += s->o->block_sectors;
	s->r->fast_bytes += s->o->block_sectors * 512ULL;
	s->pending[(s->first_pending + s->nr_pending++) % s->o->nr_slots] = (struct pending){
		.due_ms = s->now + s->o->delay_ms, .slot = slot, .access = p->access,
	};
}

static void finish_copies(struct sim *s)
{
	u64 all = tier_granule_mask(0, s->o->block_sectors / s->granule - 1);
	struct pending *p;

	while (s->nr_pending) {
		p = &s->pending[s->first_pending];
		if (p->due_ms > s->now)
			return;
		tier_slot_set_granules(&s->map, p->slot, all, 0);
		s->policy->type->inserted(s->policy, tier_slot_block(&s->map, p->slot), p->slot, &p->access);
		s->first_pending = (s->first_pending + 1) % s->o->nr_slots;
		s->nr_pending--;
	}
}

/* ---- telling and asking ---- */

static void hit(struct sim *s, tier_slot_t slot, const struct piece *p)
{
	u64 *extra = &s->extra[tier_from_slot(slot)];

	s->r->extra_used += hweight64(*extra & p->mask);
	*extra &= ~p->mask;
	if (tier_slot_flags(&s->map, slot) & TIER_SLOT_TRACKED &&
	    !tier_fill_hit(s->fill, tier_from_block(p->block), p->mask))
		tier_slot_change_flags(&s->map, slot, TIER_SLOT_TRACKED, 0);
	s->policy->type->hit(s->policy, slot, &p->access);
}

/* The policy's word on a miss; TIER_PROMOTE counts as TIER_POPULATE here. */
static enum tier_admit miss(struct sim *s, struct piece *p, bool resident)
{
	enum tier_admit admit;

	p->access.flags |= resident ? TIER_ACCESS_PARTIAL : TIER_ACCESS_NEW;
	admit = s->policy->type->miss(s->policy, p->block, &p->access);
	if (admit == TIER_BYPASS || admit == TIER_BYPASS_SEQ)
		s->r->bypassed++;
	return admit;
}

static bool is_bypass(enum tier_admit admit)
{
	return admit == TIER_BYPASS || admit == TIER_BYPASS_SEQ;
}

/* ---- requests ---- */

static void cut(const struct sim *s, const struct sim_request *q, u64 block, struct piece *p)
{
	u64 base = block * s->o->block_sectors;
	u64 from = max(q->sector, base), to = min(q->sector + q->sectors, base + s->o->block_sectors);
	u32 first_whole = DIV_ROUND_UP(from - base, s->granule), end_whole = (to - base) / s->granule;

	p->block = tier_to_block(block);
	p->mask = tier_granule_mask((from - base) / s->granule, (to - 1 - base) / s->granule);
	p->whole = first_whole < end_whole ? tier_granule_mask(first_whole, end_whole - 1) : 0;
	p->access = (struct tier_access){
		.sector = from, .sectors = to - from, .now = s->now,
		.flags = (q->write ? TIER_ACCESS_WRITE : 0) |
			 (to - from == s->o->block_sectors ? TIER_ACCESS_WHOLE : 0),
	};
}

/* Blocks are all or nothing.  These functions tell: nothing went to the slow device. */
static bool access_copied(struct sim *s, struct piece *p)
{
	tier_slot_t slot = tier_map_lookup(&s->map, p->block);
	bool pending = slot != TIER_NO_SLOT && !tier_slot_valid(&s->map, slot);
	enum tier_admit admit;

	if (slot != TIER_NO_SLOT && !pending) {
		hit(s, slot, p);
		if (p->access.flags & TIER_ACCESS_WRITE) {
			tier_slot_set_granules(&s->map, slot, tier_slot_valid(&s->map, slot), p->mask);
			s->r->fast_bytes += p->access.sectors * 512ULL;
		}
		return true;
	}
	s->r->slow_sectors += p->access.sectors;
	admit = miss(s, p, false);
	if (is_bypass(admit))
		return false;
	if (pending)
		s->policy->type->aborted(s->policy, p->block);
	else
		start_copy(s, p);
	return false;
}

static bool write_piece(struct sim *s, struct piece *p)
{
	tier_slot_t slot = tier_map_lookup(&s->map, p->block);
	bool resident = slot != TIER_NO_SLOT;
	u64 valid = resident ? tier_slot_valid(&s->map, slot) : 0, lands;
	enum tier_admit admit;

	if (!resident || p->mask & ~p->whole & ~valid) {
		admit = miss(s, p, resident);
		if (!resident && !is_bypass(admit))
			slot = insert(s, p->block, &p->access);
	}
	if (slot == TIER_NO_SLOT) {
		s->r->slow_sectors += p->access.sectors;
		return false;
	}
	if (resident)
		hit(s, slot, p);
	lands = p->whole | (p->mask & valid);
	tier_slot_set_granules(&s->map, slot, valid | p->whole, tier_slot_dirty(&s->map, slot) | lands);
	s->r->fast_bytes += hweight64(lands) * s->granule * 512ULL;
	if (lands == p->mask)
		return true;
	s->r->slow_sectors += hweight64(p->mask & ~lands) * s->granule;
	return false;
}

/* Keeps what of [@from, @to) lies in @block; @asked was asked for, the rest wasn't. */
static void keep(struct sim *s, tier_block_t block, u64 from, u64 to, u64 asked, const struct tier_access *access)
{
	u64 base = tier_from_block(block) * s->o->block_sectors, mask, extra, valid;
	tier_slot_t slot = tier_map_lookup(&s->map, block);

	from = max(from, base);
	to = min(to, base + s->o->block_sectors);
	mask = tier_granule_mask((from - base) / s->granule, (to - 1 - base) / s->granule);
	if (slot == TIER_NO_SLOT)
		slot = insert(s, block, access);
	if (slot == TIER_NO_SLOT)
		return;
	valid = tier_slot_valid(&s->map, slot);
	mask &= ~valid;
	extra = mask & ~asked;
	tier_slot_set_granules(&s->map, slot, valid | mask, tier_slot_dirty(&s->map, slot));
	s->extra[tier_from_slot(slot)] |= extra;
	s->r->fast_bytes += hweight64(mask) * s->granule * 512ULL;
	s->r->extra_kept += hweight64(extra);
	if (extra && s->o->keep == SIM_KEEP_ADAPTIVE && tier_fill_done(s->fill, tier_from_block(block), extra))
		tier_slot_change_flags(&s->map, slot, 0, TIER_SLOT_TRACKED);
}

static u32 fill_extent(struct sim *s, u64 sector)
{
	switch (s->o->keep) {
	case SIM_KEEP_FILL:
		return s->o->extent_sectors ? s->o->extent_sectors : s->o->block_sectors;
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

/* A read that missed in @p brings its data, and with them an extent around them. */
static void fill(struct sim *s, const struct sim_request *q, struct piece *p, enum tier_admit admit)
{
	u32 extent = admit == TIER_FILL ? fill_extent(s, p->access.sector) : 0, unit = max(extent, s->granule);
	u64 from = round_down(p->access.sector, unit), to = round_up(p->access.sector + p->access.sectors, unit);
	u64 block, base;

	/* one that goes beyond its extent reads nothing more, as in the target */
	if (to - from > max(extent, p->access.sectors + 2 * s->granule)) {
		from = round_down(p->access.sector, s->granule);
		to = round_up(p->access.sector + p->access.sectors, s->granule);
	}
	to = min(to, s->end);
	read_slow(s, from, to);
	for (block = from / s->o->block_sectors; block <= (to - 1) / s->o->block_sectors; block++) {
		base = block * s->o->block_sectors;
		/* What the request itself asks for there is dealt with in its turn. */
		if (block != tier_from_block(p->block) && base < q->sector + q->sectors &&
		    base + s->o->block_sectors > q->sector)
			continue;
		keep(s, tier_to_block(block), from, to, block == tier_from_block(p->block) ? p->mask : 0, &p->access);
	}
}

static bool read_piece(struct sim *s, const struct sim_request *q, struct piece *p)
{
	tier_slot_t slot = tier_map_lookup(&s->map, p->block);
	enum tier_admit admit;
	bool resident = slot != TIER_NO_SLOT;

	if (resident && !(p->mask & ~tier_slot_valid(&s->map, slot))) {
		hit(s, slot, p);
		return true;
	}
	admit = miss(s, p, resident);
	if (resident)
		hit(s, slot, p);
	if (is_bypass(admit))
		read_slow(s, p->access.sector, p->access.sector + p->access.sectors);
	else
		fill(s, q, p, admit);
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
		if (s->o->keep == SIM_KEEP_COPY)
			good = access_copied(s, &p);
		else if (q->write)
			good = write_piece(s, &p);
		else
			good = read_piece(s, q, &p);
		s->r->accesses++;
		s->r->hits += good;
		fast &= good;
	}
	s->r->requests++;
	s->r->slow_requests += !fast;
}

int sim_run(const struct sim_trace *trace, const struct sim_options *options, struct sim_result *result, char *why)
{
	struct tier_fill_stats stats;
	struct sim s;
	u64 i;
	int r;

	r = sim_init(&s, trace, options, result, why);
	if (r)
		return r;
	for (i = 0; i < trace->nr; i++) {
		s.now = trace->request[i].time_us / 1000;
		finish_copies(&s);
		if (s.now >= s.next_tick) {
			if (s.policy->type->tick)
				s.policy->type->tick(s.policy, s.now);
			s.next_tick = s.now + TICK_MS;
		}
		request(&s, &trace->request[i]);
	}
	tier_fill_stats(s.fill, &stats);
	result->mean_extent = options->keep == SIM_KEEP_ADAPTIVE ? stats.mean_sectors : fill_extent(&s, 0);
	sim_exit(&s);
	return r;
}

int sim_max_slots(const struct sim_trace *trace, u32 block_sectors, u32 extent_sectors, u32 *nr)
{
	u32 unit = max3(block_sectors, extent_sectors, TIER_FILL_MAX_SECTORS);
	u64 sectors;
	int r = sim_trace_footprint(trace, unit, &sectors);

	if (r)
		return r;
	if (sectors / block_sectors > TIER_MAX_SLOTS)
		return -E2BIG;
	*nr = sectors / block_sectors;
	return 0;
}

double sim_slow_accesses(const struct sim_result *r)
{
	return 100.0 * (double)(r->slow_requests + r->copies) / (double)r->requests;
}

double sim_slow_time(const struct sim_result *r, const struct sim_trace *trace)
{
	double with = (double)(r->slow_requests + r->copies) * ACCESS_MS + (double)r->slow_sectors * SECTOR_MS;
	double without = (double)trace->nr * ACCESS_MS + (double)trace->sectors * SECTOR_MS;

	return 100 * with / without;
}
