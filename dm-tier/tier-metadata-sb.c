// SPDX-License-Identifier: GPL-2.0
/*
 * The superblock's two copies, and what happens when the metadata can't be written any more.
 */
#include <linux/string.h>

#include "tier-metadata-internal.h"

static const u64 sb_location[TIER_SB_COPIES] = { TIER_SB_BLOCK_0, TIER_SB_BLOCK_1 };

static void *sb_copy(struct tier_metadata *md, unsigned int copy)
{
	return md->sb_buf + (size_t)copy * TIER_META_BLOCK_SIZE;
}

/*
 * Reading
 */

static bool holds_other(enum tier_verify v)
{
	return v == TIER_BLANK || v == TIER_NOT_OURS;
}

/* Neither copy is good: say why. */
static int no_good_copy(struct tier_metadata *md, const enum tier_verify v[2],
			const char *const why[2])
{
	if (v[0] == TIER_NEWER || v[1] == TIER_NEWER) {
		DMERR("%s: %s", md->name, why[v[0] != TIER_NEWER]);
		return -EPROTONOSUPPORT;
	}
	if (v[0] == TIER_BLANK && v[1] == TIER_BLANK) {
		DMERR("%s: metadata device is not formatted", md->name);
		return -ENODATA;
	}
	if (holds_other(v[0]) && holds_other(v[1])) {
		DMERR("%s: metadata device holds something else", md->name);
		return -ENODATA;
	}
	if (v[0] == TIER_OK && v[1] == TIER_OK)
		DMERR("%s: the copies of the superblock belong to two tier devices", md->name);
	else
		DMERR("%s: both copies of the superblock are bad: %s; %s", md->name, why[0],
		      why[1]);
	return -EILSEQ;
}

/* Can this version, and this device, use it? */
static int check_usable(struct tier_metadata *md, const struct tier_sb *sb)
{
	u64 blocks = md->sectors / TIER_META_BLOCK_SECTORS;

	if (sb->compat_ro & ~TIER_FEATURE_COMPAT_RO) {
		DMERR("%s: metadata have features %#llx that this version must not write", md->name,
		      sb->compat_ro & ~TIER_FEATURE_COMPAT_RO);
		return -EROFS;
	}
	if (sb->geometry.meta_blocks > blocks) {
		DMERR("%s: metadata device is truncated: it has %llu blocks, the metadata %llu",
		      md->name, blocks, sb->geometry.meta_blocks);
		return -ENOSPC;
	}
	return 0;
}

/* The copy that a write may spoil: a bad one, or the older one. */
static unsigned int worse_copy(struct tier_metadata *md, enum tier_verify other_verdict, int chosen)
{
	bool good = other_verdict == TIER_OK;

	return good && md->sb_read[!chosen].seq == md->sb_read[chosen].seq ? 0 : !chosen;
}

/* Read a copy and judge it. */
static int read_copy(struct tier_metadata *md, unsigned int copy, enum tier_verify *v,
		     const char **why)
{
	void *buf = sb_copy(md, copy);
	int r;

	lockdep_assert_held(&md->sb_lock);

	memset(&md->sb_read[copy], 0, sizeof(md->sb_read[copy]));
	r = tier_md_rw(md, REQ_OP_READ, sb_location[copy], 1, buf);
	if (r) {
		*v = TIER_BAD_CSUM;
		*why = "read error";
		return r;
	}
	*v = tier_unpack_sb(buf, sb_location[copy], &md->sb_read[copy], why);
	return 0;
}

int tier_md_read_sb(struct tier_metadata *md, int *chosen)
{
	const char *why[TIER_SB_COPIES] = { NULL, NULL };
	enum tier_verify v[TIER_SB_COPIES];
	int best, r0, r1;

	lockdep_assert_held(&md->sb_lock);

	if (md->sectors < TIER_FIRST_FREE_BLOCK * TIER_META_BLOCK_SECTORS) {
		DMERR("%s: metadata device is too small to hold any metadata: %llu sectors",
		      md->name, (unsigned long long)md->sectors);
		return -ENODATA;
	}
	r0 = read_copy(md, 0, &v[0], &why[0]);
	r1 = read_copy(md, 1, &v[1], &why[1]);
	if (r0 && r1) {
		DMERR("%s: cannot read the superblock: error %d", md->name, r0);
		return r0;
	}
	best = tier_choose_sb(v[0], &md->sb_read[0], v[1], &md->sb_read[1]);
	if (best < 0)
		return no_good_copy(md, v, why);
	if (v[!best] != TIER_OK)
		DMWARN("%s: %s copy of the superblock is bad (%s), using the other", md->name,
		       best ? "first" : "second", why[!best]);
	md->sb_first = worse_copy(md, v[!best], best);
	*chosen = best;
	return check_usable(md, &md->sb_read[best]);
}

/*
 * Writing
 */

static int write_copy(struct tier_metadata *md, unsigned int copy)
{
	int r;

	lockdep_assert_held(&md->sb_lock);

	tier_pack_sb(&md->sb_next, sb_location[copy], sb_copy(md, copy));
	r = tier_md_rw(md, REQ_OP_WRITE | REQ_SYNC | REQ_FUA, sb_location[copy], 1,
		       sb_copy(md, copy));
	if (r)
		md->sb_first = copy;	/* may be half written */
	return r;
}

/*
 * One copy after the other: a power cut spoils one at most, and never the only good one.
 *
 * Not REQ_PREFLUSH on the first: where it arrives at a device-mapper device as a write with data,
 * the error of a flush that fails gets lost.
 */
int __tier_md_write_sb(struct tier_metadata *md)
{
	unsigned int first = md->sb_first;
	int r;

	lockdep_assert_held(&md->sb_lock);

	md->sb_next.seq = ++md->sb.seq;
	r = tier_md_flush(md);
	if (!r)
		r = write_copy(md, first);
	if (!r)
		r = write_copy(md, !first);
	if (r)
		return r;
	md->sb = md->sb_next;
	md->sb_first = 0;
	return 0;
}

/*
 * Failure
 */

static void set_needs_check(struct tier_metadata *md)
{
	int r;

	mutex_lock(&md->sb_lock);
	md->sb_next = md->sb;
	md->sb_next.flags |= TIER_SB_NEEDS_CHECK;
	if (!md->renew_ring)
		md->sb_next.flags &= ~TIER_SB_CLEAN;
	r = __tier_md_write_sb(md);
	mutex_unlock(&md->sb_lock);

	if (r) {
		DMERR("%s: cannot set needs_check in the superblock: error %d", md->name, r);
		return;
	}
	spin_lock(&md->lock);
	md->needs_check = true;
	spin_unlock(&md->lock);
}

int tier_md_fail(struct tier_metadata *md, const char *what, int r)
{
	lockdep_assert_not_held(&md->sb_lock);

	if (test_and_set_bit(0, &md->failed))
		return r;
	DMERR("%s: %s: error %d; metadata are not written any more, they need a check", md->name,
	      what, r);
	wake_up_all(&md->space);
	set_needs_check(md);
	return r;
}
