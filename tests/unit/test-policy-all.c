// SPDX-License-Identifier: GPL-2.0
/* What is asked of every policy: memory, tunables, victims, hints, determinism, races. */
#include <pthread.h>
#include "policy-harness.h"

static const char * const lines[] = { "lru", "clock2q", "hotspot", "seqbypass next lru" };
#define NR_LINES	(sizeof(lines) / sizeof(lines[0]))

static void test_memory(const char *line)
{
	static const u32 sizes[] = { 1, 2, 7, 64, 1000, 65537 };
	struct tier_policy_params params = { .nr_blocks = 1 << 20,
					     .block_sectors = 128,
					     .seed = 1 };
	struct tier_policy *p;
	u64 before = shim_allocated;
	u32 i;
	int n;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		params.nr_slots = sizes[i];
		p = tier_policy_chain_create_from(line, &params, NULL);
		is(shim_allocated - before, tier_policy_chain_memory(p, &params),
		   "%s: memory() of %u slots is exact", line, sizes[i]);
		tier_policy_chain_destroy(p);
	}
	is(shim_allocated, before, "%s: all is freed", line);

	for (n = 1; n < 100; n++) {
		shim_alloc_fail = n;
		p = tier_policy_chain_create_from(line, &params, NULL);
		if (!IS_ERR(p))
			break;
		if (PTR_ERR(p) != -ENOMEM)
			break;
	}
	shim_alloc_fail = 0;
	ok(n > 1 && !IS_ERR(p), "%s: -ENOMEM when allocation 1 to %d fails", line, n - 1);
	tier_policy_chain_destroy(p);
	is(shim_allocated, before, "%s: a half-made one is freed", line);

	params.nr_slots = 1 << 20;
	diag("%s: %.2f bytes a slot", line,
	     (double)tier_policy_find(strncmp(line, "seq", 3) ? line : "lru")->memory(&params) /
		     params.nr_slots);
}

