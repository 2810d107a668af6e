// SPDX-License-Identifier: GPL-2.0
/*
 * Changes metadata behind the tools' back, with right checksums, so that what the tests see is a
 * judgement of the content and not of a checksum.
 *
 *	meta-edit META where sb|intent|journal|slot|hint|end [NUMBER [COPY]]
 *		print a metadata block number
 *	meta-edit META sb FIELD VALUE [COPY]
 *		change a field of the superblock, in both copies if none is named
 *	meta-edit SSD header FIELD VALUE
 *		change a field of the device header
 *	meta-edit META slot SLOT BLOCK VALID DIRTY [FLAGS]
 *		write a record in both copies; VALID and DIRTY are hex
 *	meta-edit META page slot|intent|hint NUMBER COPY FIELD VALUE
 *		change a field of a page's head, or the first 8 bytes of its payload
 *	meta-edit META intent REGION
 *		mark a region in both copies
 *	meta-edit META txn TXN RINGBLOCK [-N] ENTRY...
 *		write a transaction, or its first N sectors; ENTRY is SLOT:BLOCK:VALID:DIRTY or
 *		i:WORD:BITS
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/crc32c.h>
#include <asm/byteorder.h>

#include "core/codec.h"

#define BLOCK TIER_META_BLOCK_SIZE

static int fd;
static struct tier_sb sb;
static u32 seed;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void get(u64 block, void *buf)
{
	if (pread(fd, buf, BLOCK, (off_t)(block * BLOCK)) != BLOCK)
		die("cannot read block %llu", (unsigned long long)block);
}

static void put(u64 block, const void *buf, size_t bytes)
{
	if (pwrite(fd, buf, bytes, (off_t)(block * BLOCK)) != (ssize_t)bytes)
		die("cannot write block %llu", (unsigned long long)block);
}

static u64 number(const char *text, int base)
{
	char *end;
	u64 v = strtoull(text, &end, base);

	if (end == text || *end)
		die("'%s' is not a number", text);
	return v;
}

/* ---- fields ---- */

struct field {
	const char *name;
	size_t offset;
	size_t bytes;
};

#define FIELD(type, f) { #f, offsetof(struct type, f), sizeof(((struct type *)0)->f) }

static const struct field sb_fields[] = {
	FIELD(tier_disk_sb, flags),
	FIELD(tier_disk_sb, magic),
	FIELD(tier_disk_sb, version),
	FIELD(tier_disk_sb, location),
	FIELD(tier_disk_sb, compat),
	FIELD(tier_disk_sb, compat_ro),
	FIELD(tier_disk_sb, incompat),
	FIELD(tier_disk_sb, seq),
	FIELD(tier_disk_sb, generation),
	FIELD(tier_disk_sb, block_sectors),
	FIELD(tier_disk_sb, granule_sectors),
	FIELD(tier_disk_sb, record_bytes),
	FIELD(tier_disk_sb, mode),
	FIELD(tier_disk_sb, nr_devs),
	FIELD(tier_disk_sb, region_shift),
	FIELD(tier_disk_sb, nr_regions),
	FIELD(tier_disk_sb, intent_start),
	FIELD(tier_disk_sb, journal_start),
	FIELD(tier_disk_sb, journal_blocks),
	FIELD(tier_disk_sb, slot_start),
	FIELD(tier_disk_sb, nr_slots),
	FIELD(tier_disk_sb, meta_blocks),
	FIELD(tier_disk_sb, tail_txn),
	FIELD(tier_disk_sb, tail_block),
	FIELD(tier_disk_sb, head_txn),
	FIELD(tier_disk_sb, hint_seq),
	FIELD(tier_disk_sb, uuid),
	FIELD(tier_disk_sb, reserved0),
	{ "fp_sectors", offsetof(struct tier_disk_sb, devs[1].fp_sectors), 8 },
	{ "fp_head", offsetof(struct tier_disk_sb, devs[1].fp_head), 4 },
	{ "fp_samples", offsetof(struct tier_disk_sb, devs[1].fp_samples), 4 },
	{ NULL, 0, 0 }
};

