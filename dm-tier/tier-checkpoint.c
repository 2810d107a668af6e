// SPDX-License-Identifier: GPL-2.0
/*
 * Checkpoint: bring what the journal holds into the pages, so that its space is free again.
 *
 *	take the range	all transactions committed so far
 *	collect		the newest record of each slot, sorted by slot
 *	rounds		of up to 64 pages that have new records, or a bad copy:
 *		read		both copies of each
 *		apply		the records to the newer good copy
 *		write		over the worse copies; flush; over the other copies; flush
 *	superblock	the tail moves behind the range
 *	free		the range
 *
 * It runs on a work queue while commits go on: those write only to the free part of the ring.
 * Its memory is allocated at load.
 */
#include <linux/bitmap.h>
#include <linux/sched/mm.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "tier-metadata-internal.h"

/*
 * Collecting
 *
 * A key: slot in bits 32 to 63, then the place of the entry in the range: sector and entry in
 * it.  So keys sort by slot, and older before newer.
 */

#define KEY_ENTRY_BITS		5U
#define KEY_PLACE_MASK		0xffffffffULL

static_assert(TIER_JOURNAL_ENTRIES_16 <= (1U << KEY_ENTRY_BITS));
static_assert((u64)TIER_MAX_JOURNAL_BLOCKS * TIER_JOURNAL_SECTORS_PER_BLOCK << KEY_ENTRY_BITS <=
	      KEY_PLACE_MASK);

static u64 make_key(u32 slot, u32 sector, u32 entry)
{
	return (u64)slot << 32 | sector << KEY_ENTRY_BITS | entry;
}

/* Sector number @sector of the range; its ring block goes to @block. */
static const void *range_sector(struct tier_metadata *md, const struct tier_ring_range *range,
				u32 sector, u32 *block)
{
	*block = tier_ring_add(md, range->block, sector / TIER_JOURNAL_SECTORS_PER_BLOCK);
	return md->ring + (size_t)*block * TIER_META_BLOCK_SIZE +
	       sector % TIER_JOURNAL_SECTORS_PER_BLOCK * TIER_JOURNAL_SECTOR;
}

static int bad_sector(struct tier_metadata *md, u32 block, u32 sector, enum tier_verify v)
{
	DMERR("%s: journal (metadata block %llu, sector %u): %s", md->name,
	      tier_md_geometry(md)->journal_start + block,
	      sector % TIER_JOURNAL_SECTORS_PER_BLOCK, tier_verify_text(v));
	return -EILSEQ;
}

int tier_md_key_entry(struct tier_metadata *md, u64 key, struct tier_jentry *e)
{
	u32 place = key & KEY_PLACE_MASK;
	u32 sector = place >> KEY_ENTRY_BITS;
	enum tier_verify v;
	const void *buf;
	u32 block;

	buf = range_sector(md, &md->keys_range, sector, &block);
	v = tier_jsector_entry(tier_md_geometry(md), buf, place & ((1U << KEY_ENTRY_BITS) - 1), e);
	return v == TIER_OK ? 0 : bad_sector(md, block, sector, v);
}

static int collect_entry(struct tier_metadata *md, const struct tier_jentry *e, u32 sector, u32 i)
{
	switch (e->type) {
	case TIER_JENTRY_SLOT:
		md->keys[md->nr_keys++] = make_key(e->key, sector, i);
		return 0;
	case TIER_JENTRY_INTENT:
		if (e->key >= TIER_INTENT_WORDS)
			return -EILSEQ;
		md->ckpt_intent[e->key] = e->bits;
		__set_bit(e->key, md->ckpt_intent_set);
		return 0;
	}
	return -EILSEQ;
}

static int collect_sector(struct tier_metadata *md, const struct tier_ring_range *range, u32 sector)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	struct tier_jhead head;
	struct tier_jentry e;
	enum tier_verify v;
	const void *buf;
	u32 block, i;

	lockdep_assert_held(&md->ckpt_lock);

	buf = range_sector(md, range, sector, &block);
	v = tier_jsector_verify(g, buf, md->csum_seed, block, &head);
	for (i = 0; v == TIER_OK && i < head.nr; i++) {
		v = tier_jsector_entry(g, buf, i, &e);
		if (v == TIER_OK && collect_entry(md, &e, sector, i))
			v = TIER_INVALID;
	}
	return v == TIER_OK ? 0 : bad_sector(md, block, sector, v);
}

