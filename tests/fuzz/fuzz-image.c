// SPDX-License-Identifier: GPL-2.0
/*
 * A whole metadata device, changed, and the audit of it.
 *
 * Input: a byte (bit 0: 32-byte records, bit 1: stopped in order, bit 2: the fast device is there, too,
 * bit 3: cut to a length that the next byte says); a byte; then changes of 6 bytes:
 *	operation	bits 0 to 2: set a byte, add to it, set 8 bytes to a number, zero the block, copy
 *			another block over it, that of an earlier time, change the fast device; bit 7: make
 *			the checksums of the block right afterwards
 *	block		number among those in use
 *	place		16 bits, little endian
 *	value		16 bits, little endian
 */
#include "fuzz.h"
#include <errno.h>
#include <linux/crc32c.h>
#include "image.h"
#include "text.h"

static struct image fuzz_images[2][2][2];	/* record size, kind, time */
static struct image fuzz_work[2][2];		/* the same, to be changed */
static const volatile int fuzz_cancel;

static void fuzz_seal(u64 block, uint8_t *p, const struct image *im)
{
	const struct tier_geometry *g = &im->sb.geometry;
	unsigned int i;

	if (block >= g->journal_start && block < g->slot_start) {
		for (i = 0; i < TIER_JOURNAL_SECTORS_PER_BLOCK; i++, p += TIER_JOURNAL_SECTOR)
			*(__le32 *)p = cpu_to_le32(crc32c(im->seed, p + 4, TIER_JOURNAL_SECTOR - 4));
		return;
	}
	*(__le32 *)p = cpu_to_le32(crc32c(block == TIER_SB_BLOCK_0 || block == TIER_SB_BLOCK_1 ? ~0U : im->seed,
					  p + 4, TIER_META_BLOCK_SIZE - 4));
}

static void fuzz_change(struct image *im, const struct image *before, const uint8_t *op)
{
	static const u64 numbers[] = {
		0, 1, 0xff, 0x7fffffff, 0xffffffff, 1ULL << 48, (1ULL << 48) - 1, 1ULL << 54, ~0ULL >> 1, ~0ULL
	};
	u64 block = im->used[op[1] % im->nr_used];
	u32 place = (op[2] | op[3] << 8) % TIER_META_BLOCK_SIZE, value = op[4] | op[5] << 8;
	uint8_t *p = image_block(im, block);

	switch (op[0] & 7) {
	case 0:
		p[place] = value;
		break;
	case 1:
		p[place] += value;
		break;
	case 2:
		place &= ~7U;
		memcpy(p + place, &numbers[value % ARRAY_SIZE(numbers)], 8);
		break;
	case 3:
		memset(p, 0, TIER_META_BLOCK_SIZE);
		break;
	case 4:
		memmove(p, image_block(im, im->used[value % im->nr_used]), TIER_META_BLOCK_SIZE);
		break;
	case 5:
		memcpy(p, image_block(before, block), TIER_META_BLOCK_SIZE);
		break;
	case 6:
		im->ssd[place] = value;
		if (op[0] & 0x80)
			*(__le32 *)im->ssd = cpu_to_le32(crc32c(~0U, im->ssd + 4, TIER_META_BLOCK_SIZE - 4));
		return;
	}
	if (op[0] & 0x80)
		fuzz_seal(block, p, im);
}

static void fuzz_check_findings(const struct audit *a)
{
	u64 nr[AUDIT_NR_LEVELS] = { 0 };
	unsigned int i;

	for (i = 0; i < a->nr_findings; i++) {
		const struct audit_finding *f = &a->findings[i];

		fuzz_assert(f->level < AUDIT_NR_LEVELS && f->structure && f->text && *f->text);
		fuzz_assert(f->copy >= -1 && f->copy <= 1 && f->block >= -1);
		nr[f->level]++;
	}
	for (i = 0; i < AUDIT_NR_LEVELS; i++)
		fuzz_assert(nr[i] == (a->nr[i] < AUDIT_MAX_FINDINGS ? a->nr[i] : AUDIT_MAX_FINDINGS));
}

static int fuzz_entry(void *context, u64 txn, const struct tier_jentry *e)
{
	(void)context;
	(void)txn;
	(void)e;
	return 0;
}

/* what the audit calls free of errors, a load must take */
static void fuzz_check_load(const struct audit *a, const struct image *im, uint64_t bytes)
{
	const struct tier_geometry *g = &a->sb.geometry;
	struct tier_journal_scan scan;
	const char *why = NULL;
	u64 i, dirty = 0, used = 0;

	fuzz_assert(g->meta_blocks * TIER_META_BLOCK_SIZE <= bytes);
	fuzz_assert(!tier_journal_scan(&a->sb, image_block(im, g->journal_start), &scan, &why));
	fuzz_assert(!tier_journal_replay(&a->sb, image_block(im, g->journal_start), &scan, fuzz_entry, NULL));
	fuzz_assert(a->records);
	for (i = 0; i < g->nr_slots; i++) {
		used += !!a->records[i].flags;
		dirty += !!a->records[i].dirty;
		fuzz_assert(!(a->records[i].dirty & ~a->records[i].valid));
	}
	fuzz_assert(used == a->used_slots && dirty == a->dirty_slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *im, *from, *before;
	struct bdev meta, ssd;
	const struct bdev *devs[3] = { NULL };
	char why[TEXT_LEN] = "";
	struct audit a;
	uint8_t how, len;
	u64 bytes;
	u32 i;
	int r, k;

	if (!fuzz_images[0][0][0].meta)
		for (k = 0; k < 12; k++)
			image_make(k < 8 ? &fuzz_images[k & 1][k >> 1 & 1][k >> 2] : &fuzz_work[k & 1][k >> 1 & 1],
				   k & 1 ? 2048 : 64, k & 2 ? IMAGE_CLEAN : IMAGE_ACTIVE,
				   k < 4 ? IMAGE_BEFORE : IMAGE_NOW);
	if (size < 2)
		return 0;
	how = data[0];
	len = data[1];
	from = &fuzz_images[how & 1][how >> 1 & 1][1];
	before = &fuzz_images[how & 1][how >> 1 & 1][0];
	im = &fuzz_work[how & 1][how >> 1 & 1];
	for (data += 2, size -= 2; size >= 6; data += 6, size -= 6)
		fuzz_change(im, before, data);

	bytes = how & 8 ? im->bytes * len / 256 / 512 * 512 : im->bytes;
	meta = image_bdev("meta", im->meta, bytes);
	/* only its first block is read */
	devs[0] = &ssd;
	ssd = image_bdev("ssd", im->ssd, (TIER_DATA_START + (u64)IMAGE_SLOTS * im->sb.geometry.block_sectors) * 512);
	r = audit_run(&a, &meta, how & 4 ? devs : NULL, &fuzz_cancel, why);
	fuzz_assert(r == 0 || r == -ENODATA || r == -EPROTONOSUPPORT || r == -EILSEQ);
	fuzz_assert(!r == !*why);
	fuzz_check_findings(&a);
	if (!r && !a.nr[AUDIT_ERROR])
		fuzz_check_load(&a, im, bytes);
	audit_free(&a);
	for (i = 0; i < im->nr_used; i++)
		memcpy(image_block(im, im->used[i]), image_block(from, im->used[i]), TIER_META_BLOCK_SIZE);
	memcpy(im->ssd, from->ssd, TIER_META_BLOCK_SIZE);
	return 0;
}
