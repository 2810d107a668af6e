// SPDX-License-Identifier: GPL-2.0
/*
 * Made-up workloads.  Each has one property that tells policies apart, named beside it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "workload.h"

#define PAGE_SECTORS	8U
#define CHUNK_SECTORS	512U	/* 256 KiB */
#define MIB_SECTORS	2048U
#define GAP_US		5000U

/* Numbers 0 to nr - 1 with probabilities as 1/rank^s, ranks scattered at random */
struct zipf {
	u32 nr;
	double *sum;
	u32 *place;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static u64 next_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static u32 below(u64 *state, u32 n)
{
	return (next_random(state) >> 32) * n >> 32;
}

static void zipf_exit(struct zipf *z)
{
	free(z->sum);
	free(z->place);
	memset(z, 0, sizeof(*z));
}

static int zipf_init(struct zipf *z, u32 nr, double s, u64 *seed)
{
	double sum = 0;
	u32 i, j, k;

	z->nr = nr;
	z->sum = malloc(nr * sizeof(*z->sum));
	z->place = malloc(nr * sizeof(*z->place));
	if (!z->sum || !z->place) {
		zipf_exit(z);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		sum += pow(i + 1, -s);
		z->sum[i] = sum;
		z->place[i] = i;
	}
	for (i = nr - 1; i; i--) {
		j = below(seed, i + 1);
		k = z->place[i];
		z->place[i] = z->place[j];
		z->place[j] = k;
	}
	return 0;
}

static u32 zipf_next(const struct zipf *z, u64 *seed)
{
	double x = ldexp(next_random(seed) >> 11, -53) * z->sum[z->nr - 1];
	u32 low = 0, high = z->nr - 1, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (z->sum[mid] < x)
			low = mid + 1;
		else
			high = mid;
	}
	return z->place[low];
}

/*
 * The request after the last one of the trace, about @gap_us later.  Callers draw numbers before they call, one in a
 * statement: the order in which arguments are evaluated is the compiler's.
 */
static int add(struct sim_trace *t, u64 *seed, u32 gap_us, bool write, u64 sector, u32 sectors)
{
	u64 last = t->nr ? t->request[t->nr - 1].time_us : 0;

	return sim_trace_add(t, last + below(seed, 2 * gap_us), write, sector, sectors);
}

/* A page in the first quarter of a chunk chosen by @z; @base: first sector of all chunks */
static int add_page(struct sim_trace *t, u64 *seed, const struct zipf *z, u64 base, u32 percent_writes)
{
	bool write = below(seed, 100) < percent_writes;

	base += (u64)zipf_next(z, seed) * CHUNK_SECTORS;
	base += below(seed, 16) * PAGE_SECTORS;
	return add(t, seed, GAP_US, write, base, PAGE_SECTORS);
}

/* Neighbours are not worth reading. */
static int add_pages(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	struct zipf z;
	u64 page;
	int r = zipf_init(&z, mib * (MIB_SECTORS / PAGE_SECTORS), 1.1, &seed);

	if (r)
		return r;
	while (nr-- && !r) {
		page = zipf_next(&z, &seed);
		r = add(t, &seed, GAP_US, false, page * PAGE_SECTORS, PAGE_SECTORS);
	}
	zipf_exit(&z);
	return r;
}

/* Neighbours are: files of 64 to 256 KiB, read in pieces of 4 to 16 KiB in any order. */
static int add_files(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	u32 pieces = 0, pages = 0, len, page;
	struct zipf z;
	u64 chunk = 0;
	bool write;
	int r = zipf_init(&z, mib * (MIB_SECTORS / CHUNK_SECTORS), 0.8, &seed);

	if (r)
		return r;
	while (nr-- && !r) {
		if (!pieces--) {
			chunk = zipf_next(&z, &seed);
			pages = 16 << chunk % 3;
			pieces = pages / 4;
		}
		len = 1 << below(&seed, 3);
		write = below(&seed, 10) == 0;
		page = below(&seed, pages - len + 1);
		r = add(t, &seed, GAP_US, write, chunk * CHUNK_SECTORS + page * PAGE_SECTORS, len * PAGE_SECTORS);
	}
	zipf_exit(&z);
	return r;
}

