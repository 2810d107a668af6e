// SPDX-License-Identifier: GPL-2.0
/*
 * Data, mapping and marks: see README.
 *
 * A block consists of units, a granule of one or more of them; a write covers whole units.  Versions of
 * a unit are tokens.  They are given anew when nothing has them any more, so that any number of writes
 * makes a finite number of states.
 */
#include <stdio.h>
#include <string.h>

#include "model.h"

enum { MAX_BLOCKS = 3, MAX_UNITS = 3, MAX_SLOTS = 2, MAX_OPS = 3 };

/* modes */
enum { WB, WT, WA, PT };

#define MODE(m)		(1U << (m))

/* what can happen in a configuration */
#define CAN_FILL	(1U << 0)
#define CAN_EVICT	(1U << 1)
#define CAN_READ	(1U << 2)	/* reads that take time */
#define CAN_FUA		(1U << 3)
#define CAN_DISCARD	(1U << 4)
#define CAN_PART	(1U << 5)	/* writes of less than a granule */
#define CAN_BYPASS	(1U << 6)	/* the policy may refuse */
#define CAN_FLUSH	(1U << 7)	/* flushes that have nothing to commit */

struct config {
	const char *name;
	enum model_size size;
	u32 blocks, units, per_granule, slots, ops, tokens;
	u32 region_shift;
	u32 part;		/* slots that a transaction has room for */
	u32 modes;
	u32 can;
};

static const struct config *cf;
static int mutant;

#define MUTANTS(M) \
	M(NONE, "none") \
	M(NO_FAST_FLUSH, "a commit does not flush the fast device") \
	M(NO_SLOW_FLUSH, "a commit does not flush the slow device") \
	M(CLEAN_EARLY, "dirty bits go when the write back begins") \
	M(CLEAN_UNFLUSHED, "a write back does not say that the slow device has to be flushed") \
	M(REUSE_EARLY, "an evicted slot is free before that is committed") \
	M(NO_MARK, "no write needs a mark") \
	M(NO_MARK_BOTH, "a write to both devices needs no mark") \
	M(NO_MARK_PAST, "a write past a clean copy needs no mark") \
	M(NO_LOST, "a granule that is invalid in core is taken for invalid on the disk") \
	M(LOST_EARLY, "LOST goes with the snapshot, not with the record") \
	M(FRESH_TRUSTED, "a slot without record needs no mark, whatever is valid") \
	M(UNMARK_BUSY, "a mark is taken off beside a write that needs it") \
	M(UNMARK_LATE, "marks are taken off after the snapshot") \
	M(MARK_EARLY, "a write does not wait until its mark is durable") \
	M(TRUST_MARKED, "recovery believes clean copies of marked regions") \
	M(UNMARK_FIRST, "recovery takes the marks off with the first part of its records") \
	M(NO_POISON, "a write does not poison the write back it meets") \
	M(PAST_COPY, "a write past a copy does not wait for its write back") \
	M(FILL_SHARED, "a write does not wait for a fill") \
	M(FREE_BUSY, "a slot becomes free while its block is in use") \
	M(FREE_USED, "a slot becomes free although it is used again since the snapshot") \
	M(FUA_NO_COMMIT, "a FUA write to the fast device never waits for a commit") \
	M(FUA_COMMITTING, "a FUA write does not look at the record being written") \
	M(FUA_SLOW, "a FUA write past a copy never waits for a commit") \
	M(FLUSH_COMMITTING, "a flush does not wait for the commit under way") \
	M(FLUSH_CHANGED, "a flush does not look for changed slots") \
	M(FLUSH_FLUSHING, "a flush does not look for one under way") \
	M(DISCARD_EARLY, "a discard is passed down before it is committed") \
	M(DISCARD_COPIES, "write back copies into a discard's range")

enum {
#define M(id, text) M_##id,
	MUTANTS(M)
#undef M
	NR_MUTANTS
};

/* flags of slots */
enum { FRESH = 1, CHANGED = 2, COMMITTING = 4, LOST = 8 };

/* operations under way */
enum { OP_NONE, OP_WRITE, OP_COPY, OP_FILL, OP_READ };

/* flags of operations */
enum { BOTH = 1, INTENT = 2, FUA = 4 };

struct op {
	u8 type, block, units, slot, fast, drop, flags, poison, ok;
	u8 token[MAX_UNITS];
};

struct record {
	u8 block;		/* plus one; 0: none */
	u8 valid, dirty;
};

/* the commit thread */
enum { IDLE, MARKING, SNAPSHOT, FLUSHING, WRITING };

/* the discard */
enum { NO_DISCARD, LISTED, DROPPED, COMMITTED_SOON, COMMITTED };

struct state {
	/* the slow device: what a power cut may leave, and what a read gives */
	u8 slow[MAX_BLOCKS][MAX_UNITS], slow_now[MAX_BLOCKS][MAX_UNITS];
	/* the fast device: the same; values are of any block */
	u16 fast[MAX_SLOTS][MAX_UNITS];
	u8 fast_now[MAX_SLOTS][MAX_UNITS];
	/* core */
	struct record slot[MAX_SLOTS];
	u8 flags[MAX_SLOTS];
	struct record snapshot[MAX_SLOTS];	/* if COMMITTING */
	/* on the metadata device */
	struct record disk[MAX_SLOTS];
	u8 marked;		/* regions, on the disk */
	u8 marks;		/* regions, in core */
	u8 unmarking, marking;
	u8 mode, stage, pos, more, flushing, dirtied, recovering;
	u8 flush_dev;		/* of a flush that has nothing to commit */
	u8 discard, discard_block, discard_mask;
	/* what reads may give now, and after a power cut; what a commit, or a flush, rules out */
	u8 may[MAX_BLOCKS][MAX_UNITS], after[MAX_BLOCKS][MAX_UNITS];
	u8 out[MAX_BLOCKS][MAX_UNITS], flush_out[MAX_BLOCKS][MAX_UNITS];
	struct op op[MAX_OPS];
};

enum { FAST_DEV = 1, SLOW_DEV = 2 };

#define NO_SLOT		cf->slots
#define JUNK		cf->tokens			/* on the slow device */
#define FAST_JUNK	(cf->blocks * cf->tokens)	/* on the fast device */

static u32 value_of(u32 block, u32 token)
{
	return block * cf->tokens + token;
}

static u32 nr_granules(void)
{
	return cf->units / cf->per_granule;
}

static u32 all_granules(void)
{
	return (1U << nr_granules()) - 1;
}

static u32 all_tokens(void)
{
	return (1U << cf->tokens) - 1;
}

static bool has(u32 mask, u32 unit)
{
	return mask >> unit / cf->per_granule & 1;
}

/* granules that these units touch */
static u32 touched(u32 units)
{
	u32 g = 0, u;

	for (u = 0; u < cf->units; u++)
		if (units >> u & 1)
			g |= 1U << u / cf->per_granule;
	return g;
}

static u32 units_of(u32 granules)
{
	u32 units = 0, u;

	for (u = 0; u < cf->units; u++)
		if (has(granules, u))
			units |= 1U << u;
	return units;
}

