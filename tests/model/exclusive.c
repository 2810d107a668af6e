// SPDX-License-Identifier: GPL-2.0
/*
 * The tiered mode: moves, landing writes, discards, commits: see README.
 *
 * Each slot is on a device.  A block is in one slot, or in none, and what is not valid reads as zeros.  As in
 * data.c a block consists of units, a granule of one or more of them, and versions of a unit are tokens
 * that are given anew when nothing has them any more.  Version 0 is zeros.
 */
#include <stdio.h>
#include <string.h>

#include "model.h"

enum { MAX_BLOCKS = 2, MAX_UNITS = 2, MAX_SLOTS = 4, MAX_DEVS = 3, MAX_OPS = 3, MAX_PERMS = 8 };

/* what can happen in a configuration */
#define CAN_READ	(1U << 0)	/* reads that take time */
#define CAN_FUA		(1U << 1)
#define CAN_DISCARD	(1U << 2)
#define CAN_PART	(1U << 3)	/* writes of less than a granule */
#define CAN_FLUSH	(1U << 4)	/* flushes that have nothing to commit */
#define CAN_FAIL	(1U << 5)	/* copies and flushes of a commit fail */
#define CAN_TRIM	(1U << 6)	/* slots are discarded before they are free */
#define CAN_SETTLE	(1U << 7)	/* moves to another slot of the same device */

struct config {
	const char *name;
	enum model_size size;
	u32 blocks, units, per_granule, slots;
	u8 dev[MAX_SLOTS];
	u32 ops, tokens;
	u32 part;		/* records that a transaction has room for */
	u32 can;
};

static const struct config *cf;
static int mutant;

#define MUTANTS(M) \
	M(NONE, "none") \
	M(NO_FLUSH, "a commit flushes no device before its records") \
	M(TO_ALONE, "the scan reaches a move's new slot and takes it without the old one") \
	M(FROM_ALONE, "the scan reaches a move's old slot and takes it without the new one") \
	M(PARTS, "the two records of a move come in different parts if one has no room for both") \
	M(FROM_COMMITTING, "a move is taken beside the old slot's record from before the switch") \
	M(SKIP_FORGETS, "a move that is left to the next commit is no longer known to be changed") \
	M(KEEP_LINK, "a move's old slot is still its old slot when that is committed") \
	M(LIST_EARLY, "moves that ended since the commit began are left to the next one") \
	M(LEFT_SETTLED, "an old slot is freed by a commit that had its record from before the switch") \
	M(FREE_AT_SWITCH, "the old slot is free at the switch") \
	M(LEFT_UNCHANGED, "the switch does not make the old slot's free record due") \
	M(SWITCH_EARLY, "the switch comes before the copy has ended") \
	M(COPY_UNFLUSHED, "a move does not say that its device has to be flushed") \
	M(DIRTIED_LATE, "that a device has to be flushed is forgotten when a flush ends, not when it begins") \
	M(MOVE_WRITES, "writes go on beside a move's copy") \
	M(MOVE_DISCARDS, "discards go on beside a move's copy") \
	M(VALID_EARLY, "a granule is valid when the write begins") \
	M(MOVE_AGAIN, "a block is moved again before that is committed, and the first old slot is forgotten") \
	M(MOVE_COMMITTING, "a block is moved again while the first move's commit is under way, which may fail") \
	M(FREE_BUSY, "a slot becomes free while it is in use") \
	M(FREE_USED, "a slot becomes free although it is used again since the snapshot") \
	M(REUSE_EARLY, "a slot emptied by a discard is free before that is committed") \
	M(DISCARD_MOVED, "a discard that empties a moved block makes its slot free, and the move is forgotten") \
	M(DISCARD_WRITES, "a discard does not wait for writes") \
	M(DISCARD_UNCOMMITTED, "a discard is acknowledged without a commit") \
	M(NO_PAD, "a write of a part of a granule makes it valid without zeros") \
	M(PAD_SHARED, "two writes put zeros into the same granule at once") \
	M(PAD_ALWAYS, "a write of a part of a granule puts zeros there whatever is valid") \
	M(PART_ENOUGH, "the first part of a commit acknowledges flushes") \
	M(FUA_INVALID, "a FUA write does not look at what is valid") \
	M(FUA_CHANGED, "a FUA write does not wait for a move that is to be committed") \
	M(FUA_COMMITTING, "a FUA write does not look at the record being written") \
	M(FLUSH_CHANGED, "a flush does not look for changed slots") \
	M(FLUSH_COMMITTING, "a flush does not wait for the commit under way") \
	M(FLUSH_FLUSHING, "a flush does not look for one under way") \
	M(TRIM_EARLY, "the old slot is discarded at the switch") \
	M(TRIM_LATE, "a slot is free while it is being discarded") \
	M(FAIL_FORGETS, "a failed commit forgets that two slots are one move") \
	M(FAIL_FREES, "a failed commit frees slots") \
	M(FAIL_CLEAN, "a failed flush counts as one") \
	M(CANCEL_LEAKS, "a failed copy's slot is not given back") \
	M(CANCEL_EARLY, "a failed copy's slot is free while the copy is under way")

enum {
#define M(id, text) M_##id,
	MUTANTS(M)
#undef M
	NR_MUTANTS
};

/* places of a slot: LEFT by a move, or emptied and being discarded (GONE) */
enum { FREE, MAPPED, TARGET, LEFT, GONE };

/* flags of slots */
enum { CHANGED = 1, COMMITTING = 2, TRIM = 4 };

/* operations under way; STRAY is a copy that was given up too early */
enum { OP_NONE, OP_WRITE, OP_READ, OP_MOVE, OP_STRAY };

struct op {
	u8 type, block, units, slot, to, pad, fua, ok;
	u8 version[MAX_UNITS];
};

struct record {
	u8 block;		/* plus one; 0: free */
	u8 valid;
};

struct slot {
	u8 place, flags;
	u8 from;		/* the old slot of a move that is not committed, plus one */
	struct record core, snapshot, disk;
	/* what a power cut may leave, what a read gives, what a flush under way rules out */
	u16 keep[MAX_UNITS], drop[MAX_UNITS], flush_drop[MAX_UNITS];
	u8 now[MAX_UNITS];
};

/* the commit thread */
enum { IDLE, SNAPSHOT, FLUSHING, WRITING };

struct state {
	struct slot slot[MAX_SLOTS];
	u8 stage, visited, more;
	u8 dirtied, flushing;	/* devices */
	u8 flush_dev;		/* of a flush that has nothing to commit, plus one */
	/* what reads may give now, and after a power cut; what a commit, or a flush, rules out */
	u8 may[MAX_BLOCKS][MAX_UNITS], after[MAX_BLOCKS][MAX_UNITS];
	u8 out[MAX_BLOCKS][MAX_UNITS], flush_out[MAX_BLOCKS][MAX_UNITS];
	struct op op[MAX_OPS];
};

#define NO_SLOT		cf->slots
#define ZERO		0
#define JUNK		(cf->blocks * cf->tokens + 1)

static u32 value_of(u32 block, u32 version)
{
	return version ? block * cf->tokens + version : ZERO;
}

static u32 version_of(u32 value)
{
	return value == ZERO || value == JUNK ? 0 : (value - 1) % cf->tokens + 1;
}

static bool of_block(u32 value, u32 block)
{
	return value == ZERO || (value != JUNK && (value - 1) / cf->tokens == block);
}

static u32 nr_granules(void)
{
	return cf->units / cf->per_granule;
}

static u32 all_granules(void)
{
	return (1U << nr_granules()) - 1;
}

static bool has(u32 mask, u32 unit)
{
	return mask >> unit / cf->per_granule & 1;
}

