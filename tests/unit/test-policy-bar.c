// SPDX-License-Identifier: GPL-2.0
/*
 * What each policy is there for, on made-up workloads: a change that loses it fails here.
 *
 * The yardstick is smq, the policy of dm-cache in Linux 6.1: compiled in userspace, it replayed the same traces in
 * the same way, all blocks all or nothing, resident 20 ms after they were admitted.  These workloads hardly change,
 * which is what smq is best at; how much better the others are on traces of real systems is in docs/policies.md,
 * and tests/bench/policies measures it.
 */
#include <errno.h>
#include <math.h>
#include "sim/cache.h"
#include "tap.h"
#include "text.h"
#include "workload.h"

#define REQUESTS	60000
#define MIB		256
#define DELAY_MS	20
#define NR_CELLS	6

/* share of the footprint, in blocks of this size */
static const struct {
	u32 block_kib;
	u32 percent;
} cells[NR_CELLS] = { { 64, 5 }, { 64, 10 }, { 64, 20 }, { 256, 5 }, { 256, 10 }, { 256, 20 } };

/* smq's hits in % and insertions in 1000 accesses, by cell */
static const struct yardstick {
	const char *workload;
	double hit[NR_CELLS];
	double inserted[NR_CELLS];
} smq[] = {
	{ "zipf", { 36.3, 51.0, 61.0, 36.3, 51.0, 61.0 }, { 2.4, 4.7, 9.1, 2.4, 4.7, 9.1 } },
	{ "loop", { 54.6, 79.6, 84.5, 20.8, 39.0, 69.5 }, { 8.0, 15.9, 28.7, 3.0, 6.1, 10.6 } },
	{ "mail", { 24.7, 38.6, 60.0, 25.4, 40.5, 61.7 }, { 5.6, 11.5, 23.5, 1.1, 2.6, 5.3 } },
	{ "backup", { 78.2, 78.7, 79.3, 70.0, 85.9, 90.3 }, { 3.4, 6.1, 12.0, 1.5, 3.3, 3.5 } },
	{ "scan", { 41.3, 44.7, 49.6, 54.4, 59.2, 62.7 }, { 6.8, 14.3, 28.3, 1.4, 4.3, 9.6 } },
	{ "log", { 17.0, 27.9, 40.8, 13.6, 24.5, 37.0 }, { 2.1, 3.2, 6.3, 1.3, 2.6, 3.4 } },
	{ "noise", { 48.0, 50.5, 55.5, 44.4, 48.9, 55.3 }, { 34.5, 69.3, 128.6, 9.8, 20.7, 41.5 } },
	{ "files", { 26.4, 34.4, 44.8, 29.6, 36.3, 47.7 }, { 5.9, 10.7, 16.8, 3.5, 4.9, 6.2 } },
};

#define NR_WORKLOADS	(sizeof(smq) / sizeof(smq[0]))

static u32 slots(const struct sim_trace *t, u32 block_sectors, u32 unit_sectors, u32 percent)
{
	u64 sectors;

	sim_trace_footprint(t, unit_sectors, &sectors);
	return sectors * percent / 100 / block_sectors;
}

static struct sim_result run(const struct sim_trace *t, const char *policy, u32 block_kib, u32 percent,
			     enum sim_keep keep)
{
	struct sim_options o = {
		.policy = policy, .block_sectors = 2 * block_kib, .keep = keep, .delay_ms = DELAY_MS,
		.nr_slots = slots(t, 2 * block_kib, keep == SIM_KEEP_COPY ? 2 * block_kib : 8, percent),
	};
	char why[TEXT_LEN];
	struct sim_result r;

	if (sim_run(t, &o, &r, why)) {
		printf("Bail out! %s\n", why);
		exit(1);
	}
	return r;
}

static double hit(const struct sim_result *r)
{
	return 100.0 * r->hits / r->accesses;
}

static double insertions(const struct sim_result *r)
{
	return 1000.0 * r->insertions / r->accesses;
}

/*
 * What the slow device pays in random accesses of 8 ms per 100: misses, and for each insertion the transfer of a
 * block at 150 MB/s, by a copy an access, too.
 */
static double cost(double hit, double inserted, u32 block_kib, bool copy)
{
	return 100 - hit + inserted / 10 * (block_kib * 1024 / 1.2e6 + copy);
}

static struct sim_trace make(const char *name, u64 seed)
{
	struct sim_trace t = { 0 };

