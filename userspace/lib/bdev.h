/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Block devices, and regular files that stand in for them: what they are, who uses them, I/O past
 * the page cache.  Functions that can fail return 0 or -errno and leave a sentence in a buffer of
 * TEXT_LEN.
 */
#ifndef TIER_TOOLS_BDEV_H
#define TIER_TOOLS_BDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BDEV_ALIGN	4096U	/* of buffers, offsets and lengths */

/**
 * struct bdev - a device or file
 * @path: as given, not owned
 * @fd: -1 if not open
 * @is_block: a block device, else a regular file
 * @direct: I/O goes past the page cache
 * @read_only: the device or file can't be written to
 * @missing: there is none, @path is a word that says so, and all else has no meaning
 * @dev: device number of a block device, else of the file system
 * @ino: inode number of a file
 * @bytes: size, whole sectors
 * @logical_bytes: logical block size
 */
struct bdev {
	const char *path;
	int fd;
	bool is_block;
	bool direct;
	bool read_only;
	bool missing;
	dev_t dev;
	ino_t ino;
	uint64_t bytes;
	uint32_t logical_bytes;
};

#define BDEV_WRITE	1U	/* for reading and writing, else for reading */
#define BDEV_EXCLUSIVE	2U	/* nobody else may use it, nor start to */

/**
 * bdev_identify() - find out what a path is, without opening it
 * @b: result, with @fd -1 and no sizes
 * @path: path, kept
 * @why: TEXT_LEN bytes
 */
int bdev_identify(struct bdev *b, const char *path, char *why);

/**
 * bdev_open() - open an identified device and find its sizes
 * @b: identified
 * @flags: BDEV_*
 * @why: TEXT_LEN bytes
 *
 * Refuses a path that became something else since it was identified.
 */
int bdev_open(struct bdev *b, unsigned int flags, char *why);

/* close it; fine if it is not open */
void bdev_close(struct bdev *b);

/**
 * bdev_overlap() - do two identified devices share sectors?
 * @a: identified
 * @b: identified
 *
 * The same device or file by any path, a disk and a partition of it, overlapping partitions.
 */
bool bdev_overlap(const struct bdev *a, const struct bdev *b);

/**
 * bdev_holder() - who uses a device?
 * @b: identified
 * @who: TEXT_LEN bytes: "mounted on /mnt", "swap space", "held by dm-3 (name)" ...
 *
 * Looks at mounts, swap space, holders and partitions.  False if it finds nobody, which is no
 * proof.
 */
bool bdev_holder(const struct bdev *b, char *who);

/**
 * bdev_held_by() - does this device of device-mapper, md and the like use it?
 * @b: identified
 * @by: number of that device
 */
bool bdev_held_by(const struct bdev *b, dev_t by);

/* zeroed buffer for I/O, to be freed with free(); out of memory ends the program */
void *bdev_alloc(size_t bytes);

/* all or nothing, within @bytes of the device; aligned to BDEV_ALIGN; 0 or -errno */
int bdev_read(const struct bdev *b, void *buf, size_t bytes, uint64_t offset);
int bdev_write(const struct bdev *b, const void *buf, size_t bytes, uint64_t offset);

/* what was written is durable; 0 or -errno */
int bdev_sync(const struct bdev *b);

#endif /* TIER_TOOLS_BDEV_H */
