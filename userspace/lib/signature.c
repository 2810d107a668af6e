// SPDX-License-Identifier: GPL-2.0
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "signature.h"
#include "text.h"

#define MAX_SIGNATURES	64	/* more are not worth telling, and no device has them */

/* libblkid wants a descriptor for buffered I/O; this one is surely of the same device */
static int reopen(const struct bdev *b, int mode, char *why)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->fd);
	fd = open(path, mode | O_CLOEXEC);
	if (fd < 0)
		return text_why(why, -errno, "%s: %s", b->path, strerror(errno));
	return fd;
}

static blkid_probe start_probe(int fd)
{
	blkid_probe pr = blkid_new_probe();

	if (!pr)
		return NULL;
	if (blkid_probe_set_device(pr, fd, 0, 0) ||
	    blkid_probe_enable_superblocks(pr, 1) ||
	    blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_TYPE |
					      BLKID_SUBLKS_USAGE | BLKID_SUBLKS_LABEL |
					      BLKID_SUBLKS_BADCSUM) ||
	    blkid_probe_enable_partitions(pr, 1) ||
	    blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT)) {
		blkid_free_probe(pr);
		return NULL;
	}
	return pr;
}

static const char *value(blkid_probe pr, const char *name)
{
	const char *v;

	return blkid_probe_lookup_value(pr, name, &v, NULL) ? NULL : v;
}

/* "ext4 file system (label data)" */
static void describe(blkid_probe pr, char *text)
{
	const char *type = value(pr, "TYPE"), *usage = value(pr, "USAGE");
	const char *label = value(pr, "LABEL"), *table = value(pr, "PTTYPE");
	const char *kind = "signature";

	if (table) {
		text_why(text, 0, "%s partition table", table);
		return;
	}
	if (usage && !strcmp(usage, "filesystem"))
		kind = "file system";
	else if (usage && !strcmp(usage, "raid"))
		kind = "RAID or volume manager member";
	else if (usage && !strcmp(usage, "crypto"))
		kind = "encrypted volume";
	if (label && *label)
		text_why(text, 0, "%s %s (label %.64s)", type ? type : "unknown", kind, label);
	else
		text_why(text, 0, "%s %s", type ? type : "unknown", kind);
}

/* one signature may have several magic strings: tell it once */
static void add_description(char *list, const char *text)
{
	size_t used = strlen(list);

	if (strstr(list, text) || used + strlen(text) + 3 > TEXT_LEN / 2)
		return;
	if (used)
		text_copy(list + used, TEXT_LEN - used, ", ");
	text_copy(list + strlen(list), TEXT_LEN - strlen(list), text);
}

int signature_find(const struct bdev *b, char *found, char *why)
{
	char text[TEXT_LEN];
	int fd, r, nr = 0;
	blkid_probe pr;

	found[0] = '\0';
	fd = reopen(b, O_RDONLY, why);
	if (fd < 0)
		return fd;
	pr = start_probe(fd);
	if (!pr) {
		close(fd);
		return text_why(why, -EIO, "%s: cannot look for signatures", b->path);
	}
	while (nr < MAX_SIGNATURES && (r = blkid_do_probe(pr)) == 0) {
		describe(pr, text);
		add_description(found, text);
		nr++;
	}
	if (nr < MAX_SIGNATURES && r < 0)
		nr = text_why(why, -EIO, "%s: cannot read it to look for signatures", b->path);
	blkid_free_probe(pr);
	close(fd);
	return nr;
}

/* one pass; a signature may hide another, so the caller goes on until a pass finds none */
static int wipe_pass(int fd, bool *table)
{
	blkid_probe pr = start_probe(fd);
	int r = 1, nr = 0;

	if (!pr)
		return -EIO;
	while (nr < MAX_SIGNATURES && (r = blkid_do_probe(pr)) == 0) {
		*table |= !!value(pr, "PTTYPE");
		if (blkid_do_wipe(pr, 0)) {
			r = -1;
			break;
		}
		nr++;
	}
	blkid_free_probe(pr);
	return r < 0 ? -EIO : nr;
}

int signature_wipe(const struct bdev *b, char *why)
{
	bool table = false;
	int fd, r, pass, nr = 0;

	fd = reopen(b, O_RDWR, why);
	if (fd < 0)
		return fd;
	for (pass = 0; pass < MAX_SIGNATURES; pass++) {
		r = wipe_pass(fd, &table);
		if (r <= 0)
			break;
		nr += r;
		/* the next pass must see what this one wrote */
		if (fsync(fd)) {
			r = -errno;
			break;
		}
	}
	if (r >= 0 && fsync(fd))
		r = -errno;
	/* the kernel forgets the partitions; whoever can't do that will at the next boot */
	if (table && b->is_block && ioctl(fd, BLKRRPART))
		table = false;
	close(fd);
	if (r < 0)
		return text_why(why, r, "%s: cannot remove old signatures: %s", b->path,
				strerror(-r));
	return nr;
}