static int compare_keys(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a;
	const u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Keep the last of each slot's keys. */
static void drop_older(struct tier_metadata *md)
{
	u32 i, kept = 0;

	for (i = 0; i < md->nr_keys; i++) {
		if (i + 1 < md->nr_keys &&
		    tier_key_slot(md->keys[i]) == tier_key_slot(md->keys[i + 1]))
			continue;
		md->keys[kept++] = md->keys[i];
	}
	md->nr_keys = kept;
}

int tier_md_collect(struct tier_metadata *md, const struct tier_ring_range *range)
{
	u32 i;
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	md->keys_range = *range;
	md->nr_keys = 0;
	bitmap_zero(md->ckpt_intent_set, TIER_INTENT_WORDS);
	for (i = 0; i < range->nr * TIER_JOURNAL_SECTORS_PER_BLOCK; i++) {
		r = collect_sector(md, range, i);
		if (r)
			return r;
		cond_resched();
	}
	sort(md->keys, md->nr_keys, sizeof(*md->keys), compare_keys, NULL);
	drop_older(md);
	return 0;
}

/*
 * Choosing the pages of a round
 */

/**
 * struct cursor - how far the rounds of a checkpoint have got
 * @key: next key
 * @repair: slot pages below are done
 * @intent: the intent page is still to do
 */
struct cursor {
	u32 key;
	u32 repair;
	bool intent;
};

#define NO_PAGE		U32_MAX

static u32 key_page(struct tier_metadata *md, u32 key)
{
	if (key >= md->nr_keys)
		return NO_PAGE;
	return tier_key_slot(md->keys[key]) / tier_md_geometry(md)->records_per_page;
}

static u32 repair_page(struct tier_metadata *md, u32 from)
{
	u32 page;

	lockdep_assert_held(&md->ckpt_lock);

	if (!md->repair || from >= md->repair_pages)
		return NO_PAGE;
	page = find_next_bit(md->repair, md->repair_pages, from);
	return page < md->repair_pages ? page : NO_PAGE;
}

/* The next page that has work, with its keys; false if there is none. */
static bool next_page(struct tier_metadata *md, struct cursor *c, struct tier_ckpt_page *p)
{
	if (c->intent) {
		c->intent = false;
		*p = (struct tier_ckpt_page) { .kind = TIER_PAGE_INTENT };
		return true;
	}
	p->kind = TIER_PAGE_SLOTS;
	p->page = min(key_page(md, c->key), repair_page(md, c->repair));
	if (p->page == NO_PAGE)
		return false;
	p->first_key = c->key;
	while (key_page(md, c->key) == p->page)
		c->key++;
	p->end_key = c->key;
	c->repair = p->page + 1;
	return true;
}

static u32 gather_round(struct tier_metadata *md, struct cursor *c)
{
	u32 nr = 0;

	while (nr < TIER_ROUND_PAGES && next_page(md, c, &md->round[nr]))
		nr++;
	return nr;
}

/*
 * A round
 */

static void *copy_buf(struct tier_metadata *md, u32 i, unsigned int copy)
{
	return md->pages[copy] + (size_t)i * TIER_META_BLOCK_SIZE;
}

static struct dm_io_region page_region(struct tier_metadata *md, const struct tier_ckpt_page *p,
				       unsigned int copy)
{
	return tier_md_region(md, tier_md_page_block(md, p->kind, p->page, copy), 1);
}

/* A copy that can't be read comes back all zero, which is a bad copy: no error here. */
static void read_round(struct tier_metadata *md, u32 nr)
{
	struct tier_batch b;
	unsigned int copy;
	u32 i;

	tier_batch_start(&b, md->io);
	for (i = 0; i < nr; i++) {
		for (copy = 0; copy < 2; copy++) {
			struct dm_io_region where = page_region(md, &md->round[i], copy);

			tier_batch_add(&b, &md->ios[2 * i + copy], REQ_OP_READ | REQ_META, &where,
				       copy_buf(md, i, copy));
		}
	}
	tier_batch_wait(&b);
}

static void apply_intent(struct tier_metadata *md, void *page)
{
	__le64 *words = tier_page_payload(page);
	u32 i;

	for_each_set_bit(i, md->ckpt_intent_set, TIER_INTENT_WORDS)
		words[i] = cpu_to_le64(md->ckpt_intent[i]);
}

static int apply_records(struct tier_metadata *md, const struct tier_ckpt_page *p, void *page)
{
	const struct tier_geometry *g = tier_md_geometry(md);
	struct tier_jentry e;
	u32 k;
	int r;

	for (k = p->first_key; k < p->end_key; k++) {
		r = tier_md_key_entry(md, md->keys[k], &e);
		if (r)
			return r;
		tier_pack_record(g, &e.rec, tier_page_record(g, page, e.key % g->records_per_page));
	}
	return 0;
}

/*
 * The new content is made in the good copy's buffer.  Its sequence number may be newer than the
 * records: they were in it already, and applying them again, all of them and in order, changes
 * nothing.
 */
static int apply_page(struct tier_metadata *md, u32 i, u64 last_txn)
{
	struct tier_ckpt_page *p = &md->round[i];
	void *copies[2] = { copy_buf(md, i, 0), copy_buf(md, i, 1) };
	unsigned int bad;
	u64 seq;
	int r;

	r = tier_md_choose_copy(md, p->kind, p->page, copies, &seq, &bad);
	if (r < 0)
		return r;
	p->good = r;
	if (p->kind == TIER_PAGE_INTENT) {
		apply_intent(md, copies[p->good]);
	} else {
		r = apply_records(md, p, copies[p->good]);
		if (r)
			return r;
		/* a change of size that was cut short may have left another number */
		tier_page_set_nr(copies[p->good], tier_slot_page_records(tier_md_geometry(md), p->page));
	}
	tier_page_seal(copies[p->good], md->csum_seed, max(seq, last_txn));
	return 0;
}

static int apply_round(struct tier_metadata *md, u32 nr, u64 last_txn)
{
	u32 i;
	int r;

	for (i = 0; i < nr; i++) {
		r = apply_page(md, i, last_txn);
		if (r)
			return r;
	}
	return 0;
}

/* Write the new content over one copy of each page, and make it durable. */
static int write_round(struct tier_metadata *md, u32 nr, bool over_good)
{
	struct tier_batch b;
	u32 i;
	int r;

	tier_batch_start(&b, md->io);
	for (i = 0; i < nr; i++) {
		struct tier_ckpt_page *p = &md->round[i];
		struct dm_io_region where = page_region(md, p, over_good ? p->good : !p->good);

		tier_batch_add(&b, &md->ios[i], REQ_OP_WRITE | REQ_META, &where,
			       copy_buf(md, i, p->good));
	}
	r = tier_batch_wait(&b);
	return r ? r : tier_md_flush(md);
}

static void round_repaired(struct tier_metadata *md, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (md->round[i].kind == TIER_PAGE_INTENT)
			md->repair_intent = false;
		else if (md->repair)
			__clear_bit(md->round[i].page, md->repair);
	}
}

