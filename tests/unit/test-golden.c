// SPDX-License-Identifier: GPL-2.0
/*
 * The format doesn't change by accident: small metadata images, two of a cache and one of a tiered
 * device, formatted and with transactions in the journal and in the pages, byte for byte as in
 * golden/v1-*.hex.
 *
 *	test-golden.t			compare
 *	test-golden.t --write		write the files anew (a change of format: think twice)
 */
#include "tap.h"
#include "core-fixture.h"
#include <libgen.h>
#include <unistd.h>
#include <asm/byteorder.h>

#define NR_TXNS		5U
#define FOLDED		3U	/* transactions that are in the pages */

struct image {
	struct tier_sb sb;
	u8 *blocks;
};

static u8 *block(struct image *im, u64 nr)
{
	return im->blocks + nr * TIER_META_BLOCK_SIZE;
}

static u32 txn_entries(u32 txn)
{
	return txn * 37;
}

/* Entry @i of transaction @txn */
static void txn_entry(const struct tier_geometry *g, u32 txn, u32 i, struct tier_jentry *e)
{
	fx_jentry(g, txn * 1000 + i * 13, e);
}

/* An entry goes to its place in copy A of its page */
static void fold_entry(struct image *im, u32 txn, u32 i)
{
	const struct tier_geometry *g = &im->sb.geometry;
	struct tier_jentry e;
	__le64 *words;
	u8 *page;

	txn_entry(g, txn, i, &e);
	if (e.type == TIER_JENTRY_INTENT) {
		words = tier_page_payload(block(im, g->intent_start));
		words[e.key] = cpu_to_le64(e.bits);
		return;
	}
	page = block(im, tier_slot_page_block(g, e.key / g->records_per_page, 0));
	tier_pack_record(g, &e.rec, tier_page_record(g, page, e.key % g->records_per_page));
}

static void write_pages(struct image *im, u32 seed)
{
	const struct tier_geometry *g = &im->sb.geometry;
	u32 txn, i;
	u64 page;

	tier_page_init(block(im, g->intent_start), TIER_PAGE_INTENT, 0, TIER_INTENT_WORDS);
	for (page = 0; page < g->nr_slot_pages; page++)
		tier_page_init(block(im, tier_slot_page_block(g, page, 0)), TIER_PAGE_SLOTS, page,
			       tier_slot_page_records(g, page));
	for (txn = 1; txn <= FOLDED; txn++)
		for (i = 0; i < txn_entries(txn); i++)
			fold_entry(im, txn, i);
	tier_page_seal(block(im, g->intent_start), seed, FOLDED);
	memcpy(block(im, g->intent_start + 1), block(im, g->intent_start), TIER_META_BLOCK_SIZE);
	for (page = 0; page < g->nr_slot_pages; page++) {
		tier_page_seal(block(im, tier_slot_page_block(g, page, 0)), seed, FOLDED);
		memcpy(block(im, tier_slot_page_block(g, page, 1)),
		       block(im, tier_slot_page_block(g, page, 0)), TIER_META_BLOCK_SIZE);
	}
	for (page = 0; page < tier_nr_hint_pages(g); page++) {
		u8 *p = block(im, tier_hint_page_block(g, page));

		tier_page_init(p, TIER_PAGE_HINTS, page, TIER_HINTS_PER_PAGE);
		for (i = 0; i < TIER_HINTS_PER_PAGE; i += 100)
			((__le32 *)tier_page_payload(p))[i] = cpu_to_le32(0x01020304 + i);
		tier_page_seal(p, seed, 9);
	}
}

