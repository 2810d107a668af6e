// SPDX-License-Identifier: GPL-2.0
/*
 * A state judged on paper: what the target would make of it, worked out from docs/format.md with the same
 * reader that the module and the tools use.  Thousands of times faster than to start it.
 */
#include <linux/types.h>
#include <linux/bitops.h>
#include <asm/byteorder.h>
#include <stdlib.h>
#include <string.h>
#include "codec.h"
#include "replay.h"
#define POWERCUT_TYPES
#include "powercut.h"

#define MB	TIER_META_BLOCK_SIZE

struct paper {
	struct tier_sb sb;
	struct tier_record *slots;
	u64 intent[TIER_INTENT_WORDS];
	u32 seed;
	int tiers[MAX_TIERS];
};

static bool read_sb(struct paper *p, const u8 *meta, char *why, size_t size)
{
	struct tier_sb sb[2];
	enum tier_verify v[2];
	const char *text[2] = { "", "" };
	int i;

	v[0] = tier_unpack_sb(meta + TIER_SB_BLOCK_0 * MB, TIER_SB_BLOCK_0, &sb[0], &text[0]);
	v[1] = tier_unpack_sb(meta + TIER_SB_BLOCK_1 * MB, TIER_SB_BLOCK_1, &sb[1], &text[1]);
	i = tier_choose_sb(v[0], &sb[0], v[1], &sb[1]);
	if (i < 0) {
		snprintf(why, size, "no good superblock: %s, %s", text[0], text[1]);
		return false;
	}
	p->sb = sb[i];
	text[0] = tier_geometry_check(&p->sb.geometry);
	if (text[0])
		snprintf(why, size, "superblock: %s", text[0]);
	else if (p->sb.flags & TIER_SB_NEEDS_CHECK)
		snprintf(why, size, "superblock says needs_check");
	else
		return true;
	return false;
}

static const void *page(struct paper *p, const u8 *meta, u32 kind, u64 nr)
{
	const struct tier_geometry *g = &p->sb.geometry;
	const u8 *copy[2];
	u64 seq[2] = { 0, 0 };
	bool good[2];
	int i;

	for (i = 0; i < 2; i++) {
		u64 block = kind == TIER_PAGE_INTENT ? g->intent_start + i : tier_slot_page_block(g, nr, i);

		copy[i] = meta + block * MB;
		good[i] = tier_page_verify(copy[i], p->seed, kind, nr, &seq[i]) == TIER_OK;
	}
	if (good[0] && good[1])
		return copy[seq[1] > seq[0]];
	return good[0] ? copy[0] : good[1] ? copy[1] : NULL;
}

static int apply(void *context, u64 txn, const struct tier_jentry *e)
{
	struct paper *p = context;

	(void)txn;
	if (e->type == TIER_JENTRY_SLOT)
		p->slots[e->key] = e->rec;
	else
		p->intent[e->key] = e->bits;
	return 0;
}

static bool read_metadata(struct paper *p, const u8 *meta, char *why, size_t size)
{
	const struct tier_geometry *g = &p->sb.geometry;
	struct tier_journal_scan scan;
	const char *text = "";
	const void *pg;
	u64 nr, i, s = 0;

	if (!read_sb(p, meta, why, size))
		return false;
	p->seed = tier_csum_seed(p->sb.uuid);
	p->slots = calloc(g->nr_slots, sizeof(*p->slots));
	pg = page(p, meta, TIER_PAGE_INTENT, 0);
	if (!pg) {
		snprintf(why, size, "both intent pages are bad");
		return false;
	}
	for (i = 0; i < TIER_INTENT_WORDS; i++)
		p->intent[i] = le64_to_cpu(((const __le64 *)tier_page_payload((void *)pg))[i]);
	for (nr = 0; nr < g->nr_slot_pages; nr++) {
		pg = page(p, meta, TIER_PAGE_SLOTS, nr);
		if (!pg) {
			snprintf(why, size, "both copies of slot page %llu are bad", (unsigned long long)nr);
			return false;
		}
		for (i = 0; i < tier_slot_page_records(g, nr); i++, s++)
			if (tier_unpack_slot_record(g, tier_to_slot(s), tier_page_record(g, (void *)pg, i), &p->slots[s]) != TIER_OK) {
				snprintf(why, size, "slot %llu has a bad record", (unsigned long long)s);
				return false;
			}
	}
	if (tier_journal_scan(&p->sb, meta + g->journal_start * MB, &scan, &text)) {
		snprintf(why, size, "journal, block %llu: %s", (unsigned long long)scan.bad_block, text);
		return false;
	}
	if (tier_journal_replay(&p->sb, meta + g->journal_start * MB, &scan, apply, p)) {
		snprintf(why, size, "journal has a bad entry");
		return false;
	}
	return true;
}