static int run_round(struct tier_metadata *md, u32 nr, u64 last_txn)
{
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	read_round(md, nr);
	r = apply_round(md, nr, last_txn);
	if (r)
		return tier_md_fail(md, "a page cannot be brought up to date", r);
	r = write_round(md, nr, false);
	if (!r)
		r = write_round(md, nr, true);
	if (r)
		return tier_md_fail(md, "writing pages failed", r);
	round_repaired(md, nr);
	return 0;
}

/*
 * The whole
 */

static int write_pages(struct tier_metadata *md, u64 last_txn)
{
	struct cursor c = {
		.intent = md->repair_intent ||
			  !bitmap_empty(md->ckpt_intent_set, TIER_INTENT_WORDS),
	};
	u32 nr;
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	while ((nr = gather_round(md, &c))) {
		if (tier_md_failed(md))
			return -EIO;
		r = run_round(md, nr, last_txn);
		if (r)
			return r;
	}
	return 0;
}

/* The pages hold everything before @next_txn. */
static int write_tail(struct tier_metadata *md, const struct tier_ring_range *range, u64 next_txn)
{
	u64 last_txn = tier_md_last_txn(md);
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	mutex_lock(&md->sb_lock);
	md->sb_next = md->sb;
	md->sb_next.tail_txn = next_txn;
	md->sb_next.tail_block = tier_ring_add(md, range->block, range->nr);
	md->sb_next.head_txn = last_txn;
	r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);

	return r ? tier_md_fail(md, "writing the superblock failed", r) : 0;
}

static void free_range(struct tier_metadata *md, const struct tier_ring_range *range)
{
	spin_lock(&md->lock);
	md->tail_block = tier_ring_add(md, range->block, range->nr);
	md->used_blocks -= range->nr;
	md->checkpoints++;
	spin_unlock(&md->lock);

	wake_up_all(&md->space);
}

static bool needs_repair(struct tier_metadata *md)
{
	lockdep_assert_held(&md->ckpt_lock);

	return md->repair_intent || repair_page(md, 0) != NO_PAGE;
}

static int __checkpoint(struct tier_metadata *md)
{
	struct tier_ring_range range;
	u64 next_txn;
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	if (tier_md_failed(md))
		return -EIO;
	range = tier_md_used_range(md, &next_txn);
	if (!range.nr && !needs_repair(md))
		return 0;
	r = tier_md_collect(md, &range);
	if (r)
		return tier_md_fail(md, "the journal's image is damaged", r);
	r = write_pages(md, next_txn - 1);
	if (r)
		return r;
	r = write_tail(md, &range, next_txn);
	if (r)
		return r;
	free_range(md, &range);
	return 0;
}

int tier_metadata_checkpoint(struct tier_metadata *md)
{
	unsigned int noio;
	int r;

	if (WARN_ON_ONCE(md->state == TIER_MD_OPENED))
		return -EINVAL;
	mutex_lock(&md->ckpt_lock);
	noio = memalloc_noio_save();
	r = __checkpoint(md);
	memalloc_noio_restore(noio);
	mutex_unlock(&md->ckpt_lock);
	return r;
}

/* An error has been logged and recorded; who waits for room sees it. */
void tier_md_checkpoint_work(struct work_struct *work)
{
	tier_metadata_checkpoint(container_of(work, struct tier_metadata, ckpt_work));
}

bool tier_md_checkpoint_due(struct tier_metadata *md)
{
	struct tier_ring_range range;
	u64 next_txn;
	bool due;

	mutex_lock(&md->ckpt_lock);
	range = tier_md_used_range(md, &next_txn);
	due = range.nr > md->ring_blocks / 2 || needs_repair(md);
	mutex_unlock(&md->ckpt_lock);
	return due;
}
