// SPDX-License-Identifier: GPL-2.0
/* What each policy is there for, on made-up workloads: a change that loses it fails here. */
#include <errno.h>
#include <unistd.h>
#include "sim.h"
#include "tap.h"
#include "workload.h"

#define REQUESTS	60000
#define MIB		256

static struct sim_result run(const struct sim_trace *t, const char *policy, u32 block_kib,
			     double percent, enum sim_keep keep, u32 extent_kib)
{
	struct sim_options o = {
		.policy = policy,
		.block_sectors = 2 * block_kib,
		.keep = keep,
		.extent_sectors = 2 * extent_kib,
		.delay_ms = 20,
		.seed = 1,
		.nr_slots = sim_slots(t, keep == SIM_KEEP_WHOLE ? 2 * block_kib : 8, 2 * block_kib,
				      percent),
	};
	struct sim_result r;
	const char *error = NULL;
	int e = sim_run(t, &o, &r, &error);

	if (e) {
		printf("Bail out! %s: %s\n", policy, error);
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

static struct sim_trace make(const char *name, u64 seed)
{
	struct sim_trace t;

	sim_trace_init(&t, name);
	if (sim_workload_add(&t, name, seed, REQUESTS, MIB)) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return t;
}

static void test_scan(void)
{
	struct sim_trace t = make("scan", 1);
	struct sim_result lru = run(&t, "lru", 256, 10, SIM_KEEP_WHOLE, 0);
	struct sim_result c2q = run(&t, "clock2q", 256, 10, SIM_KEEP_WHOLE, 0);
	struct sim_result hot = run(&t, "hotspot", 256, 10, SIM_KEEP_WHOLE, 0);
	struct sim_result seq = run(&t, "seqbypass next lru", 256, 10, SIM_KEEP_WHOLE, 0);

	ok(hit(&c2q) > hit(&lru) + 4, "scan: clock2q beats lru (%.1f %%, %.1f %%)", hit(&c2q),
	   hit(&lru));
	ok(hit(&hot) > hit(&lru), "scan: hotspot does too (%.1f %%)", hit(&hot));
	ok(insertions(&seq) < 10, "scan: seqbypass inserts little (%.1f in 1000, without %.1f)",
	   insertions(&seq), insertions(&lru));
	ok(sim_block_cost(&seq, 512, true) < sim_block_cost(&lru, 512, true),
	   "scan: and that pays");
	sim_trace_free(&t);
}

static void test_log(void)
{
	struct sim_trace t = make("log", 2);
	struct sim_result lru = run(&t, "lru", 256, 20, SIM_KEEP_WHOLE, 0);
	struct sim_result seq = run(&t, "seqbypass next lru", 256, 20, SIM_KEEP_WHOLE, 0);

	ok(hit(&seq) > hit(&lru) - 8,
	   "log: seqbypass lets a circular log in (%.1f %%, without %.1f %%)", hit(&seq),
	   hit(&lru));
	sim_trace_free(&t);
}

static void test_noise(void)
{
	struct sim_trace t = make("noise", 3);
	struct sim_result lru = run(&t, "lru", 64, 5, SIM_KEEP_WHOLE, 0);
	struct sim_result c2q = run(&t, "clock2q", 64, 5, SIM_KEEP_WHOLE, 0);
	struct sim_result hot = run(&t, "hotspot", 64, 5, SIM_KEEP_WHOLE, 0);

	ok(hit(&c2q) > hit(&lru), "noise: clock2q beats lru (%.1f %%, %.1f %%)", hit(&c2q),
	   hit(&lru));
	ok(insertions(&hot) < insertions(&c2q) / 4,
	   "noise: hotspot inserts little (%.0f and %.0f in 1000)", insertions(&hot),
	   insertions(&c2q));
	ok(sim_block_cost(&hot, 128, false) < sim_block_cost(&c2q, 128, false) * 0.8,
	   "noise: where inserting costs a copy hotspot is better (%.1f, %.1f)",
	   sim_block_cost(&hot, 128, false), sim_block_cost(&c2q, 128, false));
	sim_trace_free(&t);
}

/* a trace with each way of keeping what a read miss brings */
struct fills {
	struct sim_result none;
	struct sim_result fixed;
	struct sim_result adaptive;
};

/* Reads with the adaptive way cost less than @most times what they cost with populate */
static struct fills compare_fills(const struct sim_trace *t, const char *name, u32 block, double most)
{
	struct fills f = {
		.none = run(t, "clock2q", block, 10, SIM_KEEP_POPULATE, 0),
		.fixed = run(t, "clock2q", block, 10, SIM_KEEP_EXTENT, 64),
		.adaptive = run(t, "clock2q", block, 10, SIM_KEEP_ADAPTIVE, 0),
	};

	ok(sim_read_cost(&f.adaptive) < sim_read_cost(&f.none) * most,
	   "%s, %u KiB: adaptive costs less than %.1f times what populate does (%.1f, %.1f, fixed %.1f)",
	   name, block, most, sim_read_cost(&f.adaptive), sim_read_cost(&f.none),
	   sim_read_cost(&f.fixed));
	return f;
}

static void test_fill(u32 block)
{
	struct sim_trace pages = make("pages", 4), files = make("files", 5),
			 both = make("files", 6);
	struct sim_result adapt, first;
	struct fills f;
	u64 spec;

	f = compare_fills(&pages, "pages", block, 1.1);
	ok(f.adaptive.fast_written < 3 * f.none.fast_written,
	   "pages, %u KiB: and writes not much more "
	   "(%.0f MiB, %.0f, fixed %.0f)",
	   block, f.adaptive.fast_written / 0x1p20, f.none.fast_written / 0x1p20,
	   f.fixed.fast_written / 0x1p20);
	compare_fills(&files, "files", block, 0.7);

	/* Files, pages in the same place, files again */
	first = run(&both, "clock2q", block, 10, SIM_KEEP_ADAPTIVE, 0);
	sim_workload_add(&both, "pages", 7, 3 * REQUESTS, MIB);
	spec = run(&both, "clock2q", block, 10, SIM_KEEP_ADAPTIVE, 0).mean_extent;
	ok(spec < first.mean_extent / 3 && first.mean_extent > 32,
	   "files, then pages, %u KiB: the extent falls (from %u to %llu sectors)", block,
	   first.mean_extent, (unsigned long long)spec);
	sim_workload_add(&both, "files", 8, 3 * REQUESTS, MIB);
	adapt = run(&both, "clock2q", block, 10, SIM_KEEP_ADAPTIVE, 0);
	ok(adapt.mean_extent > 32, "and then files: it comes back (to %u)", adapt.mean_extent);
	sim_trace_free(&pages);
	sim_trace_free(&files);
	sim_trace_free(&both);
}

static void test_trace_file(void)
{
	struct sim_trace t, u;
	char path[] = "/tmp/tier-trace-XXXXXX";
	int fd = mkstemp(path), r;

	sim_trace_init(&t, "small");
	sim_workload_add(&t, "log", 9, 100, 16);
	is(sim_trace_save(&t, path), 0, "a trace is saved");
	r = sim_trace_load(&u, path);
	ok(!r && u.nr == t.nr && u.end == t.end &&
		   !memcmp(u.request, t.request, t.nr * sizeof(*t.request)),
	   "and loaded");
	sim_trace_free(&u);
	if (!truncate(path, 1000))
		ok(sim_trace_load(&u, path), "half a trace is refused");
	remove(path);
	close(fd);
	sim_trace_free(&t);
	is(sim_workload_add(&t, "nosuch", 1, 1, 16), -ENOENT, "no such workload");
}

int main(void)
{
	test_trace_file();
	test_scan();
	test_log();
	test_noise();
	test_fill(4);
	test_fill(64);
	return tap_done();
}