	if (workload_add(&t, name, seed, REQUESTS, MIB)) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return t;
}

/* ---- an LRU of its own ---- */

#define NONE	U32_MAX

/* A list of blocks by last use, and a ring of those that are on their way. */
struct exact {
	u32 nr_blocks;
	u32 *next;		/* of each block and of the head, nr_blocks; NONE: not resident */
	u32 *prev;
	bool *coming;
	u32 *ring;
	u64 *due;
	u32 first;
	u32 nr_coming;
	u32 free;
};

static void take_out(struct exact *e, u32 b)
{
	e->next[e->prev[b]] = e->next[b];
	e->prev[e->next[b]] = e->prev[b];
	e->next[b] = NONE;
}

static void put_first(struct exact *e, u32 b)
{
	u32 head = e->nr_blocks;

	e->next[b] = e->next[head];
	e->prev[b] = head;
	e->prev[e->next[head]] = b;
	e->next[head] = b;
}

static bool use(struct exact *e, u32 b, u64 now, u32 nr_slots)
{
	u32 head = e->nr_blocks;

	if (e->next[b] != NONE) {
		take_out(e, b);
		put_first(e, b);
		return true;
	}
	if (e->coming[b])
		return false;
	if (e->free)
		e->free--;
	else if (e->prev[head] != head)
		take_out(e, e->prev[head]);
	else
		return false;
	e->coming[b] = true;
	e->ring[(e->first + e->nr_coming) % nr_slots] = b;
	e->due[(e->first + e->nr_coming++) % nr_slots] = now + DELAY_MS;
	return false;
}

static double exact_hit(const struct sim_trace *t, u32 block_sectors, u32 nr_slots)
{
	u32 n = t->end / block_sectors + 1;
	struct exact e = {
		.nr_blocks = n, .free = nr_slots, .next = malloc((n + 1) * sizeof(u32)),
		.prev = malloc((n + 1) * sizeof(u32)), .coming = calloc(n, sizeof(bool)),
		.ring = malloc(nr_slots * sizeof(u32)), .due = malloc(nr_slots * sizeof(u64)),
	};
	const struct sim_request *q;
	u64 i, b, now, hits = 0, all = 0;

	memset(e.next, 0xff, n * sizeof(u32));
	e.next[n] = n;
	e.prev[n] = n;
	for (i = 0; i < t->nr; i++) {
		q = &t->request[i];
		now = q->time_us / 1000;
		for (; e.nr_coming && e.due[e.first] <= now; e.nr_coming--, e.first = (e.first + 1) % nr_slots) {
			e.coming[e.ring[e.first]] = false;
			put_first(&e, e.ring[e.first]);
		}
		for (b = q->sector / block_sectors; b <= (q->sector + q->sectors - 1) / block_sectors; b++, all++)
			hits += use(&e, b, now, nr_slots);
	}
	free(e.next);
	free(e.prev);
	free(e.coming);
	free(e.ring);
	free(e.due);
	return 100.0 * hits / all;
}

/* ---- against smq ---- */

/* sums over the workloads */
struct sums {
	double clock2q_hit;
	double clock2q_inserted;
	double lru_hit;
	double hotspot_hit;
	double hotspot_inserted;
	double smq_hit;
	double clock2q_cost;	/* by fill, without "loop" */
	double smq_cost;
	double worst_lru;	/* difference from exact */
	double worst_hotspot;	/* cost above smq's */
};

static void compare(const struct sim_trace *t, const struct yardstick *y, unsigned int c, struct sums *s)
{
	u32 kib = cells[c].block_kib, percent = cells[c].percent;
	struct sim_result lru = run(t, "lru", kib, percent, SIM_KEEP_COPY);
	struct sim_result c2q = run(t, "clock2q", kib, percent, SIM_KEEP_COPY);
	struct sim_result hot = run(t, "hotspot", kib, percent, SIM_KEEP_COPY);
	double exact = exact_hit(t, 2 * kib, slots(t, 2 * kib, 2 * kib, percent));

	s->clock2q_hit += hit(&c2q);
	s->clock2q_inserted += insertions(&c2q);
	s->lru_hit += hit(&lru);
	s->hotspot_hit += hit(&hot);
	s->hotspot_inserted += insertions(&hot);
	s->smq_hit += y->hit[c];
	/* no policy that admits everything is good at a loop that does not fit */
	if (strcmp(y->workload, "loop")) {
		s->clock2q_cost += cost(hit(&c2q), insertions(&c2q), kib, false);
		s->smq_cost += cost(y->hit[c], y->inserted[c], kib, true);
	}
	s->worst_lru = fmax(s->worst_lru, fabs(hit(&lru) - exact));
	s->worst_hotspot = fmax(s->worst_hotspot, cost(hit(&hot), insertions(&hot), kib, true) -
				cost(y->hit[c], y->inserted[c], kib, true));
}