static u32 units_of(u32 granules)
{
	u32 units = 0, u;

	for (u = 0; u < cf->units; u++)
		if (has(granules, u))
			units |= 1U << u;
	return units;
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

/* granules that these units cover */
static u32 covered(u32 units)
{
	u32 g, full = 0;

	for (g = 0; g < nr_granules(); g++)
		if (!(units_of(1U << g) & ~units))
			full |= 1U << g;
	return full;
}

static u32 find_slot(const struct state *s, u32 block)
{
	u32 i;

	for (i = 0; i < cf->slots; i++)
		if (s->slot[i].place == MAPPED && s->slot[i].core.block == block + 1)
			return i;
	return NO_SLOT;
}

/* the slot that a move took the place of this one with, or NO_SLOT */
static u32 moved_to(const struct state *s, u32 slot)
{
	u32 i;

	for (i = 0; i < cf->slots; i++)
		if (s->slot[i].from == slot + 1)
			return i;
	return NO_SLOT;
}

static u32 in_flight(const struct state *s, u32 block, u32 unit)
{
	u32 i, mask = 0;

	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type == OP_WRITE && s->op[i].block == block && (s->op[i].units >> unit & 1))
			mask |= 1U << s->op[i].version[unit];
	return mask;
}

static u32 value_now(const struct state *s, u32 block, u32 unit)
{
	u32 slot = find_slot(s, block);

	return slot != NO_SLOT && has(s->slot[slot].core.valid, unit) ? s->slot[slot].now[unit] : ZERO;
}

static bool slot_busy(const struct state *s, u32 slot)
{
	u32 i;

	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type && (s->op[i].slot == slot || s->op[i].to == slot))
			return true;
	return false;
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
	if (r->block)
		CODE(nr_granules(), r->valid);
}

static void code_slot(struct codec *c, struct slot *sl, bool flushing, bool flushing_too)
{
	u32 u;

	CODE(3, sl->place);
	CODE(3, sl->flags);
	if (sl->place == MAPPED) {
		CODE(width(cf->slots), sl->from);
		code_record(c, &sl->core);
	}
	if (sl->flags & COMMITTING)
		code_record(c, &sl->snapshot);
	code_record(c, &sl->disk);
	for (u = 0; u < cf->units; u++) {
		CODE(width(JUNK), sl->now[u]);
		CODE(JUNK + 1, sl->keep[u]);
		if (flushing)
			CODE(JUNK + 1, sl->drop[u]);
		if (flushing_too)
			CODE(JUNK + 1, sl->flush_drop[u]);
	}
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
	CODE(width(cf->slots), o->to);
	if (o->type == OP_READ) {
		CODE(cf->tokens + 1, o->ok);
		return;
	}
	if (o->type == OP_WRITE) {
		CODE(nr_granules(), o->pad);
		CODE(1, o->fua);
	}
	for (u = 0; u < cf->units; u++)
		if (o->units >> u & 1)
			CODE(width(cf->tokens), o->version[u]);
}

static void code_versions(struct codec *c, u8 set[MAX_BLOCKS][MAX_UNITS])
{
	u32 b, u;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			CODE(cf->tokens + 1, set[b][u]);
}

static void code_state(struct codec *c, struct state *s)
{
	u32 i;

	CODE(2, s->stage);
	if (s->stage != IDLE) {
		CODE(cf->slots, s->visited);
		CODE(1, s->more);
		CODE(MAX_DEVS, s->flushing);
		code_versions(c, s->out);
	}
	CODE(MAX_DEVS, s->dirtied);
	if (cf->can & CAN_FLUSH) {
		CODE(2, s->flush_dev);
		if (s->flush_dev)
			code_versions(c, s->flush_out);
	}
	code_versions(c, s->may);
	code_versions(c, s->after);
	for (i = 0; i < cf->slots; i++)
		code_slot(c, &s->slot[i], s->flushing >> cf->dev[i] & 1, s->flush_dev == cf->dev[i] + 1);
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
static bool unit_matters(const struct state *s, u32 slot, u32 unit)
{
	const struct slot *sl = &s->slot[slot];
	u32 i;

	if ((sl->place == MAPPED && has(sl->core.valid, unit)) || has(sl->disk.valid, unit) ||
	    ((sl->flags & COMMITTING) && has(sl->snapshot.valid, unit)))
		return true;
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type && (o->slot == slot || o->to == slot) &&
		    ((o->units >> unit & 1) || (o->type == OP_WRITE && has(o->pad, unit))))
			return true;
	}
	return false;
}

static void forget_dead(struct state *s)
{
	u32 b, u, i, t, live;

	for (i = 0; i < cf->slots; i++)
		for (u = 0; u < cf->units; u++)
			if (!unit_matters(s, i, u)) {
				s->slot[i].keep[u] = 1U << JUNK;
				s->slot[i].drop[u] = 0;
				s->slot[i].flush_drop[u] = 0;
				s->slot[i].now[u] = JUNK;
			}
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			live = 1;
			for (t = 1; t <= cf->tokens; t++)
				for (i = 0; i < cf->slots; i++)
					if (s->slot[i].keep[u] >> value_of(b, t) & 1)
						live |= 1U << t;
			for (i = 0; i < cf->ops; i++)
				if (s->op[i].type && s->op[i].type != OP_READ && s->op[i].block == b &&
				    (s->op[i].units >> u & 1))
					live |= 1U << s->op[i].version[u];
			s->may[b][u] &= live;
			s->after[b][u] &= live;
			s->out[b][u] &= s->after[b][u];
			s->flush_out[b][u] &= s->after[b][u];
			for (i = 0; i < cf->ops; i++)
				if (s->op[i].type == OP_READ && s->op[i].block == b && (s->op[i].units >> u & 1))
					s->op[i].ok &= live;
		}
}

static void swap_bits8(u8 *mask, u32 a, u32 b)
{
	u32 d = (*mask >> a ^ *mask >> b) & 1;

	*mask ^= d << a | d << b;
}

static void swap_bits16(u16 *mask, u32 a, u32 b)
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
	u32 i, vx = value_of(b, x), vy = value_of(b, y);

	swap_bits8(&s->may[b][u], x, y);
	swap_bits8(&s->after[b][u], x, y);
	swap_bits8(&s->out[b][u], x, y);
	swap_bits8(&s->flush_out[b][u], x, y);
	for (i = 0; i < cf->slots; i++) {
		swap_bits16(&s->slot[i].keep[u], vx, vy);
		swap_bits16(&s->slot[i].drop[u], vx, vy);
		swap_bits16(&s->slot[i].flush_drop[u], vx, vy);
		swap_value(&s->slot[i].now[u], vx, vy);
	}
	for (i = 0; i < cf->ops; i++) {
		struct op *o = &s->op[i];

		if (!o->type || o->block != b || !(o->units >> u & 1))
			continue;
		if (o->type == OP_READ)
			swap_bits8(&o->ok, x, y);
		else
			swap_value(&o->version[u], x, y);
	}
}

/* where a token is, as a number */
static u64 whereabouts(const struct state *s, u32 b, u32 u, u32 t)
{
	u64 w = 0;
	u32 i, v = value_of(b, t);

	w = w << 1 | (s->may[b][u] >> t & 1);
	w = w << 1 | (s->after[b][u] >> t & 1);
	w = w << 1 | (s->out[b][u] >> t & 1);
	w = w << 1 | (s->flush_out[b][u] >> t & 1);
	for (i = 0; i < cf->slots; i++) {
		w = w << 1 | (s->slot[i].now[u] == v);
		w = w << 1 | (s->slot[i].keep[u] >> v & 1);
		w = w << 1 | (s->slot[i].drop[u] >> v & 1);
		w = w << 1 | (s->slot[i].flush_drop[u] >> v & 1);
	}
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];
		bool mine = o->type && o->block == b && (o->units >> u & 1);

		w = w << 1 | (mine && (o->type == OP_READ ? o->ok >> t & 1 : o->version[u] == t));
	}
	return w;
}

