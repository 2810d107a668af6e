// SPDX-License-Identifier: GPL-2.0
/*
 * Table line: <start> <len> tier-mdtest-dev <dev>
 *
 * A linear target that fails writes and flushes, counted from the message on:
 *
 *	fail N [M]	the N-th one (1-based), and M - 1 more, default 1; 0 none
 *	left		how many of the N are to come
 */
#include <linux/device-mapper.h>
#include <linux/slab.h>

#include "tier-mdtest.h"

/**
 * struct faulty - the target's object
 * @dev: below
 * @lock: guards the following
 * @before: writes that succeed before the first that fails
 * @fail: writes that fail
 */
struct faulty {
	struct dm_dev *dev;
	spinlock_t lock;	/* guards the following */
	u64 before;
	u64 fail;
};

static bool fails(struct faulty *f)
{
	unsigned long flags;
	bool r = false;

	spin_lock_irqsave(&f->lock, flags);
	if (f->fail && f->before) {
		f->before--;
	} else if (f->fail) {
		f->fail--;
		r = true;
	}
	spin_unlock_irqrestore(&f->lock, flags);
	return r;
}

static int faulty_map(struct dm_target *ti, struct bio *bio)
{
	struct faulty *f = ti->private;

	if (op_is_write(bio_op(bio)) && fails(f))
		return DM_MAPIO_KILL;
	bio_set_dev(bio, f->dev->bdev);
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	return DM_MAPIO_REMAPPED;
}

static int faulty_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			  unsigned int maxlen)
{
	struct faulty *f = ti->private;
	u64 n = 0, m = 1;

	if (argc == 1 && !strcmp(argv[0], "left")) {
		snprintf(result, maxlen, "%llu", f->fail ? f->before + 1 : 0);
		return 1;
	}
	if (argc < 2 || strcmp(argv[0], "fail") || kstrtou64(argv[1], 0, &n) ||
	    (argc > 2 && kstrtou64(argv[2], 0, &m)))
		return -EINVAL;
	spin_lock_irq(&f->lock);
	f->before = n ? n - 1 : 0;
	f->fail = n ? m : 0;
	spin_unlock_irq(&f->lock);
	return 0;
}

static int faulty_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct faulty *f;
	int r;

	if (argc != 1) {
		ti->error = "one device is needed";
		return -EINVAL;
	}
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	spin_lock_init(&f->lock);
	r = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &f->dev);
	if (r) {
		ti->error = "no such device";
		kfree(f);
		return r;
	}
	ti->num_flush_bios = 1;
	ti->private = f;
	return 0;
}

static void faulty_dtr(struct dm_target *ti)
{
	struct faulty *f = ti->private;

	dm_put_device(ti, f->dev);
	kfree(f);
}

static int faulty_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct faulty *f = ti->private;

	return fn(ti, f->dev, 0, ti->len, data);
}

static struct target_type faulty_target = {
	.name = "tier-mdtest-dev",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = faulty_ctr,
	.dtr = faulty_dtr,
	.map = faulty_map,
	.message = faulty_message,
	.iterate_devices = faulty_iterate_devices,
};

int tier_mdtest_dev_init(void)
{
	return dm_register_target(&faulty_target);
}

void tier_mdtest_dev_exit(void)
{
	dm_unregister_target(&faulty_target);
}
