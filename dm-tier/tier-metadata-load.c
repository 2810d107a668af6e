// SPDX-License-Identifier: GPL-2.0
/*
 * Load: everything that is read once.
 *
 *	allocate	the ring's image, and what commits and checkpoints need later
 *	journal		read it, find its complete transactions, collect the newest records
 *	intent page	and the journal's intent words over it
 *	slot pages	group by group, merged with the sorted records of the journal
 *	hint pages	if they belong to the policy asked for
 *
 * A page whose one copy is bad is remembered, the first checkpoint repairs it.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "core/replay.h"
#include "tier-metadata-internal.h"

/*
 * Pages
 */

static const char *page_kind_name(u32 kind)
{
	switch (kind) {
	case TIER_PAGE_SLOTS:
		return "slot";
	case TIER_PAGE_INTENT:
		return "intent";
	}
	return "hint";
}

u64 tier_md_page_block(struct tier_metadata *md, u32 kind, u64 page, unsigned int copy)
{
	const struct tier_geometry *g = tier_md_geometry(md);

	if (kind == TIER_PAGE_INTENT)
		return g->intent_start + copy;
	return tier_slot_page_block(g, page, copy);
}

u32 tier_md_group_pages(const struct tier_geometry *g, u32 kind)
{
	if (kind == TIER_PAGE_SLOTS)
		return TIER_GROUP_PAGES;
	if (g->record_bytes == sizeof(struct tier_disk_record16))
		return TIER_HINT_PAGES_16;
	return TIER_HINT_PAGES_32;
}

int tier_md_choose_copy(struct tier_metadata *md, u32 kind, u64 page, void *const copies[2],
			u64 *seq, unsigned int *bad)
{
	u64 seqs[2] = { 0, 0 };
	enum tier_verify v[2];
	unsigned int copy;
	int good;

	for (copy = 0; copy < 2; copy++)
		v[copy] = tier_page_verify(copies[copy], md->csum_seed, kind, page, &seqs[copy]);
	*bad = (v[0] != TIER_OK) + (v[1] != TIER_OK);
	if (*bad == 2) {
		DMERR("%s: both copies of %s page %llu are bad (metadata block %llu: %s, %llu: %s)",
		      md->name, page_kind_name(kind), page, tier_md_page_block(md, kind, page, 0),
		      tier_verify_text(v[0]), tier_md_page_block(md, kind, page, 1),
		      tier_verify_text(v[1]));
		return -EILSEQ;
	}
	good = v[0] != TIER_OK || (v[1] == TIER_OK && seqs[1] > seqs[0]);
	*seq = seqs[good];
	if (*bad)
		DMWARN_LIMIT("%s: %s page %llu: the copy in metadata block %llu is bad (%s)",
			     md->name, page_kind_name(kind), page,
			     tier_md_page_block(md, kind, page, !good), tier_verify_text(v[!good]));
	return good;
}

/*
 * Allocation
 */

static int alloc_journal(struct tier_metadata *md)
{
	const struct tier_geometry *g = tier_md_geometry(md);

	md->ring_blocks = g->journal_blocks;
	md->ring = vzalloc((size_t)md->ring_blocks * TIER_META_BLOCK_SIZE);
	md->keys = vmalloc(array3_size(md->ring_blocks * TIER_JOURNAL_SECTORS_PER_BLOCK,
				       g->entries_per_jsector, sizeof(*md->keys)));
	return md->ring && md->keys ? 0 : -ENOMEM;
}

/* A quarter of the ring at most, so that a checkpoint always finds something to free. */
static int alloc_txn(struct tier_metadata *md)
{
	u32 blocks = min(md->ring_blocks / 4, TIER_MAX_TXN_BLOCKS);

	md->txn_capacity = blocks * TIER_JOURNAL_SECTORS_PER_BLOCK *
			   tier_md_geometry(md)->entries_per_jsector;
	md->txn_buf = vzalloc((size_t)blocks * TIER_META_BLOCK_SIZE);
	return md->txn_buf ? 0 : -ENOMEM;
}

static int alloc_checkpoint(struct tier_metadata *md)
{
	md->pages[0] = vmalloc((size_t)TIER_ROUND_PAGES * TIER_META_BLOCK_SIZE);
	md->pages[1] = vmalloc((size_t)TIER_ROUND_PAGES * TIER_META_BLOCK_SIZE);
	md->ios = kvcalloc(2 * TIER_ROUND_PAGES, sizeof(*md->ios), GFP_KERNEL);
	md->repair_pages = tier_md_geometry(md)->nr_slot_pages;
	md->repair = kvcalloc(BITS_TO_LONGS(md->repair_pages), sizeof(long), GFP_KERNEL);
	md->wq = alloc_workqueue("tier-checkpoint", WQ_MEM_RECLAIM | WQ_UNBOUND, 1);
	return md->pages[0] && md->pages[1] && md->ios && md->repair && md->wq ? 0 : -ENOMEM;
}