bool paper_shrunk;	/* the fast device is smaller than the metadata say */
bool paper_new_fast;	/* it is not the one that the records are of */
u64 paper_generation;	/* of the superblock */
u64 changed_generation;	/* the slow device was written to by others after the life with this one; 0: never */
bool paper_changed;	/* so no clean copy is to be believed */

static bool generation_fits(const struct paper *p, const struct tier_dev_header *h)
{
	return h->generation == p->sb.generation ||
	       (h->generation + 1 == p->sb.generation && (p->sb.flags & TIER_SB_ACTIVATING));
}

/* is it the fast device that the records are of, or one that is to be taken in as a new one? */
static bool check_header(struct paper *p, const u8 *fast, char *why, size_t size)
{
	struct tier_dev_header h;
	const char *text = "";
	enum tier_verify v = tier_unpack_dev_header(fast, &h, &text);

	paper_new_fast = false;
	if (v == TIER_OK && generation_fits(p, &h))
		return true;
	paper_new_fast = other_fast && (v == TIER_BLANK || (v == TIER_OK && h.generation < p->sb.generation));
	if (paper_new_fast)
		return true;
	if (v != TIER_OK)
		snprintf(why, size, "fast device's header: %s", text);
	else
		snprintf(why, size, "fast device has generation %llu, metadata %llu", (unsigned long long)h.generation,
			 (unsigned long long)p->sb.generation);
	return false;
}

/* of the slow device; what is as in the image that the state was made from is known from the last time */
static void slow_values(const struct image *state, u64 nr, unsigned long *values)
{
	static unsigned long *known;
	static unsigned long known_parent;
	static u64 known_nr;
	u64 s;

	if (!known)
		known = calloc(max_sectors, sizeof(*known));
	if (known_nr != nr)
		known_parent = 0;
	known_nr = nr;
	for (s = 0; s < nr; s++) {
		bool changed = state->changed[SLOW][s * SECTOR / IMAGE_CHUNK];

		if (!changed && state->parent && known_parent == state->parent && known[s] != (unsigned long)VALUE_BAD - 1)
			values[s] = known[s];
		else
			values[s] = oracle_value(state->mem[SLOW] + s * SECTOR, s);
		if (known_parent != state->parent || !changed)
			known[s] = changed ? (unsigned long)VALUE_BAD - 1 : values[s];
	}
	known_parent = state->parent;
}

u64 paper_differing;	/* sectors of clean copies, in marked regions, that differ from the slow device */
u64 paper_dirty;	/* granules */
u64 paper_used;		/* slots in which anything is left after recovery */
u64 paper_pinned;	/* of them, tiered */
u8 *paper_pins;		/* of each block, tiered: MAY_BE_*, both if it has no slot */

bool paper_other_tiers;	/* the superblock's tiers, or their order, or the length, are not those of the table */
char paper_tiers[MAX_TIERS + 1];	/* the superblock's, as set_tiers() takes them */

/* the device that is a tier of the superblock's, by its header; MAX_DEVS: none */
static int find_tier(const struct paper *p, const struct image *state, u32 i, struct tier_dev_header *h)
{
	const char *text;
	int d;

	for (d = 0; d < nr_devs; d++)
		if (d != META && tier_unpack_dev_header(state->mem[d], h, &text) == TIER_OK &&
		    !memcmp(h->dev_uuid, p->sb.geometry.devs[i].uuid, sizeof(h->dev_uuid)) &&
		    !memcmp(h->uuid, p->sb.uuid, sizeof(h->uuid)))
			return d;
	return MAX_DEVS;
}

