// SPDX-License-Identifier: GPL-2.0
/* Instead of userspace/lib/bdev.c: devices in memory, their data where the inode number says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bdev.h"

void *bdev_alloc(size_t bytes)
{
	void *p = aligned_alloc(BDEV_ALIGN, (bytes + BDEV_ALIGN - 1) / BDEV_ALIGN * BDEV_ALIGN);

	if (!p)
		abort();
	return memset(p, 0, bytes);
}

int bdev_read(const struct bdev *b, void *buf, size_t bytes, uint64_t offset)
{
	if (offset > b->bytes || bytes > b->bytes - offset)
		return -EIO;
	memcpy(buf, (const char *)(uintptr_t)b->ino + offset, bytes);
	return 0;
}
