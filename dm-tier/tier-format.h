/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-disk format of dm-tier.  docs/format.md is its description in prose.
 *
 * The metadata device is an array of 4 KiB metadata blocks:
 *
 *	0			superblock, first copy
 *	1 .. 15			zero
 *	16			superblock, second copy
 *	intent_start		intent page, copies A and B
 *	journal_start		ring of journal_blocks blocks
 *	slot_start		slot groups, to the end
 *
 * A slot group holds 64 slot pages as copy A, the same 64 as copy B, and the hint pages of their
 * slots (16 for 16-byte records, 8 for 32-byte records), so that growing appends groups.
 *
 * Writes of slot and intent pages go to the worse copy first, flush, then to the other copy, flush:
 * one copy is good at any moment, and any one damaged block can be made good from the other copy.
 *
 * The journal is written in whole 4 KiB blocks, but each of its 512-byte sectors stands for itself
 * (checksum, transaction, position): a torn write leaves old and new sectors, never a bad one, so a
 * bad sector is damage and is told apart from a power cut.
 *
 * Every checksum is CRC32C (Castagnoli), over the whole structure after the checksum field, seeded with
 * the CRC32C of the metadata's UUID (superblock and device header: seeded with ~0), stored without
 * final inversion.
 *
 * Shared by the kernel module, the tools and the unit tests.
 */
#ifndef TIER_FORMAT_H
#define TIER_FORMAT_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define TIER_FORMAT_VERSION	1U

#define TIER_META_BLOCK_SIZE	4096U
#define TIER_META_BLOCK_SECTORS	8U
#define TIER_SB_COPIES		2U
#define TIER_SB_BLOCK_0		0U
#define TIER_SB_BLOCK_1		16U
#define TIER_FIRST_FREE_BLOCK	17U	/* first block after the superblocks */

/* "TIER-SB1" "TIERDEV1" "TPG1" "TJS1", as they read in a hex dump */
#define TIER_SB_MAGIC		0x3142532d52454954ULL
#define TIER_DEV_MAGIC		0x3156454452454954ULL
#define TIER_PAGE_MAGIC		0x31475054U
#define TIER_JOURNAL_MAGIC	0x31534a54U

/* Superblock flags */
#define TIER_SB_CLEAN		0x00000001U	/* stopped in order: no intent, empty journal, fingerprints hold */
#define TIER_SB_NEEDS_CHECK	0x00000002U	/* a metadata write failed */
#define TIER_SB_ACTIVATING	0x00000004U	/* fast devices may carry this generation or the one before */
#define TIER_SB_SUSPECT		0x00000008U	/* clean copies are not believed, and not all dropped yet */
#define TIER_SB_FLAGS		0x0000000fU

/* Feature masks: unknown compat is fine, unknown compat_ro forbids writing, unknown incompat forbids use */
#define TIER_FEATURE_COMPAT	0ULL
#define TIER_FEATURE_COMPAT_RO	0ULL
/* tiered: each block is in exactly one slot, slow devices have slots too */
#define TIER_FEATURE_INCOMPAT_EXCLUSIVE	0x1ULL
#define TIER_FEATURE_INCOMPAT	TIER_FEATURE_INCOMPAT_EXCLUSIVE	/* those this version knows */

/* Device roles */
#define TIER_ROLE_FAST		1U	/* has a device header and slots */
#define TIER_ROLE_SLOW		2U	/* cache modes: addressed directly, no header, no slots */
#define TIER_ROLE_TIER		3U	/* tiered: has slots, and a device header but for TIER_DEV_NO_HEADER */

/* Device flags, of tiers only */
#define TIER_DEV_NO_HEADER	1U	/* taken over with its data: no header, no uuid, slots from sector 0 on */
#define TIER_DEV_EVACUATE	2U	/* is to be emptied: no block gets a slot there */
#define TIER_DEV_SETTLE		4U	/* of one without header: each block is to be in its slot of that number */
#define TIER_DEV_FLAGS		7U

/**
 * struct tier_disk_dev - one data device in the superblock
 * @uuid: also in the device's header; zero for a device without header
 * @sectors: part of the device in use, in sectors
 * @data_start: sector of its first slot; the header is at sector 0
 * @first_slot: number of its first slot; 0 for a tier, whose slots the extents name
 * @nr_slots: slots on it, 0 for the slow device of a cache
 * @fp_sectors: whole size of the device at the last clean stop, in sectors
 * @fp_head: CRC32C of its first 64 KiB at the last clean stop, or the format
 * @fp_samples: CRC32C of the sampled 4 KiB pieces then
 * @role: TIER_ROLE_*
 * @flags: TIER_DEV_*
 * @reserved: zero
 */
struct tier_disk_dev {
	__u8 uuid[16];
	__le64 sectors;
	__le64 data_start;
	__le64 first_slot;
	__le64 nr_slots;
	__le64 fp_sectors;
	__le32 fp_head;
	__le32 fp_samples;
	__le32 role;
	__le32 flags;
	__u8 reserved[56];
};