/* are all the devices there that the superblock names, and does the table name them? */
static bool check_tiers(struct paper *p, const struct image *state, char *why, size_t size)
{
	const struct tier_geometry *g = &p->sb.geometry;
	struct tier_dev_header h;
	u32 i;

	paper_other_tiers = g->nr_devs != nr_tiers || g->nr_sectors != nr_sectors;
	if (!g->exclusive || g->nr_devs > MAX_TIERS || g->nr_sectors > nr_sectors) {
		snprintf(why, size, "superblock is of another device");
		return false;
	}
	for (i = 0; i < g->nr_devs; i++) {
		bool headless = g->devs[i].flags & TIER_DEV_NO_HEADER;
		int d = headless ? tier_dev[nr_tiers - 1] : find_tier(p, state, i, &h);

		p->tiers[i] = d;
		if (d == MAX_DEVS)
			snprintf(why, size, "tier %u is not there", i);
		else if (!headless && !generation_fits(p, &h))
			snprintf(why, size, "tier %u has generation %llu, metadata %llu", i,
				 (unsigned long long)h.generation, (unsigned long long)p->sb.generation);
		else if (g->devs[i].sectors > dev_size[d] / SECTOR)
			snprintf(why, size, "tier %u is too short", i);
		else
			goto good;
		return false;
good:
		paper_tiers[i] = '0' + d - (d > META);
		paper_other_tiers |= d != tier_dev[i] || (!headless && g->devs[i].nr_slots != h.nr_slots) ||
				     ((dev_size[d] / SECTOR - g->devs[i].data_start) >> g->block_shift) != g->devs[i].nr_slots;
	}
	paper_tiers[i] = 0;
	if (!paper_other_tiers || other_tiers || own_tiers)
		return true;
	snprintf(why, size, "superblock has other tiers than the table");
	return false;
}

/* one block of a tiered device: what its slot holds is all there is */
static const char *tiered_block(const struct paper *p, const struct image *state, u64 slot, unsigned long *values)
{
	const struct tier_geometry *g = &p->sb.geometry;
	const struct tier_record *rec = &p->slots[slot];
	u64 first = tier_from_block(rec->block) << g->block_shift, i;
	u32 tier = tier_slot_dev(g, tier_to_slot(slot));
	const u8 *data;

	if (rec->dirty != rec->valid)
		return "has granules that are valid and not dirty";
	if (tier >= g->nr_devs)
		return "is in a slot of a device that is not there";
	data = state->mem[p->tiers[tier]] + tier_slot_dev_sector(g, tier_to_slot(slot)) * SECTOR;
	for (i = 0; i < g->block_sectors && first + i < g->nr_sectors; i++)
		if (rec->valid >> (i >> g->granule_shift) & 1)
			values[first + i] = oracle_value(data + i * SECTOR, first + i);
	return NULL;
}

/*
 * Of a tiered device.  Each block is in one slot of one device, and sectors of which no record says so are zeros.
 * The superblock of a clean stop or not: it makes no difference.
 */
static int tiered_values(struct paper *p, const struct image *state, unsigned long *values, char *why, size_t size)
{
	const struct tier_geometry *g = &p->sb.geometry;
	bool *mapped;
	int r = -1;
	u64 s;

	if (!check_tiers(p, state, why, size))
		return -1;
	for (s = 0; s < TIER_INTENT_WORDS; s++)
		if (p->intent[s]) {
			snprintf(why, size, "regions of a tiered device are marked");
			return -1;
		}
	if (!paper_pins)
		paper_pins = malloc(max_sectors);
	memset(paper_pins, MAY_BE_LOOSE | MAY_BE_PINNED, max_sectors);
	memset(values, 0, nr_sectors * sizeof(*values));
	mapped = calloc(g->nr_blocks, sizeof(*mapped));
	for (s = 0; s < g->nr_slots; s++) {
		const struct tier_record *rec = &p->slots[s];
		u64 block = tier_from_block(rec->block);
		const char *text;

		if (!(rec->flags & TIER_REC_MAPPED))
			continue;
		text = mapped[block] ? "is in two slots" : tiered_block(p, state, s, values);
		if (text) {
			snprintf(why, size, "block %llu, slot %llu: %s", (unsigned long long)block,
				 (unsigned long long)s, text);
			goto out;
		}
		mapped[block] = true;
		paper_used += !!rec->valid;
		paper_pinned += !!(rec->flags & TIER_REC_PINNED);
		paper_pins[block] = rec->flags & TIER_REC_PINNED ? MAY_BE_PINNED : MAY_BE_LOOSE;
	}
	r = 0;
out:
	free(mapped);
	return r;
}