static void test_smq(void)
{
	struct sums sums[NR_CELLS] = { 0 }, *s;
	const double n = NR_WORKLOADS;
	double ratios = 0;
	struct sim_trace t;
	unsigned int w, c;
	char what[32];

	for (c = 0; c < NR_CELLS; c++)
		sums[c].worst_hotspot = -100;
	for (w = 0; w < NR_WORKLOADS; w++) {
		t = make(smq[w].workload, 1);
		for (c = 0; c < NR_CELLS; c++)
			compare(&t, &smq[w], c, &sums[c]);
		sim_trace_clear(&t);
	}
	for (c = 0; c < NR_CELLS; c++) {
		s = &sums[c];
		snprintf(what, sizeof(what), "%u KiB, %u %%", cells[c].block_kib, cells[c].percent);
		ok(s->worst_lru <= 0.3, "%s: lru is within 0.3 of exact (%.2f)", what, s->worst_lru);
		ok(s->clock2q_hit >= s->lru_hit + n, "%s: clock2q hits 1 %% more than lru (%.1f, %.1f)", what,
		   s->clock2q_hit / n, s->lru_hit / n);
		ok(s->clock2q_hit >= s->smq_hit + 5 * n, "%s: and 5 %% more than smq (%.1f)", what, s->smq_hit / n);
		ok(s->clock2q_cost <= 0.86 * s->smq_cost, "%s: with fill it costs less than 0.86 of smq (%.2f)", what,
		   s->clock2q_cost / s->smq_cost);
		ok(s->hotspot_hit >= s->smq_hit + 5 * n, "%s: hotspot hits 5 %% more than smq (%.1f, %.1f)", what,
		   s->hotspot_hit / n, s->smq_hit / n);
		ok(s->worst_hotspot <= 5, "%s: hotspot is never 5 points dearer than smq (%.1f)", what,
		   s->worst_hotspot);
		ok(s->hotspot_inserted <= 0.11 * s->clock2q_inserted,
		   "%s: it inserts a ninth of what clock2q does (%.1f, %.1f in 1000)", what, s->hotspot_inserted / n,
		   s->clock2q_inserted / n);
		ratios += s->clock2q_cost / s->smq_cost / NR_CELLS;
	}
	ok(ratios <= 0.78, "over all cells clock2q with fill costs less than 0.78 of smq (%.3f)", ratios);
}

/* ---- each one's own ---- */

static void test_scan(void)
{
	struct sim_trace t = make("scan", 1);
	struct sim_result lru = run(&t, "lru", 256, 10, SIM_KEEP_COPY);
	struct sim_result c2q = run(&t, "clock2q", 256, 10, SIM_KEEP_COPY);
	struct sim_result seq = run(&t, "seqbypass next lru", 256, 10, SIM_KEEP_COPY);

	ok(hit(&c2q) > hit(&lru) + 4, "scan: clock2q beats lru (%.1f %%, %.1f %%)", hit(&c2q), hit(&lru));
	ok(insertions(&seq) < 5, "scan: seqbypass inserts little (%.1f in 1000, without %.1f)", insertions(&seq),
	   insertions(&lru));
	ok(cost(hit(&seq), insertions(&seq), 256, false) < cost(hit(&lru), insertions(&lru), 256, false),
	   "scan: and that pays");
	sim_trace_clear(&t);
}

static void test_backup(void)
{
	struct sim_trace t = make("backup", 1);
	struct sim_result lru = run(&t, "lru", 256, 10, SIM_KEEP_COPY);
	struct sim_result seq = run(&t, "seqbypass next lru", 256, 10, SIM_KEEP_COPY);

	ok(insertions(&seq) < 0.6 * insertions(&lru), "backup: with seqbypass %.1f in 1000 are inserted, without %.1f",
	   insertions(&seq), insertions(&lru));
	ok(hit(&seq) > hit(&lru), "backup: and more are hits (%.1f %%, %.1f %%)", hit(&seq), hit(&lru));
	sim_trace_clear(&t);
}

