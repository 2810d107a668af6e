/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metadata I/O: superblock, slot pages, journal, checkpoint.  Knows nothing of bios, policies or what
 * the records mean.  One object per active target.
 *
 * Order of a life: open, load, activate, any number of transactions, close.
 *
 * Context: all functions may sleep and do I/O.  Those of one transaction (begin .. commit) and activate,
 * set_*, resize and close must not run at once with each other (the caller has one commit thread);
 * a checkpoint runs by itself in the background and is ordered inside.
 */
#ifndef TIER_METADATA_H
#define TIER_METADATA_H

#include <linux/blk_types.h>
#include "core/codec.h"

struct tier_metadata;

/**
 * tier_metadata_open() - read the superblock of a metadata device
 * @bdev: metadata device
 * @sectors: its size
 * @name: for log messages, e.g. the dm device's name; kept
 *
 * The message in the kernel log says why it fails.
 * Return: object; ERR_PTR: -ENODATA not formatted or not ours, -EPROTONOSUPPORT newer format,
 * -EILSEQ damaged, -EROFS unknown compat_ro features, -ENOSPC device smaller than the superblock says,
 * -EIO, -ENOMEM.
 */
struct tier_metadata *tier_metadata_open(struct block_device *bdev, sector_t sectors, const char *name);

/* what was read (and has been written since); valid until close */
const struct tier_sb *tier_metadata_sb(const struct tier_metadata *md);

/**
 * struct tier_metadata_load_ops - what load() hands out
 * @slot: a mapped slot, in slot order, after replay; non-zero ends the load with that error
 * @hint: hint of a mapped slot, after all slots, in slot order, only if hints of @policy are there
 */
struct tier_metadata_load_ops {
	int (*slot)(void *context, tier_slot_t slot, const struct tier_record *rec);
	void (*hint)(void *context, tier_slot_t slot, u32 hint);
};

/**
 * tier_metadata_load() - read pages and journal
 * @md: opened
 * @policy: hints are handed out only if they belong to this policy name
 * @ops: called in this thread
 * @context: for @ops
 * @intent: gets the intent bitmap, TIER_INTENT_WORDS words
 *
 * Writes nothing.  Two mapped slots with the same block are damage.  (The caller finds those.)
 * Return: 0, -EILSEQ damage (message in the log), -EIO, -ENOMEM, or what @ops returned.
 */
int tier_metadata_load(struct tier_metadata *md, const char *policy,
		       const struct tier_metadata_load_ops *ops, void *context, u64 *intent);

/**
 * tier_metadata_activate() - the target goes live
 * @md: loaded
 * @devs: data devices, by their index in the superblock; those without a header may be NULL, and the fast device of a
 *	cache if it is missing or dead
 * @suspect: clean copies are not to be believed: every start drops them, until tier_metadata_trust()
 *
 * Writes the superblock (not clean, activating), the header of each device that has one with the next
 * generation, the superblock again.  From here the generation on a device proves that it took part.
 * Return: 0, -ENODEV a tier is missing, -EIO.
 */
int tier_metadata_activate(struct tier_metadata *md, struct block_device *const devs[], bool suspect);

/* the clean copies that were suspect are dropped, durably; active; 0 or an error as of a commit */
int tier_metadata_trust(struct tier_metadata *md);

/**
 * tier_metadata_check_dev() - is this the device that the metadata mean, and is it up to date?
 * @md: opened
 * @index: of a device with slots, in the superblock
 * @bdev: device
 * @why: message
 *
 * A tier without header is told by the fingerprint of the last clean stop, and without that by its size.
 * Return: 0; -ENODEV foreign, -ENODATA blank, -ESTALE older generation or another fingerprint, -EUCLEAN newer
 * generation (it is the metadata that are stale), -EIO.
 */
int tier_metadata_check_dev(struct tier_metadata *md, u32 index, struct block_device *bdev, const char **why);

#define TIER_FIND_CHANGED	BIT(0)	/* others may have written to the tier without header */
#define TIER_FIND_LARGER	BIT(1)	/* a device without header that is larger than that tier was is it */
#define TIER_FIND_OTHERS	BIT(2)	/* it is known not to be the tier without header */

/**
 * tier_metadata_find_dev() - which device is this?
 * @md: opened
 * @bdev: device
 * @how: TIER_FIND_*
 * @why: message
 *
 * Whatever its generation is: tier_metadata_check_dev() looks at that.
 * Return: its index in the superblock; -ENODATA blank, -ENODEV foreign, -ESTALE foreign, or the tier without header
 * that others wrote to (not with TIER_FIND_CHANGED), -ENOENT of this tier device, but none of its devices (taken out,
 * or about to be taken in), -EIO.
 */
int tier_metadata_find_dev(struct tier_metadata *md, struct block_device *bdev, u32 how, const char **why);

