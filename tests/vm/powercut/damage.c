// SPDX-License-Identifier: GPL-2.0
/*
 * Damaged metadata, loaded by the kernel: it refuses them or makes good what is damaged, within two seconds, and
 * believes nothing.  What starts must read as it would have without the damage, and as the format says it does.
 * (tests/unit/test-damage.c does the same to the reader alone, for every bit.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "powercut.h"

#define BLOCK		4096U
#define LIMIT_MS	2000U

enum kind { FLIP, FLIP_TWO, ZERO, NOISE, SWAP, OLD, TRUNCATE, NR_KINDS };

static const char * const kind_names[NR_KINDS] = {
	"a bit flipped", "two bits flipped", "zeroed", "noise", "exchanged", "an old version", "cut off",
};

static u64 milliseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static u64 limit_ms(void)
{
	return LIMIT_MS * slowness();
}

static bool is_zero(const u8 *p, u32 n)
{
	while (n && !*p)
		p++, n--;
	return !n;
}

/* A journal block: what was never written there looks like the end of the journal, and can't be told from it. */
static bool is_journal(const u8 *block)
{
	u32 off;

	for (off = 0; off < BLOCK; off += SECTOR)
		if (!memcmp(block + off + 4, "TJS1", 4))
			return true;
	return false;
}

/* the blocks that hold anything, those of the journal last; @others: how many are not the journal's */
static u32 used_blocks(const u8 *meta, u32 *used, u32 *others)
{
	u32 nr = 0, i, journal;

	for (journal = 0; journal < 2; journal++) {
		*others = nr;
		for (i = 0; i < dev_size[META] / BLOCK; i++)
			if (!is_zero(meta + i * BLOCK, BLOCK) && is_journal(meta + i * BLOCK) == journal)
				used[nr++] = i;
	}
	return nr;
}

/* half of the time not one of the journal, which is most of it */
static u32 choose_block(const u32 *used, u32 nr, u32 others, struct rng *r)
{
	return used[rng_below(r, rng_percent(r, 50) ? others : nr)];
}

static void flip(u8 *block, struct rng *r)
{
	u32 bit = rng_below(r, BLOCK * 8);

	block[bit / 8] ^= 1 << bit % 8;
}

/* does that to a block; true: it may look like an older journal */
static bool damage(u8 *meta, const u8 *old, enum kind kind, u32 block, u32 other, struct rng *r)
{
	u8 *p = meta + (u64)block * BLOCK, *q = meta + (u64)other * BLOCK, copy[BLOCK];
	bool journal = is_journal(p);
	u32 i;

	switch (kind) {
	case FLIP_TWO:
		flip(q, r);
		/* fall through */
	case FLIP:
		flip(p, r);
		return false;
	case ZERO:
		memset(p, 0, BLOCK);
		return journal;
	case NOISE:
		for (i = 0; i < BLOCK; i++)
			p[i] = rng_next(r);
		return false;
	case SWAP:
		memcpy(copy, p, BLOCK);
		memcpy(p, q, BLOCK);
		memcpy(q, copy, BLOCK);
		return false;
	case OLD:
		memcpy(p, old + (u64)block * BLOCK, BLOCK);
		return journal;
	default:
		return false;
	}
}

struct tally {
	u64 tried, started, refused, older;
	u64 slowest_start, slowest_refusal;
};

static int timed_create(const struct image *state, u64 *ms)
{
	u64 start;
	int e;

	dev_load(state);
	start = milliseconds();
	e = dm_create(nr_tiers ? "tiered" : "writeback", "lru 0", "commit_ms 60000 idle_ms 60000");
	*ms = milliseconds() - start;
	return e;
}

/* @values: without damage; @older: those of an older journal are right too */
static void look(const struct image *state, const u64 *values, bool older, const char *what, struct tally *t)
{
	static u64 *paper, *got;
	char why[300] = "";
	u64 where = 0, start, ms, s;
	int bad, e;

	if (!paper) {
		paper = calloc(max_sectors, sizeof(*paper));
		got = calloc(max_sectors, sizeof(*got));
	}
	bad = paper_values(state, paper, why, sizeof(why), &where);
	e = timed_create(state, &ms);
	if (ms > limit_ms()) {
		/* the machine below may have been busy */
		if (!e)
			dm_remove();
		e = timed_create(state, &ms);
	}
	t->tried++;
	if (ms > limit_ms())
		complain("%s: the kernel takes %llu ms", what, (unsigned long long)ms);
	if (e) {
		t->refused++;
		if (ms > t->slowest_refusal)
			t->slowest_refusal = ms;
		return;
	}
	t->started++;
	if (ms > t->slowest_start)
		t->slowest_start = ms;
	if (bad) {
		complain("%s: it starts, though %s", what, why);
	} else if (read_sectors(got) < nr_sectors) {
		complain("%s: it starts and can't be read", what);
	} else {
		for (s = 0; s < nr_sectors && got[s] == paper[s]; s++)
			;
		if (s < nr_sectors)
			complain("%s: sector %llu has version %lld, %lld on paper", what, (unsigned long long)s,
				 (long long)got[s], (long long)paper[s]);
		for (s = 0; s < nr_sectors && got[s] == values[s]; s++)
			;
		if (s < nr_sectors && older)
			t->older++;
		else if (s < nr_sectors)
			complain("%s: sector %llu has version %lld, %lld without the damage", what,
				 (unsigned long long)s, (long long)got[s], (long long)values[s]);
	}
	start = milliseconds();
	if (dm_remove())
		die("remove");
	ms = milliseconds() - start;
	/* this can't be tried again, and the machine below may be busy */
	if (ms > 10 * limit_ms())
		complain("%s: the removal takes %llu ms", what, (unsigned long long)ms);
}

