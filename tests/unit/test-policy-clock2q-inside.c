// SPDX-License-Identifier: GPL-2.0
/* clock2q from inside: what its queues and counters say of each other after each call, and how long a call takes. */
#include <linux/bitops.h>
#include <linux/module.h>

static unsigned long looks;	/* at a bit of a state */
#define test_bit(nr, addr)	(looks++, test_bit(nr, addr))

/* It has its own name here: the one that all tests are linked with is there, too. */
#undef module_init
#undef module_exit
#define module_init(fn)	struct __shim_semicolon
#define module_exit(fn)	struct __shim_semicolon

#include "../../policy/clock2q.c"
#include "policy-harness.h"

#define MAX_SLOTS	80

static const char *broken;	/* the first thing that was wrong */

#define must(cond) do {								\
	if (!(cond) && !broken)							\
		broken = #cond;							\
} while (0)

/* Walks all queues. */
static void check(struct harness *h)
{
	struct clock2q *c = to_clock2q(h->p);
	const u32 *link = c->queues.link;
	u32 nr_small = 0, nr_young = 0, nr_stale = 0, window = 0, queue, node, prev, s;
	u8 seen[MAX_SLOTS] = {};

	for (queue = 1; queue <= NR_QUEUES && !broken; queue++) {
		for (prev = queue, node = link[queue]; !node_is_queue(&c->queues, node); node = link[node]) {
			enum state state;

			s = node_number(c, node);
			must(s < h->nr_slots && !seen[s]);
			if (broken)
				return;
			seen[s] = queue;
			state = get_state(c, s);
			must(state <= STATE_TO_SMALL);
			if (state == STATE_SMALL || state == STATE_YOUNG) {
				must(queue == QUEUE_SMALL || queue >= QUEUE_LOADED_SMALL);
				nr_small++;
			}
			must(queue != QUEUE_SMALL || state >= STATE_SMALL);
			must(state != STATE_SMALL || !nr_young || queue > QUEUE_SMALL);
			if (node == c->window)
				window = nr_young + 1;
			nr_young += state == STATE_YOUNG;
			nr_stale += state >= STATE_GONE;
			must(state == STATE_GONE || !!(c->use[s] & USE_YOUNG) == (state == STATE_YOUNG));
			prev = node;
		}
		must(node == queue && link[NR_QUEUES + queue] == prev);
		must(link[queue] == queue || queue <= QUEUE_PARKED || c->loading);
	}
	must(c->nr_small == nr_small);
	must(c->nr_young == nr_young);
	must(c->nr_stale == nr_stale);
	must(!nr_young || (window == 1 && seen[node_number(c, c->window)] == QUEUE_SMALL));
	if (node_is_queue(&c->queues, c->mended))
		must(c->mended >= QUEUE_MAIN && c->mended <= QUEUE_PARKED);
	else
		must(seen[node_number(c, c->mended)] && seen[node_number(c, c->mended)] <= QUEUE_PARKED);
	for (s = 0; s < h->nr_slots; s++) {
		enum state state = get_state(c, s);

		must(!!seen[s] == node_queued(&c->queues, slot_node(&c->queues, tier_to_slot(s))));
		must(seen[s] || state < STATE_SMALL);
		if (h->resident[s] && !h->taken[s])
			must(seen[s] && state != STATE_GONE);
		else
			must(h->resident[s] ? !seen[s] : !seen[s] || state == STATE_GONE);
	}
}

static void load(struct harness *h, u32 s, u32 hint)
{
	h->resident[s] = true;
	clock2q_load_hint(h->p, tier_to_block(h->block[s]), tier_to_slot(s), hint);
}

static void set_any(struct harness *h, u64 *seed)
{
	static const char *const values[NR_TUNABLES][4] = {
		{ "1", "10", "50", "90" }, { "0", "1", "50", "100" }, { "0", "1", "25", "50" },
	};
	u32 i = test_random(seed) % NR_TUNABLES;

	must(!clock2q_set(h->p, tunables[i].key, values[i][test_random(seed) % 4]));
}

/* A victim, with a budget of chance; if that is large and there is none, all that there are were skipped. */
static void any_victim(struct harness *h, u64 *seed)
{
	u32 s, budget = test_random(seed) % 3 ? 1 + test_random(seed) % 8 : 100000;

	h->stop_after = test_random(seed) % 8 ? 0 : 1 + test_random(seed) % 4;
	memset(h->proposed, 0, h->nr_slots * sizeof(*h->proposed));
	if (harness_victim(h, budget) >= 0 || budget < 100000 || h->stop_after)
		return;
	for (s = 0; s < h->nr_slots; s++)
		must(!h->resident[s] || h->taken[s] || (h->skip[s] && h->proposed[s]));
}