/* granules that these units cover */
static u32 covered(u32 units)
{
	u32 g, full = 0;

	for (g = 0; g < nr_granules(); g++)
		if (!(units_of(1U << g) & ~units))
			full |= 1U << g;
	return full;
}

static u32 region_of(u32 block)
{
	return 1U << (block >> cf->region_shift);
}

static u32 find_slot(const struct state *s, u32 block)
{
	u32 i;

	for (i = 0; i < cf->slots; i++)
		if (s->slot[i].block == block + 1)
			return i;
	return NO_SLOT;
}

static bool in_discard(const struct state *s, u32 block, u32 granules)
{
	return s->discard && s->discard_block == block && (s->discard_mask & granules);
}

/* tokens that writes have in flight */
static u32 in_flight(const struct state *s, u32 block, u32 unit)
{
	u32 i, mask = 0;

	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type == OP_WRITE && s->op[i].block == block && (s->op[i].units >> unit & 1))
			mask |= 1U << s->op[i].token[unit];
	return mask;
}

/* the value, as on the fast device, that a read gives now */
static u32 value_now(const struct state *s, u32 block, u32 unit)
{
	u32 slot = find_slot(s, block), v;

	if (slot != NO_SLOT && has(s->slot[slot].valid, unit))
		return s->fast_now[slot][unit];
	v = s->slow_now[block][unit];
	return v == JUNK ? FAST_JUNK : value_of(block, v);
}

/* ---- packing ---- */

static u32 width(u32 max)
{
	u32 bits = 0;

	while (max >> bits)
		bits++;
	return bits;
}

static void code_record(struct codec *c, struct record *r)
{
	CODE(width(cf->blocks), r->block);
	CODE(nr_granules(), r->valid);
	CODE(nr_granules(), r->dirty);
}

static void code_op(struct codec *c, struct op *o)
{
	u32 u;

	CODE(3, o->type);
	if (!o->type)
		return;
	CODE(width(cf->blocks - 1), o->block);
	CODE(cf->units, o->units);
	CODE(width(cf->slots), o->slot);
	if (o->type == OP_READ) {
		CODE(cf->tokens, o->ok);
		return;
	}
	if (o->type == OP_WRITE) {
		CODE(nr_granules(), o->fast);
		CODE(nr_granules(), o->drop);
		CODE(3, o->flags);
	}
	if (o->type == OP_COPY)
		CODE(nr_granules(), o->poison);
	for (u = 0; u < cf->units; u++)
		if (o->units >> u & 1)
			CODE(width(cf->tokens), o->token[u]);
}

static void code_state(struct codec *c, struct state *s)
{
	u32 b, u, i;

	for (i = 0; i < cf->slots; i++) {
		code_record(c, &s->slot[i]);
		CODE(4, s->flags[i]);
		if (s->flags[i] & COMMITTING)
			code_record(c, &s->snapshot[i]);
		code_record(c, &s->disk[i]);
		for (u = 0; u < cf->units; u++) {
			CODE(cf->blocks * cf->tokens + 1, s->fast[i][u]);
			CODE(width(FAST_JUNK), s->fast_now[i][u]);
		}
	}
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			CODE(cf->tokens + 1, s->slow[b][u]);
			CODE(width(JUNK), s->slow_now[b][u]);
			CODE(cf->tokens, s->may[b][u]);
			CODE(cf->tokens, s->after[b][u]);
		}
	CODE(3, s->stage);
	if (s->stage >= SNAPSHOT)
		for (b = 0; b < cf->blocks; b++)
			for (u = 0; u < cf->units; u++)
				CODE(cf->tokens, s->out[b][u]);
	CODE(2, s->flush_dev);
	if (s->flush_dev)
		for (b = 0; b < cf->blocks; b++)
			for (u = 0; u < cf->units; u++)
				CODE(cf->tokens, s->flush_out[b][u]);
	CODE(cf->blocks, s->marked);
	CODE(cf->blocks, s->marks);
	CODE(cf->blocks, s->unmarking);
	CODE(cf->blocks, s->marking);
	CODE(2, s->mode);
	CODE(width(cf->slots), s->pos);
	CODE(1, s->more);
	CODE(2, s->flushing);
	CODE(2, s->dirtied);
	CODE(1, s->recovering);
	CODE(3, s->discard);
	if (s->discard) {
		CODE(width(cf->blocks - 1), s->discard_block);
		CODE(nr_granules(), s->discard_mask);
	}
	for (i = 0; i < cf->ops; i++)
		code_op(c, &s->op[i]);
}

static void pack_state(const struct state *s, struct key *key)
{
	struct codec c = { .p = { .key = key } };

	memset(key, 0, sizeof(*key));
	code_state(&c, (struct state *)s);
}

static void unpack_state(const struct key *key, struct state *s)
{
	struct codec c = { .p = { .key = (struct key *)key }, .reading = true };

	memset(s, 0, sizeof(*s));
	code_state(&c, s);
}

/* ---- states that behave alike become one ---- */

/* could anything still be read, copied or recovered from here? */
static bool fast_matters(const struct state *s, u32 slot, u32 unit)
{
	u32 i;

	if ((s->slot[slot].block && has(s->slot[slot].valid, unit)) || has(s->disk[slot].valid, unit) ||
	    ((s->flags[slot] & COMMITTING) && has(s->snapshot[slot].valid, unit)))
		return true;
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type && o->slot == slot && (o->units >> unit & 1) &&
		    (o->type == OP_FILL || o->type == OP_READ || (o->type == OP_WRITE && has(o->fast, unit))))
			return true;
	}
	return false;
}

static bool record_dirty(const struct record *r, u32 block, u32 unit)
{
	return r->block == block + 1 && has(r->dirty, unit);
}

/* dirty by all accounts: the slow device's data are written before they are read */
static bool slow_matters(const struct state *s, u32 block, u32 unit)
{
	u32 slot = find_slot(s, block), i;

	if (slot == NO_SLOT || !record_dirty(&s->slot[slot], block, unit) ||
	    !record_dirty(&s->disk[slot], block, unit) ||
	    ((s->flags[slot] & COMMITTING) && !record_dirty(&s->snapshot[slot], block, unit)) ||
	    (cf->can & CAN_DISCARD))
		return true;
	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type && s->op[i].block == block && (s->op[i].units >> unit & 1))
			return true;
	return false;
}

