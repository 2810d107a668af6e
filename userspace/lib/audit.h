/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A look at everything that a metadata device holds: what is wrong with it, and what the rest can
 * make good.  Reads only.  Any garbage is fine; time and memory are linear in the size of the
 * device.
 */
#ifndef TIER_TOOLS_AUDIT_H
#define TIER_TOOLS_AUDIT_H

#include "bdev.h"
#include "core/replay.h"

/**
 * enum audit_level - how bad a finding is
 * @AUDIT_NOTE: in order, and worth knowing: traces of a power cut, for example
 * @AUDIT_RECOVERABLE: damage, but a second copy or the journal holds what is needed: the target
 * starts
 * @AUDIT_MISMATCH: no damage, but the devices given do not belong together, or can't be read
 * @AUDIT_ERROR: damage, or a contradiction, that nothing here makes good
 * @AUDIT_NR_LEVELS: their number
 */
enum audit_level {
	AUDIT_NOTE,
	AUDIT_RECOVERABLE,
	AUDIT_MISMATCH,
	AUDIT_ERROR,
	AUDIT_NR_LEVELS,
};

#define AUDIT_MAX_FINDINGS	100U	/* kept of each level; the others are counted */

/**
 * struct audit_finding - one thing found
 * @level: how bad
 * @structure: "superblock", "slot page", ...
 * @block: metadata block, or -1
 * @copy: 0 (A), 1 (B), or -1
 * @text: sentence
 */
struct audit_finding {
	enum audit_level level;
	const char *structure;
	s64 block;
	int copy;
	char *text;
};

/**
 * struct audit - result
 * @sb: superblock in force; set if audit_run() returned 0, as far as possible if -EPROTONOSUPPORT
 * @scan: of the journal
 * @journal_good: @scan says something
 * @used_slots: mapped
 * @pinned_slots: of them
 * @dirty_slots: mapped slots with dirty granules
 * @dirty_granules: in all slots
 * @tier_used: tiered: slots in use on each tier
 * @tier_pinned: of them
 * @intent_regions: regions marked "copies may disagree"
 * @records: one a slot, what journal and pages say together; NULL if audit_run() did not come so far
 * @mismatch: which devices do not belong together, in short; NULL if all do
 * @findings: in the order found
 * @nr_findings: kept
 * @nr: of each level, also those not kept
 */
struct audit {
	struct tier_sb sb;
	struct tier_journal_scan scan;
	bool journal_good;
	u64 used_slots;
	u64 pinned_slots;
	u64 dirty_slots;
	u64 dirty_granules;
	u64 tier_used[TIER_MAX_DEVS];
	u64 tier_pinned[TIER_MAX_DEVS];
	u64 intent_regions;
	struct tier_record *records;
	const char *mismatch;
	struct audit_finding *findings;
	unsigned int nr_findings;
	u64 nr[AUDIT_NR_LEVELS];
};

/**
 * audit_superblock() - only find and check the superblock
 * @a: result, to be freed with audit_free() in any case
 * @meta: open
 * @why: TEXT_LEN bytes
 *
 * Return: 0; -ENODATA: holds no tier metadata; -EPROTONOSUPPORT: of a newer version; -EILSEQ:
 * damaged beyond use; -EIO.
 */
int audit_superblock(struct audit *a, const struct bdev *meta, char *why);

/**
 * audit_run() - check everything
 * @a: result, to be freed with audit_free() in any case
 * @meta: metadata device, open
 * @data: data devices, fast to slow, open unless they are missing; NULL ends the list, or NULL: none
 * @cancel: polled; non-zero ends the audit
 * @why: TEXT_LEN bytes
 *
 * Return: 0: see @a; else as audit_superblock(), or -EINTR.
 */
int audit_run(struct audit *a, const struct bdev *meta, const struct bdev *const *data,
	      const volatile int *cancel, char *why);

/**
 * audit_fast_device() - is this the fast device that a superblock speaks of?
 * @sb: superblock
 * @ssd: open
 * @why: TEXT_LEN bytes
 *
 * Its size is not looked at: it may shrink.
 * Return: 0; -ENODEV: foreign or blank; -ESTALE: it missed an activation; -EILSEQ: its header is
 * damaged; -EIO.
 */
int audit_fast_device(const struct tier_sb *sb, const struct bdev *ssd, char *why);

/**
 * audit_find_tier() - which tier of a tiered device is this?
 * @sb: superblock
 * @dev: open
 * @why: TEXT_LEN bytes
 *
 * Return: its number; -ENODATA: it has no header; -ENODEV: of another tier device; -ENOENT: no tier any more; -ESTALE: it
 * missed an activation; -EILSEQ: its header is damaged; -EIO.
 */
int audit_find_tier(const struct tier_sb *sb, const struct bdev *dev, char *why);

/**
 * audit_tier_name() - how messages call a tier beside its number
 * @g: geometry of a tiered device
 * @tier: its number
 * @uuid: 37 bytes
 *
 * Return: @uuid, or "without header".
 */
const char *audit_tier_name(const struct tier_geometry *g, u32 tier, char *uuid);

/**
 * audit_settle_left() - what keeps a tier without header from being a plain disk?
 * @a: of a tiered device
 * @tier: its number
 *
 * Blocks that are not in their place there, or not with all their data, and those that have no place. If there are none,
 * and the device was stopped cleanly while this tier settled, the disk alone reads as the tiered device.
 * Return: their number.
 */
u64 audit_settle_left(const struct audit *a, u32 tier);

void audit_free(struct audit *a);

#endif /* TIER_TOOLS_AUDIT_H */
