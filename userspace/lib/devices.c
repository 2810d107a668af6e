// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "devices.h"
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

static int fits_together(const struct bdev *devs, const struct tier_sb *sb, char *why)
{
	u64 sectors = devs[DEV_HDD].bytes / 512;

	if (sectors < sb->geometry.nr_sectors)
		return text_why(why, -ENOSPC,
				"%s has %llu sectors, the tier device %llu: not its slow device",
				devs[DEV_HDD].path, (unsigned long long)sectors,
				(unsigned long long)sb->geometry.nr_sectors);
	return audit_fast_device(sb, &devs[DEV_SSD], why);
}

int devices_open_sb(struct bdev *devs, char **paths, struct audit *a, char *why)
{
	unsigned int i;
	int r;

	memset(a, 0, sizeof(*a));
	r = devices_identify(devs, paths, why);
	for (i = 0; !r && i < NR_DEVS; i++)
		r = bdev_open(&devs[i], 0, why);
	if (!r)
		r = audit_superblock(a, &devs[DEV_META], why);
	if (!r)
		r = fits_together(devs, &a->sb, why);
	return r;
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