static void any_call(struct harness *h, u64 *seed)
{
	u32 s = test_random(seed) % h->nr_slots, what = test_random(seed) % 100;
	bool taken = h->taken[s], there = h->resident[s];

	if (what < 25 && !there) {
		h->block[s] = test_random(seed) % (2 * MAX_SLOTS);
		if (what < 20) {
			harness_insert(h, h->block[s], s);
		} else {
			h->resident[s] = true;
			clock2q_inserted(h->p, tier_to_block(h->block[s]), tier_to_slot(s), NULL);
		}
	} else if (what >= 25 && what < 40 && there) {
		harness_remove(h, s, taken && what < 35 ? TIER_REMOVED_EVICTED : TIER_REMOVED_INVALID);
	} else if (what >= 40 && what < 60 && there) {
		harness_hit(h, s);
	} else if (what >= 60 && what < 75) {
		any_victim(h, seed);
	} else if (what >= 75 && what < 80 && there) {
		h->taken[s] = false;
		clock2q_victim_kept(h->p, tier_to_block(h->block[s]), tier_to_slot(s));
	} else if (what >= 80 && what < 83) {
		clock2q_tick(h->p, 0);
	} else if (what >= 83 && what < 90) {
		h->skip[s] = !h->skip[s];
	} else if (what >= 90 && what < 92) {
		set_any(h, seed);
	} else if (what >= 92 && what < 96) {
		must(!clock2q_save_hint(h->p, tier_to_slot(s)) == !(there && !taken));
	} else if (what == 96 && !there && !node_queued(&to_clock2q(h->p)->queues,
							slot_node(&to_clock2q(h->p)->queues, tier_to_slot(s)))) {
		load(h, s, test_random(seed) % 512);
	} else if (what == 97) {
		/* all go, one after another */
		for (s = 0; s < h->nr_slots; s++)
			if (h->resident[s])
				harness_remove(h, s, TIER_REMOVED_INVALID);
	}
}

/* Calls of chance on caches of 1 to MAX_SLOTS slots. */
static void test_any_calls(u32 rounds)
{
	u32 i, round, calls = 0;
	struct harness h;
	u64 seed = 0;

	for (round = 0; round < rounds && !broken; round++) {
		seed = round;
		harness_init(&h, "inside", 1 + test_random(&seed) % (round % 3 ? MAX_SLOTS : 4));
		for (i = 0; i < round % 4; i++)
			set_any(&h, &seed);
		for (i = 0; i < h.nr_slots && round % 2; i++)
			if (test_random(&seed) % 4)
				load(&h, i, test_random(&seed) % 512);
		for (i = 0; i < 1000 && !broken; i++, calls++) {
			any_call(&h, &seed);
			check(&h);
		}
		memset(h.skip, 0, h.nr_slots * sizeof(*h.skip));
		h.stop_after = 0;
		while (!broken && harness_evict(&h) >= 0)
			check(&h);
		for (i = 0; i < h.nr_slots; i++)
			must(!h.resident[i] || h.taken[i]);
		must(!h.bad);
		harness_exit(&h);
	}
	ok(!broken, "after each of %u calls of chance all fits (round %u: %s)", calls, round, broken ? broken : "yes");
}

/*
 * No call looks at more than some states, whatever is stale around the window's end, and however much smaller a tunable
 * makes the window.
 */
static void test_short_calls(void)
{
	const u32 nr = 100000;
	u32 i, young;
	unsigned long most = 0;
	struct harness h;

	harness_init(&h, "inside window_percent 100", nr);
	for (i = 0; i < nr; i++)
		harness_insert(&h, i, i);
	young = to_clock2q(h.p)->nr_young;
	is(young, nr / 10, "a tenth is in the window");
	for (i = nr - 2; i >= nr - young; i--) {
		looks = 0;
		harness_remove(&h, i, TIER_REMOVED_INVALID);
		most = max(most, looks);
	}
	is(to_clock2q(h.p)->nr_young, 1, "all but the newest go");
	ok(most < 100, "without a long search for the next in the window (%lu looks)", most);
	harness_exit(&h);

	harness_init(&h, "inside small_percent 90 window_percent 100", nr);
	for (i = 0; i < nr; i++)
		harness_insert(&h, i, i);
	is(to_clock2q(h.p)->nr_young, nr / 10 * 9, "a large window");
	clock2q_set(h.p, "small_percent", "1");
	for (i = 0, most = 0; i < nr; i++) {
		looks = 0;
		harness_remove(&h, i, TIER_REMOVED_INVALID);
		harness_insert(&h, nr + i, i);
		most = max(most, looks);
	}
	ok(most < 200, "gets small with a few looks in each call (%lu)", most);
	is(to_clock2q(h.p)->nr_young, nr / 100, "and in the end it is");
	harness_exit(&h);
}

/* Stale slots of the small queue are found although the main one, searched first, turns round faster than the search. */
static void test_fast_clock(void)
{
	const u32 nr = 10000;
	struct harness h;
	u32 i, s;

	harness_init(&h, "inside", nr);
	for (s = 0; s < nr; s++) {
		h.block[s] = s;
		h.resident[s] = true;
		if (s < nr / 20 * 19)
			clock2q_inserted(h.p, tier_to_block(s), tier_to_slot(s), NULL);
		else
			harness_insert(&h, s, s);
	}
	for (s = nr - 100; s < nr; s++) {
		harness_remove(&h, s, TIER_REMOVED_INVALID);
		harness_insert(&h, nr + s, s);
	}
	is(to_clock2q(h.p)->nr_stale, 100, "stale slots");
	for (i = 0; i < 5000; i++) {
		/* nine of ten are used */
		for (s = 0; s < nr && i % 100 == 0; s++)
			if (h.resident[s] && s % 10)
				harness_hit(&h, s);
		s = harness_evict(&h);
		h.resident[s] = true;
		clock2q_inserted(h.p, tier_to_block(2 * nr + i), tier_to_slot(s), NULL);
	}
	is(to_clock2q(h.p)->nr_stale, 0, "are found in time");
	harness_exit(&h);
}

int main(void)
{
	clock2q_type.name = "inside";
	is(clock2q_module_init(), 0, "a policy of its own");
	test_any_calls(600);
	test_short_calls();
	test_fast_clock();
	clock2q_module_exit();
	return tap_done();
}
