// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "devices.h"
#include "signature.h"
#include "text.h"

const char * const device_names[NR_DEVS] = { "SSD", "HDD", "METADATA" };

int devices_identify(struct bdev *devs, char **paths, char *why)
{
	unsigned int i, j;
	int r;

	memset(devs, 0, NR_DEVS * sizeof(*devs));
	for (i = 0; i < NR_DEVS; i++)
		devs[i].fd = -1;
	for (i = 0; i < NR_DEVS; i++) {
		r = bdev_identify(&devs[i], paths[i], why);
		if (r)
			return r;
		for (j = 0; j < i; j++)
			if (bdev_overlap(&devs[i], &devs[j]))
				return text_why(why, -EINVAL,
						"%s %s and %s %s are the same device or overlap",
						device_names[j], paths[j], device_names[i],
						paths[i]);
	}
	return 0;
}

/*
 * The kernel takes a blank SSD in, and looks at its first 4 KiB to see that it is one.  Some signatures lie
 * behind that.
 */
static int refuse_signature(const struct bdev *ssd, char *why)
{
	char found[TEXT_LEN];
	int n = signature_find(ssd, found, why);

	if (n <= 0)
		return n;
	return text_why(why, -EEXIST, "SSD %.150s holds %.200s; if it is not needed, wipefs -a takes it away",
			ssd->path, found);
}

static int fits_together(const struct bdev *devs, const struct tier_sb *sb, bool new_fast, char *why)
{
	u64 sectors = devs[DEV_HDD].bytes / 512;
	int r;

	if (sectors < sb->geometry.nr_sectors)
		return text_why(why, -ENOSPC,
				"%s has %llu sectors, the tier device %llu: not its slow device",
				devs[DEV_HDD].path, (unsigned long long)sectors,
				(unsigned long long)sb->geometry.nr_sectors);
	r = audit_fast_device(sb, &devs[DEV_SSD], why);
	if (new_fast && r == -ENODEV)
		return refuse_signature(&devs[DEV_SSD], why);
	return new_fast && r == -ESTALE ? 0 : r;
}

/* number of the device that holds metadata, the one where they belong first; NR_DEVS: none */
static unsigned int find_metadata(const struct bdev *devs, struct audit *a)
{
	static const unsigned int order[NR_DEVS] = { DEV_META, DEV_SSD, DEV_HDD };
	char ignored[TEXT_LEN];
	unsigned int i;

	for (i = 0; i < NR_DEVS; i++) {
		if (!audit_superblock(a, &devs[order[i]], ignored))
			return order[i];
		audit_free(a);
	}
	return NR_DEVS;
}

/* number of the device that is the fast one of @sb; NR_DEVS: none */
static unsigned int find_fast(const struct bdev *devs, const struct tier_sb *sb)
{
	char ignored[TEXT_LEN];
	unsigned int i;
	int r;

	for (i = 0; i < NR_DEVS; i++) {
		r = audit_fast_device(sb, &devs[i], ignored);
		if (!r || r == -ESTALE)
			return i;
	}
	return NR_DEVS;
}

int devices_order(const struct bdev *devs, char *why)
{
	unsigned int meta, fast;
	struct audit a;

	meta = find_metadata(devs, &a);
	if (meta == NR_DEVS)
		return 0;
	fast = find_fast(devs, &a.sb);
	audit_free(&a);
	if (meta == DEV_META && (fast == DEV_SSD || fast == NR_DEVS))
		return 0;
	if (fast == NR_DEVS || fast == meta)
		return text_why(why, -EINVAL,
				"wrong order: it is SSD HDD METADATA, but %.300s holds the metadata",
				devs[meta].path);
	return text_why(why, -EINVAL,
			"wrong order: it is SSD HDD METADATA, so %.250s %.250s %.250s (%.100s is the SSD of the metadata on %.100s)",
			devs[fast].path, devs[NR_DEVS - meta - fast].path, devs[meta].path,
			devs[fast].path, devs[meta].path);
}

int devices_open_sb(struct bdev *devs, char **paths, bool new_fast, struct audit *a, char *why)
{
	unsigned int i;
	int r;

	memset(a, 0, sizeof(*a));
	r = devices_identify(devs, paths, why);
	for (i = 0; !r && i < NR_DEVS; i++)
		r = bdev_open(&devs[i], 0, why);
	if (!r)
		r = devices_order(devs, why);
	if (!r)
		r = audit_superblock(a, &devs[DEV_META], why);
	if (!r)
		r = fits_together(devs, &a->sb, new_fast, why);
	return r;
}

int devices_refuse_held(const struct bdev *devs, unsigned int i, char *why)
{
	char who[TEXT_LEN];

	if (!bdev_holder(&devs[i], who))
		return 0;
	return text_why(why, -EBUSY, "%s %.300s is in use: %.400s", device_names[i], devs[i].path, who);
}

int devices_refuse_live(const struct bdev *meta, bool force, char *why)
{
	struct bdev probe = *meta;
	char who[TEXT_LEN] = "", ignored[TEXT_LEN];
	int r;

	if (!bdev_holder(meta, who)) {
		if (!meta->is_block)
			return 0;
		r = bdev_open(&probe, BDEV_EXCLUSIVE, ignored);
		bdev_close(&probe);
		if (r != -EBUSY)
			return 0;
		text_why(who, 0, "opened by somebody for himself alone");
	}
	if (force) {
		text_warn("%s is in use (%.300s): findings may not last", meta->path, who);
		return 0;
	}
	return text_why(why, -EBUSY,
			"METADATA %.150s is in use (%.200s): findings may not last; --force reads it all the same",
			meta->path, who);
}

void devices_close(struct bdev *devs)
{
	unsigned int i;

	for (i = 0; i < NR_DEVS; i++)
		bdev_close(&devs[i]);
}