/* 60 % on a hot sixteenth, 40 % an endless sequential read of everything: resist the scan. */
static int add_scan(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	u64 end = (u64)mib * MIB_SECTORS, hot = end / 2 & ~(u64)(CHUNK_SECTORS - 1), pos = 0;
	struct zipf z;
	int r = zipf_init(&z, mib * (MIB_SECTORS / CHUNK_SECTORS) / 16, 0.9, &seed);

	if (r)
		return r;
	while (nr-- && !r) {
		if (below(&seed, 10) < 6) {
			r = add_page(t, &seed, &z, hot, 30);
		} else {
			r = add(t, &seed, GAP_US, false, pos, CHUNK_SECTORS / 2);
			pos = (pos + CHUNK_SECTORS / 2) % end;
		}
	}
	zipf_exit(&z);
	return r;
}

/* A third: a log of a sixteenth of the area, written round and round; else zipf: keep the log. */
static int add_log(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	u64 log = (u64)mib * MIB_SECTORS / 16, pos = 0;
	struct zipf z;
	int r = zipf_init(&z, mib * (MIB_SECTORS / CHUNK_SECTORS) / 4, 0.9, &seed);

	if (r)
		return r;
	while (nr-- && !r) {
		if (below(&seed, 3) == 0) {
			r = add(t, &seed, GAP_US, true, pos, 4 * PAGE_SECTORS);
			pos = (pos + 4 * PAGE_SECTORS) % log;
		} else {
			r = add_page(t, &seed, &z, log, 0);
		}
	}
	zipf_exit(&z);
	return r;
}

/* Half zipf on a tenth, half pages anywhere in four times the area: don't admit those. */
static int add_noise(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	u32 area = mib * (MIB_SECTORS / PAGE_SECTORS);
	struct zipf z;
	bool write;
	u64 page;
	int r = zipf_init(&z, mib * (MIB_SECTORS / CHUNK_SECTORS) / 10, 1.0, &seed);

	if (r)
		return r;
	while (nr-- && !r) {
		if (below(&seed, 2)) {
			r = add_page(t, &seed, &z, 0, 30);
		} else {
			write = below(&seed, 10) >= 7;
			page = area + below(&seed, 4 * area);
			r = add(t, &seed, GAP_US, write, page * PAGE_SECTORS, PAGE_SECTORS);
		}
	}
	zipf_exit(&z);
	return r;
}

/*
 * The same chunks in the same order again and again, a fifth of the area; every tenth request is a page of the
 * rest: keep a part and stay with it.
 */
static int add_loop(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	u32 chunks = mib * (MIB_SECTORS / CHUNK_SECTORS), pages = CHUNK_SECTORS / PAGE_SECTORS;
	u32 turn = chunks / 5, step = 7, at = 0;
	bool write;
	u64 page;
	int r = 0;

	/* any step that has no divisor in common with it makes a cycle of all */
	while (turn % step == 0)
		step += 2;
	while (nr-- && !r) {
		if (below(&seed, 10)) {
			r = add(t, &seed, GAP_US, false, (u64)at * CHUNK_SECTORS, CHUNK_SECTORS / 4);
			at = (at + step) % turn;
		} else {
			write = below(&seed, 2);
			page = turn * pages + below(&seed, (chunks - turn) * pages);
			r = add(t, &seed, GAP_US, write, page * PAGE_SECTORS, PAGE_SECTORS);
		}
	}
	return r;
}

/* Mailboxes of 1 MiB behind one another, and an index behind them. */
struct mail {
	struct zipf box;
	struct zipf index;
	u32 nr_boxes;
	u32 *end;		/* of each box, in pages: it goes round */
};

#define BOX_PAGES	(MIB_SECTORS / PAGE_SECTORS)

/* one of the last 16 messages, or before them */
static int add_reading(struct sim_trace *t, u64 *seed, const struct mail *m, u32 box)
{
	u64 page = (m->end[box] + BOX_PAGES - 2 - below(seed, 16)) % (BOX_PAGES - 1);

	return add(t, seed, GAP_US, false, (u64)box * MIB_SECTORS + page * PAGE_SECTORS, 2 * PAGE_SECTORS);
}

static int add_delivery(struct sim_trace *t, u64 *seed, const struct mail *m, u32 box)
{
	u64 page = m->end[box];

	m->end[box] = (m->end[box] + 2) % BOX_PAGES;
	return add(t, seed, GAP_US, true, (u64)box * MIB_SECTORS + page * PAGE_SECTORS, 2 * PAGE_SECTORS);
}