static void sort_tokens(struct state *s)
{
	u64 w[8], o;
	u32 b, u, x, y;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			for (x = 1; x <= cf->tokens; x++)
				w[x] = whereabouts(s, b, u, x);
			for (x = 1; x <= cf->tokens; x++)
				for (y = x + 1; y <= cf->tokens; y++)
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
			if (memcmp(&s->op[k], &s->op[i], offsetof(struct op, ok)) > 0) {
				struct op o = s->op[i];

				s->op[i] = s->op[k];
				s->op[k] = o;
			}
}

/* renumberings of the slots that map devices to devices */
static struct perm {
	u8 slot[MAX_SLOTS + 1];		/* of the new number: the old one; and the other way */
	u8 back[MAX_SLOTS + 1];
	u8 dev[MAX_DEVS];		/* of the old number: the new one */
} perms[MAX_PERMS];
static u32 nr_perms;

static void add_perms(struct perm *p, u32 n)
{
	u32 i, k;

	if (n == cf->slots) {
		p->slot[n] = p->back[n] = n;
		for (i = 0; i < n; i++) {
			p->back[p->slot[i]] = i;
			p->dev[cf->dev[p->slot[i]]] = cf->dev[i];
		}
		if (nr_perms == MAX_PERMS)
			__builtin_trap();
		perms[nr_perms++] = *p;
		return;
	}
	for (i = 0; i < cf->slots; i++) {
		for (k = 0; k < n; k++)
			if (p->slot[k] == i || (cf->dev[p->slot[k]] == cf->dev[i]) != (cf->dev[k] == cf->dev[n]))
				break;
		if (k < n)
			continue;
		p->slot[n] = i;
		add_perms(p, n + 1);
	}
}

static u32 map_devs(const struct perm *p, u32 mask)
{
	u32 d, out = 0;

	for (d = 0; d < MAX_DEVS; d++)
		if (mask >> d & 1)
			out |= 1U << p->dev[d];
	return out;
}

static void renumber(const struct state *old, const struct perm *p, struct state *s)
{
	u32 i;

	*s = *old;
	s->visited = 0;
	for (i = 0; i < cf->slots; i++) {
		s->slot[i] = old->slot[p->slot[i]];
		if (s->slot[i].from)
			s->slot[i].from = p->back[s->slot[i].from - 1] + 1;
		if (old->visited >> p->slot[i] & 1)
			s->visited |= 1U << i;
	}
	s->dirtied = map_devs(p, old->dirtied);
	s->flushing = map_devs(p, old->flushing);
	if (old->flush_dev)
		s->flush_dev = p->dev[old->flush_dev - 1] + 1;
	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type) {
			s->op[i].slot = p->back[s->op[i].slot];
			s->op[i].to = p->back[s->op[i].to];
		}
}

static void swap_record(struct record *r)
{
	if (r->block)
		r->block = 3 - r->block;
}

static void swap_values(u16 *mask)
{
	u32 t = cf->tokens, each = (1U << t) - 1, low = *mask >> 1 & each, high = *mask >> (1 + t) & each;

	*mask = (*mask & ~(each << 1 | each << (1 + t))) | high << 1 | low << (1 + t);
}

static void swap_versions(u8 set[MAX_BLOCKS][MAX_UNITS])
{
	u32 u;

	for (u = 0; u < cf->units; u++) {
		u8 v = set[0][u];

		set[0][u] = set[1][u];
		set[1][u] = v;
	}
}

static void swap_blocks(struct state *s)
{
	u32 i, u;

	for (i = 0; i < cf->slots; i++) {
		struct slot *sl = &s->slot[i];

		swap_record(&sl->core);
		swap_record(&sl->snapshot);
		swap_record(&sl->disk);
		for (u = 0; u < cf->units; u++) {
			swap_values(&sl->keep[u]);
			swap_values(&sl->drop[u]);
			swap_values(&sl->flush_drop[u]);
			if (sl->now[u] != ZERO && sl->now[u] != JUNK)
				sl->now[u] = sl->now[u] > cf->tokens ? sl->now[u] - cf->tokens :
								       sl->now[u] + cf->tokens;
		}
	}
	swap_versions(s->may);
	swap_versions(s->after);
	swap_versions(s->out);
	swap_versions(s->flush_out);
	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type)
			s->op[i].block = !s->op[i].block;
}

/* what does not depend on numbers */
static u32 look_of(const struct state *s, u32 slot)
{
	const struct slot *sl = &s->slot[slot];
	u32 look = sl->place, u;

	look = look << 3 | sl->flags;
	look = look << 1 | (s->visited >> slot & 1);
	look = look << 1 | (sl->from != 0);
	look = look << 2 | sl->core.valid;
	look = look << 2 | sl->disk.valid;
	look = look << 1 | (s->dirtied >> cf->dev[slot] & 1);
	for (u = 0; u < cf->units; u++)
		look = look << 3 | __builtin_popcount(sl->keep[u]);
	return look;
}

static u32 look_of_block(const struct state *s, u32 block)
{
	u32 look = 0, slot = find_slot(s, block), u, i;

	if (slot != NO_SLOT)
		look = 8 | s->slot[slot].flags;
	for (u = 0; u < cf->units; u++)
		look = look << 4 | __builtin_popcount(s->may[block][u]) << 2 | __builtin_popcount(s->after[block][u]);
	for (i = 0; i < cf->ops; i++)
		if (s->op[i].type && s->op[i].block == block)
			look += s->op[i].type << 16;
	return look;
}

/* the renumbering that gives the lowest key, among those that put slots and blocks in order of their looks */
static void canonical(struct state *s, struct key *key)
{
	u32 looks[MAX_SLOTS], block_looks[2] = { 0 }, best = 0, i, k, b, first = 1;
	u32 ties[MAX_PERMS], nr = 0;
	struct key other;
	struct state o;

	forget_dead(s);
	for (i = 0; i < cf->slots; i++)
		looks[i] = look_of(s, i);
	for (k = 0; k < nr_perms; k++) {
		int diff = 0;

		for (i = 0; nr && i < cf->slots && !diff; i++)
			diff = (int)looks[perms[k].slot[i]] - (int)looks[perms[best].slot[i]];
		if (nr && diff < 0)
			continue;
		if (diff > 0)
			nr = 0;
		if (!nr)
			best = k;
		ties[nr++] = k;
	}
	for (b = 0; b < cf->blocks; b++)
		block_looks[b] = look_of_block(s, b);
	for (k = 0; k < nr; k++)
		for (b = 0; b < cf->blocks; b++) {
			if (cf->blocks == 2 && block_looks[b] < block_looks[!b])
				continue;
			renumber(s, &perms[ties[k]], &o);
			if (b)
				swap_blocks(&o);
			sort_ops(&o);
			sort_tokens(&o);
			pack_state(&o, &other);
			if (first || memcmp(&other, key, sizeof(other)) < 0)
				*key = other;
			first = 0;
		}
}

/* ---- the rules ---- */

