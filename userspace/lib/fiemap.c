// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fiemap.h"
#include "text.h"

#define BATCH	256U	/* extents asked for at once */

/* what has no place on the device, or none that can be named */
#define NOWHERE	(FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED | \
		 FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL)

static void add(struct file_map *map, const struct fiemap_extent *e)
{
	struct file_extent *v;

	if (e->fe_flags & NOWHERE || e->fe_physical % 512 || e->fe_length < 512)
		return;
	v = reallocarray(map->v, map->nr + 1, sizeof(*v));
	if (!v) {
		text_error("out of memory");
		exit(EXIT_FAILURE);
	}
	map->v = v;
	map->v[map->nr++] = (struct file_extent) {
		.offset = e->fe_logical,
		.first = e->fe_physical / 512,
		.sectors = e->fe_length / 512,
	};
}

static int read_extents(struct file_map *map, int fd)
{
	struct fiemap *fm = text_alloc(1, sizeof(*fm) + BATCH * sizeof(struct fiemap_extent));
	bool last = false;
	u64 start = 0;
	unsigned int i;
	int r = 0;

	while (!last) {
		memset(fm, 0, sizeof(*fm));
		fm->fm_start = start;
		fm->fm_length = FIEMAP_MAX_OFFSET - start;
		fm->fm_flags = FIEMAP_FLAG_SYNC;
		fm->fm_extent_count = BATCH;
		if (ioctl(fd, FS_IOC_FIEMAP, fm)) {
			r = -errno;
			break;
		}
		last = !fm->fm_mapped_extents;
		for (i = 0; i < fm->fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &fm->fm_extents[i];

			add(map, e);
			start = e->fe_logical + e->fe_length;
			last |= !!(e->fe_flags & FIEMAP_EXTENT_LAST);
		}
	}
	free(fm);
	return r;
}

int file_map_read(struct file_map *map, const char *path, char *why)
{
	struct stat st;
	int fd, r;

	memset(map, 0, sizeof(*map));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return text_why(why, -errno, "%.400s: %s", path, strerror(errno));
	r = fstat(fd, &st) ? -errno : 0;
	if (!r && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		close(fd);
		return text_why(why, -EINVAL, "%.400s is no regular file", path);
	}
	if (!r)
		r = read_extents(map, fd);
	close(fd);
	if (r == -EOPNOTSUPP || r == -ENOTTY)
		return text_why(why, r, "%.400s: its file system can't tell where its files are", path);
	if (r)
		return text_why(why, r, "%.400s: %s", path, strerror(-r));
	map->major = major(st.st_dev);
	map->minor = minor(st.st_dev);
	return 0;
}

void file_map_free(struct file_map *map)
{
	free(map->v);
	memset(map, 0, sizeof(*map));
}
