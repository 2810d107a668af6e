// SPDX-License-Identifier: GPL-2.0
/*
 * Damage to a small metadata device, of every kind and in every place, and what the audit (dmtier check) says.
 *
 * Each bit of each structure that a load needs is flipped, each block zeroed, exchanged with another, replaced by
 * what it held before and by noise; the device is cut to every length.  The audit must neither crash nor take long,
 * must name the block, and must say "recoverable" if another copy has what is needed or nothing of it is, "error" if
 * none has.
 *
 * TIER_LONG=1 flips all bits, else every 13th.
 */
#include "tap.h"
#include "core-fixture.h"
#include <errno.h>
#include <time.h>
#include "../fuzz/image.h"
#include "text.h"

#define MAX_SECONDS	2.0

static struct image im, before;
static const volatile int cancel;
static double slowest;
static u64 nr_audits;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* audit of the image cut to @bytes, to be freed */
static int look(struct audit *a, u64 bytes)
{
	struct bdev meta = image_bdev("meta", im.meta, bytes);
	struct bdev ssd = image_bdev("ssd", im.ssd, (TIER_DATA_START +
				     (u64)IMAGE_SLOTS * im.sb.geometry.block_sectors) * 512);
	const struct bdev *data[] = { &ssd, NULL, NULL };
	char why[TEXT_LEN] = "";
	double start = now();
	int r = audit_run(a, &meta, data, &cancel, why);

	fx_check(!r == !*why, "result %d, '%s'", r, why);
	if (now() - start > slowest)
		slowest = now() - start;
	nr_audits++;
	return r;
}

static bool names_block(const struct audit *a, u64 block, enum audit_level level)
{
	unsigned int i;

	for (i = 0; i < a->nr_findings; i++)
		if (a->findings[i].block == (s64)block && a->findings[i].level >= level)
			return true;
	return false;
}

enum what { SB, INTENT, SLOTS, HINTS, JOURNAL };

static enum what what_is(u64 block)
{
	const struct tier_geometry *g = &im.sb.geometry;

	if (block < g->intent_start)
		return SB;
	if (block < g->journal_start)
		return INTENT;
	if (block < g->slot_start)
		return JOURNAL;
	return block == tier_hint_page_block(g, 0) ? HINTS : SLOTS;
}

static const char *const what_names[] = { "superblock", "intent page", "slot page", "hint page", "journal" };

/* what damage to this block alone is called */
static enum audit_level level_of(u64 block)
{
	enum what w = what_is(block);

	/* after a clean stop nothing of it is needed */
	if (w == JOURNAL)
		return im.sb.flags & TIER_SB_CLEAN ? AUDIT_RECOVERABLE : AUDIT_ERROR;
	/* the journal changes these pages: a power cut in a checkpoint leaves the same */
	if ((w == INTENT || w == SLOTS) && !(im.sb.flags & TIER_SB_CLEAN))
		return AUDIT_NOTE;
	return AUDIT_RECOVERABLE;
}

/* damage to this block alone: it is named, and nothing worse is found */
static void expect(u64 block, const char *how, u64 where)
{
	enum audit_level level = level_of(block), i;
	struct audit a;
	int r = look(&a, im.bytes);

	fx_check(!r, "%s %llu of block %llu: %d", how, (unsigned long long)where, (unsigned long long)block, r);
	fx_check(names_block(&a, block, level), "%s %llu of block %llu is not named", how,
		 (unsigned long long)where, (unsigned long long)block);
	for (i = level + 1; i < AUDIT_NR_LEVELS; i++)
		fx_check(!a.nr[i], "%s %llu of block %llu is called worse than it is", how,
			 (unsigned long long)where, (unsigned long long)block);
	audit_free(&a);
}

static void flip_bits(u32 step, const char *name)
{
	u64 flips[5] = { 0 }, bit, at = 0;
	u32 i, w;

	for (i = 0; i < im.nr_used; i++) {
		u8 *p = image_block(&im, im.used[i]);

		for (bit = at; bit < 8 * TIER_META_BLOCK_SIZE; bit += step) {
			p[bit / 8] ^= 1 << bit % 8;
			expect(im.used[i], "bit", bit);
			p[bit / 8] ^= 1 << bit % 8;
			flips[what_is(im.used[i])]++;
		}
		at = bit - 8 * TIER_META_BLOCK_SIZE;
	}
	ok(!fx_failures(), "%s: each block with a flipped bit is named, and recoverable where there is a copy", name);
	for (w = 0; w < 5; w++)
		diag("%s: %llu bits", what_names[w], (unsigned long long)flips[w]);
}