static const char *judge_slot(const struct state *s, u32 i)
{
	const struct slot *sl = &s->slot[i];
	bool due = sl->flags & (CHANGED | COMMITTING);
	u32 k;

	if (sl->place == FREE && sl->disk.block)
		return "a slot is free while a durable record names it";
	for (k = i + 1; k < cf->slots; k++)
		if (sl->disk.block && sl->disk.block == s->slot[k].disk.block)
			return "two durable records name one block";
	if ((sl->place == TARGET && !slot_busy(s, i)) || (sl->place == LEFT && !due) ||
	    (sl->place == MAPPED && !sl->core.valid && !due && !slot_busy(s, i)) ||
	    (sl->place == GONE && !(sl->flags & TRIM)))
		return "a slot is lost";
	return NULL;
}

static const char *judge(const struct state *s)
{
	const char *why;
	u32 b, u, i, v;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			v = value_now(s, b, u);
			if (!of_block(v, b))
				return "a read gives what was never written there";
			if (!((s->may[b][u] | in_flight(s, b, u)) >> version_of(v) & 1))
				return "a read gives neither the last acknowledged write nor one in flight";
		}
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type != OP_READ)
			continue;
		for (u = 0; !(o->units >> u & 1); u++)
			;
		v = s->slot[o->slot].now[u];
		if (!of_block(v, o->block))
			return "a read under way gives what was never written there";
		if (!(o->ok >> version_of(v) & 1))
			return "a read under way gives what was out of date when it began";
	}
	for (i = 0; i < cf->slots; i++) {
		why = judge_slot(s, i);
		if (why)
			return why;
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

/* ---- slots ---- */

static void put(struct state *s, u32 slot, u32 unit, u32 value, bool durable)
{
	struct slot *sl = &s->slot[slot];

	sl->keep[unit] = (durable ? 0 : sl->keep[unit]) | 1U << value;
	sl->drop[unit] &= ~(1U << value);
	sl->flush_drop[unit] &= ~(1U << value);
	sl->now[unit] = value;
}

static void set_free(struct state *s, u32 slot)
{
	struct slot *sl = &s->slot[slot];

	sl->place = FREE;
	sl->flags = 0;
	sl->from = 0;
	sl->core = (struct record) { 0 };
}

/* its record is durable and says that it is free */
static void set_gone(struct state *s, u32 slot)
{
	set_free(s, slot);
	if (!(cf->can & CAN_TRIM))
		return;
	s->slot[slot].flags = TRIM;
	if (mutant != M_TRIM_LATE)
		s->slot[slot].place = GONE;
}

static void end_trim(struct state *s, u32 slot)
{
	struct slot *sl = &s->slot[slot];
	u32 u;

	for (u = 0; u < cf->units; u++)
		put(s, slot, u, JUNK, false);
	sl->flags &= ~TRIM;
	if (sl->place == GONE)
		sl->place = FREE;
}

static void slot_update(struct state *s, u32 slot, u32 valid)
{
	struct slot *sl = &s->slot[slot];

	if (sl->core.valid != valid)
		sl->flags |= CHANGED;
	sl->core.valid = valid;
}

/* ---- holds ---- */

enum { H_READ = 1, H_WRITE = 2, H_PAD = 4, H_DISCARD = 8, H_MOVE = 16 };

static u32 hold_of(const struct op *o)
{
	switch (o->type) {
	case OP_WRITE:
		return o->pad && mutant != M_PAD_SHARED ? H_PAD : H_WRITE;
	case OP_READ:
		return H_READ;
	case OP_MOVE:
		return H_MOVE;
	}
	return 0;
}

static bool hold_free(const struct state *s, u32 block, u32 granules, u32 hold)
{
	u32 i, against = 0;

	switch (hold) {
	case H_WRITE:
		against = H_PAD | (mutant == M_MOVE_WRITES ? 0 : H_MOVE);
		break;
	case H_PAD:
		against = H_WRITE | H_PAD | (mutant == M_MOVE_WRITES ? 0 : H_MOVE);
		break;
	case H_DISCARD:
		against = (mutant == M_DISCARD_WRITES ? 0 : H_WRITE | H_PAD) | (mutant == M_MOVE_DISCARDS ? 0 : H_MOVE);
		break;
	case H_MOVE:
		against = H_WRITE | H_PAD | H_MOVE;
		break;
	}
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type && o->block == block && (o->type == OP_MOVE || (touched(o->units) & granules)) &&
		    (hold_of(o) & against))
			return false;
	}
	return true;
}

static int free_op(const struct state *s)
{
	u32 i;

	for (i = 0; i < cf->ops; i++)
		if (!s->op[i].type)
			return i;
	return -1;
}

/* a token that nothing has, or 0 */
static u32 new_token(const struct state *s, u32 block, u32 unit)
{
	u32 used = s->may[block][unit] | s->after[block][unit], t, i;

	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s->op[i];

		if (o->type && o->block == block && (o->units >> unit & 1))
			used |= o->type == OP_READ ? o->ok : 1U << o->version[unit];
	}
	for (t = 1; t <= cf->tokens; t++) {
		for (i = 0; i < cf->slots; i++)
			if (s->slot[i].keep[unit] >> value_of(block, t) & 1)
				break;
		if (i == cf->slots && !(used >> t & 1))
			return t;
	}
	return 0;
}

/* ---- writes ---- */

static bool settled(const struct state *s, u32 slot)
{
	u32 flags = CHANGED | COMMITTING;

	if (mutant == M_FUA_CHANGED)
		flags &= ~CHANGED;
	if (mutant == M_FUA_COMMITTING)
		flags &= ~COMMITTING;
	return !(s->slot[slot].flags & flags);
}

/* a new version for these units is in flight */
static bool take_tokens(struct state *s, struct op *o)
{
	u32 u, i, t;

	for (u = 0; u < cf->units; u++) {
		if (!(o->units >> u & 1))
			continue;
		t = new_token(s, o->block, u);
		if (!t)
			return false;
		o->version[u] = t;
		s->after[o->block][u] |= 1U << t;
		for (i = 0; i < cf->ops; i++)
			if (s->op[i].type == OP_READ && s->op[i].block == o->block && (s->op[i].units >> u & 1))
				s->op[i].ok |= 1U << t;
	}
	return true;
}

static void begin_write(struct search *se, const struct state *old, u32 slot, struct op o)
{
	struct state s = *old;
	u32 mask = touched(o.units);
	struct slot *sl = &s.slot[slot];

	if (sl->place == FREE) {
		sl->place = MAPPED;
		sl->core = (struct record) { .block = o.block + 1 };
	}
	o.slot = slot;
	o.to = NO_SLOT;
	o.pad = mask & ~covered(o.units);
	if (mutant != M_PAD_ALWAYS)
		o.pad &= ~sl->core.valid;
	if (mutant == M_NO_PAD)
		o.pad = 0;
	if (!hold_free(&s, o.block, mask, hold_of(&o)))
		return;
	/* one that has to commit is like a write and a flush */
	if (o.fua && (!settled(&s, slot) || ((mask & ~sl->core.valid) && mutant != M_FUA_INVALID)))
		return;
	if (!take_tokens(&s, &o))
		return;
	if (mutant == M_VALID_EARLY)
		slot_update(&s, slot, sl->core.valid | mask);
	s.op[free_op(&s)] = o;
	emit(se, &s, o.fua ? STEP("FUA write of block %d, units %x, to slot %d begins", o.block, o.units, slot) :
			     STEP("write of block %d, units %x, to slot %d begins", o.block, o.units, slot));
}

