// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "core/args.h"
#include "devices.h"
#include "signature.h"
#include "text.h"

const char *device_name(unsigned int i)
{
	static const char * const names[NR_DEVS] = { "SSD", "HDD", "METADATA" };

	return i < NR_DEVS ? names[i] : "TIER";
}

bool devices_count_is_right(int nr)
{
	if (nr > (int)MAX_DEVS)
		text_error("%d devices are too many: at most %u tiers and METADATA", nr, TIER_MAX_DEVS);
	else if (nr < NR_DEVS)
		text_error("it takes three devices, SSD HDD METADATA, and perhaps further tiers behind them");
	return nr >= NR_DEVS && nr <= (int)MAX_DEVS;
}

void devices_data(const struct bdev *devs, unsigned int nr, const struct bdev **data)
{
	unsigned int i;

	for (i = 0; i + 1 < nr; i++)
		data[i] = &devs[device_of_tier(i)];
	data[i] = NULL;
}

int devices_identify(struct bdev *devs, unsigned int nr, char **paths, bool missing, char *why)
{
	unsigned int i, j;
	int r;

	memset(devs, 0, nr * sizeof(*devs));
	for (i = 0; i < nr; i++)
		devs[i].fd = -1;
	for (i = 0; i < nr; i++) {
		if (missing && i != DEV_META && !strcmp(paths[i], TIER_MISSING)) {
			devs[i].path = paths[i];
			devs[i].missing = true;
			continue;
		}
		r = bdev_identify(&devs[i], paths[i], why);
		if (r)
			return r;
		for (j = 0; j < i; j++)
			if (!devs[j].missing && bdev_overlap(&devs[i], &devs[j]))
				return text_why(why, -EINVAL,
						"%s %s and %s %s are the same device or overlap",
						device_name(j), paths[j], device_name(i),
						paths[i]);
	}
	return 0;
}

/*
 * The kernel takes a blank device in, and looks at its first 4 KiB to see that it is one.  Some signatures lie
 * behind that.
 */
static int refuse_signature(const struct bdev *dev, const char *what, char *why)
{
	char found[TEXT_LEN];
	int n = signature_find(dev, found, why);

	if (n <= 0)
		return n;
	return text_why(why, -EEXIST, "%s%.150s holds %.200s; if it is not needed, wipefs -a takes it away",
			what, dev->path, found);
}

/* number of the tier without header; nr_devs: there is none */
static u32 headless_tier(const struct tier_geometry *g)
{
	u32 i;

	for (i = 0; i < g->nr_devs && !(g->devs[i].flags & TIER_DEV_NO_HEADER); i++)
		;
	return i;
}

/* what has no header can only be the tier that has none; of several, with new ones among them, what holds something */
static const struct bdev *find_headless(const struct bdev *devs, unsigned int nr, const struct tier_sb *sb,
					bool accept_new)
{
	const struct tier_geometry *g = &sb->geometry;
	u32 tier = headless_tier(g);
	const struct bdev *found = NULL;
	char ignored[TEXT_LEN], why[TEXT_LEN];
	unsigned int i;

	for (i = 0; tier < g->nr_devs && i + 1 < nr; i++) {
		const struct bdev *dev = &devs[device_of_tier(i)];

		if (dev->missing || audit_find_tier(sb, dev, why) != -ENODATA)
			continue;
		if (accept_new && dev->bytes / 512 != g->devs[tier].sectors)
			continue;
		if (!found || (accept_new && !signature_find(found, ignored, why) &&
			       signature_find(dev, ignored, why) > 0))
			found = dev;
	}
	return found;
}

/* which tier is this?  Its number, or TIER_MAX_DEVS for a new one, or -errno */
static int which_tier(const struct bdev *dev, const struct tier_sb *sb, const struct bdev *headless, bool accept_new,
		      char *why)
{
	int r = audit_find_tier(sb, dev, why);

	if (r == -ENOENT && accept_new)
		return (int)TIER_MAX_DEVS;
	if (r != -ENODATA)
		return r;
	if (dev == headless)
		return (int)headless_tier(&sb->geometry);
	if (!accept_new)
		return text_why(why, -ENODEV,
				"%.300s is no tier of this tiered device: it has no header (feature accept_new_tier takes it in as a new, empty one)",
				dev->path);
	r = refuse_signature(dev, "", why);
	return r ? r : (int)TIER_MAX_DEVS;
}

static unsigned int nr_missing(const struct bdev *devs, unsigned int nr)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		n += devs[i].missing;
	return n;
}

/* the table is going to be read-only: it has to be what the metadata say */
static int in_their_places(const struct bdev *devs, unsigned int nr, const struct tier_sb *sb, char *why)
{
	unsigned int i;
	int tier;

	if (nr - 1 != sb->geometry.nr_devs)
		return text_why(why, -EINVAL,
				"%u tiers are given, and this tiered device has %u: each that is missing takes a " TIER_MISSING,
				nr - 1, sb->geometry.nr_devs);
	for (i = 0; i + 1 < nr; i++) {
		const struct bdev *dev = &devs[device_of_tier(i)];

		if (dev->missing || sb->geometry.devs[i].flags & TIER_DEV_NO_HEADER)
			continue;
		tier = audit_find_tier(sb, dev, why);
		if (tier < 0)
			return tier;
		if (tier != (int)i)
			return text_why(why, -EINVAL,
					"%.300s is tier %d, and stands where tier %u belongs: where one is missing (" TIER_MISSING "), the others have to be in their places",
					dev->path, tier, i);
	}
	return 0;
}