static void forget_dead(struct state *s)
{
	u32 b, u, i, k;

	for (i = 0; i < cf->slots; i++)
		for (u = 0; u < cf->units; u++)
			if (!fast_matters(s, i, u)) {
				s->fast[i][u] = 1U << FAST_JUNK;
				s->fast_now[i][u] = FAST_JUNK;
			}
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			u32 live;

			if (!slow_matters(s, b, u)) {
				s->slow[b][u] = 1U << JUNK;
				s->slow_now[b][u] = JUNK;
			}
			live = s->slow[b][u] & all_tokens();
			for (i = 0; i < cf->slots; i++)
				live |= s->fast[i][u] >> value_of(b, 0) & all_tokens();
			for (k = 0; k < cf->ops; k++)
				if (s->op[k].type && s->op[k].type != OP_READ && s->op[k].block == b &&
				    (s->op[k].units >> u & 1) && s->op[k].token[u] < cf->tokens)
					live |= 1U << s->op[k].token[u];
			s->after[b][u] &= live;
			s->out[b][u] &= s->after[b][u];
			s->flush_out[b][u] &= s->after[b][u];
			if (!s->discard || s->discard_block != b || !has(s->discard_mask, u))
				s->may[b][u] &= live;
			for (k = 0; k < cf->ops; k++)
				if (s->op[k].type == OP_READ && s->op[k].block == b && (s->op[k].units >> u & 1))
					s->op[k].ok &= live;
		}
}

static void swap_bits(u8 *mask, u32 a, u32 b)
{
	u32 d = (*mask >> a ^ *mask >> b) & 1;

	*mask ^= d << a | d << b;
}

static void swap_value(u8 *v, u32 a, u32 b)
{
	if (*v == a)
		*v = b;
	else if (*v == b)
		*v = a;
}

static void swap_tokens(struct state *s, u32 b, u32 u, u32 x, u32 y)
{
	u32 i, vx = value_of(b, x), vy = value_of(b, y), d;

	swap_bits(&s->slow[b][u], x, y);
	swap_bits(&s->may[b][u], x, y);
	swap_bits(&s->after[b][u], x, y);
	swap_bits(&s->out[b][u], x, y);
	swap_bits(&s->flush_out[b][u], x, y);
	swap_value(&s->slow_now[b][u], x, y);
	for (i = 0; i < cf->slots; i++) {
		d = (s->fast[i][u] >> vx ^ s->fast[i][u] >> vy) & 1;
		s->fast[i][u] ^= d << vx | d << vy;
		swap_value(&s->fast_now[i][u], vx, vy);
	}
	for (i = 0; i < cf->ops; i++) {
		struct op *o = &s->op[i];

		if (!o->type || o->block != b || !(o->units >> u & 1))
			continue;
		if (o->type == OP_READ)
			swap_bits(&o->ok, x, y);
		else
			swap_value(&o->token[u], x, y);
	}
}

/* where a token is, as a number */
static u64 whereabouts(const struct state *s, u32 b, u32 u, u32 t)
{
	u64 w = 0;
	u32 i, v = value_of(b, t);

	w = w << 1 | (s->may[b][u] >> t & 1);
	w = w << 1 | (s->after[b][u] >> t & 1);
	w = w << 1 | (s->slow_now[b][u] == t);
	w = w << 1 | (s->slow[b][u] >> t & 1);
	w = w << 1 | (s->out[b][u] >> t & 1);
	w = w << 1 | (s->flush_out[b][u] >> t & 1);
	for (i = 0; i < cf->slots; i++) {
		w = w << 1 | (s->fast_now[i][u] == v);
		w = w << 1 | (s->fast[i][u] >> v & 1);
	}
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];
		bool mine = o->type && o->block == b && (o->units >> u & 1);

		w = w << 1 | (mine && (o->type == OP_READ ? o->ok >> t & 1 : o->token[u] == t));
	}
	return w;
}

static void sort_tokens(struct state *s)
{
	u64 w[8], o;
	u32 b, u, x, y;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			for (x = 0; x < cf->tokens; x++)
				w[x] = whereabouts(s, b, u, x);
			for (x = 0; x < cf->tokens; x++)
				for (y = x + 1; y < cf->tokens; y++)
					if (w[y] > w[x]) {
						swap_tokens(s, b, u, x, y);
						o = w[x];
						w[x] = w[y];
						w[y] = o;
					}
		}
}

static void sort_ops(struct state *s)
{
	u32 i, k;

	for (i = 0; i < cf->ops; i++)
		for (k = i + 1; k < cf->ops; k++)
			if (memcmp(&s->op[k], &s->op[i], offsetof(struct op, token)) > 0) {
				struct op o = s->op[i];

				s->op[i] = s->op[k];
				s->op[k] = o;
			}
}

static void swap_slots(struct state *s)
{
	struct state o = *s;
	u32 i;

	for (i = 0; i < 2; i++) {
		s->slot[i] = o.slot[!i];
		s->flags[i] = o.flags[!i];
		s->snapshot[i] = o.snapshot[!i];
		s->disk[i] = o.disk[!i];
		memcpy(s->fast[i], o.fast[!i], sizeof(s->fast[i]));
		memcpy(s->fast_now[i], o.fast_now[!i], sizeof(s->fast_now[i]));
	}
	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type && s->op[i].slot != NO_SLOT)
			s->op[i].slot = !s->op[i].slot;
}

static void canonical(struct state *s, struct key *key)
{
	struct state o;
	struct key other;

	forget_dead(s);
	sort_ops(s);
	sort_tokens(s);
	pack_state(s, key);
	/* in the order in which slots are looked at they differ: only while none is */
	if (cf->slots != 2 || s->stage > MARKING)
		return;
	o = *s;
	swap_slots(&o);
	sort_ops(&o);
	sort_tokens(&o);
	pack_state(&o, &other);
	if (memcmp(&other, key, sizeof(other)) < 0) {
		*key = other;
		*s = o;
	}
}

/* ---- the rules ---- */

static const char *judge(const struct state *s)
{
	u32 b, u, i, v;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			v = value_now(s, b, u);
			if (v == FAST_JUNK || v / cf->tokens != b)
				return "a read gives what was never written there";
			if (!((s->may[b][u] | in_flight(s, b, u)) >> v % cf->tokens & 1))
				return "a read gives neither the last acknowledged write nor one in flight";
		}
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type != OP_READ)
			continue;
		for (u = 0; !(o->units >> u & 1); u++)
			;
		b = o->block;
		if (o->slot != NO_SLOT)
			v = s->fast_now[o->slot][u];
		else
			v = s->slow_now[b][u] == JUNK ? FAST_JUNK : value_of(b, s->slow_now[b][u]);
		if (v == FAST_JUNK || v / cf->tokens != b)
			return "a read under way gives what was never written there";
		if (!(o->ok >> v % cf->tokens & 1))
			return "a read under way gives what was out of date when it began";
	}
	return NULL;
}

static void emit(struct search *se, struct state *s, struct step step)
{
	const char *why;
	struct key key;

	why = judge(s);
	if (why) {
		pack_state(s, &key);
		search_fail(se, &key, step, why);
		return;
	}
	canonical(s, &key);
	search_add(se, &key, step);
}

/* ---- the slot's state: tier-io.c ---- */

/* __tier_slot_update() */
static void slot_update(struct state *s, u32 slot, u32 valid, u32 dirty)
{
	struct record *r = &s->slot[slot];

	if (r->valid == valid && r->dirty == dirty)
		return;
	if ((r->valid & ~valid) && mutant != M_NO_LOST)
		s->flags[slot] |= LOST;
	r->valid = valid;
	r->dirty = dirty;
	s->flags[slot] |= CHANGED;
}