static void begin_writes(struct search *se, const struct state *s)
{
	u32 b, units, fua, i, u, slot, kinds = cf->can & CAN_FUA ? 2 : 1;

	for (b = 0; b < cf->blocks; b++)
		for (units = 1; units < 1U << cf->units; units++) {
			if (!(cf->can & CAN_PART) && units_of(touched(units)) != units)
				continue;
			for (u = 0; u < cf->units; u++)
				if ((units >> u & 1) && in_flight(s, b, u))
					break;
			if (u < cf->units)
				continue;	/* not two writes of the same data at once */
			for (fua = 0; fua < kinds; fua++) {
				struct op o = { .type = OP_WRITE, .block = b, .units = units, .fua = fua };

				slot = find_slot(s, b);
				if (slot != NO_SLOT)
					begin_write(se, s, slot, o);
				for (i = 0; slot == NO_SLOT && i < cf->slots; i++)
					if (s->slot[i].place == FREE)
						begin_write(se, s, i, o);
			}
		}
}

static void end_write(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;
	struct op o = s.op[nr];
	u32 u;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	for (u = 0; u < cf->units; u++) {
		if (o.units >> u & 1) {
			put(&s, o.slot, u, value_of(o.block, o.version[u]), o.fua);
			s.may[o.block][u] = 1U << o.version[u];
			if (o.fua)
				s.after[o.block][u] = 1U << o.version[u] | in_flight(&s, o.block, u);
		} else if (has(o.pad, u)) {
			put(&s, o.slot, u, ZERO, false);
		}
	}
	if (!o.fua)
		s.dirtied |= 1U << cf->dev[o.slot];
	if (s.slot[o.slot].place == MAPPED)
		slot_update(&s, o.slot, s.slot[o.slot].core.valid | touched(o.units));
	emit(se, &s, STEP("write of block %d, units %x ends", o.block, o.units));
}

/* ---- reads ---- */

/* what is not valid is answered at once */
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
			u32 slot = find_slot(&s, b);

			if (slot == NO_SLOT || !has(s.slot[slot].core.valid, u))
				continue;
			s.op[free_op(&s)] = (struct op) {
				.type = OP_READ, .block = b, .units = 1U << u, .slot = slot, .to = NO_SLOT,
				.ok = s.may[b][u] | in_flight(&s, b, u)
			};
			emit(se, &s, STEP("read of block %d, unit %d begins", b, u));
		}
}

static void end_read(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	emit(se, &s, STEP("read of block %d ends", old->op[nr].block));
}

/* ---- moves ---- */

static void do_switch(struct state *s, const struct op *o)
{
	struct slot *from = &s->slot[o->slot], *to = &s->slot[o->to];

	to->place = MAPPED;
	to->core.block = o->block + 1;
	to->core.valid = mutant == M_MOVE_DISCARDS ? touched(o->units) : from->core.valid;
	to->flags |= CHANGED;
	to->from = o->slot + 1;
	from->place = LEFT;
	from->core = (struct record) { 0 };
	from->from = 0;
	if (mutant != M_LEFT_UNCHANGED)
		from->flags |= CHANGED;
	if (mutant == M_FREE_AT_SWITCH)
		from->place = FREE;
	if (mutant == M_TRIM_EARLY)
		from->flags |= TRIM;
	if (mutant == M_LIST_EARLY && s->stage == SNAPSHOT)
		s->visited |= 1U << o->slot | 1U << o->to;
}

/* a block whose move is not committed yet is not moved again */
static bool movable(const struct slot *sl)
{
	if (sl->place != MAPPED || !sl->core.valid)
		return false;
	return !sl->from || mutant == M_MOVE_AGAIN || (mutant == M_MOVE_COMMITTING && (sl->flags & COMMITTING));
}

static void begin_moves(struct search *se, const struct state *old)
{
	u32 i, k, u;

	for (i = 0; i < cf->slots; i++) {
		const struct slot *from = &old->slot[i];
		u32 block = from->core.block - 1;

		if (!movable(from) || !hold_free(old, block, all_granules(), H_MOVE))
			continue;
		for (k = 0; k < cf->slots; k++) {
			struct state s = *old;
			struct op o = { .type = OP_MOVE, .block = block, .slot = i, .to = k };

			if (s.slot[k].place != FREE || (cf->dev[k] == cf->dev[i] && !(cf->can & CAN_SETTLE)))
				continue;
			s.slot[k].place = TARGET;
			o.units = units_of(from->core.valid);
			for (u = 0; u < cf->units; u++)
				if (o.units >> u & 1)
					o.version[u] = version_of(from->now[u]);
			if (mutant == M_SWITCH_EARLY) {
				do_switch(&s, &o);
				o.type = OP_STRAY;
			}
			s.op[free_op(&s)] = o;
			emit(se, &s, STEP("move of block %d from slot %d to slot %d begins", block, i, k));
		}
	}
}

static void end_move(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;
	struct op o = s.op[nr];
	u32 u;

	memset(&s.op[nr], 0, sizeof(s.op[nr]));
	for (u = 0; u < cf->units; u++)
		if (o.units >> u & 1)
			put(&s, o.to, u, value_of(o.block, o.version[u]), false);
	if (mutant != M_COPY_UNFLUSHED)
		s.dirtied |= 1U << cf->dev[o.to];
	if (o.type == OP_MOVE)
		do_switch(&s, &o);
	emit(se, &s, STEP("block %d is moved from slot %d to slot %d", o.block, o.slot, o.to));
}

static void cancel_move(struct search *se, const struct state *old, u32 nr)
{
	struct state s = *old;
	u32 to = s.op[nr].to;

	if (mutant == M_CANCEL_EARLY) {
		s.op[nr].type = OP_STRAY;
		s.op[nr].slot = NO_SLOT;
	} else {
		memset(&s.op[nr], 0, sizeof(s.op[nr]));
	}
	if (mutant != M_CANCEL_LEAKS)
		set_free(&s, to);
	emit(se, &s, STEP("move of block %d to slot %d has failed", old->op[nr].block, to));
}

/* ---- discards ---- */

static bool any_changed(const struct state *s)
{
	u32 i;

	for (i = 0; i < cf->slots; i++)
		if (s->slot[i].flags & CHANGED)
			return true;
	return false;
}

static bool commit_pending(const struct state *s)
{
	if (any_changed(s) && mutant != M_FLUSH_CHANGED)
		return true;
	return s->stage != IDLE && mutant != M_FLUSH_COMMITTING;
}

/* like a write of zeros that waits for a commit, unless nothing is to be committed */
static void discards(struct search *se, const struct state *old)
{
	u32 b, gr, u, i;

	if (!(cf->can & CAN_DISCARD))
		return;
	for (b = 0; b < cf->blocks; b++)
		for (gr = 1; gr <= all_granules(); gr++) {
			struct state s = *old;
			u32 slot = find_slot(&s, b);
			bool acked;

			if (!hold_free(&s, b, gr, H_DISCARD))
				continue;
			if (slot != NO_SLOT)
				slot_update(&s, slot, s.slot[slot].core.valid & ~gr);
			acked = !commit_pending(&s) || mutant == M_DISCARD_UNCOMMITTED;
			for (u = 0; u < cf->units; u++) {
				if (!has(gr, u))
					continue;
				s.may[b][u] = 1U << ZERO;
				s.after[b][u] = (acked ? 0 : s.after[b][u]) | 1U << ZERO;
				/* these zeros are new, other than those that may be ruled out */
				s.out[b][u] &= ~(1U << ZERO);
				s.flush_out[b][u] &= ~(1U << ZERO);
				for (i = 0; i < cf->ops; i++)
					if (s.op[i].type == OP_READ && s.op[i].block == b && (s.op[i].units >> u & 1))
						s.op[i].ok |= 1U << ZERO;
			}
			if (slot != NO_SLOT && !s.slot[slot].core.valid &&
			    mutant == (s.slot[slot].from ? M_DISCARD_MOVED : M_REUSE_EARLY))
				set_free(&s, slot);
			emit(se, &s, STEP("discard of block %d, granules %x", b, gr));
		}
}

