// SPDX-License-Identifier: GPL-2.0
/* On-disk structures: round trips at every block size, every flipped bit, every wrong field. */
#include "tap.h"
#include "core-fixture.h"
#include <asm/byteorder.h>
#include <linux/crc32c.h>

/* The library's table version under another name: the processor's instruction hides it. */
#undef __x86_64__
#define crc32c crc32c_by_tables
#include "../../userspace/lib/crc32c.c"
#undef crc32c

#define BLOCK_BITS	(8 * TIER_META_BLOCK_SIZE)

static u8 *buf;		/* one metadata block */

static void flip(void *p, u32 bit)
{
	((u8 *)p)[bit / 8] ^= 1 << bit % 8;
}

/* --- checksum --- */

static u32 crc32c_by_bits(u32 crc, const u8 *p, size_t length)
{
	u32 k;

	while (length--) {
		crc ^= *p++;
		for (k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
	}
	return crc;
}

static void test_crc(void)
{
	u64 state = 1;
	u32 i, offset, length;
	u32 want;

	is(crc32c(~0U, "123456789", 9) ^ ~0U, 0xe3069283U,
	   "CRC32C of 123456789, inverted as usual");
	for (i = 0; i < TIER_META_BLOCK_SIZE; i++)
		buf[i] = fx_random(&state);
	for (offset = 0; offset < 9; offset++) {
		for (length = 0; length < 70; length++) {
			want = crc32c_by_bits(length * 12345, buf + offset, length);
			fx_check(crc32c(length * 12345, buf + offset, length) == want, "%u %u",
				 offset, length);
			fx_check(crc32c_by_tables(length * 12345, buf + offset, length) == want,
				 "%u %u", offset, length);
		}
	}
	ok(!fx_failures(), "CRC32C at all lengths and alignments, by instruction and by tables");
}

/* --- superblock --- */

static void full_sb(struct tier_sb *sb, u32 bs)
{
	fx_sb(sb, bs, 5000, 60000, 64);
	sb->flags = TIER_SB_NEEDS_CHECK | TIER_SB_ACTIVATING | TIER_SB_SUSPECT;
	sb->compat = 0;
	sb->seq = 0x1122334455667788ULL;
	sb->generation = 0x99aabbccddeeff00ULL;
	sb->mode = TIER_MODE_PASSTHROUGH;
	sb->tail_txn = 1000000007;
	sb->tail_block = 63;
	sb->head_txn = 1000000009;
	sb->format_time = 1700000001;
	sb->stop_time = 1700000002;
	strcpy(sb->policy, "a-policy_name-of-31-characters.");
	sb->hint_seq = 77;
	sb->fp[0].sectors = 0x123456789aULL;
	sb->fp[0].head = 0xdeadbeef;
	sb->fp[0].samples = 0xfeedface;
	sb->fp[1].sectors = 42;
	sb->fp[1].head = 43;
	sb->fp[1].samples = 44;
}

static void test_sb(const char *kind, const struct tier_sb *what, u64 location)
{
	struct tier_sb sb = *what, got;
	const char *why = "";
	enum tier_verify v;
	u32 i;

	memset(buf, 0xee, TIER_META_BLOCK_SIZE);
	tier_pack_sb(&sb, location, buf);
	memset(&got, 0xdd, sizeof(got));
	v = tier_unpack_sb(buf, location, &got, &why);
	fx_check(v == TIER_OK && !why, "%s", why);
	fx_check(!memcmp(&sb, &got, sizeof(sb)), "round trip");
	fx_check(tier_unpack_sb(buf, 16 - location, &got, &why) == TIER_MISPLACED && why,
		 "other place");

	for (i = 0; i < BLOCK_BITS; i++) {
		flip(buf, i);
		why = NULL;
		v = tier_unpack_sb(buf, location, &got, &why);
		fx_check((v == TIER_BAD_CSUM || v == TIER_NOT_OURS) && why, "bit %u: %s", i,
			 tier_verify_text(v));
		flip(buf, i);
	}
	for (i = 0; i < 8; i++) {
		u8 sector[512];

		/* the last sectors of a superblock are zero anyway */
		if (!memchr_inv(buf + 512 * i, 0, 512))
			continue;
		memcpy(sector, buf + 512 * i, 512);
		memset(buf + 512 * i, 0, 512);
		fx_check(tier_unpack_sb(buf, location, &got, &why) != TIER_OK, "sector %u zero", i);
		memcpy(buf + 512 * i, sector, 512);
	}
	memset(buf, 0, TIER_META_BLOCK_SIZE);
	fx_check(tier_unpack_sb(buf, location, &got, &why) == TIER_BLANK && why, "blank");
	ok(!fx_failures(),
	   "superblock at %llu, %sblock size %u: round trip, all single bits, lost sectors",
	   (unsigned long long)location, kind, sb.geometry.block_sectors);
}

static void reseal(void *p)
{
	*(__le32 *)p = cpu_to_le32(crc32c(~0U, (u8 *)p + 4, TIER_META_BLOCK_SIZE - 4));
}

#define D	((struct tier_disk_sb *)buf)

/* After a change to the packed superblock, its checksum made right again */
static void sb_field(const char *name, enum tier_verify want, const char *text)
{
	struct tier_sb got;
	const char *why = NULL;
	enum tier_verify v;

	reseal(buf);
	v = tier_unpack_sb(buf, 0, &got, &why);
	ok(v == want && (want == TIER_OK ? !why : why && strstr(why, text)),
	   "superblock with %s: %s (%s)", name, tier_verify_text(v), why ? why : "no message");
	full_sb(&got, 128);
	tier_pack_sb(&got, 0, buf);
}

static void test_sb_fields(void)
{
	struct tier_sb sb;
	const char *why;

	full_sb(&sb, 128);
	tier_pack_sb(&sb, 0, buf);

	D->magic = cpu_to_le64(TIER_DEV_MAGIC);
	sb_field("a device's magic", TIER_NOT_OURS, "not dm-tier");
	D->version = cpu_to_le32(2);
	sb_field("version 2", TIER_NEWER, "newer version");
	D->version = 0;
	sb_field("version 0", TIER_INVALID, "version");
	D->incompat = cpu_to_le64(TIER_FEATURE_INCOMPAT_EXCLUSIVE);
	sb_field("the tiered feature in a cache mode", TIER_INVALID, "exclusive");
	D->incompat = cpu_to_le64(1ULL << 63);
	sb_field("an unknown incompat feature", TIER_NEWER, "features");
	D->compat = cpu_to_le64(4);
	D->reserved[767] = 1;
	D->nr_extents = cpu_to_le32(1);
	D->extents[31].reserved = cpu_to_le32(1);
	D->devs[1].flags = cpu_to_le32(1);
	D->devs[15].reserved[3] = 1;
	D->flags = cpu_to_le32(0x80);
	sb_field("an unknown compat feature that uses reserved bytes", TIER_OK, "");
	D->compat_ro = cpu_to_le64(4);
	D->reserved0 = cpu_to_le32(1);
	sb_field("an unknown compat_ro feature that uses reserved bytes", TIER_OK, "");
	D->flags = cpu_to_le32(0x10);
	sb_field("unknown flags", TIER_INVALID, "flags");
	D->mode = cpu_to_le32(TIER_MODE_TIERED);
	sb_field("tiered mode without the feature", TIER_INVALID, "exclusive");
	D->mode = cpu_to_le32(TIER_NR_MODES);
	sb_field("mode 5", TIER_INVALID, "unknown mode");
	D->mode = cpu_to_le32(U32_MAX);
	sb_field("mode 2^32 - 1", TIER_INVALID, "mode");
	D->policy[31] = 'x';
	sb_field("a policy without end", TIER_INVALID, "policy");
	D->policy[3] = 0;
	sb_field("bytes behind the policy", TIER_INVALID, "policy");
	D->policy[3] = '\n';
	sb_field("a line feed in the policy", TIER_INVALID, "policy");
	D->policy[3] = 0xc4;
	sb_field("a non-ASCII policy", TIER_INVALID, "policy");
	memset(D->policy, 0, 32);
	sb_field("no policy", TIER_OK, "");
	D->tail_txn = 0;
	sb_field("tail_txn 0", TIER_INVALID, "tail_txn");
	D->tail_txn = cpu_to_le64(1ULL << 63);
	sb_field("tail_txn 2^63", TIER_INVALID, "tail_txn");
	D->tail_block = cpu_to_le64(64);
	sb_field("tail_block at the end", TIER_INVALID, "tail_block");
	D->head_txn = cpu_to_le64(1000000005);
	sb_field("head_txn too old", TIER_INVALID, "head_txn");
	D->head_txn = cpu_to_le64(1000000006);
	sb_field("head_txn of an empty journal", TIER_OK, "");
	D->head_txn = cpu_to_le64(1000000006 + 64);
	sb_field("head_txn of a full journal", TIER_OK, "");
	D->head_txn = cpu_to_le64(1000000006 + 65);
	sb_field("head_txn too new", TIER_INVALID, "head_txn");
	D->head_txn = cpu_to_le64(U64_MAX);
	sb_field("head_txn 2^64 - 1", TIER_INVALID, "head_txn");
	D->reserved0 = cpu_to_le32(1);
	sb_field("reserved0", TIER_INVALID, "reserved");
	D->reserved[0] = 1;
	sb_field("the first reserved byte", TIER_INVALID, "reserved");
	D->reserved[767] = 1;
	sb_field("the last reserved byte", TIER_INVALID, "reserved");
	D->nr_sectors = cpu_to_le64(1);
	sb_field("a cache's nr_sectors", TIER_INVALID, "reserved");
	D->nr_extents = cpu_to_le32(1);
	sb_field("a cache's nr_extents", TIER_INVALID, "reserved");
	D->reserved1 = cpu_to_le32(1);
	sb_field("reserved1", TIER_INVALID, "reserved");
	D->extents[0].nr_slots = cpu_to_le64(1);
	sb_field("a cache's extent", TIER_INVALID, "reserved");
	D->extents[31].reserved = cpu_to_le32(1);
	sb_field("the last extent's reserved bytes", TIER_INVALID, "reserved");
	D->devs[1].reserved[55] = 1;
	sb_field("a device's reserved byte", TIER_INVALID, "reserved");
	D->devs[0].flags = cpu_to_le32(1);
	sb_field("a device's flags", TIER_INVALID, "reserved");
	D->devs[2].uuid[0] = 1;
	sb_field("a device too many", TIER_INVALID, "reserved");
	D->nr_devs = cpu_to_le32(U32_MAX);
	sb_field("2^32 - 1 devices", TIER_INVALID, "nr_devs");
	D->nr_slots = cpu_to_le64(4999);
	sb_field("a wrong nr_slots", TIER_INVALID, "nr_slots");

	/* The fields of a newer superblock are there for a message. */
	D->version = cpu_to_le32(7);
	D->nr_devs = cpu_to_le32(U32_MAX);
	reseal(buf);
	ok(tier_unpack_sb(buf, 0, &sb, &why) == TIER_NEWER && sb.version == 7 &&
	   sb.generation == 0x99aabbccddeeff00ULL,
	   "a newer superblock is filled in");
}

/* The same for a tiered one */
static void tiered_field(const char *name, enum tier_verify want, const char *text)
{
	struct tier_sb got;
	const char *why = NULL;
	enum tier_verify v;

	reseal(buf);
	v = tier_unpack_sb(buf, 0, &got, &why);
	ok(v == want && (want == TIER_OK ? !why : why && strstr(why, text)),
	   "tiered superblock with %s: %s (%s)", name, tier_verify_text(v), why ? why : "no message");
	fx_tiered_sb(&got, 128, 64);
	tier_pack_sb(&got, 0, buf);
}

static void test_tiered_sb_fields(void)
{
	struct tier_sb sb;

	fx_tiered_sb(&sb, 128, 64);
	tier_pack_sb(&sb, 0, buf);
	is(le64_to_cpu(D->nr_sectors), sb.geometry.nr_sectors, "a tiered superblock says its length");
	is(le32_to_cpu(D->extents[1].dev), TIER_EXTENT_HOLE, "and its extents");

	tiered_field("nothing changed", TIER_OK, "");
	D->incompat = 0;
	tiered_field("no feature", TIER_INVALID, "exclusive");
	D->mode = cpu_to_le32(TIER_MODE_WRITEBACK);
	tiered_field("a cache mode", TIER_INVALID, "exclusive");
	D->incompat = cpu_to_le64(TIER_FEATURE_INCOMPAT_EXCLUSIVE | 2);
	tiered_field("one more feature", TIER_NEWER, "features");
	D->devs[0].flags = cpu_to_le32(TIER_DEV_EVACUATE);
	tiered_field("a device to be emptied", TIER_OK, "");
	D->devs[0].flags = cpu_to_le32(8);
	tiered_field("an unknown flag of a device", TIER_INVALID, "flags");
	D->devs[0].flags = cpu_to_le32(TIER_DEV_SETTLE);
	tiered_field("a device with a header that is to be settled", TIER_INVALID, "settled");
	D->devs[3].flags = cpu_to_le32(1);
	tiered_field("flags of a device behind the last", TIER_INVALID, "reserved");
	D->extents[4].reserved = cpu_to_le32(1);
	tiered_field("an extent's reserved bytes", TIER_INVALID, "reserved");
	D->extents[5].first_slot = cpu_to_le64(1);
	tiered_field("an extent behind the last", TIER_INVALID, "reserved");
	D->reserved1 = cpu_to_le32(1);
	tiered_field("reserved1", TIER_INVALID, "reserved");
	D->nr_extents = cpu_to_le32(U32_MAX);
	tiered_field("2^32 - 1 extents", TIER_INVALID, "nr_extents");
	D->nr_sectors = 0;
	tiered_field("length 0", TIER_INVALID, "nr_sectors");
	memset(D->devs[1].uuid, 0, 16);
	tiered_field("a device without uuid", TIER_INVALID, "uuid");
}

static void test_choose_sb(void)
{
	struct tier_sb a, b;
	u32 i, j;
	int want;

	full_sb(&a, 8);
	b = a;
	for (i = TIER_OK; i <= TIER_INVALID; i++) {
		for (j = TIER_OK; j <= TIER_INVALID; j++) {
			want = -1;
			if (i != TIER_NEWER && j != TIER_NEWER)
				want = i == TIER_OK ? 0 : j == TIER_OK ? 1 : -1;
			fx_check(tier_choose_sb(i, &a, j, &b) == want, "%u %u", i, j);
		}
	}
	ok(!fx_failures(), "choice between superblocks: all verdicts");
	b.seq++;
	is(tier_choose_sb(TIER_OK, &a, TIER_OK, &b), 1, "the newer one");
	is(tier_choose_sb(TIER_OK, &b, TIER_OK, &a), 0, "the newer one, in the first place");
	is(tier_choose_sb(TIER_OK, &a, TIER_BAD_CSUM, &b), 0,
	   "the older one if the newer one is damaged");
	b.uuid[5]++;
	is(tier_choose_sb(TIER_OK, &a, TIER_OK, &b), -1, "none if they are of two tier devices");
}

/* --- device header --- */

static void test_dev_header(void)
{
	struct tier_disk_dev_header *disk = (void *)buf;
	struct tier_dev_header got, h = {
		.index = 15,
		.block_sectors = 128,
		.generation = 0x123456789abcdef0ULL,
		.data_start = 2048,
		.nr_slots = 0xfffffff0,
	};
	const char *why = NULL;
	enum tier_verify v;
	u32 i;

	fx_uuid(h.uuid, 1);
	fx_uuid(h.dev_uuid, 100);
	memset(buf, 0xee, TIER_META_BLOCK_SIZE);
	tier_pack_dev_header(&h, buf);
	v = tier_unpack_dev_header(buf, &got, &why);
	ok(v == TIER_OK && !why && !memcmp(&h, &got, sizeof(h)), "device header: round trip");
	for (i = 0; i < BLOCK_BITS; i++) {
		flip(buf, i);
		v = tier_unpack_dev_header(buf, &got, &why);
		fx_check((v == TIER_BAD_CSUM || v == TIER_NOT_OURS) && why, "bit %u", i);
		flip(buf, i);
	}
	ok(!fx_failures(), "device header: all single bits");

	disk->version = cpu_to_le32(2);
	reseal(buf);
	is(tier_unpack_dev_header(buf, &got, &why), TIER_NEWER, "device header of version 2");
	disk->version = 0;
	reseal(buf);
	is(tier_unpack_dev_header(buf, &got, &why), TIER_INVALID, "device header of version 0");
	tier_pack_dev_header(&h, buf);
	disk->index = cpu_to_le32(16);
	reseal(buf);
	is(tier_unpack_dev_header(buf, &got, &why), TIER_INVALID, "device header with index 16");
	tier_pack_dev_header(&h, buf);
	disk->reserved[4015] = 1;
	reseal(buf);
	is(tier_unpack_dev_header(buf, &got, &why), TIER_INVALID,
	   "device header with a reserved byte");
	memset(buf, 0, TIER_META_BLOCK_SIZE);
	is(tier_unpack_dev_header(buf, &got, &why), TIER_BLANK, "blank device header");
	memset(buf, 0xff, TIER_META_BLOCK_SIZE);
	is(tier_unpack_dev_header(buf, &got, &why), TIER_NOT_OURS, "foreign device header");
}

/* --- records --- */

static void record_trip(const struct tier_geometry *g, u64 block, u64 valid, u64 dirty, u16 flags)
{
	struct tier_record got, rec = {
		.block = tier_to_block(block),
		.valid = valid,
		.dirty = dirty,
		.flags = flags,
	};
	u8 disk[32] __aligned(8);

	memset(disk, 0xee, sizeof(disk));
	tier_pack_record(g, &rec, disk);
	fx_check(tier_unpack_record(g, disk, &got) == TIER_OK && fx_same_record(&rec, &got),
		 "block %llu valid %llx dirty %llx flags %x", (unsigned long long)block,
		 (unsigned long long)valid, (unsigned long long)dirty, flags);
	fx_check(!memchr_inv(disk + g->record_bytes, 0xee, sizeof(disk) - g->record_bytes),
		 "too many bytes");
}

static void record_refused(const struct tier_geometry *g, const char *name, u64 block_flags,
			   u64 valid, u64 dirty, u64 reserved)
{
	struct tier_disk_record16 r16 = { cpu_to_le64(block_flags), cpu_to_le16(valid),
					  cpu_to_le16(dirty), cpu_to_le32(reserved) };
	struct tier_disk_record32 r32 = { cpu_to_le64(block_flags), cpu_to_le64(valid),
					  cpu_to_le64(dirty), cpu_to_le64(reserved) };
	struct tier_record got;

	fx_check(tier_unpack_record(g, g->record_bytes == 16 ? (void *)&r16 : (void *)&r32, &got) ==
			 TIER_INVALID,
		 "%s", name);
}

static void test_records(u32 bs)
{
	const u64 mapped = (u64)TIER_REC_MAPPED << 48;
	struct tier_record rec = { 0 };
	struct tier_geometry g;
	u8 disk[32] __aligned(8);
	u64 all, half, last;
	u32 first, end, f;

	fx_geometry(&g, bs, 1000, 60001, 64);
	all = tier_granule_mask(0, g.nr_granules - 1);
	last = g.nr_blocks - 1;

	for (first = 0; first < g.nr_granules; first++) {
		for (end = first; end < g.nr_granules; end++) {
			u64 m = tier_granule_mask(first, end);

			for (f = TIER_REC_MAPPED; f <= TIER_REC_FLAGS; f += 2) {
				record_trip(&g, 0, m, 0, f);
				record_trip(&g, last - 1, m, m, f);
				record_trip(&g, 4711, all, m, f);
			}
			record_refused(&g, "dirty, not valid", mapped, all & ~m, m, 0);
		}
	}
	record_trip(&g, 1, 0, 0, TIER_REC_MAPPED);

	/* the last block is half a block, or the half of a granule */
	half = tier_granule_mask(0,
				 bs / 2 > g.granule_sectors ? bs / 2 / g.granule_sectors - 1 : 0);
	record_trip(&g, last, half, half, TIER_REC_MAPPED);
	if (half != all)
		record_refused(&g, "granules behind the end", mapped | last, all, 0, 0);

	record_refused(&g, "block behind the end", mapped | (last + 1), 1, 0, 0);
	record_refused(&g, "block 2^48 - 1", mapped | ((1ULL << 48) - 1), 1, 0, 0);
	if (g.nr_granules < (g.record_bytes == 16 ? 16 : 64))
		record_refused(&g, "granule behind the block", mapped, all + 1, 0, 0);
	for (f = 2; f < 16; f++)
		record_refused(&g, "unknown flag", mapped | 1ULL << (48 + f), 1, 0, 0);
	record_refused(&g, "pinned, not mapped", (u64)TIER_REC_PINNED << 48, 1, 0, 0);
	record_refused(&g, "free with a block", 1, 0, 0, 0);
	record_refused(&g, "free with granules", 0, 1, 0, 0);
	record_refused(&g, "free with dirty granules", 0, 0, 1, 0);
	record_refused(&g, "free with reserved bytes", 0, 0, 0, 1);
	record_refused(&g, "reserved bytes", mapped, 1, 0, 1ULL << 31);

	/* A free slot is all zero, whatever else the record says. */
	rec.block = tier_to_block(5);
	rec.valid = 1;
	rec.dirty = 1;
	rec.flags = TIER_REC_PINNED;
	memset(disk, 0xee, sizeof(disk));
	tier_pack_record(&g, &rec, disk);
	fx_check(!memchr_inv(disk, 0, g.record_bytes), "free");
	fx_check(tier_unpack_record(&g, disk, &rec) == TIER_OK && !rec.flags && !rec.valid, "free");
	ok(!fx_failures(), "slot records at block size %u", bs);
}

/* What only tiered devices refuse, or allow */
static void test_tiered_records(u32 bs)
{
	const u64 mapped = (u64)TIER_REC_MAPPED << 48;
	struct tier_record got, rec = { .flags = TIER_REC_MAPPED };
	struct tier_jentry in = { .type = TIER_JENTRY_SLOT }, out;
	struct tier_geometry g;
	u8 disk[32] __aligned(8);
	u64 all, m;
	u32 i;

	fx_tiered(&g, bs, 64);
	all = tier_granule_mask(0, g.nr_granules - 1);
	for (i = 0; i < g.nr_granules; i++) {
		m = tier_granule_mask(i, g.nr_granules - 1);
		record_trip(&g, g.nr_blocks - 1, m, m, TIER_REC_FLAGS);
		record_refused(&g, "valid, not dirty", mapped, m, 0, 0);
		if (m != all)
			record_refused(&g, "partly dirty", mapped, all, m, 0);
	}
	record_trip(&g, 0, 0, 0, TIER_REC_MAPPED);
	record_refused(&g, "block behind the end", mapped | g.nr_blocks, 1, 1, 0);

	tier_pack_record(&g, &rec, disk);
	for (i = 0; i < g.nr_slots; i++) {
		enum tier_verify want = i >= 100 && i < 160 ? TIER_INVALID : TIER_OK;

		fx_check(tier_unpack_slot_record(&g, tier_to_slot(i), disk, &got) == want, "slot %u in use", i);
		in.key = i;
		in.rec = rec;
		tier_txn_init(&g, buf, 1);
		tier_txn_put(&g, buf, 0, &in);
		fx_check(tier_jsector_entry(&g, buf, 0, &out) == want, "entry of slot %u in use", i);
	}
	memset(disk, 0, sizeof(disk));
	fx_check(tier_unpack_slot_record(&g, tier_to_slot(120), disk, &got) == TIER_OK, "free, in a hole");
	ok(!fx_failures(), "slot records of a tiered device at block size %u", bs);
}

static void test_record_largest(void)
{
	struct tier_geometry g;

	tier_geometry_cache(&g, 256, 1 << 20, (1ULL << 54) - 1);
	is(g.nr_blocks, 1LL << 46, "a device of 2^46 blocks");
	record_trip(&g, (1ULL << 46) - 1, 0xff, 0x81, TIER_REC_MAPPED);
	record_trip(&g, (1ULL << 46) - 2, 0xff, 0x81, TIER_REC_FLAGS);
	ok(!fx_failures(), "its last slot records");
}

/* --- pages --- */

static void test_page(u32 kind, u32 nr, u64 page, u64 seq)
{
	u32 seed = 0x12345678, i;
	u64 got = 0, state = kind;
	enum tier_verify v;

	memset(buf, 0xee, TIER_META_BLOCK_SIZE);
	tier_page_init(buf, kind, page, nr);
	fx_check(!memchr_inv(tier_page_payload(buf), 0, TIER_PAGE_PAYLOAD), "payload is zero");
	for (i = 0; i < TIER_PAGE_PAYLOAD; i++)
		((u8 *)tier_page_payload(buf))[i] = fx_random(&state);
	tier_page_seal(buf, seed, seq);
	fx_check(tier_page_verify(buf, seed, kind, page, &got) == TIER_OK && got == seq, "good");
	fx_check(tier_page_verify(buf, seed + 1, kind, page, &got) == TIER_BAD_CSUM,
		 "of another tier device");
	fx_check(tier_page_verify(buf, seed, kind, page ^ 1, &got) == TIER_MISPLACED,
		 "another place");
	fx_check(tier_page_verify(buf, seed, kind % 3 + 1, page, &got) == TIER_MISPLACED,
		 "another kind");
	for (i = 0; i < BLOCK_BITS; i++) {
		flip(buf, i);
		v = tier_page_verify(buf, seed, kind, page, &got);
		fx_check(v == TIER_BAD_CSUM || v == TIER_NOT_OURS, "bit %u", i);
		flip(buf, i);
	}
	for (i = 0; i < 8; i++) {
		u8 sector[512];

		memcpy(sector, buf + 512 * i, 512);
		memset(buf + 512 * i, 0, 512);
		v = tier_page_verify(buf, seed, kind, page, &got);
		fx_check(v == (i ? TIER_BAD_CSUM : TIER_NOT_OURS), "sector %u zero", i);
		memcpy(buf + 512 * i, sector, 512);
	}
	/* sealed again: an older page is good, and known by its sequence number */
	tier_page_seal(buf, seed, seq - 1);
	fx_check(tier_page_verify(buf, seed, kind, page, &got) == TIER_OK && got == seq - 1,
		 "older");
	((struct tier_disk_page *)buf)->nr = cpu_to_le32(1017);
	tier_page_seal(buf, seed, seq);
	fx_check(tier_page_verify(buf, seed, kind, page, &got) == TIER_INVALID, "too many records");
	memset(buf, 0, TIER_META_BLOCK_SIZE);
	fx_check(tier_page_verify(buf, seed, kind, page, &got) == TIER_BLANK, "blank");
	ok(!fx_failures(),
	   "page of kind %u: round trip, all single bits, lost sectors, other places", kind);
}

static void test_slot_pages(u32 bs)
{
	static const u64 counts[] = { 1, 126, 127, 128, 253, 254, 255, 508, 509, 5000 };
	struct tier_record rec, got;
	struct tier_geometry g;
	u64 page, sum;
	u32 c, i, nr;

	for (c = 0; c < ARRAY_SIZE(counts); c++) {
		fx_geometry(&g, bs, counts[c], 7777, 16);
		for (page = sum = 0; page < g.nr_slot_pages; page++) {
			nr = tier_slot_page_records(&g, page);
			fx_check(nr && nr <= g.records_per_page, "page %llu",
				 (unsigned long long)page);
			sum += nr;
		}
		fx_check(sum == counts[c] && !tier_slot_page_records(&g, page), "%llu records",
			 (unsigned long long)sum);
	}
	/* A full page: no record reaches into another, none behind the end. */
	tier_page_init(buf, TIER_PAGE_SLOTS, 3, g.records_per_page);
	for (i = 0; i < g.records_per_page; i++) {
		fx_record(&g, i + 1, &rec);
		tier_pack_record(&g, &rec, tier_page_record(&g, buf, i));
	}
	for (i = 0; i < g.records_per_page; i++) {
		fx_record(&g, i + 1, &rec);
		fx_check(tier_unpack_record(&g, tier_page_record(&g, buf, i), &got) == TIER_OK &&
			 fx_same_record(&rec, &got), "record %u", i);
	}
	fx_check((u8 *)tier_page_record(&g, buf, i) <= buf + TIER_META_BLOCK_SIZE, "size");
	ok(!fx_failures(), "slot pages at block size %u", bs);
}

/* --- journal --- */

static void test_txn(u32 bs)
{
	struct tier_geometry g;
	struct tier_jentry e, got;
	struct tier_jhead h;
	u32 seed = 99, nr, i, s, n, blocks, per_block;
	u8 *txn;

	fx_geometry(&g, bs, 5000, 60000, 16);
	per_block = 8 * g.entries_per_jsector;
	txn = fx_blocks(4);
	for (nr = 0; nr <= 3 * per_block + 1; nr++) {
		blocks = tier_txn_blocks(&g, nr);
		fx_check(blocks == (nr ? (nr + per_block - 1) / per_block : 1),
			 "%u entries: %u blocks", nr, blocks);
		memset(txn, 0xee, 4 * TIER_META_BLOCK_SIZE);
		tier_txn_init(&g, txn, nr);
		for (i = 0; i < nr; i++) {
			fx_jentry(&g, nr + i, &e);
			tier_txn_put(&g, txn, i, &e);
		}
		tier_txn_seal(&g, txn, nr, seed, 12345, 14);	/* the third block wraps */
		fx_check(blocks == 4 || !memchr_inv(txn + blocks * TIER_META_BLOCK_SIZE, 0xee,
						    (4 - blocks) * TIER_META_BLOCK_SIZE),
			 "too many bytes");
		for (s = n = 0; s < 8 * blocks; s++) {
			enum tier_verify v =
				tier_jsector_verify(&g, txn + 512 * s, seed, (14 + s / 8) % 16, &h);

			fx_check(v == TIER_OK && h.txn == 12345 && h.index == s &&
				 h.total == 8 * blocks && h.block == (14 + s / 8) % 16,
				 "sector %u of %u entries", s, nr);
			for (i = 0; i < h.nr; i++, n++) {
				fx_jentry(&g, nr + n, &e);
				v = tier_jsector_entry(&g, txn + 512 * s, i, &got);
				fx_check(v == TIER_OK && fx_same_jentry(&e, &got),
					 "entry %u of %u", n, nr);
			}
			fx_check(tier_jsector_entry(&g, txn + 512 * s, g.entries_per_jsector,
						    &got) == TIER_INVALID,
				 "entry behind the end");
		}
		fx_check(n == nr, "%u of %u entries", n, nr);
	}
	free(txn);
	ok(!fx_failures(), "transactions of 0 to %u entries at block size %u", nr - 1, bs);
}

#define J	((struct tier_disk_jsector *)buf)

static void test_jsector(u32 bs)
{
	struct tier_geometry g;
	struct tier_jentry e;
	struct tier_jhead h;
	u32 i, s, nr = 3;

	fx_geometry(&g, bs, 5000, 60000, 16);
	tier_txn_init(&g, buf, nr);
	for (i = 0; i < nr; i++) {
		fx_jentry(&g, i + 1, &e);
		tier_txn_put(&g, buf, i, &e);
	}
	tier_txn_seal(&g, buf, nr, 7, 5, 9);
	for (s = 0; s < 8; s++) {
		for (i = 0; i < 8 * 512; i++) {
			enum tier_verify v;

			flip(buf + 512 * s, i);
			v = tier_jsector_verify(&g, buf + 512 * s, 7, 9, &h);
			fx_check(v == TIER_BAD_CSUM || v == TIER_NOT_OURS, "sector %u bit %u", s,
				 i);
			flip(buf + 512 * s, i);
		}
		fx_check(tier_jsector_verify(&g, buf + 512 * s, 8, 9, &h) == TIER_BAD_CSUM,
			 "of another tier device");
		fx_check(tier_jsector_verify(&g, buf + 512 * s, 7, 8, &h) == TIER_MISPLACED,
			 "another block");
	}
	tier_journal_format_block(buf, 7, 9);
	for (s = 0; s < 8; s++)
		fx_check(tier_jsector_verify(&g, buf + 512 * s, 7, 9, &h) == TIER_OK && !h.txn &&
			 !h.total && !h.nr && h.index == s && h.block == 9,
			 "never written, sector %u", s);
	memset(buf, 0, 512);
	fx_check(tier_jsector_verify(&g, buf, 7, 0, &h) == TIER_BLANK, "blank");
	ok(!fx_failures(), "journal sectors at block size %u: all single bits, other places", bs);
}

static void jsector_field(const char *name, enum tier_verify want)
{
	struct tier_geometry g;
	struct tier_jentry e;
	struct tier_jhead h;
	enum tier_verify v;

	J->csum = cpu_to_le32(crc32c(7, buf + 4, 508));
	fx_geometry(&g, 128, 5000, 60000, 16);
	v = tier_jsector_verify(&g, buf, 7, 9, &h);
	ok(v == want, "journal sector with %s: %s", name, tier_verify_text(v));

	fx_jentry(&g, 1, &e);
	tier_txn_init(&g, buf, 1);
	tier_txn_put(&g, buf, 0, &e);
	tier_txn_seal(&g, buf, 1, 7, 5, 9);
}

static void test_jsector_fields(void)
{
	memset(buf, 0, 512);
	jsector_field("nothing but a checksum", TIER_NOT_OURS);
	jsector_field("no change", TIER_OK);
	J->total = 0;
	jsector_field("total 0", TIER_INVALID);
	J->total = cpu_to_le16(7);
	jsector_field("total 7", TIER_INVALID);
	J->total = cpu_to_le16(12);
	jsector_field("total 12", TIER_INVALID);
	J->total = cpu_to_le16(128);
	jsector_field("total of the whole ring", TIER_OK);
	J->total = cpu_to_le16(136);
	jsector_field("total beyond the ring", TIER_INVALID);
	J->total = cpu_to_le16(65528);
	jsector_field("total 65528", TIER_INVALID);
	J->index = cpu_to_le16(8);
	jsector_field("index 8 of 8", TIER_INVALID);
	J->index = cpu_to_le16(65535);
	jsector_field("index 65535", TIER_INVALID);
	J->nr = cpu_to_le16(20);
	jsector_field("20 entries", TIER_OK);
	J->nr = cpu_to_le16(21);
	jsector_field("21 entries", TIER_INVALID);
	J->reserved = cpu_to_le16(1);
	jsector_field("reserved bytes", TIER_INVALID);
	J->txn = 0;
	jsector_field("transaction 0 and entries", TIER_INVALID);
	J->txn = 0;
	J->total = 0;
	J->nr = 0;
	jsector_field("transaction 0", TIER_OK);
	J->txn = cpu_to_le64(U64_MAX);
	jsector_field("transaction 2^64 - 1", TIER_INVALID);
	J->block = cpu_to_le32(10);
	jsector_field("another block", TIER_MISPLACED);
}

static void entry_refused(const struct tier_geometry *g, const char *name, u32 type, u32 key,
			  u64 payload0, u64 payload1, u16 reserved, bool good)
{
	struct tier_disk_jentry *d = (void *)(buf + sizeof(struct tier_disk_jsector));
	__le64 *payload = (void *)(d + 1);
	struct tier_jentry e;

	memset(buf, 0, 512);
	d->type = cpu_to_le16(type);
	d->key = cpu_to_le32(key);
	d->reserved = cpu_to_le16(reserved);
	payload[0] = cpu_to_le64(payload0);
	payload[1] = cpu_to_le64(payload1);
	fx_check((tier_jsector_entry(g, buf, 0, &e) == TIER_OK) == good, "%s", name);
}

static void test_entries(u32 bs)
{
	const u64 mapped = 1ULL << 48;
	struct tier_geometry g;

	fx_geometry(&g, bs, 5000, 60000, 16);
	fx_check(g.nr_regions == 30000, "regions");
	entry_refused(&g, "free slot", TIER_JENTRY_SLOT, 0, 0, 0, 0, true);
	entry_refused(&g, "last slot", TIER_JENTRY_SLOT, 4999, mapped, 1, 0, true);
	entry_refused(&g, "slot behind the last", TIER_JENTRY_SLOT, 5000, mapped, 1, 0, false);
	entry_refused(&g, "slot 2^32 - 1", TIER_JENTRY_SLOT, U32_MAX, mapped, 1, 0, false);
	entry_refused(&g, "bad record", TIER_JENTRY_SLOT, 1, 60000 | mapped, 1, 0, false);
	entry_refused(&g, "reserved bytes", TIER_JENTRY_SLOT, 1, mapped, 1, 1, false);
	entry_refused(&g, "type 0", 0, 0, 0, 0, 0, false);
	entry_refused(&g, "type 3", 3, 0, 0, 0, 0, false);
	entry_refused(&g, "type 65535", 65535, 0, 0, 0, 0, false);
	entry_refused(&g, "intent", TIER_JENTRY_INTENT, 0, ~0ULL, 0, 0, true);
	/* 30000 regions: 468 words and 48 bits */
	entry_refused(&g, "last intent word", TIER_JENTRY_INTENT, 468, (1ULL << 48) - 1, 0, 0,
		      true);
	entry_refused(&g, "region behind the last", TIER_JENTRY_INTENT, 468, 1ULL << 48, 0, 0,
		      false);
	entry_refused(&g, "word behind the last", TIER_JENTRY_INTENT, 469, 0, 0, 0, false);
	entry_refused(&g, "bytes behind an intent", TIER_JENTRY_INTENT, 0, 1, 1, 0, false);
	ok(!fx_failures(), "journal entries at block size %u", bs);
}

int main(void)
{
	u8 uuid[16], other[16];
	struct tier_sb sb;
	u32 i;

	buf = fx_blocks(1);
	test_crc();
	fx_uuid(uuid, 1);
	fx_uuid(other, 2);
	ok(tier_csum_seed(uuid) != tier_csum_seed(other), "UUIDs give seeds");
	for (i = 0; i < FX_NR_BLOCK_SIZES; i++) {
		full_sb(&sb, fx_block_sizes[i]);
		test_sb("", &sb, 0);
		test_sb("", &sb, 16);
		if (fx_block_sizes[i] < TIER_MIN_TIERED_BLOCK_SECTORS)
			continue;
		fx_tiered_sb(&sb, fx_block_sizes[i], 64);
		test_sb("tiered, ", &sb, 16);
	}
	test_sb_fields();
	test_tiered_sb_fields();
	test_choose_sb();
	test_dev_header();
	for (i = 0; i < FX_NR_BLOCK_SIZES; i++) {
		test_records(fx_block_sizes[i]);
		if (fx_block_sizes[i] >= TIER_MIN_TIERED_BLOCK_SECTORS)
			test_tiered_records(fx_block_sizes[i]);
	}
	test_record_largest();
	test_page(TIER_PAGE_SLOTS, 254, 5, 1000);
	test_page(TIER_PAGE_INTENT, 508, 0, 1);
	test_page(TIER_PAGE_HINTS, 1016, 1ULL << 40, 1ULL << 60);
	for (i = 0; i < FX_NR_BLOCK_SIZES; i++) {
		test_slot_pages(fx_block_sizes[i]);
		test_txn(fx_block_sizes[i]);
		test_jsector(fx_block_sizes[i]);
		test_entries(fx_block_sizes[i]);
	}
	test_jsector_fields();
	for (i = TIER_OK; i <= TIER_INVALID + 1; i++)
		ok(tier_verify_text(i) && *tier_verify_text(i), "text of verdict %u", i);
	free(buf);
	return tap_done();
}
