// SPDX-License-Identifier: GPL-2.0
/* The simulator: a request at a time, each way of keeping; and the curve. */
#include <errno.h>
#include <linux/slab.h>
#include "sim/cache.h"
#include "sim/curve.h"
#include "tap.h"
#include "text.h"
#include "workload.h"

#define PAGE	8U
#define BLOCK	128U	/* 16 pages */

static struct sim_result run(const struct sim_trace *t, const char *policy, enum sim_keep keep, u32 slots)
{
	struct sim_options o = {
		.policy = policy, .block_sectors = BLOCK, .nr_slots = slots, .keep = keep, .delay_ms = 20,
	};
	char why[TEXT_LEN];
	struct sim_result r;

	if (sim_run(t, &o, &r, why)) {
		printf("Bail out! %s\n", why);
		exit(1);
	}
	return r;
}

static void add(struct sim_trace *t, u64 ms, bool write, u64 page, u32 pages)
{
	sim_trace_add(t, ms * 1000, write, page * PAGE, pages * PAGE);
}

static void test_copy(void)
{
	struct sim_trace t = { 0 };
	struct sim_result r;
	double time;

	add(&t, 0, false, 0, 1);
	add(&t, 19, false, 0, 1);	/* not there yet */
	add(&t, 20, false, 15, 1);	/* the whole block is */
	add(&t, 21, true, 3, 1);
	add(&t, 22, false, 16, 1);	/* the only slot is given to another: the block was dirty */
	r = run(&t, "lru", SIM_KEEP_COPY, 1);
	is(r.hits, 2, "copy: hits from 20 ms on");
	is(r.copies, 2, "copies");
	is(r.insertions, 2, "each is an insertion");
	is(r.evicted_dirty, 1, "a dirty block is evicted");
	is(r.slow_requests, 3, "requests that need the slow device");
	is(r.slow_sectors, 3 * PAGE + 2 * BLOCK, "what it transfers, copies too");
	is(r.fast_bytes, (2 * BLOCK + PAGE) * 512, "what the fast device is written");
	ok(sim_slow_accesses(&r) == 100, "two copies are two accesses more");
	time = 100 * (5 * 8 + (3 * PAGE + 2 * BLOCK) * 512 / 150e3) / (5 * 8 + 5 * PAGE * 512 / 150e3);
	ok(sim_slow_time(&r, &t) > time - 0.01 && sim_slow_time(&r, &t) < time + 0.01,
	   "and take longer (%.2f %%)", sim_slow_time(&r, &t));
	sim_trace_clear(&t);
}

static void test_populate(void)
{
	struct sim_trace t = { 0 };
	struct sim_result r;

	add(&t, 0, false, 0, 2);
	add(&t, 0, false, 1, 1);	/* at once */
	add(&t, 0, false, 2, 1);	/* was not asked for */
	add(&t, 1, false, 0, 3);
	add(&t, 2, true, 5, 1);		/* lands in the slot */
	add(&t, 3, false, 4, 2);	/* one of two is there */
	r = run(&t, "lru", SIM_KEEP_POPULATE, 4);
	is(r.hits, 3, "populate: hits are what was asked for before, and writes");
	is(r.insertions, 1, "one insertion");
	is(r.slow_sectors, 5 * PAGE, "read: what was asked for");
	is(r.fast_bytes, 5 * PAGE * 512, "written: nothing twice");
	is(r.extra_kept, 0, "nothing else is kept");
	sim_trace_clear(&t);
}