static void flip_header(u32 step, const char *name)
{
	struct audit a;
	u64 bit;

	for (bit = 0; bit < 8 * TIER_META_BLOCK_SIZE; bit += step) {
		im.ssd[bit / 8] ^= 1 << bit % 8;
		/* without its magic number it is nobody's */
		fx_check(!look(&a, im.bytes) && (a.nr[AUDIT_ERROR] == 1 || a.mismatch) && !a.nr[AUDIT_RECOVERABLE],
			 "bit %llu", (unsigned long long)bit);
		audit_free(&a);
		im.ssd[bit / 8] ^= 1 << bit % 8;
	}
	ok(!fx_failures(), "%s: each flipped bit of the device header is found", name);
}

static void with_block(u64 block, const void *content, const char *how)
{
	u8 was[TIER_META_BLOCK_SIZE], *p = image_block(&im, block);

	memcpy(was, p, sizeof(was));
	memcpy(p, content, sizeof(was));
	if (memcmp(was, p, sizeof(was)))
		expect(block, how, 0);
	memcpy(p, was, sizeof(was));
}

static void replace_blocks(const char *name)
{
	u8 content[TIER_META_BLOCK_SIZE];
	u64 state = 0x1234567;
	u32 i, k, n;

	memset(content, 0, sizeof(content));
	for (i = 0; i < im.nr_used; i++)
		with_block(im.used[i], content, "zeroes");
	memset(content, 0xff, sizeof(content));
	for (i = 0; i < im.nr_used; i++)
		with_block(im.used[i], content, "ones");
	ok(!fx_failures(), "%s: each block zeroed, and full of ones", name);

	for (n = 0; n < 20; n++)
		for (i = 0; i < im.nr_used; i++) {
			for (k = 0; k < sizeof(content); k++)
				content[k] = fx_random(&state) >> 32;
			with_block(im.used[i], content, "noise");
		}
	ok(!fx_failures(), "%s: each block full of noise", name);

	for (i = 0; i < im.nr_used; i++)
		for (k = 0; k < im.nr_used; k++) {
			enum what a = what_is(im.used[i]), b = what_is(im.used[k]);

			/* the two copies of a page are the same, and no place is written in them */
			if (i != k && (a != b || a == JOURNAL || a == SB))
				with_block(im.used[i], image_block(&im, im.used[k]), "another");
		}
	ok(!fx_failures(), "%s: each block replaced by each other", name);
}

/* two exchanged: more than one copy is gone, so the most that can be asked for is that it is found */
static void exchange_blocks(const char *name)
{
	u8 was[TIER_META_BLOCK_SIZE], *p, *q;
	struct audit a;
	u32 i, k;
	int r;

	for (i = 0; i < im.nr_used; i++)
		for (k = i + 1; k < im.nr_used; k++) {
			p = image_block(&im, im.used[i]);
			q = image_block(&im, im.used[k]);
			if (!memcmp(p, q, sizeof(was)))
				continue;
			memcpy(was, p, sizeof(was));
			memcpy(p, q, sizeof(was));
			memcpy(q, was, sizeof(was));
			r = look(&a, im.bytes);
			fx_check(r || a.nr_findings, "blocks %llu and %llu",
				 (unsigned long long)im.used[i], (unsigned long long)im.used[k]);
			audit_free(&a);
			memcpy(q, p, sizeof(was));
			memcpy(p, was, sizeof(was));
		}
	ok(!fx_failures(), "%s: each two blocks exchanged", name);
}

/*
 * A write that never came: the block is what it was before.  One copy may be so after a power cut, which is a
 * note at least.  A transaction that a later one, or the superblock's head, speaks of is missed; the very last
 * one of an active device is not, since a power cut leaves the same.
 */