/**
 * tier_metadata_attach_dev() - take in a device: write its header, with the generation of now
 * @md: loaded; for the fast device of a cache: activated without one
 * @g: geometry that it is in: that in force, or one that tier_metadata_resize() makes that
 * @index: of the device in @g; it has a header
 * @bdev: device that nothing on the disk claims anything of: no record is left, or was there ever
 *
 * A new tier gets its header before the resize that takes it in, so that there is no superblock with a tier that has
 * none.
 * Return: 0 or an error; then the device is refused at the next start.
 */
int tier_metadata_attach_dev(struct tier_metadata *md, const struct tier_geometry *g, u32 index,
			     struct block_device *bdev);

/**
 * tier_metadata_set_dev_flags() - change flags of a tier, in the superblock
 * @md: active, any thread
 * @index: of the tier
 * @mask: flags to clear
 * @flags: flags to set then; only TIER_DEV_EVACUATE and TIER_DEV_SETTLE can be changed
 * Return: 0 or an error as of a commit.
 */
int tier_metadata_set_dev_flags(struct tier_metadata *md, u32 index, u32 mask, u32 flags);

/* entries that one transaction can take */
u32 tier_metadata_txn_capacity(const struct tier_metadata *md);

/**
 * tier_metadata_begin() - start a transaction, empty
 * @md: active
 */
void tier_metadata_begin(struct tier_metadata *md);

/* add an entry; the caller stays within the capacity */
void tier_metadata_add_slot(struct tier_metadata *md, tier_slot_t slot, const struct tier_record *rec);
void tier_metadata_add_intent(struct tier_metadata *md, u32 word, u64 bits);

/**
 * tier_metadata_commit() - make the transaction durable
 * @md: with a transaction begun
 *
 * One write with FUA, into the ring; if the ring is full it waits for a checkpoint.  The caller has made
 * durable what the entries claim.
 * Return: 0; an error means that nothing may be written any more: md has recorded that it failed (all later
 * commits fail too) and has tried to set needs_check.
 */
int tier_metadata_commit(struct tier_metadata *md);

/**
 * tier_metadata_checkpoint() - bring all committed entries into the pages, and wait for it
 * @md: loaded
 */
int tier_metadata_checkpoint(struct tier_metadata *md);

/**
 * tier_metadata_resize() - change the geometry; loaded, not active, nothing in the journal
 * @md: loaded
 * @g: from tier_geometry_resize() or tier_geometry_change() of the current one; the pages of new slots are written
 *	first.  Fingerprints go with their devices
 * @new_fast: another fast device is going to be attached: the old one is behind for good from here on, for in
 *	the new geometry what the records say of it may not be true any more
 * Return: 0, -ENOSPC metadata device too small, -EIO.
 */
int tier_metadata_resize(struct tier_metadata *md, const struct tier_geometry *g, bool new_fast);

/* remember the mode asked for, in the superblock; active, any thread; 0 or an error as of a commit */
int tier_metadata_set_mode(struct tier_metadata *md, enum tier_mode mode);

typedef u32 (*tier_hint_fn)(void *context, tier_slot_t slot);

/**
 * tier_metadata_stop() - clean stop: checkpoint, hints, fingerprints, superblock with TIER_SB_CLEAN
 * @md: active, all intents cleared, all records committed
 * @policy: owner of the hints, or NULL: no hints
 * @hint: called for each slot in order (0 for slots without)
 * @context: for @hint
 * @fp: fingerprint of each device (TIER_MAX_DEVS), or NULL
 *
 * After it the object can be closed, or activated again if the superblock on the disk has still the same seq.
 * Return: 0 or an error; then the superblock still says not clean.
 */
int tier_metadata_stop(struct tier_metadata *md, const char *policy, tier_hint_fn hint, void *context,
		       const struct tier_fingerprint *fp);

/**
 * tier_metadata_unchanged() - does the disk still hold what we wrote last?
 * @md: loaded
 * Return: true if the superblock read now has the same UUID, seq and generation.  After a failed write it can't
 * be known which seq is there.
 */
bool tier_metadata_unchanged(struct tier_metadata *md);

/* activated, and not stopped since: a stop that failed leaves it active */
bool tier_metadata_active(const struct tier_metadata *md);

/* free everything; writes nothing */
void tier_metadata_close(struct tier_metadata *md);

/**
 * struct tier_metadata_info - for status
 * @journal_used: ring blocks in use
 * @journal_blocks: ring size
 * @commits: transactions written in this life
 * @checkpoints: completed in this life
 * @failed: a write has failed
 * @needs_check: the superblock says so
 */
struct tier_metadata_info {
	u64 journal_used;
	u64 journal_blocks;
	u64 commits;
	u64 checkpoints;
	bool failed;
	bool needs_check;
};

void tier_metadata_info(struct tier_metadata *md, struct tier_metadata_info *info);

/* fingerprint of a device: its head and sampled 4 KiB pieces at places that follow from @seed; 0 or -EIO */
int tier_fingerprint_read(struct block_device *bdev, u64 sectors, u32 seed, struct tier_fingerprint *fp);

#endif /* TIER_METADATA_H */