static void test_fill(void)
{
	struct sim_options o = {
		.policy = "lru", .block_sectors = PAGE, .nr_slots = 64, .keep = SIM_KEEP_FILL,
		.extent_sectors = 4 * PAGE,
	};
	struct sim_trace t = { 0 };
	char why[TEXT_LEN];
	struct sim_result r;

	add(&t, 0, false, 5, 1);
	add(&t, 1, false, 4, 1);
	add(&t, 2, false, 7, 1);
	add(&t, 3, false, 8, 1);	/* in the next block */
	r = run(&t, "lru", SIM_KEEP_FILL, 4);
	is(r.hits, 3, "fill: the block is there after a read of a page");
	is(r.extra_kept, 15, "what nobody asked for is counted");
	is(r.extra_used, 3, "and what of it was used");
	is(r.slow_sectors, BLOCK, "it is one transfer");
	sim_run(&t, &o, &r, why);
	is(r.hits, 2, "an extent over blocks of a page");
	is(r.insertions, 5, "each of them is inserted, up to the end of the device");
	sim_trace_clear(&t);

	add(&t, 0, false, 3, 3);
	sim_run(&t, &o, &r, why);
	is(r.slow_requests, 1, "one visit for a request of three blocks");
	is(r.slow_sectors, 6 * PAGE, "which reads each block's extent, nothing twice");
	sim_trace_clear(&t);

	add(&t, 0, false, 3, 2);
	o.block_sectors = BLOCK;
	sim_run(&t, &o, &r, why);
	is(r.slow_sectors, 2 * PAGE, "a request in two extents of a block reads what it asks for");
	sim_trace_clear(&t);
	add(&t, 0, false, 3, 1);
	add(&t, 1, true, 1, 1);
	is(run(&t, "lru", SIM_KEEP_POPULATE, 1).mean_extent, 0, "nothing is filled: no extent");
	sim_run(&t, &(struct sim_options){ .policy = "lru", .block_sectors = BLOCK, .nr_slots = 1,
					   .keep = SIM_KEEP_FILL, .extent_sectors = 64 }, &r, why);
	is(r.mean_extent, 64, "the extent that was asked for");
	r = run(&t, "lru", SIM_KEEP_FILL, 1);
	is(r.mean_extent, BLOCK, "or the block is");
	is(r.hits, 1, "a write to what was filled is a hit");
	is(r.fast_bytes, (BLOCK + PAGE) * 512, "and written once more");
	sim_trace_clear(&t);
}

/* Writes that cover part of a granule go to the slow device unless the granule is there. */
static void test_small_writes(void)
{
	struct sim_trace t = { 0 };
	struct sim_result r;

	sim_trace_add(&t, 0, true, 3, 2);
	sim_trace_add(&t, 0, true, 4, 12);	/* half of granule 0, all of 1 */
	sim_trace_add(&t, 0, false, 0, 8);
	sim_trace_add(&t, 0, true, 3, 2);
	r = run(&t, "lru", SIM_KEEP_POPULATE, 1);
	is(r.slow_requests, 3, "small writes and the read need the slow device");
	is(r.hits, 1, "a small write to a granule that is there does not");
	sim_trace_clear(&t);
}

static void test_adaptive(void)
{
	struct sim_trace files = { 0 }, pages = { 0 };
	struct sim_result f, p;

	workload_add(&files, "files", 1, 20000, 64);
	workload_add(&pages, "pages", 1, 20000, 64);
	f = run(&files, "clock2q", SIM_KEEP_ADAPTIVE, 100);
	p = run(&pages, "clock2q", SIM_KEEP_ADAPTIVE, 100);
	ok(f.mean_extent > 2 * p.mean_extent, "adaptive: files are read further (%u sectors) than scattered pages (%u)",
	   f.mean_extent, p.mean_extent);
	ok(f.extra_used > f.extra_kept / 10, "what is kept is used");
	sim_trace_clear(&files);
	sim_trace_clear(&pages);
}

/* With so many slots nothing is ever evicted, whatever is kept. */
static void test_max_slots(void)
{
	static const char * const names[] = { "mail", "noise" };
	struct sim_trace t = { 0 };
	struct sim_result r, more;
	enum sim_keep k;
	u32 nr, i;

	for (i = 0; i < 2; i++) {
		workload_add(&t, names[i], 1, 20000, 32);
		is(sim_max_slots(&t, BLOCK, 0, &nr), 0, "%s: %u slots at most", names[i], nr);
		for (k = 0; k < SIM_NR_KEEPS; k++) {
			r = run(&t, "lru", k, nr);
			more = run(&t, "lru", k, 2 * nr);
			ok(!memcmp(&r, &more, sizeof(r)), "with more nothing changes");
		}
		sim_trace_clear(&t);
	}
	sim_trace_add(&t, 0, false, 0, SIM_MAX_SECTORS);
	is(sim_max_slots(&t, PAGE, 0, &nr), 0, "a huge request");
	is(nr, SIM_MAX_SECTORS / PAGE, "takes as many slots");
	r = run(&t, "lru", SIM_KEEP_POPULATE, 10);
	is(r.accesses, SIM_MAX_SECTORS / BLOCK, "and is so many accesses");
	for (i = 1; i < 2100; i++)
		sim_trace_add(&t, 0, false, i * (u64)SIM_MAX_SECTORS, SIM_MAX_SECTORS);
	is(sim_max_slots(&t, PAGE, 0, &nr), -E2BIG, "more than there can be");
	sim_trace_clear(&t);
}

