// SPDX-License-Identifier: GPL-2.0
/* Between the on-disk structures and their in-core forms. */
#include <linux/crc32c.h>
#include <linux/ctype.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "codec.h"

#define BLOCK_BITS		48
#define BLOCK_MASK		(BIT_ULL(BLOCK_BITS) - 1)

/* Transaction numbers beyond this are nonsense; half the range keeps sums from overflowing */
#define MAX_TXN			BIT_ULL(62)

#define JSECTOR_HEAD		sizeof(struct tier_disk_jsector)
#define JSECTOR_PAYLOAD		(TIER_JOURNAL_SECTOR - sizeof(struct tier_disk_jsector))

const char *tier_verify_text(enum tier_verify v)
{
	switch (v) {
	case TIER_OK:
		return "good";
	case TIER_BLANK:
		return "blank";
	case TIER_NOT_OURS:
		return "not dm-tier metadata";
	case TIER_NEWER:
		return "written by a newer version";
	case TIER_BAD_CSUM:
		return "checksum does not match";
	case TIER_MISPLACED:
		return "belongs to another place";
	case TIER_INVALID:
		return "a field is not valid";
	}
	return "unknown";
}

/* Checksum of everything in a structure behind its checksum field */
static u32 csum_of(u32 seed, const void *buf, u32 size)
{
	return crc32c(seed, (const u8 *)buf + sizeof(__le32), size - sizeof(__le32));
}

static bool is_zero(const void *p, size_t size)
{
	return !memchr_inv(p, 0, size);
}

static enum tier_verify fail(enum tier_verify v, const char *message, const char **why)
{
	*why = message;
	return v;
}

u32 tier_csum_seed(const u8 uuid[16])
{
	return crc32c(~0U, uuid, 16);
}

/* --- superblock --- */

