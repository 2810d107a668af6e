/* SPDX-License-Identifier: GPL-2.0 */
/* Where a file lies on the device of its file system. */
#ifndef TIER_TOOLS_FIEMAP_H
#define TIER_TOOLS_FIEMAP_H

#include <stddef.h>
#include <linux/types.h>

/**
 * struct file_extent - a piece of a file that lies in one piece on the device
 * @offset: byte in the file, a multiple of 512
 * @first: sector of the device
 * @sectors: length
 */
struct file_extent {
	u64 offset;
	u64 first;
	u64 sectors;
};

/**
 * struct file_map - where a file is
 * @v: in the order of the file; holes, and data that have no place of their own yet, are left out
 * @nr: pieces
 * @major: of the device
 * @minor: of the device
 */
struct file_map {
	struct file_extent *v;
	size_t nr;
	unsigned int major;
	unsigned int minor;
};

/**
 * file_map_read() - ask the file system
 * @map: result, to be freed with file_map_free() in any case
 * @path: of a regular file or a directory
 * @why: TEXT_LEN bytes
 *
 * Return: 0 or -errno.
 */
int file_map_read(struct file_map *map, const char *path, char *why);
void file_map_free(struct file_map *map);

#endif /* TIER_TOOLS_FIEMAP_H */