static int alloc_all(struct tier_metadata *md)
{
	int r = alloc_journal(md);

	if (!r)
		r = alloc_txn(md);
	if (!r)
		r = alloc_checkpoint(md);
	return r;
}

/*
 * Journal
 */

static void set_ring(struct tier_metadata *md, const struct tier_journal_scan *scan)
{
	spin_lock(&md->lock);
	md->tail_block = md->sb.tail_block;
	md->head_block = scan->next_block;
	md->used_blocks = scan->used_blocks;
	md->next_txn = scan->next_txn;
	spin_unlock(&md->lock);
}

/* Blocks that can't be read are damaged ones after a clean stop, see tier_journal_scan(). */
static int read_ring(struct tier_metadata *md)
{
	u64 start = tier_md_geometry(md)->journal_start;
	int r;

	if (md->sb.flags & TIER_SB_CLEAN) {
		tier_md_read_run(md, start, md->ring_blocks, md->ring);
		return 0;
	}
	r = tier_md_rw(md, REQ_OP_READ, start, md->ring_blocks, md->ring);
	if (r)
		DMERR("%s: cannot read the journal: error %d", md->name, r);
	return r;
}

static int load_journal(struct tier_metadata *md)
{
	struct tier_journal_scan scan;
	struct tier_ring_range range;
	const char *why = NULL;
	u64 bad_block;
	int r;

	r = read_ring(md);
	if (r)
		return r;
	r = tier_journal_scan(&md->sb, md->ring, &scan, &why);
	bad_block = tier_md_geometry(md)->journal_start + scan.bad_block;
	if (r) {
		DMERR("%s: journal is damaged (metadata block %llu, sector %u): %s", md->name,
		      bad_block, scan.bad_sector, why);
		return r;
	}
	if (scan.renew)
		DMWARN("%s: journal is damaged (metadata block %llu, sector %u): %s; after a clean stop nothing of it is needed",
		       md->name, bad_block, scan.bad_sector, why);
	md->renew_ring = scan.renew;
	if (scan.torn_sectors)
		DMWARN("%s: transaction %llu, the last, is incomplete (%u sectors) and ignored",
		       md->name, scan.next_txn, scan.torn_sectors);
	set_ring(md, &scan);
	range = (struct tier_ring_range) { .block = md->sb.tail_block, .nr = scan.used_blocks };
	return tier_md_collect(md, &range);
}

/*
 * Intent page
 */

static int load_intent(struct tier_metadata *md)
{
	void *copies[2] = { md->pages[0], md->pages[1] };
	const __le64 *words;
	unsigned int bad;
	u64 seq;
	int r;
	u32 i;

	/* the copies are neighbours, but belong into different buffers */
	tier_md_read_run(md, tier_md_page_block(md, TIER_PAGE_INTENT, 0, 0), 1, copies[0]);
	tier_md_read_run(md, tier_md_page_block(md, TIER_PAGE_INTENT, 0, 1), 1, copies[1]);
	r = tier_md_choose_copy(md, TIER_PAGE_INTENT, 0, copies, &seq, &bad);
	if (r < 0)
		return r;
	md->repair_intent = bad;
	words = tier_page_payload(copies[r]);
	for (i = 0; i < TIER_INTENT_WORDS; i++)
		md->intent[i] = le64_to_cpu(words[i]);
	for_each_set_bit(i, md->ckpt_intent_set, TIER_INTENT_WORDS)
		md->intent[i] = md->ckpt_intent[i];
	return 0;
}

/*
 * Slot pages
 */

/**
 * struct load - a load under way
 * @md: metadata
 * @ops: for what is found
 * @context: for @ops
 * @key: next of the journal's keys
 * @mapped: bit for each mapped slot; NULL if there are no hints to load
 */
struct load {
	struct tier_metadata *md;
	const struct tier_metadata_load_ops *ops;
	void *context;
	u32 key;
	unsigned long *mapped;
};

/* The newest record of a slot: the journal's, else the page's. */
static int newest_record(struct load *l, u32 slot, const void *on_page, struct tier_record *rec)
{
	struct tier_metadata *md = l->md;
	enum tier_verify v;

	if (l->key < md->nr_keys && tier_key_slot(md->keys[l->key]) == slot) {
		struct tier_jentry e;
		int r = tier_md_key_entry(md, md->keys[l->key++], &e);

		*rec = e.rec;
		return r;
	}
	v = tier_unpack_slot_record(tier_md_geometry(md), tier_to_slot(slot), on_page, rec);
	if (v == TIER_OK)
		return 0;
	DMERR("%s: record of slot %u: %s", md->name, slot, tier_verify_text(v));
	return -EILSEQ;
}

static int load_records(struct load *l, u32 page, void *buf)
{
	const struct tier_geometry *g = tier_md_geometry(l->md);
	u32 i, nr = tier_slot_page_records(g, page);
	u32 slot = page * g->records_per_page;
	struct tier_record rec;
	int r;

	for (i = 0; i < nr; i++, slot++) {
		r = newest_record(l, slot, tier_page_record(g, buf, i), &rec);
		if (r)
			return r;
		if (!(rec.flags & TIER_REC_MAPPED))
			continue;
		if (l->mapped)
			__set_bit(slot, l->mapped);
		r = l->ops->slot(l->context, tier_to_slot(slot), &rec);
		if (r)
			return r;
	}
	return 0;
}

