/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the on-disk structures and their in-core forms.  Packing computes the checksum, unpacking
 * checks everything that can be checked without other blocks; what it accepts can be trusted.
 * Pure functions, any context.
 */
#ifndef TIER_CODEC_H
#define TIER_CODEC_H

#include "geometry.h"
#include "tier-format.h"
#include "tier-types.h"

/**
 * struct tier_fingerprint - what a device looked like at the last clean stop
 * @sectors: whole size
 * @head: CRC32C of the first 64 KiB
 * @samples: CRC32C of the sampled pieces
 */
struct tier_fingerprint {
	u64 sectors;
	u32 head;
	u32 samples;
};

#define TIER_FP_HEAD_SECTORS	128U	/* 64 KiB, of which the checksum is @head */
#define TIER_FP_SAMPLES		32U
#define TIER_FP_SAMPLE_SECTORS	8U	/* 4 KiB */

/**
 * tier_fingerprint_sample() - where a sample is
 * @sectors: of the device; at least one sample
 * @seed: of this tier device, tier_csum_seed()
 * @i: number of the sample
 *
 * One lies in each of TIER_FP_SAMPLES equal parts, so that they ascend; where in it is scattered by @seed (splitmix64).
 * Return: its first sector.
 */
u64 tier_fingerprint_sample(u64 sectors, u32 seed, u32 i);

/* A superblock in core; see struct tier_disk_sb for the fields */
struct tier_sb {
	u32 flags;
	u8 uuid[16];
	u32 version;
	u64 compat;
	u64 compat_ro;
	u64 incompat;
	u64 seq;
	u64 generation;
	u32 mode;
	u64 tail_txn;
	u64 tail_block;
	u64 head_txn;
	u64 format_time;
	u64 stop_time;
	char policy[32];
	u64 hint_seq;
	struct tier_fingerprint fp[TIER_MAX_DEVS];
	struct tier_geometry geometry;
};

/* A device header in core; see struct tier_disk_dev_header for the fields */
struct tier_dev_header {
	u32 index;
	u8 uuid[16];
	u8 dev_uuid[16];
	u32 block_sectors;
	u64 generation;
	u64 data_start;
	u64 nr_slots;
};

/**
 * enum tier_verify - result of looking at a metadata block
 * @TIER_OK: good
 * @TIER_BLANK: all zero: never formatted
 * @TIER_NOT_OURS: another magic
 * @TIER_NEWER: written by a newer version (version or unknown incompat features)
 * @TIER_BAD_CSUM: damaged
 * @TIER_MISPLACED: belongs to another place or another tier device
 * @TIER_INVALID: the checksum is right, a field is not
 */
enum tier_verify {
	TIER_OK,
	TIER_BLANK,
	TIER_NOT_OURS,
	TIER_NEWER,
	TIER_BAD_CSUM,
	TIER_MISPLACED,
	TIER_INVALID,
};

/* "checksum does not match" ... for messages */
const char *tier_verify_text(enum tier_verify v);

/* CRC32C of a UUID: seed of all checksums of a tier device but the superblock's and device header's */
u32 tier_csum_seed(const u8 uuid[16]);

/**
 * tier_pack_sb() - make one copy of the superblock
 * @sb: what to write
 * @location: TIER_SB_BLOCK_0 or _1
 * @buf: TIER_META_BLOCK_SIZE bytes
 */
void tier_pack_sb(const struct tier_sb *sb, u64 location, void *buf);

/**
 * tier_unpack_sb() - check and read one copy of the superblock
 * @buf: TIER_META_BLOCK_SIZE bytes
 * @location: where it was read
 * @sb: result, also filled as far as possible for TIER_NEWER; geometry is checked by tier_geometry_check()
 * @why: set to a message for all but TIER_OK
 */
enum tier_verify tier_unpack_sb(const void *buf, u64 location, struct tier_sb *sb, const char **why);

/**
 * tier_choose_sb() - the newer good one of two copies
 * @a: verdict on the first
 * @sa: its content
 * @b: verdict on the second
 * @sb: its content
 *
 * A newer format wins over everything (TIER_NEWER is what the caller should say then).
 * Return: 0, 1, or -1 if none is good.
 */
int tier_choose_sb(enum tier_verify a, const struct tier_sb *sa, enum tier_verify b, const struct tier_sb *sb);

void tier_pack_dev_header(const struct tier_dev_header *h, void *buf);
enum tier_verify tier_unpack_dev_header(const void *buf, struct tier_dev_header *h, const char **why);

/**
 * tier_pack_record() - slot record to disk
 * @g: geometry
 * @rec: record; a free one (not TIER_REC_MAPPED) becomes all zero
 * @buf: g->record_bytes bytes
 */
void tier_pack_record(const struct tier_geometry *g, const struct tier_record *rec, void *buf);