/* __needs_intent() */
static bool needs_mark(const struct state *s, u32 slot, u32 mask, u32 fast, bool both)
{
	u32 maybe_clean;

	if (slot == NO_SLOT || mutant == M_NO_MARK || (mutant == M_NO_MARK_BOTH && both) ||
	    (mutant == M_NO_MARK_PAST && !fast) || (mutant == M_FRESH_TRUSTED && (s->flags[slot] & FRESH)))
		return false;
	maybe_clean = s->slot[slot].valid;
	if ((s->flags[slot] & (LOST | FRESH)) == LOST)
		maybe_clean = all_granules();
	return mask & maybe_clean & ~s->slot[slot].dirty;
}

static bool settled(const struct state *s, u32 slot)
{
	u32 flags = FRESH | CHANGED | COMMITTING;

	if (mutant == M_FUA_COMMITTING)
		flags &= ~COMMITTING;
	return !(s->flags[slot] & flags);
}

/* ---- holds: core/lock.c ---- */

enum { H_READ = 1, H_WRITE = 2, H_ONLY = 4, H_COPY = 8, H_EXCL = 16 };

static u32 hold_of(const struct op *o)
{
	switch (o->type) {
	case OP_WRITE:
		return (o->flags & BOTH) || o->drop ? H_ONLY : H_WRITE;
	case OP_COPY:
		return H_COPY;
	case OP_FILL:
		return H_EXCL;
	case OP_READ:
		return H_READ;
	}
	return 0;
}

static bool hold_free(const struct state *s, u32 block, u32 granules, u32 hold)
{
	u32 i, against = 0;

	switch (hold) {
	case H_READ:
		against = H_EXCL;
		break;
	case H_WRITE:
		against = H_ONLY | (mutant == M_FILL_SHARED ? 0 : H_EXCL);
		break;
	case H_ONLY:
		against = H_WRITE | H_ONLY | H_EXCL | (mutant == M_PAST_COPY ? 0 : H_COPY);
		break;
	case H_COPY:
		against = H_ONLY | H_COPY | H_EXCL;
		break;
	case H_EXCL:
		against = H_READ | H_WRITE | H_ONLY | H_COPY | H_EXCL;
		break;
	}
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type && o->block == block && (touched(o->units) & granules) && (hold_of(o) & against))
			return false;
	}
	return true;
}

static bool busy(const struct state *s, u32 block)
{
	u32 i;

	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type && s->op[i].block == block)
			return true;
	return false;
}

static int free_op(const struct state *s)
{
	u32 i;

	for (i = 0; i < cf->ops; i++)
		if (!s->op[i].type)
			return i;
	return -1;
}

/* a token that nothing has, or -1 */
static int new_token(const struct state *s, u32 block, u32 unit)
{
	u32 used = s->slow[block][unit] | s->after[block][unit], t, i;

	if (!in_discard(s, block, 1U << unit / cf->per_granule))
		used |= s->may[block][unit];
	for (i = 0; i < cf->slots; i++)
		used |= s->fast[i][unit] >> value_of(block, 0) & all_tokens();
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (!o->type || o->block != block || !(o->units >> unit & 1))
			continue;
		used |= o->type == OP_READ ? o->ok : 1U << o->token[unit];
	}
	for (t = 0; t < cf->tokens; t++)
		if (!(used >> t & 1))
			return t;
	return -1;
}

/* ---- writes ---- */

/* step 2 of a plan: hold, mark, slot */
static void start_write(struct search *se, const struct state *old, struct op o, bool want_slot, bool fua)
{
	struct state s = *old;
	u32 mask = touched(o.units), slot = o.slot, u, i, settled_dirty;
	int place = free_op(&s), t;

	if (!hold_free(&s, o.block, mask, hold_of(&o)))
		return;
	if (needs_mark(&s, slot, mask, o.fast, o.flags & BOTH)) {
		u32 region = region_of(o.block);

		if (!((s.marks | (mutant == M_MARK_EARLY ? s.marking : 0)) & region))
			return;
		o.flags |= INTENT;
	}
	if (want_slot) {
		for (slot = 0; slot < cf->slots && s.slot[slot].block; slot++)
			;
		if (slot == cf->slots)
			return;
		s.slot[slot] = (struct record) { .block = o.block + 1 };
		s.flags[slot] = FRESH;
		o.slot = slot;
	}
	/* plan_fua(); one that has to commit is like a write and a flush */
	if (fua) {
		bool alone = true;

		if (slot != NO_SLOT) {
			settled_dirty = s.slot[slot].dirty & mask;
			if (o.fast && !(o.flags & BOTH))
				alone = o.fast == mask && (mutant == M_FUA_NO_COMMIT ||
					(settled(&s, slot) && settled_dirty == mask));
			else
				alone = mutant == M_FUA_SLOW ||
					(settled(&s, slot) && !settled_dirty && !o.drop);
		}
		if (!alone)
			return;
		o.flags |= FUA;
	}
	for (u = 0; u < cf->units; u++) {
		if (!(o.units >> u & 1))
			continue;
		t = new_token(&s, o.block, u);
		if (t < 0)
			return;
		o.token[u] = t;
		s.after[o.block][u] |= 1U << t;
		for (i = 0; i < cf->ops; i++)
			if (s.op[i].type == OP_READ && s.op[i].block == o.block && (s.op[i].units >> u & 1))
				s.op[i].ok |= 1U << t;
	}
	if (hold_of(&o) == H_WRITE && mutant != M_NO_POISON)
		for (i = 0; i < cf->ops; i++)
			if (s.op[i].type == OP_COPY && s.op[i].block == o.block)
				s.op[i].poison |= mask & touched(s.op[i].units);
	s.op[place] = o;
	emit(se, &s, fua ? STEP("FUA write of block %d, units %x begins (fast %x, both %d)", o.block, o.units,
				o.fast, o.flags & BOTH) :
			   STEP("write of block %d, units %x begins (fast %x, both %d)", o.block, o.units,
				o.fast, o.flags & BOTH));
}

/* plan_write() */
static void plan_write(struct search *se, const struct state *s, u32 block, u32 units, bool admitted, bool fua)
{
	u32 mask = touched(units), full = covered(units), valid = 0, dirty = 0, slot = find_slot(s, block);
	struct op o = { .type = OP_WRITE, .block = block, .units = units, .slot = slot };
	u32 u, land;
	bool both;

	for (u = 0; u < cf->units; u++)
		if ((units >> u & 1) && in_flight(s, block, u))
			return;	/* not two writes of the same data at once */
	if (slot != NO_SLOT) {
		valid = s->slot[slot].valid;
		dirty = s->slot[slot].dirty;
	}
	if (s->mode == PT || s->mode == WA || (s->mode == WT && in_discard(s, block, mask))) {
		o.fast = dirty & mask & ~full;
		both = false;
	} else {
		both = s->mode == WT;
		land = admitted ? full & ~valid : 0;
		o.fast = (mask & valid) | land;
	}
	if (both && o.fast)
		o.flags |= BOTH;
	else
		o.drop = mask & ~o.fast & valid;
	start_write(se, s, o, o.fast && slot == NO_SLOT, fua);
}

