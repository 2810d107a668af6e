// SPDX-License-Identifier: GPL-2.0
/*
 * The metadata device: journal, pages, superblock: see README.
 *
 * What it has to be for the rest: a log.  A transaction that was acknowledged is there after any power
 * cuts, one in flight is there as a whole or not at all, and nothing else is.
 *
 * Values of a record are tokens; numbers of transactions count from the oldest that can matter.
 */
#include <stdio.h>
#include <string.h>

#include "model.h"

enum { MAX_RING = 5, MAX_PAGES = 2, RECORDS = 2 };

struct config {
	const char *name;
	enum model_size size;
	u32 ring;		/* journal sectors that stand for themselves */
	u32 pages;		/* with RECORDS / pages records each */
	bool short_only;	/* transactions of one sector only */
};

static const struct config *cf;
static int mutant;

#define MUTANTS(M) \
	M(NONE, "none") \
	M(NO_FUA, "the journal is written without FUA") \
	M(BOTH_AT_ONCE, "both copies of a page are written without a flush between") \
	M(BETTER_FIRST, "the better copy of a page is written first") \
	M(NO_PAGE_FLUSH, "the tail moves before the pages are flushed") \
	M(TAIL_FIRST, "the tail moves before the pages are written") \
	M(FREE_EARLY, "the ring is free before the tail has moved") \
	M(FREE_ALL, "a checkpoint frees what was committed while it ran, too") \
	M(NO_ROOM, "a commit does not wait for room in the ring") \
	M(SB_AT_ONCE, "both copies of the superblock are written at once") \
	M(SB_BETTER_FIRST, "the better copy of the superblock is written first") \
	M(BASE_A, "a page is made from copy A, good or not") \
	M(NO_ERASE, "what is there of an incomplete transaction is not erased") \
	M(ANY_SECTOR, "a transaction counts when its first sector is there") \
	M(NO_CHECKSUM, "sectors of two attempts pass for one transaction, and none is erased") \
	M(NO_REPLAY, "the journal is not applied") \
	M(NUMBER_SKIPPED, "a transaction that was cut short keeps its number")

enum {
#define M(id, text) M_##id,
	MUTANTS(M)
#undef M
	NR_MUTANTS
};

/* renaming keeps tokens below this one */
#define FRESH_TOKEN	15U

/* numbers below are told apart only by their order */
#define BASE		4U

struct sector {
	u8 number;		/* 0: old, or blank */
	u8 total, record, attempt, token;
};

struct page {
	u8 bad, seq, token[RECORDS];
};

struct sb {
	u8 bad, seq, tail, tail_block, head;
};

/* each place: what it has, and if that is not durable, what it had */
struct state {
	struct sector ring[MAX_RING], ring_old[MAX_RING];
	struct page page[MAX_PAGES][2], page_old[MAX_PAGES][2];
	struct sb sb[2], sb_old[2];
	u8 ring_cached;		/* bits: places whose content is not durable */
	u8 page_cached, sb_cached;

	/* what the log has to hold, and what it may hold instead */
	u8 value[RECORDS], next_value[RECORDS];

	/* in memory */
	u8 tail_block, used, next;
	u8 writing;		/* sectors of the transaction in flight */
	u8 stage;		/* of checkpoint or recovery */
	u8 range, range_next, good;
	u8 taken[RECORDS];	/* token plus one */
	u8 sb_first;
};

enum {
	LIVE, PAGES_WORSE, PAGES_BETTER, CHECKPOINT_SB, CHECKPOINT_SB_2,
	ERASE, ERASING, RECOVERY_SB, RECOVERY_SB_2,
};

static u32 per_page(void)
{
	return RECORDS / cf->pages;
}

static u32 ring_at(u32 block, u32 n)
{
	return (block + n) % cf->ring;
}

/* ---- packing ---- */

static void code_sector(struct codec *c, struct sector *s)
{
	CODE(4, s->number);
	if (!s->number)
		return;
	CODE(2, s->total);
	CODE(1, s->record);
	CODE(2, s->attempt);
	CODE(4, s->token);
}

static void code_page(struct codec *c, struct page *p)
{
	u32 i;

	CODE(1, p->bad);
	if (p->bad)
		return;
	CODE(4, p->seq);
	for (i = 0; i < per_page(); i++)
		CODE(4, p->token[i]);
}