/* Transactions from ring block 13 of 16: they wrap */
static void write_journal(struct image *im, u32 seed)
{
	const struct tier_geometry *g = &im->sb.geometry;
	u64 b, at = 13;
	u32 txn, i, n;
	u8 *buf;

	for (b = 0; b < g->journal_blocks; b++)
		tier_journal_format_block(block(im, g->journal_start + b), seed, b);
	for (txn = 1; txn <= NR_TXNS; txn++) {
		n = tier_txn_blocks(g, txn_entries(txn));
		buf = fx_blocks(n);
		tier_txn_init(g, buf, txn_entries(txn));
		for (i = 0; i < txn_entries(txn); i++) {
			struct tier_jentry e;

			txn_entry(g, txn, i, &e);
			tier_txn_put(g, buf, i, &e);
		}
		tier_txn_seal(g, buf, txn_entries(txn), seed, txn, at);
		if (txn == FOLDED + 1) {
			im->sb.tail_txn = txn;
			im->sb.tail_block = at;
		}
		for (i = 0; i < n; i++, at = (at + 1) % g->journal_blocks)
			memcpy(block(im, g->journal_start + at), buf + i * TIER_META_BLOCK_SIZE,
			       TIER_META_BLOCK_SIZE);
		free(buf);
	}
	im->sb.head_txn = FOLDED;
}

static void make(struct image *im, u32 block_sectors, bool tiered)
{
	struct tier_sb *sb = &im->sb;
	u32 seed;

	if (tiered) {
		fx_tiered_sb(sb, block_sectors, 16);
		sb->geometry.devs[0].flags = TIER_DEV_EVACUATE;
	} else {
		fx_sb(sb, block_sectors, 300, 5000, 16);
		sb->mode = TIER_MODE_WRITETHROUGH;
	}
	sb->flags = TIER_SB_ACTIVATING;
	sb->seq = 5;
	sb->generation = 2;
	sb->stop_time = 1700000100;
	strcpy(sb->policy, "hotspot");
	sb->hint_seq = 9;
	sb->fp[1].sectors = sb->geometry.nr_sectors;
	sb->fp[1].head = 0x11223344;
	sb->fp[1].samples = 0x55667788;
	im->blocks = fx_blocks(sb->geometry.meta_blocks);
	seed = tier_csum_seed(sb->uuid);
	write_pages(im, seed);
	write_journal(im, seed);
	tier_pack_sb(sb, TIER_SB_BLOCK_0, block(im, TIER_SB_BLOCK_0));
	tier_pack_sb(sb, TIER_SB_BLOCK_1, block(im, TIER_SB_BLOCK_1));
}

/* Lines of 32 bytes, those that are zero left out */
static void write_hex(const struct image *im, FILE *f)
{
	u64 i, size = im->sb.geometry.meta_blocks * TIER_META_BLOCK_SIZE;
	u32 k;

	fprintf(f, "# %llu bytes; the lines that are not here are zero\n",
		(unsigned long long)size);
	for (i = 0; i < size; i += 32) {
		if (!memchr_inv(im->blocks + i, 0, 32))
			continue;
		fprintf(f, "%06llx ", (unsigned long long)i);
		for (k = 0; k < 32; k++)
			fprintf(f, "%02x", im->blocks[i + k]);
		fputc('\n', f);
	}
}

/* The image of a file, or NULL */
static u8 *read_hex(FILE *f, u64 *size)
{
	unsigned long long n, at;
	char hex[65];
	u8 *p;
	u32 k;

	if (fscanf(f, "# %llu bytes; the lines that are not here are zero\n", &n) != 1 ||
	    !n || n % TIER_META_BLOCK_SIZE || n > 1 << 24)
		return NULL;
	p = fx_blocks(n / TIER_META_BLOCK_SIZE);
	while (fscanf(f, "%llx %64s\n", &at, hex) == 2) {
		for (k = 0; k < 32; k++) {
			unsigned int byte;

			if (at + 32 > n || sscanf(hex + 2 * k, "%2x", &byte) != 1) {
				free(p);
				return NULL;
			}
			p[at + k] = byte;
		}
	}
	*size = n;
	return p;
}

struct replayed {
	const struct tier_geometry *g;
	u32 entries;
	bool good;
};

static int take_entry(void *context, u64 txn, const struct tier_jentry *e)
{
	struct replayed *re = context;
	struct tier_jentry want;
	u32 i = re->entries++;

	if (txn == FOLDED + 2)
		i -= txn_entries(FOLDED + 1);
	txn_entry(re->g, txn, i, &want);
	if (!fx_same_jentry(e, &want))
		re->good = false;
	return 0;
}