static void test_failures(void)
{
	struct sim_options o = { .policy = "nosuch", .block_sectors = BLOCK, .nr_slots = 4, .keep = SIM_KEEP_COPY };
	struct sim_trace t = { 0 };
	u64 before = shim_allocated;
	char why[TEXT_LEN];
	struct sim_result r;
	int i, failed;

	add(&t, 0, false, 0, 1);
	is(sim_run(&t, &o, &r, why), -ENOENT, "an unknown policy");
	is_str(why, "unknown policy \"nosuch\"", "is named");
	o.policy = "lru nosuch 1";
	is(sim_run(&t, &o, &r, why), -EINVAL, "an unknown tunable");
	o.policy = "seqbypass next clock2q";
	for (i = 1, failed = 0; i < 100; i++) {
		shim_alloc_fail = i;
		if (!sim_run(&t, &o, &r, why))
			break;
		failed++;
	}
	shim_alloc_fail = 0;
	ok(failed > 4 && i < 100, "without memory it fails, at any of %d places", failed);
	is(shim_allocated, before, "and frees all");
	sim_trace_clear(&t);
}

static void test_ladder(void)
{
	struct sim_ladder l;
	unsigned int i, bad = 0;

	sim_ladder_make(&l, 1ULL << 30, 65536);
	is(l.nr, SIM_CURVE_POINTS, "a ladder");
	is(l.bytes[l.nr - 1], 1ULL << 30, "up to the most");
	for (i = 0; i < l.nr; i++)
		bad += l.bytes[i] % 65536 || (i && l.bytes[i] <= l.bytes[i - 1]);
	is(bad, 0, "ascending, whole blocks");
	sim_ladder_make(&l, 65536 * 32, 65536);
	is(l.nr, 3, "few steps of few blocks: 16, 22, 32");
	is(l.bytes[1], 65536 * 22, "in half octaves");
	sim_ladder_make(&l, 4096, 4096);
	is(l.nr, 1, "one of one block");
}

static void test_curve(void)
{
	struct sim_curve c[2] = {
		{ .label = "a<b&c\n", .slow = { 90, 80, 40, 21, 20 },
		  .ladder = { .bytes = { 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20 }, .nr = 5 } },
		{ .label = "flat", .slow = { 160, 99, 95, 91, 91 },
		  .ladder = { .bytes = { 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20 }, .nr = 5 } },
	};
	char buf[20000] = "";
	FILE *out = fmemopen(buf, sizeof(buf), "w");

	is(sim_curve_worth(&c[0]), 3, "nine tenths of what can be saved are worth it");
	is(sim_curve_worth(&c[1]), -1, "nothing is if little can be saved");
	sim_curve_svg(out, "t", c, 2);
	fclose(out);
	ok(strstr(buf, ">a&lt;b&amp;c?</text>"), "names are quoted");
	ok(strstr(buf, ">4 MiB</text>") && strstr(buf, ">200</text>"), "axes reach as far as the curves");
	ok(strstr(buf, "points=\"70.0,264.5") && strstr(buf, "542.0,401.0\"/>"), "a curve from the left");
	ok(strstr(buf, "points=\"188.0,128.0") && strstr(buf, "660.0,262."), "one with sizes of its own, to the right");
	c[0].ladder.nr = 3;
	is(sim_curve_worth(&c[0]), 2, "worth is by what the sizes at hand can save");
	out = fmemopen(buf, sizeof(buf), "w");
	c[0].ladder.nr = 1;
	sim_curve_svg(out, "t", c, 1);
	fclose(out);
	ok(strstr(buf, "points=\"365.0,89.0\""), "a single point is in the middle");
}

int main(void)
{
	test_copy();
	test_populate();
	test_fill();
	test_small_writes();
	test_adaptive();
	test_max_slots();
	test_failures();
	test_ladder();
	test_curve();
	return tap_done();
}