static const struct field header_fields[] = {
	FIELD(tier_disk_dev_header, index), FIELD(tier_disk_dev_header, version),
	FIELD(tier_disk_dev_header, block_sectors), FIELD(tier_disk_dev_header, generation),
	FIELD(tier_disk_dev_header, data_start), FIELD(tier_disk_dev_header, nr_slots),
	FIELD(tier_disk_dev_header, uuid), FIELD(tier_disk_dev_header, dev_uuid),
	{ NULL, 0, 0 }
};

static const struct field page_fields[] = {
	FIELD(tier_disk_page, magic), FIELD(tier_disk_page, kind), FIELD(tier_disk_page, nr),
	FIELD(tier_disk_page, page), FIELD(tier_disk_page, seq), { "payload", 32, 8 },
	{ NULL, 0, 0 }
};

static void set_field(void *buf, const struct field *f, const char *name, u64 value, u32 csum_seed)
{
	u32 csum;
	size_t i;

	while (f->name && strcmp(f->name, name))
		f++;
	if (!f->name)
		die("unknown field '%s'", name);
	for (i = 0; i < f->bytes && i < 8; i++)
		((u8 *)buf)[f->offset + i] = (u8)(value >> (8 * i));
	csum = crc32c(csum_seed, (u8 *)buf + 4, BLOCK - 4);
	*(__le32 *)buf = cpu_to_le32(csum);
}

static void read_sb(void)
{
	const char *why = NULL;
	u8 buf[BLOCK];

	get(TIER_SB_BLOCK_0, buf);
	if (tier_unpack_sb(buf, TIER_SB_BLOCK_0, &sb, &why) != TIER_OK) {
		get(TIER_SB_BLOCK_1, buf);
		if (tier_unpack_sb(buf, TIER_SB_BLOCK_1, &sb, &why) != TIER_OK)
			die("no superblock: %s", why);
	}
	seed = tier_csum_seed(sb.uuid);
}

static u64 place(const char *kind, u64 n, u32 copy)
{
	const struct tier_geometry *g = &sb.geometry;

	if (!strcmp(kind, "sb"))
		return copy ? TIER_SB_BLOCK_1 : TIER_SB_BLOCK_0;
	if (!strcmp(kind, "intent"))
		return g->intent_start + copy;
	if (!strcmp(kind, "journal"))
		return g->journal_start + n;
	if (!strcmp(kind, "slot"))
		return tier_slot_page_block(g, n, copy);
	if (!strcmp(kind, "hint"))
		return tier_hint_page_block(g, n);
	if (!strcmp(kind, "end"))
		return g->meta_blocks;
	die("unknown kind '%s'", kind);
}

/* ---- commands ---- */

static void cmd_sb(int argc, char **argv)
{
	u8 buf[BLOCK];
	u32 copy;

	for (copy = 0; copy < 2; copy++) {
		if (argc > 2 && number(argv[2], 0) != copy)
			continue;
		get(copy ? TIER_SB_BLOCK_1 : TIER_SB_BLOCK_0, buf);
		set_field(buf, sb_fields, argv[0], number(argv[1], 0), ~0U);
		put(copy ? TIER_SB_BLOCK_1 : TIER_SB_BLOCK_0, buf, BLOCK);
	}
}

static void cmd_header(char **argv)
{
	u8 buf[BLOCK];

	get(0, buf);
	set_field(buf, header_fields, argv[0], number(argv[1], 0), ~0U);
	put(0, buf, BLOCK);
}

static void cmd_slot(int argc, char **argv)
{
	struct tier_record rec = {
		.block = tier_to_block(number(argv[1], 0)),
		.valid = number(argv[2], 16),
		.dirty = number(argv[3], 16),
		.flags = argc > 4 ? (u16)number(argv[4], 0) : TIER_REC_MAPPED,
	};
	u64 slot = number(argv[0], 0), page = slot / sb.geometry.records_per_page;
	u32 index = slot % sb.geometry.records_per_page;
	u8 buf[BLOCK];
	u32 copy;

	for (copy = 0; copy < 2; copy++) {
		get(place("slot", page, copy), buf);
		tier_pack_record(&sb.geometry, &rec, tier_page_record(&sb.geometry, buf, index));
		tier_page_seal(buf, seed, le64_to_cpu(((struct tier_disk_page *)buf)->seq));
		put(place("slot", page, copy), buf, BLOCK);
	}
}

