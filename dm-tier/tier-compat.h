/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, all of them: the rest of the source reads like current
 * mainline.  Force-included by the Kbuild before every file.
 */
#ifndef TIER_COMPAT_H
#define TIER_COMPAT_H

#include <linux/blkdev.h>
#include <linux/dm-io.h>
#include <linux/ioprio.h>
#include <linux/version.h>

/*
 * dm_io() got an ioprio argument in 6.9 and a second set of error bits in 7.x, for I/O that the
 * device does not support; stable series older than that got them too, each with some release or
 * other.  So the declarations tell, a version number does not.
 */
typedef int tier_dm_io_unsup_fn(struct dm_io_request *req, unsigned int nr,
				struct dm_io_region *where, unsigned long *error_bits,
				unsigned long *unsup_bits, unsigned short ioprio);
typedef int tier_dm_io_ioprio_fn(struct dm_io_request *req, unsigned int nr,
				 struct dm_io_region *where, unsigned long *error_bits,
				 unsigned short ioprio);
typedef int tier_dm_io_plain_fn(struct dm_io_request *req, unsigned int nr,
				struct dm_io_region *where, unsigned long *error_bits);

static inline int tier_dm_io(struct dm_io_request *req, unsigned int nr,
			     struct dm_io_region *where, unsigned long *error_bits,
			     unsigned long *unsup_bits, unsigned short ioprio)
{
	void *fn = dm_io;

	if (__builtin_types_compatible_p(typeof(dm_io), tier_dm_io_unsup_fn))
		return ((tier_dm_io_unsup_fn *)fn)(req, nr, where, error_bits, unsup_bits, ioprio);
	if (__builtin_types_compatible_p(typeof(dm_io), tier_dm_io_ioprio_fn))
		return ((tier_dm_io_ioprio_fn *)fn)(req, nr, where, error_bits, ioprio);
	return ((tier_dm_io_plain_fn *)fn)(req, nr, where, error_bits);
}

#define dm_io tier_dm_io

/* The same for its callback @fn, of the 7.x form: .notify.fn = tier_dm_io_notify(fn) */
typedef void (*tier_notify_unsup_fn)(unsigned long error, unsigned long unsup, void *context);

#define DEFINE_TIER_DM_IO_NOTIFY(fn)							\
	static void __maybe_unused fn##_plain(unsigned long error, void *context)	\
	{										\
		fn(error, 0, context);							\
	}

#define tier_dm_io_notify(fn)								\
	__builtin_choose_expr(__builtin_types_compatible_p(io_notify_fn, tier_notify_unsup_fn), \
			      fn, fn##_plain)

/* dm_table_get_mode(): fmode_t before 6.5, blk_mode_t since */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define TIER_MODE_BIT_WRITE	FMODE_WRITE
#else
#define TIER_MODE_BIT_WRITE	BLK_OPEN_WRITE
#endif

/* __assign_str() lost its second argument in 6.10 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define tier_assign_str(dst, src)	__assign_str(dst, src)
#else
#define tier_assign_str(dst, src)	__assign_str(dst)
#endif

/* discards of any length, in multiples of @granularity bytes, whatever the devices below can do */
static inline void tier_limits_discard(struct queue_limits *limits, unsigned int granularity)
{
	limits->discard_granularity = granularity;
	limits->max_discard_sectors = round_down(UINT_MAX >> SECTOR_SHIFT, granularity >> SECTOR_SHIFT);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	limits->max_hw_discard_sectors = limits->max_discard_sectors;
#endif
}

#endif /* TIER_COMPAT_H */