static void old_blocks(const char *name)
{
	const struct tier_geometry *g = &im.sb.geometry;
	u8 was[TIER_META_BLOCK_SIZE], *p;
	u64 last = g->journal_start + (19 - 1) % IMAGE_RING;
	struct audit a;
	u32 i;

	for (i = 0; i < im.nr_used; i++) {
		u64 block = im.used[i];

		p = image_block(&im, block);
		memcpy(was, p, sizeof(was));
		memcpy(p, image_block(&before, block), sizeof(was));
		if (memcmp(p, was, sizeof(was)) &&
		    !(block == last && !(im.sb.flags & TIER_SB_CLEAN))) {
			fx_check(!look(&a, im.bytes), "block %llu", (unsigned long long)block);
			if (what_is(block) == JOURNAL)
				fx_check((im.sb.flags & TIER_SB_CLEAN) || a.nr[AUDIT_ERROR], "block %llu",
					 (unsigned long long)block);
			else
				fx_check(names_block(&a, block, what_is(block) == SB ? AUDIT_NOTE : AUDIT_RECOVERABLE) &&
					 !a.nr[AUDIT_ERROR], "block %llu",
					 (unsigned long long)block);
			audit_free(&a);
		}
		memcpy(p, was, sizeof(was));
	}
	ok(!fx_failures(), "%s: each block as it was before", name);
}

static void cut_short(const char *name)
{
	struct audit a;
	u64 bytes;
	int r;

	for (bytes = 0; bytes < im.bytes; bytes += 512) {
		if (bytes % TIER_META_BLOCK_SIZE && bytes % (16 * TIER_META_BLOCK_SIZE) > 8192)
			continue;
		r = look(&a, bytes);
		fx_check(r || a.nr[AUDIT_ERROR], "%llu bytes", (unsigned long long)bytes);
		audit_free(&a);
	}
	ok(!fx_failures(), "%s: cut short at every block", name);
}

static void random_bytes(const char *name, u32 runs)
{
	u8 *was = image_alloc(im.bytes / TIER_META_BLOCK_SIZE);
	u64 state = 0xabcdef;
	struct audit a;
	u32 n, i;
	int r;

	memcpy(was, im.meta, im.bytes);
	for (n = 0; n < runs; n++) {
		for (i = 1 + fx_random(&state) % 64; i; i--) {
			u8 *p = image_block(&im, im.used[fx_random(&state) % (im.nr_used - 1)]);

			p[fx_random(&state) % TIER_META_BLOCK_SIZE] = fx_random(&state) >> 32;
		}
		r = look(&a, im.bytes);
		/* of the blocks above all but the hints are read */
		fx_check(r || a.nr[AUDIT_ERROR] + a.nr[AUDIT_RECOVERABLE] || !memcmp(was, im.meta, im.bytes) ||
			 !(im.sb.flags & TIER_SB_CLEAN), "run %u", n);
		audit_free(&a);
		memcpy(im.meta, was, im.bytes);
	}
	for (n = 0; n < 50; n++) {
		for (i = 0; i < im.bytes; i += 8) {
			u64 v = fx_random(&state);

			memcpy(im.meta + i, &v, 8);
		}
		if (n % 2) {
			memcpy(im.meta, was, TIER_META_BLOCK_SIZE);
			r = look(&a, im.bytes);
			fx_check(!r && a.nr[AUDIT_ERROR], "noise behind a superblock");
		} else {
			r = look(&a, im.bytes);
			fx_check(r == -EILSEQ || r == -ENODATA, "noise: %d", r);
		}
		audit_free(&a);
	}
	memcpy(im.meta, was, im.bytes);
	ok(!fx_failures(), "%s: random bytes", name);
	free(was);
}

static void run(u32 block_sectors, enum image_kind kind, const char *name)
{
	u32 step = getenv("TIER_LONG") ? 1 : 13;
	struct audit a;
	u64 i;

	image_make(&im, block_sectors, kind, IMAGE_NOW);
	image_make(&before, block_sectors, kind, IMAGE_BEFORE);
	is(look(&a, im.bytes), 0, "%s: the image as it should be", name);
	ok(!a.nr[AUDIT_ERROR] && !a.nr[AUDIT_RECOVERABLE] && a.used_slots == IMAGE_SLOTS / 5 * 4,
	   "... nothing is found in it");
	for (i = 0; i < a.nr_findings; i++)
		diag("%s: %s", a.findings[i].structure, a.findings[i].text);
	audit_free(&a);
	/* 16 and 32 bytes a record differ in the pages and the journal only */
	flip_bits(step, name);
	flip_header(step, name);
	replace_blocks(name);
	exchange_blocks(name);
	old_blocks(name);
	cut_short(name);
	random_bytes(name, 2000);
	image_free(&im);
	image_free(&before);
}

int main(void)
{
	run(64, IMAGE_CLEAN, "stopped in order");
	run(2048, IMAGE_ACTIVE, "active, 32-byte records");
	ok(slowest < MAX_SECONDS, "%llu audits, the slowest took %.0f ms", (unsigned long long)nr_audits, slowest * 1000);
	return tap_done();
}