static void trims(struct search *se, const struct state *old)
{
	u32 i;

	for (i = 0; i < cf->slots; i++) {
		struct state s = *old;

		if (!(s.slot[i].flags & TRIM))
			continue;
		end_trim(&s, i);
		emit(se, &s, STEP("slot %d is discarded", i));
	}
}

/* ---- flushes ---- */

static bool flush_needed(const struct state *s, u32 dev)
{
	return (s->dirtied >> dev & 1) ||
	       (mutant != M_FLUSH_FLUSHING && ((s->flushing >> dev & 1) || s->flush_dev == dev + 1));
}

/* what the device has now is durable when the flush ends */
static void begin_flush(struct state *s, u32 dev, bool commit)
{
	u32 i, u;

	if (mutant != M_DIRTIED_LATE)
		s->dirtied &= ~(1U << dev);
	for (i = 0; i < cf->slots; i++)
		for (u = 0; u < cf->units && cf->dev[i] == dev; u++) {
			struct slot *sl = &s->slot[i];

			*(commit ? &sl->drop[u] : &sl->flush_drop[u]) = sl->keep[u] & ~(1U << sl->now[u]);
		}
}

static void end_flush(struct state *s, u32 dev, bool commit)
{
	u32 i, u;

	if (mutant == M_DIRTIED_LATE)
		s->dirtied &= ~(1U << dev);
	for (i = 0; i < cf->slots; i++)
		for (u = 0; u < cf->units && cf->dev[i] == dev; u++) {
			struct slot *sl = &s->slot[i];
			u16 *drop = commit ? &sl->drop[u] : &sl->flush_drop[u];

			sl->keep[u] &= ~*drop;
			*drop = 0;
			sl->drop[u] &= sl->keep[u];
			sl->flush_drop[u] &= sl->keep[u];
		}
}

/* what a flush that begins now has to rule out when it ends */
static void rule_out(const struct state *s, u8 out[MAX_BLOCKS][MAX_UNITS])
{
	u32 b, u;

	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			out[b][u] = s->after[b][u] & ~s->may[b][u] & ~in_flight(s, b, u);
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
	u32 dev, n = 0, need = 0;

	if (!(cf->can & CAN_FLUSH))
		return;
	if (s.flush_dev) {
		end_flush(&s, s.flush_dev - 1, false);
		s.flush_dev = 0;
		ruled_out(&s, s.flush_out);
		emit(se, &s, STEP("the flush ends", 0));
		s = *old;
	}
	for (dev = 0; dev < MAX_DEVS; dev++)
		if (flush_needed(&s, dev)) {
			need = dev;
			n++;
		}
	if (n > 1 || commit_pending(&s))
		return;
	if (!n) {
		u8 out[MAX_BLOCKS][MAX_UNITS];

		rule_out(&s, out);
		ruled_out(&s, out);
		emit(se, &s, STEP("flush, nothing to do", 0));
		return;
	}
	if (s.flush_dev)
		return;		/* one at a time */
	rule_out(&s, s.flush_out);
	s.flush_dev = need + 1;
	begin_flush(&s, need, false);
	emit(se, &s, STEP("flush of device %d alone begins", need));
}

/* ---- the commit thread ---- */

static void begin_commit(struct state *s)
{
	s->stage = SNAPSHOT;
	s->visited = 0;
	rule_out(s, s->out);
}

static void end_commit(struct state *s, bool written)
{
	if (!written)
		memset(s->out, 0, sizeof(s->out));
	ruled_out(s, s->out);
	s->stage = IDLE;
	s->visited = 0;
	s->more = 0;
}

static u32 nr_committing(const struct state *s)
{
	u32 i, n = 0;

	for (i = 0; i < cf->slots; i++)
		n += !!(s->slot[i].flags & COMMITTING);
	return n;
}

static void take(struct state *s, u32 slot)
{
	struct slot *sl = &s->slot[slot];

	s->visited |= 1U << slot;
	if ((sl->flags & (CHANGED | COMMITTING)) != CHANGED)
		return;
	sl->snapshot = sl->core.valid ? sl->core : (struct record) { 0 };
	sl->flags = (sl->flags & ~CHANGED) | COMMITTING;
}

/*
 * The scan reaches a slot; the two of a move are taken at once.  @leave: a move whose old slot is in this
 * transaction already, with its record from before the switch, is left to the next commit; else the free
 * record takes that one's place.  Return: false if there is no room.
 */
static bool visit(struct state *s, u32 slot, bool leave)
{
	u32 to = slot, from = NO_SLOT, room = cf->part - nr_committing(s);

	if (!(s->slot[slot].flags & CHANGED)) {
		s->visited |= 1U << slot;
		return true;
	}
	if (s->slot[slot].from) {
		from = s->slot[slot].from - 1;
	} else if (moved_to(s, slot) != NO_SLOT) {
		from = slot;
		to = moved_to(s, slot);
	}
	if ((mutant == M_TO_ALONE && slot == to) || (mutant == M_FROM_ALONE && slot == from) ||
	    (mutant == M_PARTS && room == 1)) {
		to = slot;
		from = NO_SLOT;
	}
	if (from != NO_SLOT && (s->slot[from].flags & COMMITTING) && leave) {
		s->visited |= 1U << slot;
		if (mutant == M_SKIP_FORGETS)
			s->slot[slot].flags &= ~CHANGED;
		return true;
	}
	if (room < (from == NO_SLOT || (s->slot[from].flags & COMMITTING) ? 1 : 2))
		return false;
	take(s, to);
	if (from == NO_SLOT)
		return true;
	if (mutant == M_KEEP_LINK || (mutant != M_FROM_COMMITTING && (s->slot[from].flags & COMMITTING))) {
		s->slot[from].snapshot = (struct record) { 0 };
		s->slot[from].flags = (s->slot[from].flags & ~CHANGED) | COMMITTING;
	}
	take(s, from);
	return true;
}

static void after_flush(struct state *s)
{
	if (nr_committing(s))
		s->stage = WRITING;
	else
		end_commit(s, true);
}

static void commit_flush(struct state *s)
{
	u32 dev;

	s->more = s->visited != (1U << cf->slots) - 1;
	for (dev = 0; dev < MAX_DEVS; dev++)
		if (flush_needed(s, dev) && mutant != M_NO_FLUSH) {
			s->flushing |= 1U << dev;
			begin_flush(s, dev, true);
		}
	if (s->flushing)
		s->stage = FLUSHING;
	else
		after_flush(s);
}

static void commit_flushed(struct state *s, u32 dev)
{
	end_flush(s, dev, true);
	s->flushing &= ~(1U << dev);
	if (!s->flushing)
		after_flush(s);
}

static void apply_transaction(struct state *s)
{
	u32 i;

	for (i = 0; i < cf->slots; i++)
		if (s->slot[i].flags & COMMITTING)
			s->slot[i].disk = s->slot[i].snapshot;
}

static void settle(struct state *s, u32 i, bool written)
{
	struct slot *sl = &s->slot[i];
	bool freed = !sl->snapshot.block && !sl->core.valid && !(sl->flags & CHANGED);

	if (!(sl->flags & COMMITTING))
		return;
	if (mutant == M_FREE_USED)
		freed = !sl->snapshot.block;
	if (mutant == M_LEFT_SETTLED && sl->place == LEFT)
		freed = true;
	sl->flags &= ~COMMITTING;
	sl->snapshot = (struct record) { 0 };
	if (!written) {
		sl->flags |= CHANGED;
		if (mutant == M_FAIL_FORGETS)
			sl->from = 0;
		if (mutant == M_MOVE_COMMITTING && sl->place == LEFT && moved_to(s, i) == NO_SLOT)
			sl->flags &= ~CHANGED;
		if (mutant != M_FAIL_FREES)
			return;
	}
	if (mutant != M_KEEP_LINK)
		sl->from = 0;
	if (!freed)
		return;
	if (slot_busy(s, i) && mutant != M_FREE_BUSY)
		sl->flags |= CHANGED;
	else
		set_gone(s, i);
}