static int add_search(struct sim_trace *t, u64 *seed, u32 box)
{
	int r = 0;
	u32 i;

	for (i = 0; i < 16 && !r; i++)
		r = add(t, seed, GAP_US / 8, false, (u64)box * MIB_SECTORS + i * (MIB_SECTORS / 16),
			MIB_SECTORS / 16);
	return r;
}

static int add_index(struct sim_trace *t, u64 *seed, const struct mail *m)
{
	bool write = below(seed, 2);
	u64 page = zipf_next(&m->index, seed);

	return add(t, seed, GAP_US, write, (u64)m->nr_boxes * MIB_SECTORS + page * PAGE_SECTORS, PAGE_SECTORS);
}

/*
 * Some boxes are much busier than others: mail is delivered at the end of one, the newest is read soon, and now and
 * then a whole box is searched; the index is read and written all the time.
 */
static int add_mail(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	struct mail m = { .nr_boxes = mib - mib / 16 };
	u32 box, what, i;
	int r;

	m.end = calloc(m.nr_boxes, sizeof(*m.end));
	r = m.end ? zipf_init(&m.box, m.nr_boxes, 0.9, &seed) : -ENOMEM;
	if (!r)
		r = zipf_init(&m.index, mib / 16 * BOX_PAGES, 0.9, &seed);
	for (i = 0; i < nr && !r; i++) {
		box = zipf_next(&m.box, &seed);
		what = below(&seed, 1000);
		if (what < 400)
			r = add_index(t, &seed, &m);
		else if (what < 600)
			r = add_delivery(t, &seed, &m, box);
		else if (what < 995)
			r = add_reading(t, &seed, &m, box);
		else
			r = add_search(t, &seed, box);
	}
	zipf_exit(&m.index);
	zipf_exit(&m.box);
	free(m.end);
	return r;
}

/* Three times: a day of zipf(1.0) on an eighth, and a night in which all is read once: forget the night. */
static int add_backup(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	u32 chunks = mib * (MIB_SECTORS / CHUNK_SECTORS), day = nr / 3 > chunks ? nr / 3 - chunks : nr / 6, i, night;
	struct zipf z;
	int r = zipf_init(&z, chunks / 8, 1.0, &seed);

	if (r)
		return r;
	for (night = 0; night < 3 && !r; night++) {
		for (i = 0; i < day && !r; i++)
			r = add_page(t, &seed, &z, 0, 30);
		for (i = 0; i < chunks && !r; i++)
			r = add(t, &seed, GAP_US / 4, false, (u64)i * CHUNK_SECTORS, CHUNK_SECTORS);
	}
	zipf_exit(&z);
	return r;
}

/* Keep what is used most. */
static int add_zipf(struct sim_trace *t, u64 seed, u32 nr, u32 mib)
{
	struct zipf z;
	int r = zipf_init(&z, mib * (MIB_SECTORS / CHUNK_SECTORS), 0.9, &seed);

	if (r)
		return r;
	while (nr-- && !r)
		r = add_page(t, &seed, &z, 0, 30);
	zipf_exit(&z);
	return r;
}

const struct workload workloads[] = {
	{ "zipf", "pages in the first quarter of 256 KiB chunks by zipf(0.9), 30 % writes", add_zipf },
	{ "loop", "90 % a cycle over a fifth of the area, 10 % pages of the rest", add_loop },
	{ "mail", "mailboxes: delivered to, read at their ends, searched; and an index", add_mail },
	{ "backup", "three days of zipf(1.0) on an eighth, each with a sequential read of all", add_backup },
	{ "pages", "zipf(1.1) reads of 4 KiB pages scattered at random", add_pages },
	{ "files", "files of 64 to 256 KiB by zipf(0.8), read in small pieces in any order",
	  add_files },
	{ "scan", "60 % zipf(0.9) on a sixteenth, 40 % endless sequential read", add_scan },
	{ "log", "a third circular log writes, else zipf(0.9) reads", add_log },
	{ "noise", "half zipf(1.0) on a tenth, half uniform pages in four times the area",
	  add_noise },
	{ NULL, NULL, NULL },
};

int workload_add(struct sim_trace *t, const char *name, u64 seed, u32 nr, u32 mib)
{
	const struct workload *w;

	if (mib < 16)
		return -EINVAL;
	for (w = workloads; w->name; w++)
		if (!strcmp(w->name, name))
			return w->add(t, seed, nr, mib);
	return -ENOENT;
}