/* tiers in any order; new ones if told so, and without those that are to be emptied: the kernel looks if they are */
static int tiers_fit_together(const struct bdev *devs, unsigned int nr, const struct tier_sb *sb, bool accept_new,
			      char *why)
{
	const struct tier_geometry *g = &sb->geometry;
	bool found[TIER_MAX_DEVS + 1] = { };
	const struct bdev *headless = find_headless(devs, nr, sb, accept_new);
	const struct bdev *before = NULL;	/* of the tiers so far the one in front of this one */
	char uuid[37];
	unsigned int i;
	int last = -1;
	int tier = nr_missing(devs, nr) ? in_their_places(devs, nr, sb, why) : 0;

	if (tier)
		return tier;
	for (i = 0; i + 1 < nr; i++) {
		const struct bdev *dev = &devs[device_of_tier(i)];

		if (dev->missing) {
			found[i] = true;
			continue;
		}
		tier = which_tier(dev, sb, headless, accept_new, why);
		if (tier < 0)
			return tier;
		found[tier] = true;
		if (tier < last)
			text_warn("%.300s (tier %d so far) stands in front of %.300s (tier %d so far): the order in the line is that of speed from then on; is it right?",
				  before->path, last, dev->path, tier);
		if (tier < (int)g->nr_devs) {
			before = dev;
			last = tier;
		}
		if (tier < (int)g->nr_devs && dev->bytes / 512 < g->devs[tier].sectors)
			return text_why(why, -ENOSPC, "%.300s has %llu sectors, but tier %d had %llu: a tier can't shrink",
					dev->path, (unsigned long long)(dev->bytes / 512), tier,
					(unsigned long long)g->devs[tier].sectors);
	}
	for (i = 0; i < g->nr_devs; i++)
		if (!found[i] && !(g->devs[i].flags & TIER_DEV_EVACUATE))
			return text_why(why, -ENODEV, "tier %u (%s) of this tiered device is missing: it has %u tiers; one that isn't there is a -, with --readonly, and one that is to be taken out is emptied first (evacuate)",
					i, audit_tier_name(g, i, uuid), g->nr_devs);
	return 0;
}

static int fits_together(const struct bdev *devs, const struct tier_sb *sb, bool new_fast, char *why)
{
	u64 sectors = devs[DEV_HDD].bytes / 512;
	char wrong[TEXT_LEN];
	int r;

	if (sectors < sb->geometry.nr_sectors)
		return text_why(why, -ENOSPC,
				"%s has %llu sectors, the tier device %llu: not its slow device",
				devs[DEV_HDD].path, (unsigned long long)sectors,
				(unsigned long long)sb->geometry.nr_sectors);
	r = audit_fast_device(sb, &devs[DEV_SSD], why);
	if (new_fast && r == -ENODEV)
		return refuse_signature(&devs[DEV_SSD], "SSD ", why);
	if (new_fast && r == -ESTALE)
		return 0;
	if (r == -ENODEV || r == -ESTALE) {
		text_copy(wrong, sizeof(wrong), why);
		text_why(why, r, "%.800s (feature accept_new_fast takes in %s if nothing was dirty)", wrong,
			 r == -ENODEV ? "a blank SSD" : "an older life's SSD as an empty one");
	}
	return r;
}

/* number of the device that holds metadata, the one where they belong first; @nr: none */
static unsigned int find_metadata(const struct bdev *devs, unsigned int nr, struct audit *a)
{
	char ignored[TEXT_LEN];
	unsigned int n, i;

	for (n = 0; n < nr; n++) {
		i = n ? device_of_tier(n - 1) : DEV_META;
		if (devs[i].missing)
			continue;
		if (!audit_superblock(a, &devs[i], ignored))
			return i;
		audit_free(a);
	}
	return nr;
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

int devices_order(const struct bdev *devs, unsigned int nr, char *why)
{
	unsigned int meta, fast;
	struct audit a;

	meta = find_metadata(devs, nr, &a);
	if (meta == nr)
		return 0;
	if (a.sb.geometry.exclusive || nr > NR_DEVS) {
		audit_free(&a);
		if (meta == DEV_META)
			return 0;
		return text_why(why, -EINVAL,
				"wrong order: it is SSD HDD METADATA, then further tiers, but %.300s holds the metadata",
				devs[meta].path);
	}
	if (nr_missing(devs, nr)) {
		audit_free(&a);
		return text_why(why, -EINVAL,
				"%.300s holds the metadata of a cache: only a tier of a tiered device may be missing (" TIER_MISSING ")",
				devs[meta].path);
	}
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

int devices_open_sb(struct bdev *devs, unsigned int nr, char **paths, bool accept_new, struct audit *a,
		    char *why)
{
	unsigned int i;
	int r;

	memset(a, 0, sizeof(*a));
	r = devices_identify(devs, nr, paths, true, why);
	for (i = 0; !r && i < nr; i++)
		if (!devs[i].missing)
			r = bdev_open(&devs[i], 0, why);
	if (!r)
		r = devices_order(devs, nr, why);
	if (!r)
		r = audit_superblock(a, &devs[DEV_META], why);
	if (r)
		return r;
	if (a->sb.geometry.exclusive)
		return tiers_fit_together(devs, nr, &a->sb, accept_new, why);
	if (nr != NR_DEVS)
		return text_why(why, -EINVAL, "%s holds the metadata of a cache, which has no further tiers", paths[DEV_META]);
	return fits_together(devs, &a->sb, accept_new, why);
}

int devices_refuse_held(const struct bdev *devs, unsigned int i, char *why)
{
	char who[TEXT_LEN];

	if (devs[i].missing || !bdev_holder(&devs[i], who))
		return 0;
	return text_why(why, -EBUSY, "%s %.300s is in use: %.400s", device_name(i), devs[i].path, who);
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

void devices_close(struct bdev *devs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		bdev_close(&devs[i]);
}