static void begin_writes(struct search *se, const struct state *s)
{
	u32 b, units, k;

	for (b = 0; b < cf->blocks; b++)
		for (units = 1; units < 1U << cf->units; units++) {
			if (!(cf->can & CAN_PART) && units_of(touched(units)) != units)
				continue;
			for (k = 0; k < 4; k++) {
				bool admitted = !(k & 1), fua = k & 2;

				if ((!admitted && !(cf->can & CAN_BYPASS)) || (fua && !(cf->can & CAN_FUA)))
					continue;
				plan_write(se, s, b, units, admitted, fua);
			}
			/* no slot free: like one that the policy refuses */
			if (!(cf->can & CAN_BYPASS))
				plan_write(se, s, b, units, false, false);
		}
}

static void put_fast(struct state *s, u32 slot, u32 unit, u32 value, bool durable)
{
	s->fast[slot][unit] = (durable ? 0 : s->fast[slot][unit]) | 1U << value;
	s->fast_now[slot][unit] = value;
}

static void put_slow(struct state *s, u32 block, u32 unit, u32 token, bool durable)
{
	s->slow[block][unit] = (durable ? 0 : s->slow[block][unit]) | 1U << token;
	s->slow_now[block][unit] = token;
}

/* finish() and __settle_write() */
static void end_write(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;
	struct op o = s.op[nr];
	u32 full = covered(o.units), u, others, fast_units = 0, slow_units = 0;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	for (u = 0; u < cf->units; u++) {
		bool fua = o.flags & FUA;

		if (!(o.units >> u & 1))
			continue;
		if (has(o.fast, u)) {
			put_fast(&s, o.slot, u, value_of(o.block, o.token[u]), fua && !(o.flags & BOTH));
			fast_units |= 1U << u;
		}
		if (!has(o.fast, u) || (o.flags & BOTH)) {
			put_slow(&s, o.block, u, o.token[u], fua);
			slow_units |= 1U << u;
		}
		others = in_flight(&s, o.block, u);
		if (!in_discard(&s, o.block, 1U << u / cf->per_granule)) {
			s.may[o.block][u] = 1U << o.token[u];
			if (fua)
				s.after[o.block][u] = 1U << o.token[u] | others;
		}
	}
	if (fast_units && (!(o.flags & FUA) || (o.flags & BOTH)))
		s.dirtied |= FAST_DEV;
	if (slow_units && !(o.flags & FUA))
		s.dirtied |= SLOW_DEV;
	if (o.slot != NO_SLOT) {
		u32 valid = s.slot[o.slot].valid, dirty = s.slot[o.slot].dirty;

		if (o.flags & BOTH) {
			valid |= o.fast & (full | valid);
			dirty &= ~(o.fast & full);
		} else {
			valid = (valid & ~o.drop) | o.fast;
			dirty = (dirty & ~o.drop) | o.fast;
		}
		slot_update(&s, o.slot, valid, dirty);
		if (!valid)
			s.flags[o.slot] |= CHANGED;
	}
	emit(se, &s, STEP("write of block %d, units %x ends", o.block, o.units));
}

/* ---- reads ---- */

static void begin_reads(struct search *se, const struct state *old)
{
	u32 b, u, i;

	if (!(cf->can & CAN_READ))
		return;
	for (i = 0; i < cf->ops; i++)
		if (old->op[i].type == OP_READ)
			return;
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			struct state s = *old;
			u32 slot = find_slot(&s, b), usable = 0;
			struct op o = { .type = OP_READ, .block = b, .units = 1U << u, .slot = NO_SLOT };

			if (in_discard(&s, b, 1U << u / cf->per_granule) ||
			    !hold_free(&s, b, 1U << u / cf->per_granule, H_READ))
				continue;
			if (slot != NO_SLOT)
				usable = s.mode == PT ? s.slot[slot].dirty : s.slot[slot].valid;
			if (has(usable, u))
				o.slot = slot;
			o.ok = s.may[b][u] | in_flight(&s, b, u);
			s.op[free_op(&s)] = o;
			emit(se, &s, STEP("read of block %d, unit %d begins", b, u));
		}
}

static void end_read(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	emit(se, &s, STEP("read of block %d ends", old->op[nr].block));
}

/* ---- copies: tier-copy.c ---- */

/* take_dirty(); what is read is read now */
static void begin_copies(struct search *se, const struct state *old)
{
	u32 slot, gr, u, i, late;

	for (slot = 0; slot < cf->slots; slot++)
		for (gr = 1; gr <= old->slot[slot].dirty; gr++) {
			u32 block = old->slot[slot].block - 1;
			bool met = false;

			if ((gr & ~old->slot[slot].dirty) || !hold_free(old, block, gr, H_COPY) ||
			    (in_discard(old, block, all_granules()) && mutant != M_DISCARD_COPIES))
				continue;
			for (late = 0; late < 2; late++) {
				struct state s = *old;
				struct op o = { .type = OP_COPY, .block = block, .units = units_of(gr), .slot = slot };

				for (u = 0; u < cf->units; u++)
					if (o.units >> u & 1)
						o.token[u] = s.fast_now[slot][u] % cf->tokens;
				for (i = 0; i < cf->ops; i++) {
					const struct op *w = &s.op[i];

					if (w->type != OP_WRITE || w->block != block || !(touched(w->units) & gr))
						continue;
					if (mutant != M_NO_POISON)
						o.poison |= touched(w->units) & gr;
					met = true;
					for (u = 0; late && u < cf->units; u++)
						if ((o.units & w->units) >> u & 1)
							o.token[u] = w->token[u];
				}
				if (late && !met)
					break;
				if (mutant == M_CLEAN_EARLY)
					slot_update(&s, slot, s.slot[slot].valid, s.slot[slot].dirty & ~gr);
				s.op[free_op(&s)] = o;
				emit(se, &s, STEP("write back of block %d, granules %x has read", block, gr));
			}
		}
}

/* end_write_back() */
static void end_copy(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;
	struct op o = s.op[nr];
	u32 u, written = touched(o.units) & ~o.poison;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	for (u = 0; u < cf->units; u++)
		if (o.units >> u & 1)
			put_slow(&s, o.block, u, o.token[u], false);
	if (mutant != M_CLEAN_UNFLUSHED)
		s.dirtied |= SLOW_DEV;
	slot_update(&s, o.slot, s.slot[o.slot].valid, s.slot[o.slot].dirty & ~written);
	emit(se, &s, STEP("write back of block %d ends, clean: %x", o.block, written));
}