static void test_tunables(const char *line)
{
	static const char *const bad[] = { "",	   "-1",	  "x",		"1x",
					   "0x10", "99999999999", "4294967295", " 1" };
	char before[512], after[512], words[512], *key, *value, *save = NULL;
	unsigned int count, again, nr = 0;
	struct harness h;
	u32 i;
	int len;

	harness_init(&h, line, 100);
	is(h.p->type->set(h.p, "no_such_key", "1"), -ENOENT, "%s: unknown key", line);
	len = h.p->type->emit(h.p, before, sizeof(before), &count);
	is(len, strlen(before), "%s: emit gives the length", line);
	strcpy(words, before);
	for (key = strtok_r(words, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		value = strtok_r(NULL, " ", &save);
		nr += 2;
		if (!strcmp(key, "next"))
			continue;
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			if (h.p->type->set(h.p, key, bad[i]) != -EINVAL)
				ok(false, "%s: %s takes \"%s\"", line, key, bad[i]);
		if (!strstr(h.p->type->tunables_help, key))
			ok(false, "%s: %s has no help", line, key);
		is(h.p->type->set(h.p, key, value), 0, "%s: %s %s is taken", line, key, value);
	}
	is(count, nr, "%s: emit counts its words", line);
	h.p->type->emit(h.p, after, sizeof(after), &again);
	is_str(after, before, "%s: bad values change nothing", line);
	for (i = 0; i < sizeof(before); i++) {
		memset(after, 'x', sizeof(after));
		if (i)
			len = h.p->type->emit(h.p, after, i, &again);
		if (i && (after[i] != 'x' || len >= (int)i || strncmp(before, after, len)))
			break;
	}
	is(i, sizeof(before), "%s: emit stays inside any buffer", line);
	harness_exit(&h);
}

static void test_victims(const char *line)
{
	struct harness h;
	u32 i, n = 0, most;
	long s, first;

	harness_init(&h, line, 1000);
	is(harness_victim(&h, 100), -1, "%s: no victim in an empty cache", line);
	harness_fill(&h);
	is(harness_victim(&h, 0), -1, "%s: no victim without a budget", line);
	for (i = 0; i < 1000; i++)
		harness_hit(&h, i);
	for (i = 0; i < 5; i++) {
		harness_victim(&h, 3);
		if (h.proposals > 3)
			break;
	}
	is(i, 5, "%s: the budget holds", line);

	memset(h.skip, 1, 1000);
	h.stop_after = 2;
	is(harness_victim(&h, 100000), -1, "%s: STOP stops", line);
	is(h.proposals, 2, "%s: at once", line);
	h.stop_after = 0;
	is(harness_victim(&h, 100000), -1, "%s: all skipped: no victim, and it comes back", line);
	if (h.p->type->tick)
		h.p->type->tick(h.p, 1000);

	/* All but one are busy, and that one is in use */
	memset(h.proposed, 0, 1000 * sizeof(*h.proposed));
	h.skip[777] = false;
	for (i = 0; i < 1000; i++) {
		harness_hit(&h, 777);
		if (harness_victim(&h, 64) >= 0)
			break;
		if (i % 50 == 49 && h.p->type->tick)
			h.p->type->tick(h.p, 1000 + i * 20);
	}
	ok(i < 1000 && h.taken[777], "%s: finds the only one that can be taken (%u calls of 64)",
	   line, i + 1);
	for (i = 0, most = 0; i < 1000; i++)
		most = h.proposed[i] > most ? h.proposed[i] : most;
	for (i = 0; i < 1000; i++)
		n += h.proposed[i];
	ok(most <= 2 * n / 1000 + 24,
	   "%s: no slot is proposed over and over (%u proposals, at most %u each)", line, n, most);
	memset(h.skip, 0, 1000);

	/* A taken one stays away until it is kept or inserted again */
	first = 777;
	for (i = 0, most = 0; i < 1000; i++)
		most += h.taken[i];
	for (n = most; (s = harness_victim(&h, 100000)) >= 0; n++)
		;
	is(n, 1000, "%s: each slot is taken once", line);
	is(h.bad, 0, "%s: none that must not be proposed", line);
	h.taken[first] = false;
	h.p->type->victim_kept(h.p, tier_to_block(h.block[first]), tier_to_slot(first));
	for (i = 0; i < 10 && (s = harness_victim(&h, 100000)) < 0; i++)
		;
	is(s, first, "%s: a kept one can be taken again", line);
	for (i = 0; i < 1000; i++)
		harness_remove(&h, i, i & 1 ? TIER_REMOVED_EVICTED : TIER_REMOVED_INVALID);
	is(harness_victim(&h, 100), -1, "%s: empty again", line);
	harness_fill(&h);
	for (i = 0; i < 1000; i += 2)
		harness_remove(&h, i, TIER_REMOVED_INVALID);
	for (n = 0; harness_evict(&h) >= 0; n++)
		;
	is(n, 500, "%s: what is left can be evicted", line);
	is(h.bad, 0, "%s: and nothing else", line);
	harness_exit(&h);

	harness_init(&h, line, 1);
	harness_fill(&h);
	harness_hit(&h, 0);
	is(harness_evict(&h), 0, "%s: a cache of one slot", line);
	harness_insert(&h, 5, 0);
	is(harness_evict(&h), 0, "%s: again", line);
	harness_exit(&h);
}

/* 1,000 slots, each hit with a probability that falls from slot 0 to slot 999 */
static void warm(struct harness *h, u64 seed)
{
	u32 i, s;

	harness_fill(h);
	for (i = 0; i < 40000; i++) {
		h->now += 25;
		s = (test_random(&seed) % 1000) * (test_random(&seed) % 1000) / 1000;
		harness_hit(h, s);
		if (i % 40 == 0 && h->p->type->tick)
			h->p->type->tick(h->p, h->now);
		/* The clock must have turned, or all have equal credit. */
		if (i % 100 == 0 && h->p->type->victim) {
			long v = harness_evict(h);

			if (v >= 0)
				harness_insert(h, h->block[v], v);
		}
	}
}

static void test_hints(const char *line)
{
	struct harness h, g;
	u32 i, hint, cold_half = 0, first = 0;
	double mean_before = 0, mean_after = 0;
	u32 *order = calloc(1000, sizeof(u32));
	long v;

	harness_init(&h, line, 1000);
	harness_init(&g, line, 1000);
	warm(&h, 3);
	is(h.p->type->save_hint(h.p, tier_to_slot(3)) != 0, 1, "%s: a hint is not 0", line);
	for (i = 0; i < 1000; i++) {
		hint = h.p->type->save_hint(h.p, tier_to_slot(i));
		g.block[i] = h.block[i];
		g.resident[i] = true;
		g.p->type->load_hint(g.p, tier_to_block(g.block[i]), tier_to_slot(i), hint);
	}
	for (i = 0; i < 500; i++) {
		v = harness_evict(&h);
		order[v] = 1;
		mean_before += v / 500.0;
	}
	for (i = 0; i < 500; i++) {
		v = harness_evict(&g);
		mean_after += v / 500.0;
		cold_half += order[v];
		if (i < 100)
			first += order[v];
	}
	ok(cold_half >= 350,
	   "%s: after a restart the same are evicted (%u of 500, %u of the first 100)", line,
	   cold_half, first);
	ok(mean_after > mean_before - 30, "%s: and they are as cold (mean %.0f, was %.0f)", line,
	   mean_after, mean_before);
	is(h.bad + g.bad, 0, "%s: no bad proposals", line);
	harness_exit(&h);
	harness_exit(&g);

	harness_init(&g, line, 1000);
	for (i = 0; i < 1000; i++) {
		g.block[i] = i;
		g.resident[i] = true;
		g.p->type->load_hint(g.p, tier_to_block(i), tier_to_slot(i),
				     i % 3 ? 0 : 0xffffffff - i);
	}
	for (i = 0; i < 100; i++)
		harness_remove(&g, i, TIER_REMOVED_INVALID);
	for (i = 0; harness_evict(&g) >= 0; i++)
		;
	is(i, 900, "%s: any hint will do", line);
	harness_exit(&g);
	free(order);
}

/* A random run of everything; gives a hash of all answers. */
static u64 play(const char *line, u64 seed)
{
	struct harness h;
	u64 hash = 0, b;
	u32 i, s;
	long v;

	harness_init(&h, line, 300);
	for (i = 0; i < 100000; i++) {
		h.now += test_random(&seed) % 20;
		b = (test_random(&seed) % 1000) * (test_random(&seed) % 1000) / 1000;
		for (s = 0; s < 300; s++)
			if (h.resident[s] && h.block[s] == b)
				break;
		if (s < 300) {
			h.skip[s] = !(test_random(&seed) % 3);
			if (test_random(&seed) % 500 == 0)
				harness_remove(&h, s, TIER_REMOVED_INVALID);
			else
				harness_hit(&h, s);
		} else if (harness_miss(&h, b) >= TIER_POPULATE) {
			for (s = 0; s < 300 && h.resident[s]; s++)
				;
			if (s == 300) {
				v = harness_victim(&h, 1 + test_random(&seed) % 50);
				if (v < 0)
					continue;
				if (test_random(&seed) % 10 == 0) {
					h.taken[v] = false;
					h.p->type->victim_kept(h.p, tier_to_block(h.block[v]),
							       tier_to_slot(v));
					continue;
				}
				harness_remove(&h, v, TIER_REMOVED_EVICTED);
				s = v;
			}
			harness_insert(&h, b, s);
			hash = (hash ^ s ^ b << 16) * 0x100000001b3ULL;
		}
		if (i % 100 == 0 && h.p->type->tick)
			h.p->type->tick(h.p, h.now);
	}
	if (h.bad)
		hash = 0;
	harness_exit(&h);
	return hash;
}

static void test_determinism(const char *line)
{
	u64 a = play(line, 5), b = play(line, 5), c = play(line, 6);

	ok(a, "%s: no bad proposals in a random run", line);
	ok(a == b, "%s: a replay gives the same", line);
	ok(a != c, "%s: another input gives something else", line);
}

/* Two threads hit all slots, two insert, take and remove slots of their own halves. */
#define STRESS_SLOTS	512

struct stress {
	struct tier_policy *p;
	u32 half;
	u32 resident[STRESS_SLOTS];	/* 0 free, 1 resident, 2 taken; atomic */
	u32 bad;
	bool stop;
};

static enum tier_verdict stress_take(void *context, tier_slot_t slot)
{
	struct stress *s = context;
	u32 resident = 1;

	if (tier_from_slot(slot) % 3 == 0)
		return TIER_VICTIM_SKIP;
	if (__atomic_compare_exchange_n(&s->resident[tier_from_slot(slot)], &resident, 2, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return TIER_VICTIM_TAKE;
	/* Taken twice is an error; not yet marked resident is not. */
	if (resident == 2)
		__atomic_fetch_add(&s->bad, 1, __ATOMIC_SEQ_CST);
	return TIER_VICTIM_SKIP;
}

static void *stress_hits(void *arg)
{
	struct stress *s = arg;
	u64 seed = (u64)&seed;
	struct tier_access a = { .sectors = 8 };

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		u32 slot = test_random(&seed) % STRESS_SLOTS;

		a.now++;
		a.sector = slot * 128ULL;
		s->p->type->hit(s->p, tier_to_slot(slot), &a);
	}
	return NULL;
}

static void *stress_moves(void *arg)
{
	struct stress *s = arg;
	const struct tier_policy_type *t = s->p->type;
	u32 half = __atomic_fetch_add(&s->half, 1, __ATOMIC_SEQ_CST);
	u64 seed = half;
	struct tier_access a = { .sectors = 8 };
	tier_slot_t victim;
	u32 i, slot, state;

	for (i = 0; i < 60000; i++) {
		slot = test_random(&seed) % (STRESS_SLOTS / 2) + half * (STRESS_SLOTS / 2);
		a.now++;
		a.sector = (test_random(&seed) % 10000) * 128;
		state = __atomic_load_n(&s->resident[slot], __ATOMIC_SEQ_CST);
		if (state == 0) {
			t->miss(s->p, tier_to_block(a.sector / 128), &a);
			t->inserted(s->p, tier_to_block(a.sector / 128), tier_to_slot(slot), &a);
			__atomic_store_n(&s->resident[slot], 1, __ATOMIC_SEQ_CST);
		} else if (state == 2) {
			t->removed(s->p, tier_to_block(slot), tier_to_slot(slot),
				   TIER_REMOVED_EVICTED);
			__atomic_store_n(&s->resident[slot], 0, __ATOMIC_SEQ_CST);
		}
		if (i % 2)
			t->victim(s->p, stress_take, s, 8, &victim);
		if (i % 1000 == 0 && t->tick)
			t->tick(s->p, a.now);
		if (i % 100 == 0)
			t->save_hint(s->p, tier_to_slot(slot));
	}
	return NULL;
}

static void test_stress(const char *line)
{
	struct tier_policy_params params = { .nr_slots = STRESS_SLOTS,
					     .nr_blocks = 1 << 20,
					     .block_sectors = 128 };
	struct stress s = { .p = tier_policy_chain_create_from(line, &params, NULL) };
	pthread_t t[4];
	u32 i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i < 2 ? stress_moves : stress_hits, &s);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	pthread_join(t[2], NULL);
	pthread_join(t[3], NULL);
	is(s.bad, 0, "%s: four threads, nothing taken twice", line);

	/* Everything resident can still be found, once each. */
	{
		u32 left = 0, found = 0;
		tier_slot_t slot;

		for (i = 0; i < STRESS_SLOTS; i++)
			left += s.resident[i] == 1 && i % 3;
		for (i = 0; i < 10000; i++)
			if (s.p->type->victim(s.p, stress_take, &s, 64, &slot))
				found++;
		is(found, left, "%s: the lists are whole", line);
	}
	tier_policy_chain_destroy(s.p);
}

static void test_chain(void)
{
	static const char *const bad[] = { "",
					   "nosuch",
					   "seqbypass next",
					   "lru next lru",
					   "seqbypass next nosuch",
					   "clock2q small_percent",
					   "clock2q small_percent 0",
					   "lru x 1",
					   "seqbypass read_cutoff_sectors next lru" };
	struct tier_policy_params params = { .nr_slots = 10, .nr_blocks = 100, .block_sectors = 8 };
	char buf[256];
	unsigned int count;
	struct harness h;
	u64 before = shim_allocated;
	u32 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *error = NULL;

		ok(IS_ERR(tier_policy_chain_create_from(bad[i], &params, &error)) && error,
		   "chain \"%s\" is refused: %s", bad[i], error ? error : "");
	}
	is(shim_allocated, before, "nothing is left of them");
	harness_init(&h, "seqbypass", 10);
	is_str(h.p->next ? h.p->next->type->name : "", "clock2q", "a filter alone wraps the default");
	harness_exit(&h);
	harness_init(&h,
		     "seqbypass write_cutoff_sectors 0 next seqbypass next clock2q ghost_percent 7",
		     10);
	h.p->type->emit(h.p, buf, sizeof(buf), &count);
	is_str(buf,
	       "read_cutoff_sectors 2048 write_cutoff_sectors 0 next seqbypass read_cutoff_sectors "
	       "2048 "
	       "write_cutoff_sectors 2048 next clock2q small_percent 10 window_percent 50 "
	       "ghost_percent 7",
	       "a chain of three emits all");
	is(h.p->type->set(h.p, "ghost_percent", "8"), 0, "a filter passes tunables on");
	harness_exit(&h);
	ok(tier_policy_nth(3) && !tier_policy_nth(4), "four policies are registered");
}

int main(void)
{
	u32 i;

	for (i = 0; i < NR_LINES; i++) {
		test_memory(lines[i]);
		test_tunables(lines[i]);
		test_victims(lines[i]);
		test_hints(lines[i]);
		test_determinism(lines[i]);
		test_stress(lines[i]);
	}
	test_chain();
	return tap_done();
}