#define TIER_MAX_EXTENTS	32U
#define TIER_EXTENT_HOLE	0xffffffffU	/* of a device that was taken out: no such slots */

/**
 * struct tier_disk_extent - slots of a tiered device that lie one after the other
 * @first_slot: number of the first
 * @nr_slots: how many
 * @data_start: sector of the first; 0 in a hole
 * @dev: place of their device in the superblock's devs, or TIER_EXTENT_HOLE
 * @reserved: zero
 */
struct tier_disk_extent {
	__le64 first_slot;
	__le64 nr_slots;
	__le64 data_start;
	__le32 dev;
	__le32 reserved;
};

/**
 * struct tier_disk_sb - superblock, one metadata block
 * @csum: over bytes 4 to 4095
 * @flags: TIER_SB_*
 * @magic: TIER_SB_MAGIC
 * @uuid: of the tier device
 * @version: TIER_FORMAT_VERSION
 * @location: metadata block number of this copy
 * @compat: feature mask
 * @compat_ro: feature mask
 * @incompat: feature mask
 * @seq: counts superblock writes, the newest good copy holds
 * @generation: counts activations
 * @block_sectors: block size
 * @granule_sectors: granule size
 * @record_bytes: 16 (up to 16 granules a block) or 32
 * @mode: enum tier_mode, the one last asked for
 * @nr_devs: entries of @devs in use
 * @region_shift: log2 of the blocks in an intent region
 * @nr_regions: intent regions; block b is in region (b >> region_shift) % nr_regions
 * @reserved0: zero
 * @intent_start: metadata block of the intent page's copy A, copy B follows
 * @journal_start: first metadata block of the journal
 * @journal_blocks: size of the journal ring
 * @slot_start: first metadata block of the slot groups
 * @nr_slots: slots on all devices
 * @meta_blocks: metadata blocks in use
 * @tail_txn: first transaction that the pages do not hold yet
 * @tail_block: ring block (0-based) at which it starts, or will
 * @head_txn: last transaction known when this superblock was written
 * @format_time: seconds since 1970
 * @stop_time: of the last clean stop, seconds since 1970
 * @policy: name of the policy that the hints belong to, zero padded
 * @hint_seq: hint pages with this sequence number belong to the last clean stop; 0: none
 * @devs: fast to slow
 * @nr_sectors: tiered: length of the tier device, in sectors, whole blocks; else 0
 * @nr_extents: tiered: entries of @extents in use; else 0
 * @reserved1: zero
 * @extents: tiered: where the slots are, in the order of their numbers, without gaps, all of them
 * @reserved: zero
 */
struct tier_disk_sb {
	__le32 csum;
	__le32 flags;
	__le64 magic;
	__u8 uuid[16];
	__le32 version;
	__le32 location;
	__le64 compat;
	__le64 compat_ro;
	__le64 incompat;
	__le64 seq;
	__le64 generation;
	__le32 block_sectors;
	__le32 granule_sectors;
	__le32 record_bytes;
	__le32 mode;
	__le32 nr_devs;
	__le32 region_shift;
	__le32 nr_regions;
	__le32 reserved0;
	__le64 intent_start;
	__le64 journal_start;
	__le64 journal_blocks;
	__le64 slot_start;
	__le64 nr_slots;
	__le64 meta_blocks;
	__le64 tail_txn;
	__le64 tail_block;
	__le64 head_txn;
	__le64 format_time;
	__le64 stop_time;
	__u8 policy[32];
	__le64 hint_seq;
	struct tier_disk_dev devs[16];
	__le64 nr_sectors;
	__le32 nr_extents;
	__le32 reserved1;
	struct tier_disk_extent extents[TIER_MAX_EXTENTS];
	__u8 reserved[768];
};

/**
 * struct tier_disk_dev_header - first 4 KiB of a device with slots
 * @csum: over bytes 4 to 4095
 * @index: its place in the superblock's devs
 * @magic: TIER_DEV_MAGIC
 * @uuid: of the tier device
 * @dev_uuid: of this device
 * @version: TIER_FORMAT_VERSION
 * @block_sectors: block size
 * @generation: of the last activation that had this device
 * @data_start: sector of the first slot
 * @nr_slots: slots on this device
 * @reserved: zero
 */
struct tier_disk_dev_header {
	__le32 csum;
	__le32 index;
	__le64 magic;
	__u8 uuid[16];
	__u8 dev_uuid[16];
	__le32 version;
	__le32 block_sectors;
	__le64 generation;
	__le64 data_start;
	__le64 nr_slots;
	__u8 reserved[4016];
};

/* Page kinds */
#define TIER_PAGE_SLOTS		1U
#define TIER_PAGE_INTENT	2U
#define TIER_PAGE_HINTS		3U

/**
 * struct tier_disk_page - head of a slot, intent or hint page; the records follow
 * @csum: over bytes 4 to 4095
 * @magic: TIER_PAGE_MAGIC
 * @kind: TIER_PAGE_*
 * @nr: records in it
 * @page: number among the pages of its kind
 * @seq: slot and intent pages: last transaction it holds; hint pages: the superblock's hint_seq
 */