/* take_part() */
static void begin_fills(struct search *se, const struct state *old)
{
	u32 b, gr, u;

	if (!(cf->can & CAN_FILL) || old->mode == PT)
		return;
	for (b = 0; b < cf->blocks; b++)
		for (gr = 1; gr <= all_granules(); gr++) {
			struct state s = *old;
			u32 slot = find_slot(&s, b);
			struct op o = { .type = OP_FILL, .block = b, .units = units_of(gr) };

			if (slot != NO_SLOT && (gr & s.slot[slot].valid))
				continue;
			if (in_discard(&s, b, all_granules()) || !hold_free(&s, b, gr, H_EXCL))
				continue;
			if (slot == NO_SLOT) {
				for (slot = 0; slot < cf->slots && s.slot[slot].block; slot++)
					;
				if (slot == cf->slots)
					continue;
				s.slot[slot] = (struct record) { .block = b + 1 };
				s.flags[slot] = FRESH;
			}
			o.slot = slot;
			for (u = 0; u < cf->units; u++)
				if (o.units >> u & 1)
					o.token[u] = s.slow_now[b][u];
			s.op[free_op(&s)] = o;
			emit(se, &s, STEP("fill of block %d, granules %x has read", b, gr));
		}
}

/* end_fill() */
static void end_fill(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;
	struct op o = s.op[nr];
	u32 u;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	for (u = 0; u < cf->units; u++)
		if (o.units >> u & 1)
			put_fast(&s, o.slot, u, value_of(o.block, o.token[u]), false);
	s.dirtied |= FAST_DEV;
	slot_update(&s, o.slot, s.slot[o.slot].valid | touched(o.units), s.slot[o.slot].dirty);
	emit(se, &s, STEP("fill of block %d ends", o.block));
}

/* ---- eviction: tier-reclaim.c ---- */

static void evict(struct search *se, const struct state *old)
{
	u32 i;

	if (!(cf->can & CAN_EVICT))
		return;
	for (i = 0; i < cf->slots; i++) {
		struct state s = *old;

		if (!s.slot[i].block || s.slot[i].dirty || busy(&s, s.slot[i].block - 1))
			continue;
		slot_update(&s, i, 0, 0);
		s.flags[i] |= CHANGED;
		if (mutant == M_REUSE_EARLY) {
			s.slot[i] = (struct record) { 0 };
			s.flags[i] = 0;
		}
		emit(se, &s, STEP("block %d is evicted", old->slot[i].block - 1));
	}
}

/* ---- discard: tier-discard.c ---- */

static void discard_begin(struct search *se, const struct state *old)
{
	u32 b, gr, u;

	for (b = 0; b < cf->blocks; b++)
		for (gr = 1; gr <= all_granules(); gr++) {
			struct state s = *old;

			s.discard = LISTED;
			s.discard_block = b;
			s.discard_mask = gr;
			for (u = 0; u < cf->units; u++)
				if (has(gr, u)) {
					s.may[b][u] = s.after[b][u] = all_tokens();
					s.out[b][u] = s.flush_out[b][u] = 0;
				}
			emit(se, &s, STEP("discard of block %d, granules %x begins", b, gr));
		}
}

static bool any_changed(const struct state *s)
{
	u32 i;

	for (i = 0; i < cf->slots; i++)
		if (s->flags[i] & CHANGED)
			return true;
	return false;
}

static bool commit_pending(const struct state *s)
{
	if (any_changed(s) && mutant != M_FLUSH_CHANGED)
		return true;
	return s->stage >= SNAPSHOT && mutant != M_FLUSH_COMMITTING;
}

static void discard_drop(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 slot = find_slot(&s, s.discard_block);

	if (!hold_free(&s, s.discard_block, s.discard_mask, H_ONLY))
		return;
	if (slot != NO_SLOT)
		slot_update(&s, slot, s.slot[slot].valid & ~s.discard_mask, s.slot[slot].dirty & ~s.discard_mask);
	s.discard = commit_pending(&s) && mutant != M_DISCARD_EARLY ? DROPPED : COMMITTED;
	emit(se, &s, STEP("the discard has dropped", 0));
}

/* the slow device is told, or can't be; and the discard is acknowledged */
static void discard_end(struct search *se, const struct state *old, bool pass_down)
{
	struct state s = *old;
	u32 b = s.discard_block, u;
	int t;

	for (u = 0; u < cf->units; u++) {
		if (!has(s.discard_mask, u))
			continue;
		if (pass_down) {
			t = new_token(&s, b, u);
			if (t < 0)
				return;
			put_slow(&s, b, u, t, false);
			s.after[b][u] |= 1U << t;
		}
		if (value_now(&s, b, u) != FAST_JUNK)
			s.may[b][u] = 1U << value_now(&s, b, u) % cf->tokens;
	}
	if (pass_down)
		s.dirtied |= SLOW_DEV;
	s.discard = NO_DISCARD;
	emit(se, &s, pass_down ? STEP("the discard is passed down and ends", 0) : STEP("the discard ends", 0));
}

static void discard(struct search *se, const struct state *s)
{
	switch (s->discard) {
	case NO_DISCARD:
		if (cf->can & CAN_DISCARD)
			discard_begin(se, s);
		break;
	case LISTED:
		discard_drop(se, s);
		break;
	case COMMITTED:
		discard_end(se, s, true);
		discard_end(se, s, false);
		break;
	}
}

/* ---- flushes: map_flush() ---- */

static bool flush_needed(const struct state *s, u32 dev)
{
	return (s->dirtied & dev) || (mutant != M_FLUSH_FLUSHING && ((s->flushing & dev) || (s->flush_dev & dev)));
}

static void flush_device(struct state *s, u32 dev)
{
	u32 b, u, i;

	for (u = 0; u < cf->units; u++) {
		for (i = 0; i < cf->slots && dev == FAST_DEV; i++)
			s->fast[i][u] = 1U << s->fast_now[i][u];
		for (b = 0; b < cf->blocks && dev == SLOW_DEV; b++)
			s->slow[b][u] = 1U << s->slow_now[b][u];
	}
}

/* what a flush that begins now has to rule out when it ends */
static void rule_out(const struct state *s, u8 out[MAX_BLOCKS][MAX_UNITS])
{
	u32 b, u;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			out[b][u] = s->after[b][u] & ~s->may[b][u] & ~in_flight(s, b, u);
			if (in_discard(s, b, 1U << u / cf->per_granule))
				out[b][u] = 0;
		}
}

static void ruled_out(struct state *s, u8 out[MAX_BLOCKS][MAX_UNITS])
{
	u32 b, u;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			s->after[b][u] &= ~out[b][u];
			out[b][u] = 0;
		}
}

static void flush(struct search *se, const struct state *old)
{
	struct state s = *old;
	bool fast = flush_needed(&s, FAST_DEV), slow = flush_needed(&s, SLOW_DEV);

	if (!(cf->can & CAN_FLUSH))
		return;
	if (s.flush_dev) {
		flush_device(&s, s.flush_dev);
		s.flush_dev = 0;
		ruled_out(&s, s.flush_out);
		emit(se, &s, STEP("the flush ends", 0));
		return;
	}
	if ((fast && slow) || commit_pending(&s))
		return;
	rule_out(&s, s.flush_out);
	if (!fast && !slow) {
		ruled_out(&s, s.flush_out);
		emit(se, &s, STEP("flush, nothing to do", 0));
		return;
	}
	s.flush_dev = fast ? FAST_DEV : SLOW_DEV;
	s.dirtied &= ~s.flush_dev;
	emit(se, &s, STEP("flush of device %d alone begins", s.flush_dev));
}