static void part_done(struct state *s)
{
	u32 i;

	apply_transaction(s);
	for (i = 0; i < cf->slots; i++)
		settle(s, i, true);
	if (!s->more) {
		end_commit(s, true);
		return;
	}
	if (mutant == M_PART_ENOUGH)
		ruled_out(s, s->out);
	s->more = 0;
	s->stage = SNAPSHOT;
}

/* a device can't be flushed: all that wait are told so, and the next commit tries again */
static void commit_failed(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i, u;

	if (mutant != M_FAIL_CLEAN)
		s.dirtied |= s.flushing;
	s.flushing = 0;
	for (i = 0; i < cf->slots; i++) {
		for (u = 0; u < cf->units; u++)
			s.slot[i].drop[u] = 0;
		settle(&s, i, false);
	}
	end_commit(&s, false);
	emit(se, &s, STEP("a flush, and the commit, fail", 0));
}

static void commit_thread(struct search *se, const struct state *old)
{
	struct state s = *old;
	bool full = false;
	u32 i;

	switch (s.stage) {
	case IDLE:
		/* one that finds nothing to do is a flush that ends at once */
		if (!any_changed(&s) && !s.dirtied)
			return;
		begin_commit(&s);
		emit(se, &s, STEP("a commit begins", 0));
		return;
	case SNAPSHOT:
		/* in any order of slots; each is reached once */
		for (i = 0; i < cf->slots; i++) {
			if (old->visited >> i & 1)
				continue;
			s = *old;
			if (visit(&s, i, false))
				emit(se, &s, STEP("the snapshot reaches slot %d", i));
			else
				full = true;
			s = *old;
			if (visit(&s, i, true))
				emit(se, &s, STEP("the snapshot reaches slot %d, and leaves a move alone", i));
		}
		s = *old;
		if (full || s.visited == (1U << cf->slots) - 1) {
			commit_flush(&s);
			emit(se, &s, STEP("the commit flushes devices %x", s.flushing));
		}
		return;
	case FLUSHING:
		for (i = 0; i < MAX_DEVS; i++)
			if (old->flushing >> i & 1) {
				s = *old;
				commit_flushed(&s, i);
				emit(se, &s, STEP("device %d is flushed", i));
			}
		if (cf->can & CAN_FAIL)
			commit_failed(se, old);
		return;
	case WRITING:
		part_done(&s);
		emit(se, &s, old->more ? STEP("a part of the commit is durable", 0) :
					 STEP("the commit is durable", 0));
		return;
	}
}

/* with nothing else under way, a commit leaves each slot mapped or free */
static void quiesce(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i;

	if (s.stage != IDLE)
		return;
	for (i = 0; i < cf->ops; i++)
		if (s.op[i].type)
			return;
	begin_commit(&s);
	while (s.stage != IDLE) {
		for (i = 0; s.stage == SNAPSHOT && i < cf->slots; i++)
			if (!(s.visited >> i & 1) && !visit(&s, i, false))
				break;
		if (s.stage == SNAPSHOT)
			commit_flush(&s);
		for (i = 0; i < MAX_DEVS; i++)
			if (s.flushing >> i & 1)
				commit_flushed(&s, i);
		if (s.stage == WRITING)
			part_done(&s);
	}
	for (i = 0; i < cf->slots; i++) {
		struct slot *sl = &s.slot[i];

		if (sl->flags & TRIM)
			end_trim(&s, i);
		if (sl->flags || (sl->place != FREE && (sl->place != MAPPED || !sl->core.valid)) ||
		    sl->disk.block != sl->core.block || sl->disk.valid != sl->core.valid) {
			struct key key;

			pack_state(&s, &key);
			search_fail(se, &key, STEP("a commit with nothing else under way", 0),
				    "a commit leaves a slot that is neither mapped nor free");
			return;
		}
	}
}

/* ---- power cuts ---- */

static void recover(struct search *se, const struct state *s, bool written)
{
	struct state n;
	u32 b, u, i, v;

	memset(&n, 0, sizeof(n));
	for (i = 0; i < cf->slots; i++) {
		struct slot *sl = &n.slot[i];

		sl->core = sl->disk = s->slot[i].disk;
		sl->place = sl->disk.block ? MAPPED : FREE;
		memcpy(sl->now, s->slot[i].now, sizeof(sl->now));
		for (u = 0; u < cf->units; u++)
			sl->keep[u] = 1U << sl->now[u];
	}
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++) {
			v = value_now(&n, b, u);
			n.after[b][u] = s->after[b][u];
			if (!of_block(v, b) || !(s->after[b][u] >> version_of(v) & 1)) {
				struct key key;

				memcpy(n.may, s->may, sizeof(n.may));
				pack_state(&n, &key);
				search_fail(se, &key, STEP("power cut, and recovery", 0), !of_block(v, b) ?
					    "after a power cut a read gives what was never written there" :
					    "after a power cut a read gives what was flushed away");
				return;
			}
			n.may[b][u] = n.after[b][u] = 1U << version_of(v);
		}
	emit(se, &n, written ? STEP("power cut, the transaction was written; recovery", 0) :
			       STEP("power cut, and recovery", 0));
}

/* each place keeps one of the things it may have; @at counts places */
static void choose(struct search *se, struct state *s, u32 at, bool written)
{
	struct slot *sl = &s->slot[at / cf->units];
	u32 u = at % cf->units, v, mask;
	u8 now;

	if (at == cf->slots * cf->units) {
		recover(se, s, written);
		return;
	}
	mask = has(sl->disk.valid, u) ? sl->keep[u] : 1U << JUNK;	/* else never read again */
	now = sl->now[u];
	for (v = 0; v <= JUNK; v++)
		if (mask >> v & 1) {
			sl->now[u] = v;
			choose(se, s, at + 1, written);
		}
	sl->now[u] = now;
}