/* Page number @i of those in the buffers. */
static int load_slot_page(struct load *l, u32 page, u32 i)
{
	struct tier_metadata *md = l->md;
	size_t offset = (size_t)i * TIER_META_BLOCK_SIZE;
	void *copies[2] = { md->pages[0] + offset, md->pages[1] + offset };
	unsigned int bad;
	u64 seq;
	int r;

	r = tier_md_choose_copy(md, TIER_PAGE_SLOTS, page, copies, &seq, &bad);
	if (r < 0)
		return r;
	if (bad)
		__set_bit(page, md->repair);
	return load_records(l, page, copies[r]);
}

static int load_slots(struct load *l)
{
	struct tier_metadata *md = l->md;
	const struct tier_geometry *g = tier_md_geometry(md);
	u32 page, i, nr, end = g->nr_slot_pages;
	int r;

	for (page = 0; page < end; page += nr) {
		nr = min(end - page, TIER_GROUP_PAGES);
		tier_md_read_run(md, tier_slot_page_block(g, page, 0), nr, md->pages[0]);
		tier_md_read_run(md, tier_slot_page_block(g, page, 1), nr, md->pages[1]);
		for (i = 0; i < nr; i++) {
			r = load_slot_page(l, page + i, i);
			if (r)
				return r;
			cond_resched();
		}
	}
	return 0;
}

/*
 * Hints
 */

static bool has_hints(struct tier_metadata *md, const char *policy)
{
	const struct tier_sb *sb = &md->sb;

	return policy && (sb->flags & TIER_SB_CLEAN) && sb->hint_seq &&
	       !strncmp(policy, sb->policy, sizeof(sb->policy));
}

static void load_hint_page(struct load *l, u32 page, const void *buf)
{
	struct tier_metadata *md = l->md;
	u64 first = (u64)page * TIER_HINTS_PER_PAGE;
	u64 end = min(first + TIER_HINTS_PER_PAGE, tier_md_geometry(md)->nr_slots);
	const __le32 *hints = buf + sizeof(struct tier_disk_page);
	u64 slot, seq = 0;
	bool good;

	good = tier_page_verify(buf, md->csum_seed, TIER_PAGE_HINTS, page, &seq) == TIER_OK &&
	       seq == md->sb.hint_seq;
	if (!good)
		DMWARN_LIMIT("%s: hint page %u is bad, its hints are lost", md->name, page);
	for (slot = first; slot < end; slot++)
		if (test_bit(slot, l->mapped))
			l->ops->hint(l->context, tier_to_slot(slot),
				     good ? le32_to_cpu(hints[slot - first]) : 0);
}

static void load_hints(struct load *l)
{
	struct tier_metadata *md = l->md;
	const struct tier_geometry *g = tier_md_geometry(md);
	u32 group = tier_md_group_pages(g, TIER_PAGE_HINTS);
	u32 page, i, nr, end = tier_nr_hint_pages(g);

	for (page = 0; page < end; page += nr) {
		nr = min(end - page, group);
		tier_md_read_run(md, tier_hint_page_block(g, page), nr, md->pages[0]);
		for (i = 0; i < nr; i++)
			load_hint_page(l, page + i,
				       md->pages[0] + (size_t)i * TIER_META_BLOCK_SIZE);
		cond_resched();
	}
}

/*
 * The whole
 */

static int __load(struct load *l, const char *policy)
{
	struct tier_metadata *md = l->md;
	int r;

	lockdep_assert_held(&md->ckpt_lock);

	r = alloc_all(md);
	if (r)
		return r;
	if (has_hints(md, policy)) {
		l->mapped = kvcalloc(BITS_TO_LONGS(tier_md_geometry(md)->nr_slots), sizeof(long),
				     GFP_KERNEL);
		if (!l->mapped)
			return -ENOMEM;
	}
	r = load_journal(md);
	if (!r)
		r = load_intent(md);
	if (!r)
		r = load_slots(l);
	if (!r && l->mapped)
		load_hints(l);
	return r;
}

int tier_metadata_load(struct tier_metadata *md, const char *policy,
		       const struct tier_metadata_load_ops *ops, void *context, u64 *intent)
{
	struct load l = { .md = md, .ops = ops, .context = context };
	int r;

	if (WARN_ON_ONCE(md->state != TIER_MD_OPENED || md->ring))
		return -EINVAL;
	mutex_lock(&md->ckpt_lock);
	r = __load(&l, policy);
	mutex_unlock(&md->ckpt_lock);
	kvfree(l.mapped);
	if (r)
		return r;
	memcpy(intent, md->intent, sizeof(md->intent));
	md->state = TIER_MD_LOADED;
	return 0;
}