/* ---- the commit thread: tier-commit.c ---- */

static u32 regions_in_use(const struct state *s)
{
	u32 i, mask = 0;

	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type == OP_WRITE && (s->op[i].flags & INTENT))
			mask |= region_of(s->op[i].block);
	return mutant == M_UNMARK_BUSY ? 0 : mask;
}

static void begin_commit(struct search *se, const struct state *old)
{
	u32 idle = old->marks & ~regions_in_use(old), unmark = idle, swap;

	/* one that finds nothing to do is a flush that ends at once */
	if (!any_changed(old) && !old->dirtied && !idle && old->discard != DROPPED)
		return;
	if (mutant == M_UNMARK_LATE)
		unmark = 0;
	for (;; unmark = (unmark - 1) & idle) {
		for (swap = 0; swap < (cf->slots == 2 ? 2 : 1); swap++) {
			struct state s = *old;

			if (swap)
				swap_slots(&s);
			s.marks &= ~unmark;
			s.unmarking = unmark;
			s.stage = SNAPSHOT;
			s.pos = 0;
			rule_out(&s, s.out);
			if (s.discard == DROPPED)
				s.discard = COMMITTED_SOON;
			emit(se, &s, STEP("a commit begins, regions unmarked: %x", unmark));
		}
		if (!unmark)
			break;
	}
}

static u32 nr_committing(const struct state *s)
{
	u32 i, n = 0;

	for (i = 0; i < cf->slots; i++)
		n += !!(s->flags[i] & COMMITTING);
	return n;
}

static void end_commit(struct state *s)
{
	ruled_out(s, s->out);
	if (s->discard == COMMITTED_SOON)
		s->discard = COMMITTED;
	s->stage = IDLE;
	s->unmarking = 0;
	s->pos = 0;
	s->more = 0;
	s->recovering = 0;
}

static void after_flush(struct state *s)
{
	if (nr_committing(s) || (s->unmarking && !s->more))
		s->stage = WRITING;
	else
		end_commit(s);
}

/* snapshot_slot(); or, when no changed slot is left, tier_flush_devices() begins */
static void go_on_snapshot(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i = s.pos, dev;

	while (i < cf->slots && !(s.flags[i] & CHANGED))
		i++;
	if (i < cf->slots && nr_committing(&s) < cf->part) {
		s.snapshot[i] = s.slot[i].valid ? s.slot[i] : (struct record) { 0 };
		s.flags[i] = (s.flags[i] & ~(CHANGED | FRESH)) | COMMITTING;
		if (mutant == M_LOST_EARLY)
			s.flags[i] &= ~LOST;
		s.pos = i + 1;
		emit(se, &s, STEP("snapshot of slot %d", i));
		return;
	}
	s.more = i < cf->slots;
	if (mutant == M_UNMARK_LATE && !s.recovering && !s.more) {
		s.unmarking = s.marks & ~regions_in_use(&s);
		s.marks &= ~s.unmarking;
	}
	for (dev = FAST_DEV; dev <= SLOW_DEV; dev++)
		if (flush_needed(&s, dev) && mutant != (dev == FAST_DEV ? M_NO_FAST_FLUSH : M_NO_SLOW_FLUSH)) {
			s.flushing |= dev;
			s.dirtied &= ~dev;
		}
	if (s.flushing)
		s.stage = FLUSHING;
	else
		after_flush(&s);
	emit(se, &s, STEP("the commit flushes devices %x", s.flushing));
}

static void go_on_flush(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 dev = s.flushing & FAST_DEV ? FAST_DEV : SLOW_DEV;

	flush_device(&s, dev);
	s.flushing &= ~dev;
	if (!s.flushing)
		after_flush(&s);
	emit(se, &s, STEP("device %d is flushed", dev));
}

/* what is on the disk when the transaction under way is */
static void apply_transaction(struct state *s)
{
	u32 i;

	s->marked |= s->marking;
	if (s->stage != WRITING)
		return;
	for (i = 0; i < cf->slots; i++)
		if (s->flags[i] & COMMITTING)
			s->disk[i] = s->snapshot[i];
	if (!s->more || (mutant == M_UNMARK_FIRST && s->recovering))
		s->marked &= ~s->unmarking;
}

/* settle_slot() */
static void settle(struct state *s, u32 i)
{
	u32 old = s->flags[i];
	bool freed = !s->snapshot[i].valid && !s->slot[i].valid && !(old & CHANGED);

	if (!(old & COMMITTING))
		return;
	if (mutant == M_FREE_USED)
		freed = !s->snapshot[i].valid;
	s->flags[i] &= ~COMMITTING;
	s->snapshot[i] = (struct record) { 0 };
	if (!(old & CHANGED))
		s->flags[i] &= ~LOST;
	if (!freed)
		return;
	if (busy(s, s->slot[i].block - 1) && mutant != M_FREE_BUSY) {
		s->flags[i] |= FRESH | CHANGED;
	} else {
		s->slot[i] = (struct record) { 0 };
		s->flags[i] = 0;
	}
}

static void transaction_done(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i;

	apply_transaction(&s);
	if (s.stage == MARKING) {
		s.marks |= s.marking;
		s.marking = 0;
		s.stage = IDLE;
		emit(se, &s, STEP("the mark is durable", 0));
		return;
	}
	for (i = 0; i < cf->slots; i++)
		settle(&s, i);
	if (s.more) {
		s.more = 0;
		s.stage = SNAPSHOT;
		emit(se, &s, STEP("a part of the commit is durable", 0));
		return;
	}
	end_commit(&s);
	emit(se, &s, STEP("the commit is durable", 0));
}

/* mark_regions() */
static void begin_mark(struct search *se, const struct state *old)
{
	u32 b;

	for (b = 0; b < cf->blocks; b++) {
		struct state s = *old;

		/* somebody must want it */
		if ((s.marks & region_of(b)) || find_slot(&s, b) == NO_SLOT)
			continue;
		s.marking = region_of(b);
		s.stage = MARKING;
		emit(se, &s, STEP("regions %x are being marked", s.marking));
	}
}

static void commit_thread(struct search *se, const struct state *s)
{
	switch (s->stage) {
	case IDLE:
		begin_commit(se, s);
		begin_mark(se, s);
		break;
	case SNAPSHOT:
		go_on_snapshot(se, s);
		break;
	case FLUSHING:
		go_on_flush(se, s);
		break;
	case MARKING:
	case WRITING:
		transaction_done(se, s);
		break;
	}
}

/* ---- power cuts ---- */