/**
 * paper_values() - what a state would read as after recovery
 * @state: media
 * @values: result
 * @why: what is wrong
 * @size: of @why
 * @where: the sector concerned
 *
 * Return: 0; -1: it would not start; 1: a copy called clean differs from the slow device; 2: it has to be
 * refused, since dirty data are on another fast device.
 */
int paper_values(const struct image *state, unsigned long *values, char *why, size_t size, unsigned long *where)
{
	struct paper p = { 0 };
	const struct tier_geometry *g = &p.sb.geometry;
	bool *mapped = NULL;
	int r = -1;
	u64 s, slots_now;

	paper_differing = paper_dirty = paper_used = paper_pinned = 0;
	if (!read_metadata(&p, state->mem[META], why, size))
		goto out;
	paper_shrunk = paper_new_fast = paper_changed = paper_other_tiers = false;
	if (nr_tiers) {
		r = tiered_values(&p, state, values, why, size);
		goto out;
	}
	if (!check_header(&p, state->mem[FAST], why, size))
		goto out;
	r = 0;
	if (g->nr_sectors > nr_sectors) {
		snprintf(why, size, "metadata are for %llu sectors", (unsigned long long)g->nr_sectors);
		r = -1;
		goto out;
	}
	paper_generation = p.sb.generation;
	paper_changed = (p.sb.flags & TIER_SB_CLEAN && paper_generation == changed_generation) ||
			(p.sb.flags & TIER_SB_SUSPECT);
	paper_shrunk = g->devs[0].sectors > dev_size[FAST] / SECTOR;
	slots_now = (dev_size[FAST] / SECTOR - g->devs[0].data_start) >> g->block_shift;
	slow_values(state, nr_sectors, values);
	mapped = calloc(g->nr_blocks, sizeof(*mapped));
	for (s = 0; s < g->nr_slots; s++) {
		const struct tier_record *rec = &p.slots[s];
		u64 block = tier_from_block(rec->block), first = block << g->block_shift, i;
		u32 region = tier_block_region(g, rec->block);
		bool marked = paper_changed ||
			      (!(p.sb.flags & TIER_SB_CLEAN) && (p.intent[region / 64] >> region % 64 & 1));
		const u8 *data = state->mem[FAST] + (g->devs[0].data_start + (s << g->block_shift)) * SECTOR;

		if (!(rec->flags & TIER_REC_MAPPED) || !rec->valid)
			continue;
		if (paper_new_fast && rec->dirty) {
			snprintf(why, size, "block %llu is dirty on another fast device", (unsigned long long)block);
			r = 2;
			goto out;
		}
		if (paper_new_fast)
			continue;
		if (mapped[block]) {
			snprintf(why, size, "block %llu is in two slots", (unsigned long long)block);
			r = -1;
			goto out;
		}
		mapped[block] = true;
		paper_dirty += __builtin_popcountll(rec->dirty);
		paper_used += s < slots_now && (rec->dirty || !marked);
		for (i = 0; i < g->block_sectors && first + i < g->nr_sectors; i++) {
			u32 granule = i >> g->granule_shift;
			unsigned long fast;

			if (!(rec->valid >> granule & 1))
				continue;
			fast = oracle_value(data + i * SECTOR, first + i);
			if (marked && !(rec->dirty >> granule & 1)) {
				paper_differing += fast != values[first + i];
				continue;
			}
			if (fast != values[first + i] && !(rec->dirty >> granule & 1) && !r) {
				snprintf(why, size, "granule %u of block %llu is called clean, but sector %llu has version %lld there and %lld on the slow device",
					 granule, (unsigned long long)block, (unsigned long long)(first + i),
					 (long long)fast, (long long)values[first + i]);
				*where = first + i;
				r = 1;
			}
			values[first + i] = fast;
		}
	}
out:
	free(mapped);
	free(p.slots);
	return r;
}
