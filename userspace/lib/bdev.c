// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bdev.h"
#include "exit.h"
#include "text.h"

static int take_identity(struct bdev *b, const struct stat *st, char *why)
{
	b->is_block = S_ISBLK(st->st_mode);
	if (!b->is_block && !S_ISREG(st->st_mode))
		return text_why(why, -ENOTBLK, "%s is neither a block device nor a regular file",
				b->path);
	b->dev = b->is_block ? st->st_rdev : st->st_dev;
	b->ino = b->is_block ? 0 : st->st_ino;
	return 0;
}

int bdev_identify(struct bdev *b, const char *path, char *why)
{
	struct stat st;

	memset(b, 0, sizeof(*b));
	b->path = path;
	b->fd = -1;
	if (stat(path, &st))
		return text_why(why, -errno, "%s: %s", path, strerror(errno));
	return take_identity(b, &st, why);
}

static int read_sizes(struct bdev *b, const struct stat *st)
{
	int sector = 512, ro = 0;

	if (!b->is_block) {
		b->bytes = (uint64_t)st->st_size & ~511ULL;
		b->logical_bytes = 512;
		b->read_only =
			!(st->st_mode & 0222) || faccessat(AT_FDCWD, b->path, W_OK, AT_EACCESS);
		return 0;
	}
	if (ioctl(b->fd, BLKGETSIZE64, &b->bytes) || ioctl(b->fd, BLKSSZGET, &sector) ||
	    ioctl(b->fd, BLKROGET, &ro))
		return -errno;
	b->logical_bytes = (uint32_t)sector;
	b->read_only = ro;
	return 0;
}

int bdev_open(struct bdev *b, unsigned int flags, char *why)
{
	struct bdev before = *b;
	struct stat st;
	int mode = (flags & BDEV_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
	int r;

	/* without O_CREAT, O_EXCL means something for block devices only */
	if ((flags & BDEV_EXCLUSIVE) && b->is_block)
		mode |= O_EXCL;
	b->direct = true;
	b->fd = open(b->path, mode | O_DIRECT);
	if (b->fd < 0 && errno == EINVAL) {
		b->direct = false;
		b->fd = open(b->path, mode);
	}
	if (b->fd < 0) {
		r = -errno;
		if (r == -EBUSY)
			return text_why(why, r, "%s is in use", b->path);
		if (r == -EROFS)
			b->read_only = true;
		return text_why(why, r, "%s: %s", b->path, strerror(-r));
	}
	if (fstat(b->fd, &st)) {
		r = text_why(why, -errno, "%s: %s", b->path, strerror(errno));
		goto fail;
	}
	r = take_identity(b, &st, why);
	if (r)
		goto fail;
	if (b->dev != before.dev || b->ino != before.ino || b->is_block != before.is_block) {
		r = text_why(why, -ESTALE, "%s changed while it was looked at", b->path);
		goto fail;
	}
	/* what O_EXCL is for block devices, but only among us */
	if ((flags & BDEV_EXCLUSIVE) && !b->is_block &&
	    flock(b->fd, (flags & BDEV_WRITE ? LOCK_EX : LOCK_SH) | LOCK_NB) && errno == EWOULDBLOCK) {
		r = text_why(why, -EBUSY, "%s is in use", b->path);
		goto fail;
	}
	r = read_sizes(b, &st);
	if (r) {
		text_why(why, r, "%s: cannot find its size: %s", b->path, strerror(-r));
		goto fail;
	}
	return 0;
fail:
	bdev_close(b);
	return r;
}

void bdev_close(struct bdev *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

/* read a small file below /sys/dev/block/<dev>/; false if it isn't there */
static bool sysfs_read(dev_t dev, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(buf, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

/* the device's place on its whole disk, in sectors; the whole disk's directory in @disk */
static bool place_on_disk(dev_t dev, char *disk, uint64_t *start, uint64_t *end)
{
	char path[PATH_MAX], text[64];
	uint64_t size;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(path, disk) || !sysfs_read(dev, "size", text, sizeof(text)))
		return false;
	size = strtoull(text, NULL, 10);
	*start = 0;
	if (sysfs_read(dev, "partition", text, sizeof(text))) {
		char *slash = strrchr(disk, '/');

		if (!sysfs_read(dev, "start", text, sizeof(text)) || !slash)
			return false;
		*start = strtoull(text, NULL, 10);
		*slash = '\0';
	}
	*end = *start + size;
	return true;
}

bool bdev_overlap(const struct bdev *a, const struct bdev *b)
{
	uint64_t a_start, a_end, b_start, b_end;
	char a_disk[PATH_MAX], b_disk[PATH_MAX];

	if (a->is_block != b->is_block)
		return false;
	if (a->dev == b->dev && a->ino == b->ino)
		return true;
	if (!a->is_block)
		return false;
	if (!place_on_disk(a->dev, a_disk, &a_start, &a_end) ||
	    !place_on_disk(b->dev, b_disk, &b_start, &b_end))
		return false;
	return !strcmp(a_disk, b_disk) && a_start < b_end && b_start < a_end;
}

/* is a block device mounted in this namespace? */
static bool mounted(dev_t dev, char *who)
{
	unsigned int maj, min;
	char *line = NULL, where[PATH_MAX];
	size_t size = 0;
	bool found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &maj, &min, where) == 3 &&
		    makedev(maj, min) == dev) {
			text_why(who, 0, "mounted on %.400s", where);
			found = true;
		}
	}
	free(line);
	fclose(f);
	return found;
}