/* tier_load() and tier_commit_recovered(), up to its commit */
static void recover(struct search *se, struct state *s, bool written)
{
	struct state n;
	u32 b, u, i, v;

	memset(&n, 0, sizeof(n));
	memcpy(n.slow, s->slow, sizeof(n.slow));
	memcpy(n.slow_now, s->slow_now, sizeof(n.slow_now));
	memcpy(n.fast, s->fast, sizeof(n.fast));
	memcpy(n.fast_now, s->fast_now, sizeof(n.fast_now));
	memcpy(n.disk, s->disk, sizeof(n.disk));
	n.marked = n.unmarking = s->marked;
	n.mode = s->mode;
	if (n.marked) {
		n.stage = SNAPSHOT;
		n.recovering = 1;
	}
	for (i = 0; i < cf->slots; i++) {
		u32 block = n.disk[i].block - 1;

		n.slot[i] = n.disk[i];
		if (n.slot[i].block && (n.marked & region_of(block)) && mutant != M_TRUST_MARKED)
			slot_update(&n, i, n.slot[i].dirty, n.slot[i].dirty);
	}
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			v = value_now(&n, b, u);
			n.after[b][u] = s->after[b][u];
			if (v == FAST_JUNK || v / cf->tokens != b || !(s->after[b][u] >> v % cf->tokens & 1)) {
				struct key key;

				memcpy(n.may, s->may, sizeof(n.may));
				pack_state(&n, &key);
				search_fail(se, &key, STEP("power cut, and recovery", 0),
					    v == FAST_JUNK || v / cf->tokens != b ?
					    "after a power cut a read gives what was never written there" :
					    "after a power cut a read gives what was flushed away");
				return;
			}
			n.may[b][u] = n.after[b][u] = 1U << v % cf->tokens;
		}
	emit(se, &n, written ? STEP("power cut, the transaction was written; recovery", 0) :
			       STEP("power cut, and recovery", 0));
}

/* each place keeps one of the things it may have; @at counts places */
static void choose(struct search *se, struct state *s, u32 at, bool written)
{
	u32 nr_slow = cf->blocks * cf->units, nr_fast = cf->slots * cf->units, v, mask, now, x, u;


	if (at == nr_slow + nr_fast) {
		recover(se, s, written);
		return;
	}
	u = at % cf->units;
	if (at < nr_slow) {
		x = at / cf->units;
		mask = s->slow[x][u];
		now = s->slow_now[x][u];
		for (v = 0; v <= JUNK; v++)
			if (mask >> v & 1) {
				put_slow(s, x, u, v, true);
				choose(se, s, at + 1, written);
			}
		s->slow[x][u] = mask;
		s->slow_now[x][u] = now;
		return;
	}
	x = (at - nr_slow) / cf->units;
	mask = s->fast[x][u];
	now = s->fast_now[x][u];
	for (v = 0; v <= FAST_JUNK; v++)
		if ((has(s->disk[x].valid, u) ? mask : 1U << FAST_JUNK) >> v & 1) {	/* else never read again */
			put_fast(s, x, u, v, true);
			choose(se, s, at + 1, written);
		}
	s->fast[x][u] = mask;
	s->fast_now[x][u] = now;
}

static void power_cut(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i, u;

	/* what is in flight may have arrived */
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s.op[i];

		for (u = 0; u < cf->units; u++) {
			if (!o->type || o->type == OP_READ || !(o->units >> u & 1))
				continue;
			if (o->type == OP_FILL || (o->type == OP_WRITE && has(o->fast, u)))
				s.fast[o->slot][u] |= 1U << value_of(o->block, o->token[u]);
			if (o->type == OP_COPY ||
			    (o->type == OP_WRITE && (!has(o->fast, u) || (o->flags & BOTH))))
				s.slow[o->block][u] |= 1U << o->token[u];
		}
	}
	choose(se, &s, 0, false);
	if (s.stage == WRITING || s.stage == MARKING) {
		apply_transaction(&s);
		choose(se, &s, 0, true);
	}
}

/* ---- all of it ---- */

static void expand(struct search *se, const struct key *key)
{
	struct state s;
	u32 i;

	unpack_state(key, &s);
	power_cut(se, &s);
	commit_thread(se, &s);
	if (s.recovering)
		return;
	for (i = 0; i < cf->ops; i++)
		switch (s.op[i].type) {
		case OP_WRITE:
			end_write(se, &s, i);
			break;
		case OP_COPY:
			end_copy(se, &s, i);
			break;
		case OP_FILL:
			end_fill(se, &s, i);
			break;
		case OP_READ:
			end_read(se, &s, i);
			break;
		}
	for (i = 0; i < 4; i++)
		if ((cf->modes & MODE(i)) && s.mode != i) {
			struct state n = s;

			n.mode = i;
			emit(se, &n, STEP("mode %d", i));
		}
	evict(se, &s);
	discard(se, &s);
	flush(se, &s);
	if (free_op(&s) < 0)
		return;
	begin_writes(se, &s);
	begin_reads(se, &s);
	begin_copies(se, &s);
	begin_fills(se, &s);
}

static void show_record(const struct record *r)
{
	if (r->block)
		printf("%d:%x/%x", r->block - 1, r->valid, r->dirty);
	else
		printf("-");
}

static void show(const struct key *key)
{
	struct state s;
	u32 i, b, u;

	unpack_state(key, &s);
	printf("slow");
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			printf(" %x(%x)", s.slow_now[b][u], s.slow[b][u]);
	printf(" fast");
	for (i = 0; i < cf->slots; i++)
		for (u = 0; u < cf->units; u++)
			printf(" %x(%x)", s.fast_now[i][u], s.fast[i][u]);
	printf(" slots");
	for (i = 0; i < cf->slots; i++) {
		printf(" ");
		show_record(&s.slot[i]);
		printf("%s%s%s%s", s.flags[i] & FRESH ? " fresh" : "", s.flags[i] & CHANGED ? " changed" : "",
		       s.flags[i] & COMMITTING ? " committing" : "", s.flags[i] & LOST ? " lost" : "");
	}
	printf(" disk");
	for (i = 0; i < cf->slots; i++) {
		printf(" ");
		show_record(&s.disk[i]);
	}
	printf(" marks %x/%x may", s.marks, s.marked);
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			printf(" %x/%x", s.may[b][u], s.after[b][u]);
}

#include "data-configs.h"

static struct search_result run(u32 config, int mut, u64 max_states, bool trace)
{
	static const struct search_model m = { .expand = expand, .show = show };
	struct state s;
	struct key key;
	u32 b, u;

	cf = &configs[config];
	mutant = mut < 0 ? M_NONE : mut + 1;
	memset(&s, 0, sizeof(s));
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			s.slow[b][u] = s.may[b][u] = s.after[b][u] = 1;
	while (!(cf->modes & MODE(s.mode)))
		s.mode++;
	canonical(&s, &key);
	return search_run(&m, &key, max_states, trace);
}

static const char *config_name(u32 config)
{
	return configs[config].name;
}

static enum model_size config_size(u32 config)
{
	return configs[config].size;
}

static u32 mutant_config(u32 m)
{
	return catches[m + 1];
}

static const char *const mutants[] = {
#define M(id, text) [M_##id] = text,
	MUTANTS(M)
#undef M
	NULL
};

const struct model data_model = {
	.name = "data",
	.nr_configs = sizeof(configs) / sizeof(configs[0]),
	.config_name = config_name,
	.config_size = config_size,
	.mutants = mutants + 1,
	.mutant_config = mutant_config,
	.run = run,
};