struct tier_disk_page {
	__le32 csum;
	__le32 magic;
	__le32 kind;
	__le32 nr;
	__le64 page;
	__le64 seq;
};

#define TIER_PAGE_PAYLOAD	(TIER_META_BLOCK_SIZE - 32U)
#define TIER_RECORDS_16		254U	/* 16-byte records in a page */
#define TIER_RECORDS_32		127U	/* 32-byte records in a page */
#define TIER_HINTS_PER_PAGE	1016U
#define TIER_GROUP_PAGES	64U	/* slot pages in a group */
#define TIER_HINT_PAGES_16	16U	/* hint pages in a group */
#define TIER_HINT_PAGES_32	8U
#define TIER_MAX_REGIONS	32512U	/* bits in one intent page */
#define TIER_INTENT_WORDS	(TIER_MAX_REGIONS / 64U)

/**
 * struct tier_disk_record16 - slot record, up to 16 granules a block; a free slot is all zero
 * @block_flags: block in bits 0 to 47, TIER_REC_* in bits 48 to 63
 * @valid: granules
 * @dirty: granules
 * @reserved: zero
 */
struct tier_disk_record16 {
	__le64 block_flags;
	__le16 valid;
	__le16 dirty;
	__le32 reserved;
};

/**
 * struct tier_disk_record32 - slot record, 32 or 64 granules a block; a free slot is all zero
 * @block_flags: block in bits 0 to 47, TIER_REC_* in bits 48 to 63
 * @valid: granules
 * @dirty: granules
 * @reserved: zero
 */
struct tier_disk_record32 {
	__le64 block_flags;
	__le64 valid;
	__le64 dirty;
	__le64 reserved;
};

#define TIER_JOURNAL_SECTOR	512U
#define TIER_JOURNAL_SECTORS_PER_BLOCK 8U
#define TIER_JOURNAL_ENTRIES_16	20U	/* entries in a sector */
#define TIER_JOURNAL_ENTRIES_32	12U
#define TIER_MIN_JOURNAL_BLOCKS	16U
#define TIER_MAX_JOURNAL_BLOCKS	4096U

/* Journal entry types */
#define TIER_JENTRY_SLOT	1U	/* key: slot; the record */
#define TIER_JENTRY_INTENT	2U	/* key: word of the intent bitmap; its 64 bits, then zero */

/**
 * struct tier_disk_jsector - head of a journal sector; the entries follow
 * @csum: over bytes 4 to 511
 * @magic: TIER_JOURNAL_MAGIC
 * @txn: transaction, 0 in a ring never written
 * @block: ring block (0-based) that this sector is in
 * @index: its place in the transaction, 0-based
 * @total: sectors of the transaction, a multiple of 8
 * @nr: entries in this sector
 * @reserved: zero
 * @txn_csum: CRC32C of bytes 32 to 511 of all sectors of the transaction in turn.  A number is used
 *	again after a torn write: this keeps sectors of the two attempts from passing for one.
 */
struct tier_disk_jsector {
	__le32 csum;
	__le32 magic;
	__le64 txn;
	__le32 block;
	__le16 index;
	__le16 total;
	__le16 nr;
	__le16 reserved;
	__le32 txn_csum;
};

/**
 * struct tier_disk_jentry - head of a journal entry; record_bytes of payload follow
 * @key: see TIER_JENTRY_*
 * @type: TIER_JENTRY_*
 * @reserved: zero
 */
struct tier_disk_jentry {
	__le32 key;
	__le16 type;
	__le16 reserved;
};

static_assert(sizeof(struct tier_disk_dev) == 128);
static_assert(sizeof(struct tier_disk_extent) == 32);
static_assert(sizeof(struct tier_disk_sb) == TIER_META_BLOCK_SIZE);
static_assert(offsetof(struct tier_disk_sb, seq) == 64);
static_assert(offsetof(struct tier_disk_sb, intent_start) == 112);
static_assert(offsetof(struct tier_disk_sb, tail_txn) == 160);
static_assert(offsetof(struct tier_disk_sb, policy) == 200);
static_assert(offsetof(struct tier_disk_sb, devs) == 240);
static_assert(offsetof(struct tier_disk_sb, nr_sectors) == 2288);
static_assert(offsetof(struct tier_disk_sb, extents) == 2304);
static_assert(sizeof(struct tier_disk_dev_header) == TIER_META_BLOCK_SIZE);
static_assert(offsetof(struct tier_disk_dev_header, generation) == 56);
static_assert(sizeof(struct tier_disk_page) == 32);
static_assert(sizeof(struct tier_disk_record16) == 16);
static_assert(sizeof(struct tier_disk_record32) == 32);
static_assert(sizeof(struct tier_disk_jsector) == 32);
static_assert(sizeof(struct tier_disk_jentry) == 8);

#endif /* TIER_FORMAT_H */