static void damage_image(const char *name, const struct image *base, const u8 *old, u64 seed, u64 nr, struct tally *t)
{
	u64 *values = calloc(max_sectors, sizeof(*values)), where = 0, i, size = dev_size[META];
	u32 *used = calloc(size / BLOCK, sizeof(*used)), others;
	u32 nr_used = used_blocks(base->mem[META], used, &others);
	struct rng r = { seed };
	struct image state;
	char why[300], what[100];

	image_new(&state);
	if (paper_values(base, values, why, sizeof(why), &where))
		die("damage, %s: %s", name, why);
	for (i = 0; i < nr && nr_failures < max_failures && time_left(); i++) {
		enum kind kind = i % NR_KINDS;
		u32 block = choose_block(used, nr_used, others, &r);
		u32 other = choose_block(used, nr_used, others, &r);
		bool older;

		dev_load(base);
		dev_save(&state);
		older = damage(state.mem[META], old, kind, block, other, &r);
		if (!memcmp(state.mem[META], base->mem[META], size) && kind != TRUNCATE)
			continue;
		snprintf(what, sizeof(what), "%s, block %u %s (%u), seed %llu", name, block, kind_names[kind], other,
			 (unsigned long long)seed);
		if (kind == TRUNCATE)
			dev_resize(META, block ? (u64)block * BLOCK : BLOCK);
		look(&state, values, older, what, t);
		if (kind == TRUNCATE)
			dev_resize(META, size);
	}
	image_free(&state);
	free(values);
	free(used);
}

/**
 * damage_run() - load damaged metadata
 * @seed: of what is damaged and how
 * @nr: so many, half of them of a device that was stopped, half of one that lost power
 */
void damage_run(u64 seed, u64 nr)
{
	static const char * const first[] = { "r 0 0 1002", "w 2 0 1002", "F", NULL };
	static const char * const second[] = { "w 2 0 8", "f 3 0 8", "r 4 0 1003", "d 3 8 8", "F", "w 0 0 8", "F", "f 7 0 8",
		"f 8 0 8", "f 9 0 8", "f 2 8 8", "f 3 24 8", NULL };
	static const char * const tiered[] = { "w 0 0 1010", "F", "d 1 0 1001", "M move 1 blocks 0 2", "V", "f 1 0 8", "F",
		"w 0 0 8", "M move 0 blocks 5 1", "V", "f 5 0 8", "d 7 0 8", "f 8 0 8", "d 3 8 8", NULL };
	const char *features = nr_tiers ? "commit_ms 60000 migration off sequential_landing 0" :
					  "commit_ms 60000 idle_ms 60000 dirty_high 99 dirty_low 98";
	const char *mode = nr_tiers ? "tiered" : "writeback";
	static const u8 kept[MAX_DEVS] = { FATE_KEPT, FATE_KEPT, FATE_KEPT, FATE_KEPT, FATE_KEPT };
	u64 *values = calloc(max_sectors, sizeof(*values));
	struct tally t = { 0 };
	struct rng r = { seed };
	struct image crashed, clean;
	struct life l = { 0 };
	u8 *old = malloc(dev_room[META]);

	image_new(&l.base);
	image_new(&crashed);
	image_new(&clean);
	format_devices();
	first_values(values);
	oracle_begin_life(values);
	begin_life(&l, mode, "lru 0", features);
	run_steps(first, 1);
	end_life(&l);
	log_free(l.log);
	memcpy(old, dev_mem[META], dev_room[META]);
	begin_life(&l, mode, "lru 0", features);
	run_steps(nr_tiers ? tiered : second, 1);
	dev_crash(&crashed, &l.base, kept, &r);
	end_life(&l);
	log_free(l.log);
	dev_save(&clean);

	damage_image("stopped", &clean, old, seed, nr / 2, &t);
	damage_image("power lost", &crashed, old, seed, nr - nr / 2, &t);
	printf("# powercut: damaged metadata, block %uk, seed %llu: %llu states, %llu refused (the slowest in %llu ms), %llu started (%llu ms), %llu of these as with an older journal; %llu failures\n",
	       block_sectors / 2, (unsigned long long)seed, (unsigned long long)t.tried, (unsigned long long)t.refused,
	       (unsigned long long)t.slowest_refusal, (unsigned long long)t.started,
	       (unsigned long long)t.slowest_start, (unsigned long long)t.older, (unsigned long long)nr_failures);
	if (!t.refused || !t.started)
		complain("damage: all of it was refused, or all of it started");
	image_free(&l.base);
	image_free(&crashed);
	image_free(&clean);
	free(values);
	free(old);
}