static bool same_file(const struct bdev *b, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if (b->is_block)
		return S_ISBLK(st.st_mode) && st.st_rdev == b->dev;
	return S_ISREG(st.st_mode) && st.st_dev == b->dev && st.st_ino == b->ino;
}

static bool swapped_on(const struct bdev *b, char *who)
{
	char *line = NULL, path[PATH_MAX];
	size_t size = 0;
	bool found = false;
	FILE *f = fopen("/proc/swaps", "re");

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0)
		found = sscanf(line, "%4095s", path) == 1 && path[0] == '/' && same_file(b, path);
	free(line);
	fclose(f);
	if (found)
		text_why(who, 0, "swap space");
	return found;
}

/* device-mapper, md and the like */
static bool held(dev_t dev, char *who)
{
	char path[PATH_MAX], name[256] = "";
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(dev), minor(dev));
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "holders/%s/dm/name", e->d_name);
		if (sysfs_read(dev, path, name, sizeof(name)))
			text_why(who, 0, "held by %s (device-mapper device %s)", e->d_name, name);
		else
			text_why(who, 0, "held by %s", e->d_name);
		found = true;
	}
	closedir(d);
	return found;
}

static bool device_busy(const struct bdev *b, dev_t dev, char *who)
{
	struct bdev part = *b;

	part.dev = dev;
	return mounted(dev, who) || swapped_on(&part, who) || held(dev, who);
}

/* a partition of a disk */
static bool partition_busy(const struct bdev *b, char *who)
{
	char path[PATH_MAX], text[64], part[TEXT_LEN];
	unsigned int maj, min;
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(b->dev), minor(b->dev));
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/partition", e->d_name);
		if (e->d_name[0] == '.' || !sysfs_read(b->dev, path, text, sizeof(text)))
			continue;
		snprintf(path, sizeof(path), "%s/dev", e->d_name);
		if (sysfs_read(b->dev, path, text, sizeof(text)) &&
		    sscanf(text, "%u:%u", &maj, &min) == 2 &&
		    device_busy(b, makedev(maj, min), part)) {
			text_why(who, 0, "its partition %.100s is %.300s", e->d_name, part);
			found = true;
		}
	}
	closedir(d);
	return found;
}

/* a file that is attached to a loop device */
static bool attached_to_loop(const struct bdev *b, char *who)
{
	char path[PATH_MAX], file[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *d = opendir("/sys/block");
	FILE *f;

	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		if (strncmp(e->d_name, "loop", 4))
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(file, sizeof(file), f)) {
			file[strcspn(file, "\n")] = '\0';
			found = same_file(b, file);
		}
		fclose(f);
		if (found)
			text_why(who, 0, "attached to /dev/%s", e->d_name);
	}
	closedir(d);
	return found;
}

bool bdev_holder(const struct bdev *b, char *who)
{
	if (!b->is_block)
		return swapped_on(b, who) || attached_to_loop(b, who);
	return device_busy(b, b->dev, who) || partition_busy(b, who);
}

bool bdev_held_by(const struct bdev *b, dev_t by)
{
	char path[2 * PATH_MAX], holder[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(by), minor(by));
	if (!b->is_block || !realpath(path, holder))
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders%s", major(b->dev), minor(b->dev), strrchr(holder, '/'));
	return !access(path, F_OK);
}

void *bdev_alloc(size_t bytes)
{
	void *p;

	if (posix_memalign(&p, BDEV_ALIGN, bytes)) {
		text_error("out of memory");
		exit(TOOL_OPERATIONAL);
	}
	memset(p, 0, bytes);
	return p;
}

int bdev_read(const struct bdev *b, void *buf, size_t bytes, uint64_t offset)
{
	ssize_t n;

	if (offset > b->bytes || bytes > b->bytes - offset)
		return -EIO;
	while (bytes) {
		n = pread(b->fd, buf, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (char *)buf + n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int bdev_write(const struct bdev *b, const void *buf, size_t bytes, uint64_t offset)
{
	ssize_t n;

	if (offset > b->bytes || bytes > b->bytes - offset)
		return -EIO;
	while (bytes) {
		n = pwrite(b->fd, buf, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (const char *)buf + n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int bdev_sync(const struct bdev *b)
{
	return fsync(b->fd) ? -errno : 0;
}