static void test_log(void)
{
	struct sim_trace t = make("log", 2);
	struct sim_result lru = run(&t, "lru", 256, 20, SIM_KEEP_COPY);
	struct sim_result seq = run(&t, "seqbypass next lru", 256, 20, SIM_KEEP_COPY);

	ok(hit(&seq) > hit(&lru) - 8, "log: seqbypass lets a circular log in (%.1f %%, without %.1f %%)", hit(&seq),
	   hit(&lru));
	sim_trace_clear(&t);
}

static void test_loop(void)
{
	struct sim_trace t = make("loop", 1);
	struct sim_result c2q = run(&t, "clock2q", 256, 10, SIM_KEEP_COPY);
	struct sim_result hot = run(&t, "hotspot", 256, 10, SIM_KEEP_COPY);

	ok(hit(&hot) > hit(&c2q) + 30, "loop: hotspot keeps a part of it (%.1f %%, clock2q %.1f %%)", hit(&hot),
	   hit(&c2q));
	sim_trace_clear(&t);
}

static void test_noise(void)
{
	struct sim_trace t = make("noise", 3);
	struct sim_result lru = run(&t, "lru", 64, 5, SIM_KEEP_COPY);
	struct sim_result c2q = run(&t, "clock2q", 64, 5, SIM_KEEP_COPY);
	struct sim_result hot = run(&t, "hotspot", 64, 5, SIM_KEEP_COPY);

	ok(hit(&c2q) > hit(&lru), "noise: clock2q beats lru (%.1f %%, %.1f %%)", hit(&c2q), hit(&lru));
	ok(sim_slow_accesses(&hot) < sim_slow_accesses(&c2q) * 0.8,
	   "noise: where inserting costs a copy hotspot is better (%.1f, %.1f)", sim_slow_accesses(&hot),
	   sim_slow_accesses(&c2q));
	sim_trace_clear(&t);
}

/* The adaptive way takes less than @most times the time that populate takes, and writes less than @writes times. */
static void compare_fills(const struct sim_trace *t, const char *name, u32 kib, double most, double writes)
{
	struct sim_result none = run(t, "clock2q", kib, 10, SIM_KEEP_POPULATE);
	struct sim_result adaptive = run(t, "clock2q", kib, 10, SIM_KEEP_ADAPTIVE);

	ok(sim_slow_time(&adaptive, t) < sim_slow_time(&none, t) * most,
	   "%s, %u KiB: adaptive takes less than %.1f times populate's time (%.1f %%, %.1f %%)", name, kib, most,
	   sim_slow_time(&adaptive, t), sim_slow_time(&none, t));
	ok(adaptive.fast_bytes < writes * none.fast_bytes,
	   "%s, %u KiB: and writes less than %.0f times as much (%.0f MiB, %.0f MiB)", name, kib, writes,
	   adaptive.fast_bytes / 0x1p20, none.fast_bytes / 0x1p20);
}

static void test_fill(u32 kib)
{
	struct sim_trace pages = make("pages", 4), files = make("files", 5), both = make("files", 6);
	u32 first, second;

	compare_fills(&pages, "pages", kib, 1.1, 3);
	compare_fills(&files, "files", kib, 0.7, 5);

	/* Files, pages in the same place, files again */
	first = run(&both, "clock2q", kib, 10, SIM_KEEP_ADAPTIVE).mean_extent;
	workload_add(&both, "pages", 7, 3 * REQUESTS, MIB);
	second = run(&both, "clock2q", kib, 10, SIM_KEEP_ADAPTIVE).mean_extent;
	ok(second < first / 3 && first > 32, "files, then pages, %u KiB: the extent falls (from %u to %u sectors)", kib,
	   first, second);
	workload_add(&both, "files", 8, 3 * REQUESTS, MIB);
	first = run(&both, "clock2q", kib, 10, SIM_KEEP_ADAPTIVE).mean_extent;
	ok(first > 32, "and then files: it comes back (to %u)", first);
	sim_trace_clear(&pages);
	sim_trace_clear(&files);
	sim_trace_clear(&both);
}

int main(void)
{
	test_smq();
	test_scan();
	test_backup();
	test_log();
	test_loop();
	test_noise();
	test_fill(4);
	test_fill(64);
	return tap_done();
}