static void power_cut(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i, u;

	/* what is in flight may have arrived */
	for (i = 0; i < cf->ops; i++) {
		const struct op *o = &s.op[i];
		u32 slot = o->type == OP_WRITE ? o->slot : o->to;

		for (u = 0; u < cf->units; u++) {
			if (!o->type || o->type == OP_READ)
				continue;
			if (o->units >> u & 1)
				s.slot[slot].keep[u] |= 1U << value_of(o->block, o->version[u]);
			if (o->type == OP_WRITE && has(o->pad, u))
				s.slot[slot].keep[u] |= 1U << ZERO;
		}
	}
	for (i = 0; i < cf->slots; i++)
		for (u = 0; u < cf->units; u++)
			if (s.slot[i].flags & TRIM)
				s.slot[i].keep[u] |= 1U << JUNK;
	choose(se, &s, 0, false);
	if (s.stage == WRITING) {
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
	quiesce(se, &s);
	power_cut(se, &s);
	commit_thread(se, &s);
	for (i = 0; i < cf->ops; i++)
		switch (s.op[i].type) {
		case OP_WRITE:
			end_write(se, &s, i);
			break;
		case OP_READ:
			end_read(se, &s, i);
			break;
		case OP_MOVE:
			if (cf->can & CAN_FAIL)
				cancel_move(se, &s, i);
			end_move(se, &s, i);
			break;
		case OP_STRAY:
			end_move(se, &s, i);
			break;
		}
	discards(se, &s);
	trims(se, &s);
	flush(se, &s);
	if (free_op(&s) < 0)
		return;
	begin_writes(se, &s);
	begin_reads(se, &s);
	begin_moves(se, &s);
}

static void show_record(const struct record *r)
{
	if (r->block)
		printf("%d:%x", r->block - 1, r->valid);
	else
		printf("-");
}

static void show(const struct key *key)
{
	static const char *const places[] = { "free", "", "target", "left", "gone" };
	struct state s;
	u32 i, b, u;

	unpack_state(key, &s);
	for (i = 0; i < cf->slots; i++) {
		const struct slot *sl = &s.slot[i];

		printf("[%d", cf->dev[i]);
		for (u = 0; u < cf->units; u++)
			printf(" %x(%x)", sl->now[u], sl->keep[u]);
		printf(" %s", places[sl->place]);
		if (sl->place == MAPPED)
			show_record(&sl->core);
		if (sl->from)
			printf(" from %d", sl->from - 1);
		printf("%s%s%s disk ", sl->flags & CHANGED ? " changed" : "",
		       sl->flags & COMMITTING ? " committing" : "", sl->flags & TRIM ? " trim" : "");
		show_record(&sl->disk);
		printf("] ");
	}
	printf("dirtied %x may", s.dirtied);
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			printf(" %x/%x", s.may[b][u], s.after[b][u]);
}

/* ---- what is searched, and which configuration is to catch which mutant ---- */

enum { MOVES, BLOCKS, PARTS, READS, FAILS };

#define CAN_MOST	(CAN_FUA | CAN_FLUSH | CAN_DISCARD | CAN_TRIM | CAN_FAIL)
#define ONE_UNIT	.units = 1, .per_granule = 1

static const struct config configs[] = {
	[MOVES] = {
		"one block, three slots", MODEL_SMALL, .blocks = 1, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
		.ops = 2, .tokens = 2, .part = 4, .can = CAN_FUA | CAN_FLUSH | CAN_DISCARD | CAN_READ | CAN_TRIM },
	[BLOCKS] = {
		"two blocks, a commit in parts", MODEL_SMALL, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
		.ops = 1, .tokens = 2, .part = 2, .can = CAN_DISCARD },
	[PARTS] = {
		"parts of granules", MODEL_SMALL, .blocks = 1, .units = 2, .per_granule = 2, .slots = 2,
		.dev = { 0, 1 }, .ops = 2, .tokens = 2, .part = 4, .can = CAN_PART | CAN_DISCARD },
	[READS] = {
		"reads that take time, flushes", MODEL_SMALL, .blocks = 2, ONE_UNIT, .slots = 2, .dev = { 0, 1 },
		.ops = 2, .tokens = 2, .part = 4, .can = CAN_READ | CAN_DISCARD | CAN_FLUSH | CAN_FUA },
	[FAILS] = {
		"failures", MODEL_SMALL, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
		.ops = 2, .tokens = 2, .part = 2, .can = CAN_FAIL },
	{ "two granules", MODEL_SMALL, .blocks = 1, .units = 2, .per_granule = 1, .slots = 3, .dev = { 0, 0, 1 },
	  .ops = 2, .tokens = 2, .part = 4, .can = CAN_DISCARD },
	{ "moves on one device", MODEL_SMALL, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
	  .ops = 1, .tokens = 2, .part = 2, .can = CAN_DISCARD | CAN_SETTLE },

	{ "moves on one device, most of it", MODEL_BIG, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
	  .ops = 2, .tokens = 2, .part = 2, .can = CAN_DISCARD | CAN_FAIL | CAN_READ | CAN_SETTLE },
	{ "two blocks, most of it", MODEL_BIG, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
	  .ops = 2, .tokens = 2, .part = 2, .can = CAN_MOST },
	{ "two blocks, reads", MODEL_BIG, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
	  .ops = 2, .tokens = 2, .part = 2, .can = CAN_READ | CAN_TRIM | CAN_DISCARD },
	{ "three devices", MODEL_BIG, .blocks = 2, ONE_UNIT, .slots = 3, .dev = { 0, 1, 2 },
	  .ops = 2, .tokens = 3, .part = 2, .can = CAN_DISCARD | CAN_FAIL },
	{ "swap", MODEL_BIG, .blocks = 2, ONE_UNIT, .slots = 4, .dev = { 0, 0, 1, 1 },
	  .ops = 3, .tokens = 2, .part = 2, .can = CAN_FAIL | CAN_FUA | CAN_FLUSH },
	{ "swap, discards", MODEL_BIG, .blocks = 2, ONE_UNIT, .slots = 4, .dev = { 0, 0, 1, 1 },
	  .ops = 3, .tokens = 2, .part = 3, .can = CAN_DISCARD },
	{ "one block, all of it", MODEL_BIG, .blocks = 1, ONE_UNIT, .slots = 4, .dev = { 0, 0, 1, 1 },
	  .ops = 2, .tokens = 2, .part = 2, .can = CAN_MOST | CAN_READ },
	{ "three versions", MODEL_BIG, .blocks = 1, ONE_UNIT, .slots = 3, .dev = { 0, 0, 1 },
	  .ops = 3, .tokens = 3, .part = 2, .can = CAN_MOST | CAN_READ },
	{ "two granules, most of it", MODEL_BIG, .blocks = 1, .units = 2, .per_granule = 1, .slots = 3,
	  .dev = { 0, 0, 1 }, .ops = 2, .tokens = 2, .part = 2, .can = CAN_MOST },
	{ "parts of granules, reads", MODEL_BIG, .blocks = 1, .units = 2, .per_granule = 2, .slots = 3,
	  .dev = { 0, 0, 1 }, .ops = 2, .tokens = 2, .part = 2, .can = CAN_PART | CAN_DISCARD | CAN_READ },
};

static const u8 catches[NR_MUTANTS] = {
	[M_PARTS] = BLOCKS,
	[M_KEEP_LINK] = BLOCKS,
	[M_LEFT_SETTLED] = BLOCKS,
	[M_PART_ENOUGH] = BLOCKS,
	[M_MOVE_COMMITTING] = FAILS,
	[M_DISCARD_WRITES] = PARTS,
	[M_NO_PAD] = PARTS,
	[M_PAD_SHARED] = PARTS,
	[M_PAD_ALWAYS] = PARTS,
	[M_FREE_AT_SWITCH] = READS,
	[M_FAIL_FORGETS] = FAILS,
	[M_FAIL_FREES] = FAILS,
	[M_FAIL_CLEAN] = FAILS,
	[M_CANCEL_LEAKS] = FAILS,
	[M_CANCEL_EARLY] = FAILS,
	/* all others: MOVES */
};

static struct search_result run(u32 config, int mut, u64 max_states, bool trace)
{
	static const struct search_model m = { .expand = expand, .show = show };
	struct perm p = { 0 };
	struct state s;
	struct key key;
	u32 b, u;

	cf = &configs[config];
	mutant = mut < 0 ? M_NONE : mut + 1;
	nr_perms = 0;
	add_perms(&p, 0);
	memset(&s, 0, sizeof(s));
	for (b = 0; b < cf->blocks; b++)
		for (u = 0; u < cf->units; u++)
			s.may[b][u] = s.after[b][u] = 1U << ZERO;
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

const struct model exclusive_model = {
	.name = "exclusive",
	.nr_configs = sizeof(configs) / sizeof(configs[0]),
	.config_name = config_name,
	.config_size = config_size,
	.mutants = mutants + 1,
	.mutant_config = mutant_config,
	.run = run,
};