/* a number that @seed and @i give, the same everywhere and for ever */
static u64 scatter(u32 seed, u32 i)
{
	u64 z = seed + (i + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 tier_fingerprint_sample(u64 sectors, u32 seed, u32 i)
{
	u64 pieces = div_u64(sectors, TIER_FP_SAMPLE_SECTORS);
	u64 part = max_t(u64, div_u64(pieces, TIER_FP_SAMPLES), 1);
	u64 first = min(part * i, pieces - 1);
	u64 offset;

	div64_u64_rem(scatter(seed, i), part, &offset);
	return min(first + offset, pieces - 1) * TIER_FP_SAMPLE_SECTORS;
}

static void pack_dev(const struct tier_dev_geometry *d, const struct tier_fingerprint *fp,
		     struct tier_disk_dev *disk)
{
	memcpy(disk->uuid, d->uuid, sizeof(disk->uuid));
	disk->sectors = cpu_to_le64(d->sectors);
	disk->data_start = cpu_to_le64(d->data_start);
	disk->first_slot = cpu_to_le64(d->first_slot);
	disk->nr_slots = cpu_to_le64(d->nr_slots);
	disk->fp_sectors = cpu_to_le64(fp->sectors);
	disk->fp_head = cpu_to_le32(fp->head);
	disk->fp_samples = cpu_to_le32(fp->samples);
	disk->role = cpu_to_le32(d->role);
	disk->flags = cpu_to_le32(d->flags);
}

static void unpack_dev(const struct tier_disk_dev *disk, struct tier_dev_geometry *d,
		       struct tier_fingerprint *fp)
{
	memcpy(d->uuid, disk->uuid, sizeof(d->uuid));
	d->sectors = le64_to_cpu(disk->sectors);
	d->data_start = le64_to_cpu(disk->data_start);
	d->first_slot = le64_to_cpu(disk->first_slot);
	d->nr_slots = le64_to_cpu(disk->nr_slots);
	fp->sectors = le64_to_cpu(disk->fp_sectors);
	fp->head = le32_to_cpu(disk->fp_head);
	fp->samples = le32_to_cpu(disk->fp_samples);
	d->role = le32_to_cpu(disk->role);
}

static void pack_extents(const struct tier_geometry *g, struct tier_disk_sb *disk)
{
	u32 i;

	disk->nr_sectors = cpu_to_le64(g->nr_sectors);
	disk->nr_extents = cpu_to_le32(g->nr_extents);
	for (i = 0; i < g->nr_extents && i < TIER_MAX_EXTENTS; i++) {
		disk->extents[i].first_slot = cpu_to_le64(g->extents[i].first_slot);
		disk->extents[i].nr_slots = cpu_to_le64(g->extents[i].nr_slots);
		disk->extents[i].data_start = cpu_to_le64(g->extents[i].data_start);
		disk->extents[i].dev = cpu_to_le32(g->extents[i].dev);
	}
}

static void unpack_extents(const struct tier_disk_sb *disk, struct tier_geometry *g)
{
	u32 i;

	g->nr_sectors = le64_to_cpu(disk->nr_sectors);
	g->nr_extents = le32_to_cpu(disk->nr_extents);
	for (i = 0; i < g->nr_extents && i < TIER_MAX_EXTENTS; i++) {
		g->extents[i].first_slot = le64_to_cpu(disk->extents[i].first_slot);
		g->extents[i].nr_slots = le64_to_cpu(disk->extents[i].nr_slots);
		g->extents[i].data_start = le64_to_cpu(disk->extents[i].data_start);
		g->extents[i].dev = le32_to_cpu(disk->extents[i].dev);
	}
}

static void pack_geometry(const struct tier_geometry *g, struct tier_disk_sb *disk)
{
	disk->block_sectors = cpu_to_le32(g->block_sectors);
	disk->granule_sectors = cpu_to_le32(g->granule_sectors);
	disk->record_bytes = cpu_to_le32(g->record_bytes);
	disk->nr_devs = cpu_to_le32(g->nr_devs);
	disk->region_shift = cpu_to_le32(g->region_shift);
	disk->nr_regions = cpu_to_le32(g->nr_regions);
	disk->intent_start = cpu_to_le64(g->intent_start);
	disk->journal_start = cpu_to_le64(g->journal_start);
	disk->journal_blocks = cpu_to_le64(g->journal_blocks);
	disk->slot_start = cpu_to_le64(g->slot_start);
	disk->nr_slots = cpu_to_le64(g->nr_slots);
	disk->meta_blocks = cpu_to_le64(g->meta_blocks);
	if (g->exclusive)
		pack_extents(g, disk);
}

static void unpack_geometry(const struct tier_disk_sb *disk, struct tier_geometry *g)
{
	g->block_sectors = le32_to_cpu(disk->block_sectors);
	g->granule_sectors = le32_to_cpu(disk->granule_sectors);
	g->record_bytes = le32_to_cpu(disk->record_bytes);
	g->nr_devs = le32_to_cpu(disk->nr_devs);
	g->region_shift = le32_to_cpu(disk->region_shift);
	g->nr_regions = le32_to_cpu(disk->nr_regions);
	g->intent_start = le64_to_cpu(disk->intent_start);
	g->journal_start = le64_to_cpu(disk->journal_start);
	g->journal_blocks = le64_to_cpu(disk->journal_blocks);
	g->slot_start = le64_to_cpu(disk->slot_start);
	g->nr_slots = le64_to_cpu(disk->nr_slots);
	g->meta_blocks = le64_to_cpu(disk->meta_blocks);
	g->exclusive = le64_to_cpu(disk->incompat) & TIER_FEATURE_INCOMPAT_EXCLUSIVE;
	if (g->exclusive)
		unpack_extents(disk, g);
}

void tier_pack_sb(const struct tier_sb *sb, u64 location, void *buf)
{
	struct tier_disk_sb *disk = buf;
	u32 i;

	memset(disk, 0, sizeof(*disk));
	disk->flags = cpu_to_le32(sb->flags);
	disk->magic = cpu_to_le64(TIER_SB_MAGIC);
	memcpy(disk->uuid, sb->uuid, sizeof(disk->uuid));
	disk->version = cpu_to_le32(sb->version);
	disk->location = cpu_to_le32((u32)location);
	disk->compat = cpu_to_le64(sb->compat);
	disk->compat_ro = cpu_to_le64(sb->compat_ro);
	disk->incompat = cpu_to_le64(sb->incompat);
	disk->seq = cpu_to_le64(sb->seq);
	disk->generation = cpu_to_le64(sb->generation);
	disk->mode = cpu_to_le32(sb->mode);
	disk->tail_txn = cpu_to_le64(sb->tail_txn);
	disk->tail_block = cpu_to_le64(sb->tail_block);
	disk->head_txn = cpu_to_le64(sb->head_txn);
	disk->format_time = cpu_to_le64(sb->format_time);
	disk->stop_time = cpu_to_le64(sb->stop_time);
	memcpy(disk->policy, sb->policy, strnlen(sb->policy, sizeof(sb->policy) - 1));
	disk->hint_seq = cpu_to_le64(sb->hint_seq);
	pack_geometry(&sb->geometry, disk);
	for (i = 0; i < sb->geometry.nr_devs && i < TIER_MAX_DEVS; i++)
		pack_dev(&sb->geometry.devs[i], &sb->fp[i], &disk->devs[i]);
	disk->csum = cpu_to_le32(csum_of(~0U, disk, sizeof(*disk)));
}

/* All fields as they are; only the number of devices is bounded */
static void unpack_sb_fields(const struct tier_disk_sb *disk, struct tier_sb *sb)
{
	u32 i;

	memset(sb, 0, sizeof(*sb));
	sb->flags = le32_to_cpu(disk->flags);
	memcpy(sb->uuid, disk->uuid, sizeof(sb->uuid));
	sb->version = le32_to_cpu(disk->version);
	sb->compat = le64_to_cpu(disk->compat);
	sb->compat_ro = le64_to_cpu(disk->compat_ro);
	sb->incompat = le64_to_cpu(disk->incompat);
	sb->seq = le64_to_cpu(disk->seq);
	sb->generation = le64_to_cpu(disk->generation);
	sb->mode = le32_to_cpu(disk->mode);
	sb->tail_txn = le64_to_cpu(disk->tail_txn);
	sb->tail_block = le64_to_cpu(disk->tail_block);
	sb->head_txn = le64_to_cpu(disk->head_txn);
	sb->format_time = le64_to_cpu(disk->format_time);
	sb->stop_time = le64_to_cpu(disk->stop_time);
	memcpy(sb->policy, disk->policy, sizeof(sb->policy) - 1);
	sb->hint_seq = le64_to_cpu(disk->hint_seq);
	unpack_geometry(disk, &sb->geometry);
	for (i = 0; i < sb->geometry.nr_devs && i < TIER_MAX_DEVS; i++)
		unpack_dev(&disk->devs[i], &sb->geometry.devs[i], &sb->fp[i]);
	for (i = 0; sb->geometry.exclusive && i < sb->geometry.nr_devs && i < TIER_MAX_DEVS; i++)
		sb->geometry.devs[i].flags = le32_to_cpu(disk->devs[i].flags);
}

/* A printable word, zero padded to the end of its field */
static bool legal_policy(const u8 policy[32])
{
	size_t len = strnlen((const char *)policy, 32);
	size_t i;

	if (len == 32 || !is_zero(policy + len, 32 - len))
		return false;
	for (i = 0; i < len; i++)
		if (!isascii(policy[i]) || !isgraph(policy[i]))
			return false;
	return true;
}

static bool legal_tiered_reserved(const struct tier_disk_sb *disk, const struct tier_geometry *g)
{
	u32 i;

	if (!g->exclusive)
		return !disk->nr_sectors && !disk->nr_extents && is_zero(disk->extents, sizeof(disk->extents));
	for (i = 0; i < g->nr_extents; i++)
		if (disk->extents[i].reserved)
			return false;
	return is_zero(&disk->extents[i], (TIER_MAX_EXTENTS - i) * sizeof(disk->extents[0]));
}

/*
 * A newer version may give reserved bytes a meaning under a compat or compat_ro feature.  Those are
 * not for this version to judge.
 */
static bool legal_reserved(const struct tier_disk_sb *disk, const struct tier_sb *sb)
{
	u32 i;

	if (sb->compat & ~TIER_FEATURE_COMPAT || sb->compat_ro & ~TIER_FEATURE_COMPAT_RO)
		return true;
	if (disk->reserved0 || disk->reserved1 || !is_zero(disk->reserved, sizeof(disk->reserved)))
		return false;
	if (!legal_tiered_reserved(disk, &sb->geometry))
		return false;
	for (i = 0; i < sb->geometry.nr_devs; i++)
		if ((disk->devs[i].flags && !sb->geometry.exclusive) ||
		    !is_zero(disk->devs[i].reserved, sizeof(disk->devs[i].reserved)))
			return false;
	return is_zero(&disk->devs[i], (TIER_MAX_DEVS - i) * sizeof(disk->devs[0]));
}

/* A tier is recognised by its header, and that by the uuid */
static bool legal_uuids(const struct tier_geometry *g)
{
	u32 i;

	for (i = 0; g->exclusive && i < g->nr_devs; i++)
		if (!(g->devs[i].flags & TIER_DEV_NO_HEADER) && is_zero(g->devs[i].uuid, 16))
			return false;
	return true;
}

static const char *check_sb(const struct tier_disk_sb *disk, struct tier_sb *sb)
{
	const char *why;

	if (!sb->version)
		return "superblock: version is 0";
	if (sb->flags & ~TIER_SB_FLAGS &&
	    !(sb->compat & ~TIER_FEATURE_COMPAT || sb->compat_ro & ~TIER_FEATURE_COMPAT_RO))
		return "superblock: unknown flags";
	if (sb->mode >= TIER_NR_MODES)
		return "superblock: unknown mode";
	if (sb->geometry.exclusive ? sb->mode != TIER_MODE_TIERED : sb->mode == TIER_MODE_TIERED)
		return "superblock: mode does not fit the feature exclusive";
	if (!legal_policy(disk->policy))
		return "superblock: policy is not a name";
	why = tier_geometry_check(&sb->geometry);
	if (why)
		return why;
	if (!legal_uuids(&sb->geometry))
		return "superblock: uuid of a tier is zero";
	if (!sb->tail_txn || sb->tail_txn > MAX_TXN)
		return "superblock: tail_txn is out of range";
	if (sb->tail_block >= sb->geometry.journal_blocks)
		return "superblock: tail_block is beyond the journal";
	if (sb->head_txn < sb->tail_txn - 1 ||
	    sb->head_txn - (sb->tail_txn - 1) > sb->geometry.journal_blocks)
		return "superblock: head_txn does not fit tail_txn";
	if (!legal_reserved(disk, sb))
		return "superblock: reserved bytes are not zero";
	return NULL;
}

enum tier_verify tier_unpack_sb(const void *buf, u64 location, struct tier_sb *sb, const char **why)
{
	const struct tier_disk_sb *disk = buf;
	const char *invalid;

	memset(sb, 0, sizeof(*sb));
	*why = NULL;
	if (is_zero(buf, sizeof(*disk)))
		return fail(TIER_BLANK, "superblock: blank, never formatted", why);
	if (le64_to_cpu(disk->magic) != TIER_SB_MAGIC)
		return fail(TIER_NOT_OURS, "superblock: not dm-tier metadata", why);
	if (le32_to_cpu(disk->csum) != csum_of(~0U, disk, sizeof(*disk)))
		return fail(TIER_BAD_CSUM, "superblock: checksum does not match", why);
	unpack_sb_fields(disk, sb);
	if (sb->version > TIER_FORMAT_VERSION)
		return fail(TIER_NEWER, "superblock: written by a newer version of dm-tier", why);
	if (sb->incompat & ~TIER_FEATURE_INCOMPAT)
		return fail(TIER_NEWER, "superblock: has features that this version does not know",
			    why);
	if (le32_to_cpu(disk->location) != location)
		return fail(TIER_MISPLACED, "superblock: belongs to another place", why);
	invalid = check_sb(disk, sb);
	if (invalid)
		return fail(TIER_INVALID, invalid, why);
	return TIER_OK;
}

int tier_choose_sb(enum tier_verify a, const struct tier_sb *sa, enum tier_verify b,
		   const struct tier_sb *sb)
{
	/* What a newer version wrote must not be overruled by what an older one left behind. */
	if (a == TIER_NEWER || b == TIER_NEWER)
		return -1;
	if (a == TIER_OK && b == TIER_OK) {
		if (memcmp(sa->uuid, sb->uuid, sizeof(sa->uuid)))
			return -1;
		return sb->seq > sa->seq;
	}
	if (a == TIER_OK)
		return 0;
	return b == TIER_OK ? 1 : -1;
}

/* --- device header --- */

void tier_pack_dev_header(const struct tier_dev_header *h, void *buf)
{
	struct tier_disk_dev_header *disk = buf;

	memset(disk, 0, sizeof(*disk));
	disk->index = cpu_to_le32(h->index);
	disk->magic = cpu_to_le64(TIER_DEV_MAGIC);
	memcpy(disk->uuid, h->uuid, sizeof(disk->uuid));
	memcpy(disk->dev_uuid, h->dev_uuid, sizeof(disk->dev_uuid));
	disk->version = cpu_to_le32(TIER_FORMAT_VERSION);
	disk->block_sectors = cpu_to_le32(h->block_sectors);
	disk->generation = cpu_to_le64(h->generation);
	disk->data_start = cpu_to_le64(h->data_start);
	disk->nr_slots = cpu_to_le64(h->nr_slots);
	disk->csum = cpu_to_le32(csum_of(~0U, disk, sizeof(*disk)));
}

enum tier_verify tier_unpack_dev_header(const void *buf, struct tier_dev_header *h,
					const char **why)
{
	const struct tier_disk_dev_header *disk = buf;
	u32 version;

	memset(h, 0, sizeof(*h));
	*why = NULL;
	if (is_zero(buf, sizeof(*disk)))
		return fail(TIER_BLANK, "device header: blank, never formatted", why);
	if (le64_to_cpu(disk->magic) != TIER_DEV_MAGIC)
		return fail(TIER_NOT_OURS, "device header: not one of dm-tier", why);
	if (le32_to_cpu(disk->csum) != csum_of(~0U, disk, sizeof(*disk)))
		return fail(TIER_BAD_CSUM, "device header: checksum does not match", why);

	h->index = le32_to_cpu(disk->index);
	memcpy(h->uuid, disk->uuid, sizeof(h->uuid));
	memcpy(h->dev_uuid, disk->dev_uuid, sizeof(h->dev_uuid));
	h->block_sectors = le32_to_cpu(disk->block_sectors);
	h->generation = le64_to_cpu(disk->generation);
	h->data_start = le64_to_cpu(disk->data_start);
	h->nr_slots = le64_to_cpu(disk->nr_slots);

	version = le32_to_cpu(disk->version);
	if (version > TIER_FORMAT_VERSION)
		return fail(TIER_NEWER, "device header: written by a newer version of dm-tier",
			    why);
	if (!version)
		return fail(TIER_INVALID, "device header: version is 0", why);
	if (h->index >= TIER_MAX_DEVS)
		return fail(TIER_INVALID, "device header: index is above 15", why);
	if (!is_zero(disk->reserved, sizeof(disk->reserved)))
		return fail(TIER_INVALID, "device header: reserved bytes are not zero", why);
	return TIER_OK;
}

/* --- slot records --- */

void tier_pack_record(const struct tier_geometry *g, const struct tier_record *rec, void *buf)
{
	u64 block_flags;

	memset(buf, 0, g->record_bytes);
	if (!(rec->flags & TIER_REC_MAPPED))
		return;
	block_flags = tier_from_block(rec->block) | (u64)rec->flags << BLOCK_BITS;
	if (g->record_bytes == sizeof(struct tier_disk_record16)) {
		struct tier_disk_record16 *disk = buf;

		disk->block_flags = cpu_to_le64(block_flags);
		disk->valid = cpu_to_le16((u16)rec->valid);
		disk->dirty = cpu_to_le16((u16)rec->dirty);
	} else {
		struct tier_disk_record32 *disk = buf;

		disk->block_flags = cpu_to_le64(block_flags);
		disk->valid = cpu_to_le64(rec->valid);
		disk->dirty = cpu_to_le64(rec->dirty);
	}
}

/* Granules that a block has: less in a short last block */
static u64 block_granules(const struct tier_geometry *g, u64 block)
{
	u64 left = g->nr_sectors - (block << g->block_shift);
	u32 nr = g->nr_granules;

	if (left < g->block_sectors)
		nr = ((u32)left + g->granule_sectors - 1) >> g->granule_shift;
	return tier_granule_mask(0, nr - 1);
}

enum tier_verify tier_unpack_record(const struct tier_geometry *g, const void *buf,
				    struct tier_record *rec)
{
	u64 block_flags, block;

	memset(rec, 0, sizeof(*rec));
	if (is_zero(buf, g->record_bytes))
		return TIER_OK;

	if (g->record_bytes == sizeof(struct tier_disk_record16)) {
		const struct tier_disk_record16 *disk = buf;

		block_flags = le64_to_cpu(disk->block_flags);
		rec->valid = le16_to_cpu(disk->valid);
		rec->dirty = le16_to_cpu(disk->dirty);
		if (disk->reserved)
			return TIER_INVALID;
	} else {
		const struct tier_disk_record32 *disk = buf;

		block_flags = le64_to_cpu(disk->block_flags);
		rec->valid = le64_to_cpu(disk->valid);
		rec->dirty = le64_to_cpu(disk->dirty);
		if (disk->reserved)
			return TIER_INVALID;
	}
	block = block_flags & BLOCK_MASK;
	rec->block = tier_to_block(block);
	rec->flags = block_flags >> BLOCK_BITS;

	if (!(rec->flags & TIER_REC_MAPPED) || rec->flags & ~TIER_REC_FLAGS)
		return TIER_INVALID;
	if (block >= g->nr_blocks)
		return TIER_INVALID;
	if (rec->valid & ~block_granules(g, block) || rec->dirty & ~rec->valid)
		return TIER_INVALID;
	if (g->exclusive && rec->dirty != rec->valid)
		return TIER_INVALID;
	return TIER_OK;
}

enum tier_verify tier_unpack_slot_record(const struct tier_geometry *g, tier_slot_t slot, const void *buf,
					 struct tier_record *rec)
{
	enum tier_verify v = tier_unpack_record(g, buf, rec);

	if (v == TIER_OK && rec->flags & TIER_REC_MAPPED && tier_slot_dev(g, slot) == TIER_EXTENT_HOLE)
		return TIER_INVALID;
	return v;
}

/* --- pages --- */

void tier_page_init(void *buf, u32 kind, u64 page, u32 nr)
{
	struct tier_disk_page *disk = buf;

	memset(buf, 0, TIER_META_BLOCK_SIZE);
	disk->magic = cpu_to_le32(TIER_PAGE_MAGIC);
	disk->kind = cpu_to_le32(kind);
	disk->nr = cpu_to_le32(nr);
	disk->page = cpu_to_le64(page);
}

void tier_page_set_nr(void *buf, u32 nr)
{
	((struct tier_disk_page *)buf)->nr = cpu_to_le32(nr);
}

void tier_page_seal(void *buf, u32 csum_seed, u64 seq)
{
	struct tier_disk_page *disk = buf;

	disk->seq = cpu_to_le64(seq);
	disk->csum = cpu_to_le32(csum_of(csum_seed, buf, TIER_META_BLOCK_SIZE));
}

static u32 max_records(u32 kind)
{
	switch (kind) {
	case TIER_PAGE_SLOTS:
		return TIER_RECORDS_16;
	case TIER_PAGE_INTENT:
		return TIER_INTENT_WORDS;
	case TIER_PAGE_HINTS:
		return TIER_HINTS_PER_PAGE;
	default:
		return 0;
	}
}

enum tier_verify tier_page_verify(const void *buf, u32 csum_seed, u32 kind, u64 page, u64 *seq)
{
	const struct tier_disk_page *disk = buf;

	if (is_zero(buf, TIER_META_BLOCK_SIZE))
		return TIER_BLANK;
	if (le32_to_cpu(disk->magic) != TIER_PAGE_MAGIC)
		return TIER_NOT_OURS;
	if (le32_to_cpu(disk->csum) != csum_of(csum_seed, buf, TIER_META_BLOCK_SIZE))
		return TIER_BAD_CSUM;
	if (le32_to_cpu(disk->kind) != kind || le64_to_cpu(disk->page) != page)
		return TIER_MISPLACED;
	if (le32_to_cpu(disk->nr) > max_records(kind))
		return TIER_INVALID;
	*seq = le64_to_cpu(disk->seq);
	return TIER_OK;
}

u32 tier_slot_page_records(const struct tier_geometry *g, u64 page)
{
	u64 first = page * g->records_per_page;

	if (page >= g->nr_slot_pages)
		return 0;
	if (g->nr_slots - first < g->records_per_page)
		return g->nr_slots - first;
	return g->records_per_page;
}

/* --- journal --- */

static u32 entry_bytes(const struct tier_geometry *g)
{
	return sizeof(struct tier_disk_jentry) + g->record_bytes;
}

static u32 block_entries(const struct tier_geometry *g)
{
	return TIER_JOURNAL_SECTORS_PER_BLOCK * g->entries_per_jsector;
}

u32 tier_txn_blocks(const struct tier_geometry *g, u32 nr)
{
	return nr ? (nr - 1) / block_entries(g) + 1 : 1;
}

void tier_txn_init(const struct tier_geometry *g, void *buf, u32 nr)
{
	memset(buf, 0, (size_t)tier_txn_blocks(g, nr) * TIER_META_BLOCK_SIZE);
}

void tier_txn_put(const struct tier_geometry *g, void *buf, u32 i, const struct tier_jentry *e)
{
	u32 sector = i / g->entries_per_jsector;
	u8 *p = (u8 *)buf + (size_t)sector * TIER_JOURNAL_SECTOR + JSECTOR_HEAD +
		(size_t)(i % g->entries_per_jsector) * entry_bytes(g);
	struct tier_disk_jentry *disk = (void *)p;
	void *payload = disk + 1;

	disk->key = cpu_to_le32(e->key);
	disk->type = cpu_to_le16((u16)e->type);
	disk->reserved = 0;
	if (e->type == TIER_JENTRY_SLOT) {
		tier_pack_record(g, &e->rec, payload);
	} else {
		memset(payload, 0, g->record_bytes);
		*(__le64 *)payload = cpu_to_le64(e->bits);
	}
}

static void seal_jsector(struct tier_disk_jsector *disk, u32 csum_seed, const struct tier_jhead *h,
			 u32 txn_csum)
{
	disk->magic = cpu_to_le32(TIER_JOURNAL_MAGIC);
	disk->txn = cpu_to_le64(h->txn);
	disk->block = cpu_to_le32(h->block);
	disk->index = cpu_to_le16((u16)h->index);
	disk->total = cpu_to_le16((u16)h->total);
	disk->nr = cpu_to_le16((u16)h->nr);
	disk->reserved = 0;
	disk->txn_csum = cpu_to_le32(txn_csum);
	disk->csum = cpu_to_le32(csum_of(csum_seed, disk, TIER_JOURNAL_SECTOR));
}

void tier_txn_seal(const struct tier_geometry *g, void *buf, u32 nr, u32 csum_seed, u64 txn,
		   u64 ring_block)
{
	u32 total = tier_txn_blocks(g, nr) * TIER_JOURNAL_SECTORS_PER_BLOCK;
	struct tier_jhead h = { .txn = txn, .block = (u32)ring_block, .total = total };
	u32 txn_csum = csum_seed;
	u8 *p = buf;
	u32 i;

	for (i = 0; i < total; i++)
		txn_csum = crc32c(txn_csum, p + (size_t)i * TIER_JOURNAL_SECTOR + JSECTOR_HEAD,
				  JSECTOR_PAYLOAD);

	for (i = 0; i < total; i++, p += TIER_JOURNAL_SECTOR) {
		if (i && i % TIER_JOURNAL_SECTORS_PER_BLOCK == 0)
			h.block = h.block + 1 == g->journal_blocks ? 0 : h.block + 1;
		h.index = i;
		h.nr = min(nr, g->entries_per_jsector);
		nr -= h.nr;
		seal_jsector((void *)p, csum_seed, &h, txn_csum);
	}
}

void tier_journal_format_block(void *buf, u32 csum_seed, u64 ring_block)
{
	struct tier_jhead h = { .block = (u32)ring_block };
	u8 *p = buf;

	memset(buf, 0, TIER_META_BLOCK_SIZE);
	for (; h.index < TIER_JOURNAL_SECTORS_PER_BLOCK; h.index++, p += TIER_JOURNAL_SECTOR)
		seal_jsector((void *)p, csum_seed, &h, 0);
}

/* Do the fields of a journal sector fit each other? */
static bool legal_jhead(const struct tier_geometry *g, const struct tier_disk_jsector *disk,
			const struct tier_jhead *h)
{
	if (disk->reserved)
		return false;
	if (!h->txn)
		return h->index < TIER_JOURNAL_SECTORS_PER_BLOCK && !h->total && !h->nr;
	return h->txn <= 2 * MAX_TXN && h->total && h->index < h->total &&
	       h->total % TIER_JOURNAL_SECTORS_PER_BLOCK == 0 &&
	       h->total / TIER_JOURNAL_SECTORS_PER_BLOCK <= g->journal_blocks &&
	       h->nr <= g->entries_per_jsector;
}

enum tier_verify tier_jsector_verify(const struct tier_geometry *g, const void *buf, u32 csum_seed,
				     u64 ring_block, struct tier_jhead *head)
{
	const struct tier_disk_jsector *disk = buf;

	if (is_zero(buf, TIER_JOURNAL_SECTOR))
		return TIER_BLANK;
	if (le32_to_cpu(disk->magic) != TIER_JOURNAL_MAGIC)
		return TIER_NOT_OURS;
	if (le32_to_cpu(disk->csum) != csum_of(csum_seed, buf, TIER_JOURNAL_SECTOR))
		return TIER_BAD_CSUM;
	if (le32_to_cpu(disk->block) != ring_block)
		return TIER_MISPLACED;
	head->txn = le64_to_cpu(disk->txn);
	head->block = le32_to_cpu(disk->block);
	head->index = le16_to_cpu(disk->index);
	head->total = le16_to_cpu(disk->total);
	head->nr = le16_to_cpu(disk->nr);
	return legal_jhead(g, disk, head) ? TIER_OK : TIER_INVALID;
}

static enum tier_verify unpack_intent(const struct tier_geometry *g, const void *payload,
				      struct tier_jentry *e)
{
	u32 nr_words = (g->nr_regions + 63) / 64;

	e->bits = le64_to_cpu(*(const __le64 *)payload);
	if (e->key >= nr_words ||
	    !is_zero((const u8 *)payload + sizeof(__le64), g->record_bytes - sizeof(__le64)))
		return TIER_INVALID;
	if (e->key == nr_words - 1 &&
	    e->bits & ~tier_granule_mask(0, (g->nr_regions - 1) % 64))
		return TIER_INVALID;
	return TIER_OK;
}

enum tier_verify tier_jsector_entry(const struct tier_geometry *g, const void *buf, u32 i,
				    struct tier_jentry *e)
{
	const u8 *p = (const u8 *)buf + JSECTOR_HEAD + (size_t)i * entry_bytes(g);
	const struct tier_disk_jentry *disk = (const void *)p;
	const void *payload = disk + 1;

	memset(e, 0, sizeof(*e));
	if (i >= g->entries_per_jsector || disk->reserved)
		return TIER_INVALID;
	e->type = le16_to_cpu(disk->type);
	e->key = le32_to_cpu(disk->key);
	switch (e->type) {
	case TIER_JENTRY_SLOT:
		if (e->key >= g->nr_slots)
			return TIER_INVALID;
		return tier_unpack_slot_record(g, tier_to_slot(e->key), payload, &e->rec);
	case TIER_JENTRY_INTENT:
		return unpack_intent(g, payload, e);
	default:
		return TIER_INVALID;
	}
}