static void cmd_page(char **argv)
{
	u64 block = place(argv[0], number(argv[1], 0), (u32)number(argv[2], 0));
	u8 buf[BLOCK];

	get(block, buf);
	set_field(buf, page_fields, argv[3], number(argv[4], 0), seed);
	put(block, buf, BLOCK);
}

static void cmd_intent(char **argv)
{
	u64 region = number(argv[0], 0);
	u8 buf[BLOCK];
	u32 copy;

	for (copy = 0; copy < 2; copy++) {
		get(place("intent", 0, copy), buf);
		((u8 *)tier_page_payload(buf))[region / 8] |= (u8)(1U << (region % 8));
		tier_page_seal(buf, seed, le64_to_cpu(((struct tier_disk_page *)buf)->seq));
		put(place("intent", 0, copy), buf, BLOCK);
	}
}

static void parse_entry(const char *text, struct tier_jentry *e)
{
	unsigned long long slot, block, valid, dirty;

	memset(e, 0, sizeof(*e));
	if (sscanf(text, "i:%llu:%llx", &slot, &valid) == 2) {
		e->type = TIER_JENTRY_INTENT;
		e->bits = valid;
	} else if (sscanf(text, "%llu:%llu:%llx:%llx", &slot, &block, &valid, &dirty) == 4) {
		e->type = TIER_JENTRY_SLOT;
		e->rec.block = tier_to_block(block);
		e->rec.valid = valid;
		e->rec.dirty = dirty;
		e->rec.flags = TIER_REC_MAPPED;
	} else {
		die("bad entry '%s'", text);
	}
	e->key = (u32)slot;
}

static void cmd_txn(int argc, char **argv)
{
	u64 txn = number(argv[0], 0), ring = number(argv[1], 0);
	u32 i, nr, blocks, sectors;
	struct tier_jentry e;
	u8 *buf;

	argc -= 2;
	argv += 2;
	sectors = ~0U;
	if (argc && argv[0][0] == '-') {
		sectors = (u32)number(argv[0] + 1, 0);
		argc--;
		argv++;
	}
	nr = (u32)argc;
	blocks = tier_txn_blocks(&sb.geometry, nr);
	buf = calloc(blocks, BLOCK);
	if (!buf)
		die("out of memory");
	tier_txn_init(&sb.geometry, buf, nr);
	for (i = 0; i < nr; i++) {
		parse_entry(argv[i], &e);
		tier_txn_put(&sb.geometry, buf, i, &e);
	}
	tier_txn_seal(&sb.geometry, buf, nr, seed, txn, ring);
	if (sectors > blocks * TIER_JOURNAL_SECTORS_PER_BLOCK)
		sectors = blocks * TIER_JOURNAL_SECTORS_PER_BLOCK;
	put(place("journal", ring, 0), buf, (size_t)sectors * TIER_JOURNAL_SECTOR);
	free(buf);
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 2 ? argv[2] : "";

	if (argc < 4)
		die("usage: meta-edit FILE COMMAND ARGUMENT...; see the source");
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("cannot open %s", argv[1]);
	argc -= 3;
	argv += 3;
	if (!strcmp(cmd, "header") && argc == 2) {
		cmd_header(argv);
		return 0;
	}
	if (!strcmp(cmd, "sb") && argc >= 2) {
		cmd_sb(argc, argv);
		return 0;
	}
	read_sb();
	if (!strcmp(cmd, "where"))
		printf("%llu\n",
		       (unsigned long long)place(argv[0], argc > 1 ? number(argv[1], 0) : 0,
						 argc > 2 ? (u32)number(argv[2], 0) : 0));
	else if (!strcmp(cmd, "slot") && argc >= 4)
		cmd_slot(argc, argv);
	else if (!strcmp(cmd, "page") && argc == 5)
		cmd_page(argv);
	else if (!strcmp(cmd, "intent") && argc == 1)
		cmd_intent(argv);
	else if (!strcmp(cmd, "txn") && argc >= 2)
		cmd_txn(argc, argv);
	else
		die("bad command '%s'", cmd);
	return fsync(fd) ? 1 : 0;
}