/**
 * tier_unpack_record() - slot record from disk
 * @g: geometry
 * @buf: g->record_bytes bytes
 * @rec: result
 *
 * Return: TIER_OK, or TIER_INVALID: block beyond the device, granules beyond the block, dirty but not
 * valid, unknown flags, reserved bytes not zero, a free record that isn't zero; in tiered mode also valid
 * but not dirty.
 */
enum tier_verify tier_unpack_record(const struct tier_geometry *g, const void *buf, struct tier_record *rec);

/* the same for the record of slot @slot, below nr_slots; TIER_INVALID also if it is in use and in a hole */
enum tier_verify tier_unpack_slot_record(const struct tier_geometry *g, tier_slot_t slot, const void *buf,
					 struct tier_record *rec);

/**
 * tier_page_init() - an empty page (payload zero), not yet sealed
 * @buf: TIER_META_BLOCK_SIZE bytes
 * @kind: TIER_PAGE_*
 * @page: its number
 * @nr: records it has
 */
void tier_page_init(void *buf, u32 kind, u64 page, u32 nr);

/* payload of a page */
static inline void *tier_page_payload(void *buf)
{
	return (u8 *)buf + sizeof(struct tier_disk_page);
}

/* slot record number @i of a slot page */
static inline void *tier_page_record(const struct tier_geometry *g, void *buf, u32 i)
{
	return (u8 *)tier_page_payload(buf) + (size_t)i * g->record_bytes;
}

/* another number of records, the records themselves stay */
void tier_page_set_nr(void *buf, u32 nr);

/* set the sequence number and the checksum */
void tier_page_seal(void *buf, u32 csum_seed, u64 seq);

/**
 * tier_page_verify() - check a page's head and checksum (not its records)
 * @buf: TIER_META_BLOCK_SIZE bytes
 * @csum_seed: of this tier device
 * @kind: expected
 * @page: expected
 * @seq: set if TIER_OK
 */
enum tier_verify tier_page_verify(const void *buf, u32 csum_seed, u32 kind, u64 page, u64 *seq);

/* records in slot page @page: less than records_per_page in the last one */
u32 tier_slot_page_records(const struct tier_geometry *g, u64 page);

/**
 * struct tier_jentry - a journal entry in core
 * @type: TIER_JENTRY_*
 * @key: slot, or word of the intent bitmap
 * @rec: for TIER_JENTRY_SLOT
 * @bits: for TIER_JENTRY_INTENT
 */
struct tier_jentry {
	u32 type;
	u32 key;
	struct tier_record rec;
	u64 bits;
};

/* Head of a journal sector in core */
struct tier_jhead {
	u64 txn;
	u32 block;
	u32 index;
	u32 total;
	u32 nr;
};

/**
 * tier_txn_blocks() - ring blocks that a transaction takes, at least 1
 * @g: geometry
 * @nr: its entries
 */
u32 tier_txn_blocks(const struct tier_geometry *g, u32 nr);

/**
 * tier_txn_init() - prepare the buffer of a transaction
 * @g: geometry
 * @buf: tier_txn_blocks(g, nr) metadata blocks, gets zeroed
 * @nr: entries that will be put
 */
void tier_txn_init(const struct tier_geometry *g, void *buf, u32 nr);

/* put entry number @i (0-based, below nr) */
void tier_txn_put(const struct tier_geometry *g, void *buf, u32 i, const struct tier_jentry *e);

/**
 * tier_txn_seal() - write heads and checksums
 * @g: geometry
 * @buf: as in tier_txn_init()
 * @nr: as in tier_txn_init()
 * @csum_seed: of this tier device
 * @txn: transaction number
 * @ring_block: ring block of its first block; it may wrap, each sector carries the block it really is in
 */
void tier_txn_seal(const struct tier_geometry *g, void *buf, u32 nr, u32 csum_seed, u64 txn,
		   u64 ring_block);

/* a journal block never written: 8 sealed sectors with txn 0, total 0, nr 0 */
void tier_journal_format_block(void *buf, u32 csum_seed, u64 ring_block);

/**
 * tier_jsector_verify() - check a journal sector
 * @g: geometry
 * @buf: TIER_JOURNAL_SECTOR bytes
 * @csum_seed: of this tier device
 * @ring_block: where it was read
 * @head: result
 */
enum tier_verify tier_jsector_verify(const struct tier_geometry *g, const void *buf, u32 csum_seed,
				     u64 ring_block, struct tier_jhead *head);

/* entry @i of a verified journal sector; TIER_INVALID if it makes no sense (slot or record out of range) */
enum tier_verify tier_jsector_entry(const struct tier_geometry *g, const void *buf, u32 i, struct tier_jentry *e);

#endif /* TIER_CODEC_H */