/* The golden image is read, not only compared: today's reader understands it. */
static void check_reading(u8 *blocks, u64 size, const char *name)
{
	struct image im = { .blocks = blocks };
	struct tier_geometry *g = &im.sb.geometry;
	struct tier_journal_scan scan;
	struct tier_record rec;
	struct replayed re = { .g = g, .good = true };
	const char *why = NULL;
	u32 seed, copy, i, good = 0;
	u64 page, seq;

	ok(tier_unpack_sb(blocks, 0, &im.sb, &why) == TIER_OK, "%s: first superblock", name);
	ok(tier_unpack_sb(block(&im, 16), 16, &im.sb, &why) == TIER_OK, "%s: second superblock",
	   name);
	if (!ok(!tier_geometry_check(g) && g->meta_blocks * TIER_META_BLOCK_SIZE == size,
		"%s: geometry", name))
		return;
	seed = tier_csum_seed(im.sb.uuid);
	for (copy = 0; copy < 2; copy++) {
		good += tier_page_verify(block(&im, g->intent_start + copy), seed, TIER_PAGE_INTENT,
					 0, &seq) == TIER_OK &&
			seq == FOLDED;
		for (page = 0; page < g->nr_slot_pages; page++) {
			u8 *p = block(&im, tier_slot_page_block(g, page, copy));

			good += tier_page_verify(p, seed, TIER_PAGE_SLOTS, page, &seq) == TIER_OK &&
				seq == FOLDED;
			for (i = 0; i < tier_slot_page_records(g, page); i++)
				if (tier_unpack_record(g, tier_page_record(g, p, i), &rec) !=
				    TIER_OK)
					good = 1000;
		}
	}
	is(good, 2 + 2 * g->nr_slot_pages, "%s: intent and slot pages", name);
	for (page = good = 0; page < tier_nr_hint_pages(g); page++)
		good += tier_page_verify(block(&im, tier_hint_page_block(g, page)), seed,
					 TIER_PAGE_HINTS, page, &seq) == TIER_OK &&
			seq == im.sb.hint_seq;
	is(good, tier_nr_hint_pages(g), "%s: hint pages", name);
	ok(!tier_journal_scan(&im.sb, block(&im, g->journal_start), &scan, &why) &&
	   scan.nr_txns == NR_TXNS - FOLDED && !scan.torn_sectors,
	   "%s: journal", name);
	ok(!tier_journal_replay(&im.sb, block(&im, g->journal_start), &scan, take_entry, &re) &&
	   re.good && re.entries == txn_entries(4) + txn_entries(5),
	   "%s: its entries", name);
}

static void check_image(const char *dir, const char *name, u32 block_sectors, bool tiered, bool write)
{
	struct image im;
	char path[4096];
	u64 i, size = 0;
	u8 *golden;
	FILE *f;

	make(&im, block_sectors, tiered);
	snprintf(path, sizeof(path), "%s/golden/%s", dir, name);
	f = fopen(path, write ? "w" : "r");
	if (!ok(f, "%s can be opened", name)) {
		diag("%s", path);
		free(im.blocks);
		return;
	}
	if (write) {
		write_hex(&im, f);
	} else {
		golden = read_hex(f, &size);
		if (ok(golden && size == im.sb.geometry.meta_blocks * TIER_META_BLOCK_SIZE,
		       "%s is an image", name)) {
			for (i = 0; i < size && golden[i] == im.blocks[i]; i++)
				;
			if (!ok(i == size, "%s is what is written today", name))
				diag("first difference at block %llu, byte %llu: %02x, now %02x",
				     (unsigned long long)i / 4096, (unsigned long long)i % 4096,
				     golden[i], im.blocks[i]);
			check_reading(golden, size, name);
		}
		free(golden);
	}
	fclose(f);
	free(im.blocks);
}

int main(int argc, char **argv)
{
	bool write = argc > 1 && !strcmp(argv[1], "--write");
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir = getenv("TIER_UNIT_DIR");

	self[n < 0 ? 0 : n] = '\0';
	if (!dir)
		dir = dirname(self);
	check_image(dir, "v1-record16.hex", 128, false, write);
	check_image(dir, "v1-record32.hex", 2048, false, write);
	check_image(dir, "v1-tiered.hex", 128, true, write);
	return tap_done();
}