static void code_sb(struct codec *c, struct sb *s)
{
	CODE(1, s->bad);
	if (s->bad)
		return;
	CODE(3, s->seq);
	CODE(4, s->tail);
	CODE(3, s->tail_block);
	CODE(4, s->head);
}

static void code_state(struct codec *c, struct state *s)
{
	u32 i, k;

	CODE(cf->ring, s->ring_cached);
	CODE(4, s->page_cached);
	CODE(2, s->sb_cached);
	for (i = 0; i < cf->ring; i++) {
		code_sector(c, &s->ring[i]);
		if (s->ring_cached >> i & 1)
			code_sector(c, &s->ring_old[i]);
	}
	for (i = 0; i < cf->pages; i++)
		for (k = 0; k < 2; k++) {
			code_page(c, &s->page[i][k]);
			if (s->page_cached >> (2 * i + k) & 1)
				code_page(c, &s->page_old[i][k]);
		}
	for (k = 0; k < 2; k++) {
		code_sb(c, &s->sb[k]);
		if (s->sb_cached >> k & 1)
			code_sb(c, &s->sb_old[k]);
	}
	for (i = 0; i < RECORDS; i++) {
		CODE(4, s->value[i]);
		CODE(4, s->next_value[i]);
		CODE(5, s->taken[i]);
	}
	CODE(3, s->tail_block);
	CODE(3, s->used);
	CODE(4, s->next);
	CODE(2, s->writing);
	CODE(4, s->stage);
	CODE(3, s->range);
	CODE(4, s->range_next);
	CODE(2, s->good);
	CODE(1, s->sb_first);
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

static void rotate(struct state *s)
{
	struct state o = *s;
	u32 i, by = s->tail_block;

	for (i = 0; i < cf->ring; i++) {
		s->ring[i] = o.ring[ring_at(i, by)];
		s->ring_old[i] = o.ring_old[ring_at(i, by)];
	}
	s->ring_cached = 0;
	for (i = 0; i < cf->ring; i++)
		s->ring_cached |= (o.ring_cached >> ring_at(i, by) & 1) << i;
	for (i = 0; i < 2; i++) {
		s->sb[i].tail_block = ring_at(s->sb[i].tail_block, cf->ring - by);
		s->sb_old[i].tail_block = ring_at(s->sb_old[i].tail_block, cf->ring - by);
	}
	s->tail_block = 0;
}

static void forget_old(struct state *s)
{
	u32 i, k;

	for (i = 0; i < cf->ring; i++)
		if (!(s->ring_cached >> i & 1))
			s->ring_old[i] = (struct sector) { 0 };
	for (i = 0; i < cf->pages; i++)
		for (k = 0; k < 2; k++)
			if (!(s->page_cached >> (2 * i + k) & 1))
				s->page_old[i][k] = (struct page) { .bad = 1 };
	for (k = 0; k < 2; k++)
		if (!(s->sb_cached >> k & 1))
			s->sb_old[k] = (struct sb) { .bad = 1 };
}

/* the lowest tail that could be loaded becomes BASE */
static void renumber(struct state *s)
{
	struct sb *sbs[4] = { &s->sb[0], &s->sb[1], &s->sb_old[0], &s->sb_old[1] };
	u32 low = ~0U, sub, i, k, n, seq;

	for (i = 0; i < 4; i++)
		if (!sbs[i]->bad && sbs[i]->tail < low)
			low = sbs[i]->tail;
	sub = low - BASE;
	for (i = 0; i < 4; i++)
		if (!sbs[i]->bad) {
			sbs[i]->tail -= sub;
			sbs[i]->head = sbs[i]->head >= low ? sbs[i]->head - sub : BASE - 1;
		}
	for (i = 0; i < cf->ring; i++)
		for (k = 0; k < 2; k++) {
			struct sector *r = k ? &s->ring_old[i] : &s->ring[i];

			if (r->number < low)
				*r = (struct sector) { 0 };
			else
				r->number -= sub;
		}
	s->next -= sub;
	if (s->range_next)
		s->range_next -= sub;
	/* pages: what is below keeps its order */
	for (i = 0; i < cf->pages; i++) {
		struct page *p[4] = { &s->page[i][0], &s->page[i][1], &s->page_old[i][0], &s->page_old[i][1] };
		u8 old[4], rank[4];

		for (k = 0; k < 4; k++)
			old[k] = p[k]->seq;
		for (k = 0; k < 4; k++) {
			rank[k] = BASE - 1;
			for (n = 0; n < 4; n++)
				if (!p[n]->bad && old[n] < low && old[n] > old[k])
					rank[k]--;
			if (p[k]->bad)
				*p[k] = (struct page) { .bad = 1 };
			else
				p[k]->seq = old[k] < low ? rank[k] : old[k] - sub;
		}
	}
	for (seq = ~0U, i = 0; i < 4; i++)
		if (!sbs[i]->bad && sbs[i]->seq < seq)
			seq = sbs[i]->seq;
	for (i = 0; i < 4; i++)
		if (sbs[i]->bad)
			*sbs[i] = (struct sb) { .bad = 1 };
		else
			sbs[i]->seq -= seq;
}

static void rename_token(u8 *token, u8 *names, u32 *nr)
{
	u32 i;

	for (i = 0; i < *nr; i++)
		if (names[i] == *token) {
			*token = i;
			return;
		}
	names[*nr] = *token;
	*token = (*nr)++;
}

static void rename_tokens(struct state *s)
{
	u32 r, i, k, n;

	for (r = 0; r < RECORDS; r++) {
		u8 names[32];

		n = 0;
		rename_token(&s->value[r], names, &n);
		rename_token(&s->next_value[r], names, &n);
		for (i = 0; i < cf->ring; i++)
			for (k = 0; k < 2; k++) {
				struct sector *x = k ? &s->ring_old[i] : &s->ring[i];

				if (x->number && x->record == r)
					rename_token(&x->token, names, &n);
			}
		for (k = 0; k < 4; k++) {
			struct page *p = k < 2 ? &s->page[r / per_page()][k] : &s->page_old[r / per_page()][k - 2];

			if (!p->bad)
				rename_token(&p->token[r % per_page()], names, &n);
		}
		if (s->taken[r]) {
			u8 t = s->taken[r] - 1;

			rename_token(&t, names, &n);
			s->taken[r] = t + 1;
		}
	}
}

static void emit(struct search *se, struct state *s, struct step step)
{
	struct key key;

	forget_old(s);
	rotate(s);
	renumber(s);
	rename_tokens(s);
	pack_state(s, &key);
	search_add(se, &key, step);
}

/* ---- load ---- */

struct loaded {
	u32 sb;
	u32 used, next;
	u32 next_block;
	u8 value[RECORDS];
};

/* tier_choose_sb() */
static int choose_sb(const struct state *s)
{
	if (s->sb[0].bad && s->sb[1].bad)
		return -1;
	if (s->sb[0].bad || s->sb[1].bad)
		return s->sb[0].bad ? 1 : 0;
	return s->sb[1].seq > s->sb[0].seq;
}

/* tier_md_choose_copy() */
static int choose_copy(const struct page *copies)
{
	if (copies[0].bad && copies[1].bad)
		return -1;
	if (copies[0].bad || copies[1].bad)
		return copies[0].bad ? 1 : 0;
	return copies[1].seq > copies[0].seq;
}

/* how many sectors the transaction @number takes from @block on; 0: it is not complete */
static u32 complete(const struct state *s, u32 block, u32 number)
{
	const struct sector *first = &s->ring[block], *second = &s->ring[ring_at(block, 1)];

	if (first->number != number || (first->total == 2 && first->record))
		return 0;
	if (first->total == 1 || mutant == M_ANY_SECTOR)
		return first->total;
	if (second->number != number || second->total != 2 || second->record != 1)
		return 0;
	if (second->attempt != first->attempt && mutant != M_NO_CHECKSUM)
		return 0;
	return 2;
}

/* tier_journal_scan() and the load of the pages; NULL or what is wrong */
static const char *load(const struct state *s, struct loaded *l)
{
	const struct sb *sb;
	u32 i, r, n;
	int c;

	memset(l, 0, sizeof(*l));
	c = choose_sb(s);
	if (c < 0)
		return "both copies of the superblock are bad";
	l->sb = c;
	sb = &s->sb[c];
	for (i = 0; i < cf->pages; i++) {
		c = choose_copy(s->page[i]);
		if (c < 0)
			return "both copies of a page are bad";
		for (r = 0; r < per_page(); r++)
			l->value[i * per_page() + r] = s->page[i][c].token[r];
	}
	l->next = sb->tail;
	l->next_block = sb->tail_block;
	while (l->used < cf->ring && (n = complete(s, l->next_block, l->next))) {
		for (i = 0; i < n && mutant != M_NO_REPLAY; i++) {
			const struct sector *x = &s->ring[ring_at(l->next_block, i)];

			if (x->number == l->next)
				l->value[x->record] = x->token;
		}
		l->next_block = ring_at(l->next_block, n);
		l->used += n;
		l->next++;
	}
	for (i = l->used; i < cf->ring; i++) {
		const struct sector *x = &s->ring[ring_at(sb->tail_block, i)];

		if (x->number > l->next)
			return "a transaction is missing before a later one";
		if (x->number == l->next && i != l->used + (x->total == 2 ? x->record : 0))
			return "a sector of the next transaction is in a wrong place";
	}
	n = s->ring[l->next_block].number == l->next ? s->ring[l->next_block].total : 0;
	if (n == 2 && s->ring[ring_at(l->next_block, 1)].number == l->next &&
	    s->ring[ring_at(l->next_block, 1)].total == 2 && mutant != M_NO_CHECKSUM && mutant != M_ANY_SECTOR)
		return "all sectors of a transaction are there, but do not belong together";
	if (l->next <= sb->head)
		return "the journal ends too early";
	return NULL;
}

/* after a power cut: load, and stand where recovery begins */
static void recover(struct search *se, const struct state *old, bool in_flight)
{
	struct step step = STEP("power cut", 0);
	struct state s = *old;
	struct loaded l;
	const char *why;
	struct key key;

	s.ring_cached = s.page_cached = s.sb_cached = 0;
	why = load(&s, &l);
	if (!why && memcmp(l.value, s.value, sizeof(l.value)) &&
	    (!in_flight || memcmp(l.value, s.next_value, sizeof(l.value))))
		why = "what is loaded is neither all that was acknowledged nor that and what was in flight";
	if (why) {
		forget_old(&s);
		pack_state(&s, &key);
		search_fail(se, &key, step, why);
		return;
	}
	memcpy(s.value, l.value, sizeof(s.value));
	memcpy(s.next_value, l.value, sizeof(s.value));
	s.tail_block = s.sb[l.sb].tail_block;
	s.used = l.used;
	s.next = l.next + (mutant == M_NUMBER_SKIPPED && s.ring[l.next_block].number == l.next);
	s.writing = 0;
	s.range = s.range_next = s.good = 0;
	memset(s.taken, 0, sizeof(s.taken));
	s.sb_first = !s.sb[!l.sb].bad && s.sb[!l.sb].seq == s.sb[l.sb].seq ? 0 : !l.sb;
	s.stage = ERASE;
	emit(se, &s, step);
}

/* what was not durable is there, or not, or is spoilt; @at counts places */
static void cut(struct search *se, struct state *s, u32 at, bool in_flight)
{
	u32 nr_pages = 2 * cf->pages;

	if (at == cf->ring + nr_pages + 2) {
		recover(se, s, in_flight);
		return;
	}
	cut(se, s, at + 1, in_flight);
	if (at < cf->ring) {
		struct sector was = s->ring[at];

		if (!(s->ring_cached >> at & 1))
			return;
		s->ring[at] = s->ring_old[at];
		cut(se, s, at + 1, in_flight);
		s->ring[at] = was;
	} else if (at < cf->ring + nr_pages) {
		u32 i = at - cf->ring;
		struct page *p = &s->page[i / 2][i % 2], was = *p;

		if (!(s->page_cached >> i & 1))
			return;
		*p = s->page_old[i / 2][i % 2];
		cut(se, s, at + 1, in_flight);
		*p = (struct page) { .bad = 1 };
		cut(se, s, at + 1, in_flight);
		*p = was;
	} else {
		u32 i = at - cf->ring - nr_pages;
		struct sb was = s->sb[i];

		if (!(s->sb_cached >> i & 1))
			return;
		s->sb[i] = s->sb_old[i];
		cut(se, s, at + 1, in_flight);
		s->sb[i] = (struct sb) { .bad = 1 };
		cut(se, s, at + 1, in_flight);
		s->sb[i] = was;
	}
}

/* ---- writing ---- */

static void write_sector(struct state *s, u32 at, struct sector x)
{
	if (!(s->ring_cached >> at & 1))
		s->ring_old[at] = s->ring[at];
	s->ring_cached |= 1U << at;
	s->ring[at] = x;
}

static void write_page(struct state *s, u32 page, u32 copy, struct page p)
{
	u32 bit = 1U << (2 * page + copy);

	if (!(s->page_cached & bit))
		s->page_old[page][copy] = s->page[page][copy];
	s->page_cached |= bit;
	s->page[page][copy] = p;
}

static void flush(struct state *s)
{
	s->page_cached = 0;
	s->ring_cached &= mutant == M_NO_FUA && !s->writing && s->stage != ERASING ? 0 : s->ring_cached;
}

/* tier_metadata_commit() */
static void commit(struct search *se, const struct state *old)
{
	u32 what, total, i, k, head = ring_at(old->tail_block, old->used);

	for (what = 1; what < 4; what++) {
		struct state s = *old;
		u32 attempt = 0;

		total = what == 3 ? 2 : 1;
		if (total == 2 && cf->short_only)
			continue;
		if (s.used + total >= cf->ring && mutant != M_NO_ROOM)
			continue;
		for (k = 0; k < cf->ring; k++)
			for (i = 0; i < cf->ring; i++)
				if (s.ring[i].number == s.next && s.ring[i].attempt == attempt)
					attempt++;
		if (attempt > 3)
			continue;
		memcpy(s.next_value, s.value, sizeof(s.value));
		for (i = 0; i < total; i++) {
			u32 r = total == 2 ? i : what - 1;

			s.next_value[r] = FRESH_TOKEN;
			write_sector(&s, ring_at(head, i), (struct sector) {
				.number = s.next, .total = total, .record = r, .attempt = attempt,
				.token = s.next_value[r] });
		}
		s.writing = total;
		emit(se, &s, STEP("transaction %d of %d sectors is being written", s.next, total));
	}
}

/* publish_txn() */
static void commit_done(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i, head = ring_at(s.tail_block, s.used);

	for (i = 0; i < s.writing && mutant != M_NO_FUA; i++)
		s.ring_cached &= ~(1U << ring_at(head, i));
	s.used += s.writing;
	s.writing = 0;
	s.next++;
	memcpy(s.value, s.next_value, sizeof(s.value));
	emit(se, &s, STEP("it is acknowledged", 0));
}

/* __tier_md_write_sb(), a copy at a time */
static void sb_begin(struct state *s, u32 stage, u32 tail, u32 tail_block, u32 head)
{
	u32 first = s->sb_first, newer = s->sb[0].bad || (!s->sb[1].bad && s->sb[1].seq > s->sb[0].seq);
	struct sb n = { .tail = tail, .tail_block = tail_block, .head = head };

	if (mutant == M_SB_BETTER_FIRST)
		s->sb_first = first = newer;
	n.seq = s->sb[newer].seq + 1;
	if (mutant != M_NO_PAGE_FLUSH && mutant != M_TAIL_FIRST)
		flush(s);
	s->sb_old[first] = s->sb[first];
	s->sb[first] = n;
	s->sb_cached |= 1U << first;
	if (mutant == M_SB_AT_ONCE) {
		s->sb_old[!first] = s->sb[!first];
		s->sb[!first] = n;
		s->sb_cached |= 1U << !first;
	}
	s->stage = stage;
}

static void sb_second(struct state *s, u32 stage)
{
	u32 first = s->sb_first;

	s->sb_cached &= ~(1U << first);
	s->sb_old[!first] = s->sb[!first];
	s->sb[!first] = s->sb[first];
	s->sb_cached |= 1U << !first;
	s->stage = stage;
}

static void sb_done(struct state *s)
{
	s->sb_cached = 0;
	s->sb_first = 0;
	s->stage = LIVE;
}

/* tier_md_collect(): the newest record of each in the range */
static void collect(struct state *s)
{
	u32 i;

	memset(s->taken, 0, sizeof(s->taken));
	for (i = 0; i < s->used; i++) {
		const struct sector *x = &s->ring[ring_at(s->tail_block, i)];

		s->taken[x->record] = x->token + 1;
	}
	s->range = s->used;
	s->range_next = s->next;
}

static bool page_taken(const struct state *s, u32 page)
{
	u32 r;

	for (r = 0; r < per_page(); r++)
		if (s->taken[page * per_page() + r])
			return true;
	return false;
}

static void write_pages(struct state *s)
{
	u32 i, r;
	int good;

	s->good = 0;
	for (i = 0; i < cf->pages; i++) {
		struct page p;

		if (!page_taken(s, i))
			continue;
		good = choose_copy(s->page[i]);
		if (mutant == M_BASE_A)
			good = 0;
		p = s->page[i][good];
		p.bad = 0;
		for (r = 0; r < per_page(); r++)
			if (s->taken[i * per_page() + r])
				p.token[r] = s->taken[i * per_page() + r] - 1;
		if (s->range_next - 1U > p.seq)
			p.seq = s->range_next - 1;
		if (mutant == M_BETTER_FIRST)
			good = !good;
		s->good |= good << i;
		write_page(s, i, !good, p);
		if (mutant == M_BOTH_AT_ONCE)
			write_page(s, i, good, p);
	}
}

/* __checkpoint() */
static void checkpoint(struct search *se, const struct state *old)
{
	struct state s = *old;
	u32 i;

	switch (s.stage) {
	case LIVE:
		if (!s.used)
			return;
		collect(&s);
		if (mutant == M_FREE_EARLY) {
			s.tail_block = ring_at(s.tail_block, s.range);
			s.used -= s.range;
		}
		if (mutant == M_TAIL_FIRST) {
			sb_begin(&s, CHECKPOINT_SB, s.range_next, ring_at(s.tail_block, s.range), s.next - 1);
			emit(se, &s, STEP("the tail moves", 0));
			return;
		}
		write_pages(&s);
		s.stage = PAGES_WORSE;
		emit(se, &s, STEP("a checkpoint up to %d writes the worse copies", s.range_next - 1));
		return;
	case PAGES_WORSE:
		flush(&s);
		for (i = 0; i < cf->pages; i++)
			if (page_taken(&s, i))
				write_page(&s, i, s.good >> i & 1, s.page[i][!(s.good >> i & 1)]);
		s.stage = PAGES_BETTER;
		emit(se, &s, STEP("flushed; the checkpoint writes the other copies", 0));
		return;
	case PAGES_BETTER:
		if (mutant != M_NO_PAGE_FLUSH)
			flush(&s);
		if (mutant == M_TAIL_FIRST) {
			s.stage = LIVE;
			break;
		}
		if (mutant == M_FREE_EARLY)
			sb_begin(&s, CHECKPOINT_SB, s.range_next, s.tail_block, s.next - 1);
		else
			sb_begin(&s, CHECKPOINT_SB, s.range_next, ring_at(s.tail_block, s.range), s.next - 1);
		emit(se, &s, STEP("flushed; the tail moves to %d", s.range_next));
		return;
	case CHECKPOINT_SB:
		sb_second(&s, CHECKPOINT_SB_2);
		emit(se, &s, STEP("the second superblock is being written", 0));
		return;
	case CHECKPOINT_SB_2:
		sb_done(&s);
		if (mutant == M_TAIL_FIRST) {
			write_pages(&s);
			s.stage = PAGES_WORSE;
			emit(se, &s, STEP("the checkpoint writes the worse copies", 0));
			return;
		}
		break;
	}
	if (mutant == M_FREE_ALL) {
		s.range = s.used;
	}
	if (mutant != M_FREE_EARLY) {
		s.tail_block = ring_at(s.tail_block, s.range);
		s.used -= s.range;
	}
	s.range = s.range_next = s.good = 0;
	memset(s.taken, 0, sizeof(s.taken));
	emit(se, &s, STEP("the checkpoint ends", 0));
}

/* tier_md_erase_torn(), then the activation's superblock */
static void recovery(struct search *se, const struct state *old)
{
	struct state s = *old;
	struct sb *sb = &s.sb[s.sb[0].bad || (!s.sb[1].bad && s.sb[1].seq > s.sb[0].seq)];
	u32 i, at;

	switch (s.stage) {
	case ERASING:
		s.ring_cached = 0;
		/* fall through */
	case ERASE:
		for (i = s.used; i < cf->ring && mutant != M_NO_ERASE && mutant != M_NO_CHECKSUM &&
		     mutant != M_NUMBER_SKIPPED; i++) {
			at = ring_at(s.tail_block, i);
			if (s.ring[at].number < s.next)
				continue;
			write_sector(&s, at, (struct sector) { 0 });
			s.stage = ERASING;
			emit(se, &s, STEP("a sector is being erased", 0));
			return;
		}
		sb_begin(&s, RECOVERY_SB, sb->tail, sb->tail_block, sb->head);
		emit(se, &s, STEP("activation: the first superblock is being written", 0));
		return;
	case RECOVERY_SB:
		sb_second(&s, RECOVERY_SB_2);
		emit(se, &s, STEP("activation: the second superblock is being written", 0));
		return;
	case RECOVERY_SB_2:
		sb_done(&s);
		emit(se, &s, STEP("live", 0));
		return;
	}
}

static void expand(struct search *se, const struct key *key)
{
	struct state s;

	unpack_state(key, &s);
	forget_old(&s);
	cut(se, &s, 0, s.writing);
	if (s.stage >= ERASE) {
		recovery(se, &s);
		return;
	}
	if (s.writing)
		commit_done(se, &s);
	else
		commit(se, &s);
	checkpoint(se, &s);
}

static void show_sector(const struct sector *x)
{
	if (x->number)
		printf("%d.%d/%d=%d", x->number, x->total == 2 ? x->record : 0, x->total, x->token);
	else
		printf("-");
}

static void show_page(const struct page *p)
{
	if (p->bad)
		printf("bad");
	else
		printf("%d:%d,%d", p->seq, p->token[0], p->token[1]);
}

static void show_sb(const struct sb *s)
{
	if (s->bad)
		printf("bad");
	else
		printf("%d:%d@%d", s->seq, s->tail, s->tail_block);
}

static void show(const struct key *key)
{
	struct state s;
	u32 i, k;

	unpack_state(key, &s);
	printf("ring");
	for (i = 0; i < cf->ring; i++) {
		printf(" ");
		show_sector(&s.ring[i]);
		if (s.ring_cached >> i & 1) {
			printf("<-");
			show_sector(&s.ring_old[i]);
		}
	}
	for (i = 0; i < cf->pages; i++) {
		printf(" page");
		for (k = 0; k < 2; k++) {
			printf(" ");
			show_page(&s.page[i][k]);
			if (s.page_cached >> (2 * i + k) & 1) {
				printf("<-");
				show_page(&s.page_old[i][k]);
			}
		}
	}
	printf(" superblock");
	for (k = 0; k < 2; k++) {
		printf(" ");
		show_sb(&s.sb[k]);
		if (s.sb_cached >> k & 1) {
			printf("<-");
			show_sb(&s.sb_old[k]);
		}
	}
	printf(" tail %d used %d next %d values %d,%d or %d,%d", s.tail_block, s.used, s.next, s.value[0], s.value[1],
	       s.next_value[0], s.next_value[1]);
}

static const struct config configs[] = {
	{ "one page", MODEL_SMALL, .ring = 4, .pages = 1 },
	{ "two pages", MODEL_SMALL, .ring = 3, .pages = 2 },
	{ "a longer ring", MODEL_BIG, .ring = 5, .pages = 1 },
	{ "a longer ring, two pages", MODEL_BIG, .ring = 5, .pages = 2 },
};

static struct search_result run(u32 config, int mut, u64 max_states, bool trace)
{
	static const struct search_model m = { .expand = expand, .show = show };
	struct state s;
	struct key key;
	u32 i, k;

	cf = &configs[config];
	mutant = mut < 0 ? M_NONE : mut + 1;
	memset(&s, 0, sizeof(s));
	for (k = 0; k < 2; k++)
		s.sb[k] = (struct sb) { .seq = k, .tail = BASE, .head = BASE - 1 };
	for (i = 0; i < cf->pages; i++)
		for (k = 0; k < 2; k++)
			s.page[i][k].seq = BASE - 1;
	s.next = BASE;
	forget_old(&s);
	pack_state(&s, &key);
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
	(void)m;
	return 0;
}

static const char *const mutants[] = {
#define M(id, text) [M_##id] = text,
	MUTANTS(M)
#undef M
	NULL
};

const struct model metadata_model = {
	.name = "metadata",
	.nr_configs = sizeof(configs) / sizeof(configs[0]),
	.config_name = config_name,
	.config_size = config_size,
	.mutants = mutants + 1,
	.mutant_config = mutant_config,
	.run = run,
};
