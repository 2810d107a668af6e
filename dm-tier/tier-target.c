// SPDX-License-Identifier: GPL-2.0
/*
 * dm-tier: one fast block device out of an SSD, a HDD and a small metadata device.
 *
 * The target's wiring: constructor, resume, suspend, destructor.  tier.h lists the other files.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "tier.h"
#include "tier-policy-builtin.h"

#define CREATE_TRACE_POINTS
#include "tier-trace.h"

#define TICK_MS		1000
#define MINUTE_MS	60000

/* ---- health and events ---- */

static void event_work(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, event_work);

	dm_table_event(t->ti->table);
}

/* wake who waits for a device event; any context */
void tier_event(struct tier *t)
{
	queue_work(t->wq, &t->event_work);
}

/**
 * tier_set_health() - something is broken for good
 * @t: target
 * @health: worse than now, else nothing happens
 * @why: for the log
 *
 * The only place that changes the health of a target that is constructed.  Context: any.
 */
void tier_set_health(struct tier *t, enum tier_health health, const char *why)
{
	static const char * const what[] = {
		[TIER_HEALTH_DEGRADED] = "degraded: the fast device gets nothing new",
		[TIER_HEALTH_RO] = "read-only",
		[TIER_HEALTH_FAIL] = "failed",
	};
	int old = atomic_read(&t->health);

	while (old < (int)health)
		if (atomic_try_cmpxchg(&t->health, &old, health)) {
			DMERR("%s: %s; from now on %s", t->name, why, what[health]);
			trace_tier_health(t->name, old, health);
			tier_event(t);
			tier_wb_kick(t);	/* a flush that runs ends */
			/* drops what it has clean; before and after its life others run the commit */
			if (health == TIER_HEALTH_DEGRADED && READ_ONCE(t->live))
				tier_commit_kick(t, true);
			return;
		}
}

/**
 * tier_dev_error() - count an error of the fast device, or in tiered mode of any; after too many in a minute it
 * gets nothing new
 * @t: target
 * @d: device
 * @what: for the log
 * @sector: on the tier device, for the log
 *
 * Context: any.
 */
void tier_dev_error(struct tier *t, struct tier_dev *d, const char *what, sector_t sector)
{
	int n = atomic_inc_return(&d->errors) - READ_ONCE(d->errors_seen);
	bool many = n >= (int)tier_tune(t, TIER_TUNE_MAX_ERRORS);

	if (!tier_exclusive(t)) {
		DMERR_LIMIT("%s: fast device: %s error, tier sector %llu", t->name, what, (unsigned long long)sector);
		if (many)
			tier_set_health(t, TIER_HEALTH_DEGRADED, "too many errors of the fast device");
		return;
	}
	DMERR_LIMIT("%s: tier %u: %s error, tier sector %llu", t->name, tier_dev_index(t, d), what,
		    (unsigned long long)sector);
	if (many && !t->readonly && !xchg(&d->failing, true)) {
		DMERR("%s: too many errors of tier %u: it gets nothing new for a minute", t->name,
		      tier_dev_index(t, d));
		tier_event(t);
	}
}

/* a minute has passed since errors were looked at */
static void forget_errors(struct tier *t)
{
	u32 i;

	for (i = 0; i < t->nr_devs; i++) {
		struct tier_dev *d = &t->devs[i];
		int n = atomic_read(&d->errors);

		if (n == d->errors_seen && xchg(&d->failing, false))
			tier_event(t);
		WRITE_ONCE(d->errors_seen, n);
	}
}

/* ---- background ---- */

/* what one policy, that of a cache or of a tier, wants; config_sem held for reading */
static void policy_work(struct tier *t, u32 dev, struct tier_policy *p)
{
	struct tier_work w;
	int budget = 16;
	bool idle = tier_slow_idle(t);

	if (p->type->tick)
		p->type->tick(p, tier_now());
	while (p->type->get_work && budget-- && p->type->get_work(p, idle, &w))
		switch (w.op) {
		case TIER_WORK_PROMOTE:
			if (!tier_promote_later(t, w.block, dev))
				p->type->aborted(p, w.block);
			break;
		case TIER_WORK_DEMOTE:
		case TIER_WORK_WRITE_BACK:
			if (!tier_exclusive(t))
				tier_reclaim_slot(t, w.slot, w.op == TIER_WORK_DEMOTE);
			else if (w.op == TIER_WORK_DEMOTE)
				tier_demote_slot(t, dev, w.slot);
			break;
		}
}

/* a write of the metadata may have failed that no commit waited for: a checkpoint's */
void tier_look_at_metadata(struct tier *t)
{
	struct tier_metadata_info info;

	tier_metadata_info(t->md, &info);
	if (info.failed)
		tier_set_health(t, TIER_HEALTH_RO, "a metadata write failed, they need a check");
}

/* once a second */
static void tick_work(struct work_struct *work)
{
	struct tier *t = container_of(to_delayed_work(work), struct tier, tick_work);
	u32 i;

	if (READ_ONCE(t->stopping))
		return;
	tier_look_at_metadata(t);
	percpu_down_read(&t->config_sem);
	if (!tier_exclusive(t))
		policy_work(t, 0, t->policy);
	for (i = 0; tier_exclusive(t) && tier_health(t) < TIER_HEALTH_RO && t->devs[i].policy; i++)
		policy_work(t, i, t->devs[i].policy);
	percpu_up_read(&t->config_sem);
	if (time_after_eq(jiffies, t->minute + msecs_to_jiffies(MINUTE_MS))) {
		t->minute = jiffies;
		forget_errors(t);
		tier_wb_forget_failures(t);
	}
	if (tier_exclusive(t)) {
		tier_move_kick(t);
	} else {
		if (tier_slots_low(t))
			tier_reclaim_kick(t);
		if (atomic64_read(&t->nr_dirty))
			queue_delayed_work(t->bg_wq, &t->wb_work, 0);
	}
	queue_delayed_work(t->bg_wq, &t->tick_work, msecs_to_jiffies(TICK_MS));
}

/* all of it is there to write, sooner or later: with a read-only table it never starts, and t->stopping stays true */
static void start_background(struct tier *t)
{
	u32 i;

	if (t->readonly)
		return;
	t->wb_token_time = jiffies;
	t->mig_token_time = jiffies;
	t->minute = jiffies;
	for (i = 0; i < t->nr_devs; i++)
		WRITE_ONCE(t->devs[i].last, jiffies);	/* else it was idle since the machine started */
	WRITE_ONCE(t->stopping, false);
	queue_delayed_work(t->bg_wq, &t->tick_work, msecs_to_jiffies(TICK_MS));
	queue_delayed_work(t->bg_wq, &t->job_work, 0);
	queue_delayed_work(t->bg_wq, &t->commit_timer, msecs_to_jiffies(tier_tune(t, TIER_TUNE_COMMIT_MS)));
	if (tier_exclusive(t))
		return;
	queue_delayed_work(t->bg_wq, &t->wb_work, 0);
	queue_work(t->bg_wq, &t->reclaim_work);
}

/* bios under way still need wq and commit_wq */
static void stop_background(struct tier *t)
{
	WRITE_ONCE(t->stopping, true);
	cancel_delayed_work_sync(&t->tick_work);
	cancel_delayed_work_sync(&t->job_work);
	cancel_work_sync(&t->reclaim_work);
	cancel_delayed_work_sync(&t->wb_work);
	cancel_delayed_work_sync(&t->commit_timer);
}

/* ---- constructor and destructor ---- */

static void tier_free(struct tier *t)
{
	u32 i;

	if (!t)
		return;
	tier_unload(t);
	tier_move_exit(t);
	if (t->wq)
		cancel_work_sync(&t->event_work);
	if (t->bg_wq)
		destroy_workqueue(t->bg_wq);
	if (t->commit_wq)
		destroy_workqueue(t->commit_wq);
	if (t->wq)
		destroy_workqueue(t->wq);
	tier_jobs_free(t);
	bioset_exit(&t->bios);
	if (t->config_ready)
		percpu_free_rwsem(&t->config_sem);
	free_percpu(t->dirtying);
	free_percpu(t->stats);
	if (t->meta_dev)
		dm_put_device(t->ti, t->meta_dev);
	for (i = TIER_MAX_DEVS; i--;) {
		free_percpu(t->devs[i].stats);
		if (t->devs[i].dm)
			dm_put_device(t->ti, t->devs[i].dm);
	}
	tier_policy_forget(t);
	kvfree(t);
}

static int open_device(struct tier *t, const char *what, const char *path, struct dm_dev **dev, char *error)
{
	int r = dm_get_device(t->ti, path, dm_table_get_mode(t->ti->table), dev);

	if (r) {
		*dev = NULL;
		scnprintf(error, TIER_ERROR_LEN, "%s device %.80s can't be opened for %s: error %d", what, path,
			  t->readonly ? "reading" : "reading and writing", r);
		return r;
	}
	if (!t->readonly && bdev_read_only((*dev)->bdev)) {
		scnprintf(error, TIER_ERROR_LEN, "%s device %.80s is read-only", what, path);
		return -EROFS;
	}
	if (bdev_logical_block_size((*dev)->bdev) > TIER_META_BLOCK_SIZE) {
		scnprintf(error, TIER_ERROR_LEN, "%s device %.80s has logical blocks of %u bytes, at most %u work",
			  what, path, bdev_logical_block_size((*dev)->bdev), TIER_META_BLOCK_SIZE);
		return -EINVAL;
	}
	return 0;
}

/* do two block devices share sectors (the same, or a disk and its partition)? */
static bool overlap(struct block_device *a, struct block_device *b)
{
	u64 as = a->bd_start_sect, bs = b->bd_start_sect;

	return a == b || (a->bd_disk == b->bd_disk && as < bs + bdev_nr_sectors(b) && bs < as + bdev_nr_sectors(a));
}

/* what a data device is called in messages: in tiered mode tier and number */
static const char *dev_name_of(struct tier *t, u32 i, char *buf, size_t size)
{
	if (tier_exclusive(t))
		scnprintf(buf, size, "tier %u", i);
	else
		scnprintf(buf, size, "%s", i ? "slow" : "fast");
	return buf;
}

static int check_overlap(struct tier *t, char *error)
{
	char a[16], b[16];
	u32 i, j;

	for (i = 0; i < t->nr_devs; i++)
		for (j = i + 1; j <= t->nr_devs; j++) {
			bool meta = j == t->nr_devs;
			struct dm_dev *other = meta ? t->meta_dev : t->devs[j].dm;

			if (tier_dev_missing(&t->devs[i]) || !other || !overlap(t->devs[i].dm->bdev, other->bdev))
				continue;
			scnprintf(error, TIER_ERROR_LEN,
				  "the %s and the %s device are the same or overlap: %u different ones are needed",
				  dev_name_of(t, i, a, sizeof(a)), meta ? "metadata" : dev_name_of(t, j, b, sizeof(b)),
				  t->nr_devs + 1);
			return -EINVAL;
		}
	return 0;
}

static int check_devices(struct tier *t, char *error)
{
	u32 lbs = 1, i;
	const char *why;
	int r;

	r = check_overlap(t, error);
	if (r)
		return r;
	for (i = 0; i < t->nr_devs; i++) {
		struct tier_dev *d = &t->devs[i];

		if (tier_dev_missing(d))
			continue;
		d->sectors = bdev_nr_sectors(d->dm->bdev);
		lbs = max(lbs, bdev_logical_block_size(d->dm->bdev) >> SECTOR_SHIFT);
	}
	if (!tier_exclusive(t) && t->ti->len > t->slow->sectors) {
		scnprintf(error, TIER_ERROR_LEN, "table is %llu sectors long, the slow device has only %llu",
			  (unsigned long long)t->ti->len, (unsigned long long)t->slow->sectors);
		return -EINVAL;
	}
	if (t->ti->len & (lbs - 1) || t->ti->begin & (lbs - 1)) {
		scnprintf(error, TIER_ERROR_LEN,
			  "table begins at sector %llu and is %llu sectors long: with logical blocks of %u bytes both must be multiples of %u sectors",
			  (unsigned long long)t->ti->begin, (unsigned long long)t->ti->len, lbs << SECTOR_SHIFT, lbs);
		return -EINVAL;
	}
	why = tier_claimed_by_other(t);
	if (why) {
		scnprintf(error, TIER_ERROR_LEN, "%s", why);
		return -EBUSY;
	}
	return 0;
}

static int init_queues(struct tier *t)
{
	int r;

	spin_lock_init(&t->free_lock);
	spin_lock_init(&t->io_lock);
	spin_lock_init(&t->commit_lock);
	spin_lock_init(&t->want_lock);
	spin_lock_init(&t->discard_lock);
	spin_lock_init(&t->promote_lock);
	spin_lock_init(&t->move_lock);
	mutex_init(&t->job_mutex);
	mutex_init(&t->life_mutex);
	init_waitqueue_head(&t->copies_wait);
	INIT_LIST_HEAD(&t->claim);
	INIT_LIST_HEAD(&t->deferred);
	INIT_LIST_HEAD(&t->fills);
	INIT_LIST_HEAD(&t->flushes);
	INIT_LIST_HEAD(&t->commits);
	INIT_LIST_HEAD(&t->intents);
	INIT_LIST_HEAD(&t->waiters);
	INIT_LIST_HEAD(&t->discards);
	INIT_LIST_HEAD(&t->discarding);
	INIT_LIST_HEAD(&t->jobs);
	INIT_LIST_HEAD(&t->switched);
	INIT_LIST_HEAD(&t->unrecorded);
	INIT_LIST_HEAD(&t->leaving);
	INIT_LIST_HEAD(&t->starved);
	INIT_LIST_HEAD(&t->trim_waiters);
	tier_slot_list_init(&t->trim, false);
	INIT_WORK(&t->trim_work, tier_trim_work);
	INIT_WORK(&t->io_work, tier_io_work);
	INIT_WORK(&t->commit_work, tier_commit_work);
	INIT_WORK(&t->reclaim_work, tier_reclaim_work);
	INIT_WORK(&t->discard_work, tier_discard_work);
	INIT_WORK(&t->event_work, event_work);
	INIT_DELAYED_WORK(&t->wb_work, tier_wb_work);
	INIT_DELAYED_WORK(&t->commit_timer, tier_commit_timer);
	INIT_DELAYED_WORK(&t->tick_work, tick_work);
	INIT_DELAYED_WORK(&t->job_work, tier_job_work);
	t->stopping = true;

	t->stats = alloc_percpu(struct tier_stats);
	t->dirtying = alloc_percpu(s64);
	if (!t->stats || !t->dirtying)
		return -ENOMEM;
	r = percpu_init_rwsem(&t->config_sem);
	if (r)
		return r;
	t->config_ready = true;
	r = bioset_init(&t->bios, BIO_POOL_SIZE, 0, BIOSET_NEED_BVECS);
	if (r)
		return r;
	t->wq = alloc_workqueue("tier", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	t->commit_wq = alloc_ordered_workqueue("tier-commit", WQ_MEM_RECLAIM);
	t->bg_wq = alloc_workqueue("tier-bg", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return t->wq && t->commit_wq && t->bg_wq ? 0 : -ENOMEM;
}

static int choose_policy(struct tier *t, const struct tier_args *args, char *error)
{
	char **words = kcalloc(args->policy_argc + 1, sizeof(*words), GFP_KERNEL);
	int r;

	if (!words)
		return -ENOMEM;
	words[0] = (char *)args->policy;
	memcpy(words + 1, args->policy_argv, args->policy_argc * sizeof(*words));
	r = tier_policy_choose(t, args->policy_argc + 1, words, error);
	kfree(words);
	return r;
}

static int open_devices(struct tier *t, const struct tier_args *args, char *error)
{
	char what[16];
	u32 i;
	int r;

	for (i = 0; i < 2 + args->nr_tier_devs; i++) {
		const char *path = !i ? args->fast : i == 1 ? args->slow : args->tier_devs[i - 2];

		if (!tier_exclusive(t) || strcmp(path, TIER_MISSING)) {
			r = open_device(t, dev_name_of(t, i, what, sizeof(what)), path, &t->devs[i].dm, error);
			if (r)
				return r;
		}
		t->devs[i].stats = alloc_percpu(struct tier_dev_stats);
		if (!t->devs[i].stats)
			return -ENOMEM;
		t->nr_devs++;
	}
	return open_device(t, "metadata", args->meta, &t->meta_dev, error);
}

/* may the table be read-only, or has it to be? */
static int check_readonly(struct tier *t, const struct tier_args *args, char *error)
{
	if (t->readonly && !tier_exclusive(t)) {
		scnprintf(error, TIER_ERROR_LEN,
			  "a cache needs a table that can be written: only a tiered device can be created read-only");
		return -EROFS;
	}
	if (t->readonly && args->accept_new_tier) {
		scnprintf(error, TIER_ERROR_LEN,
			  "feature accept_new_tier needs a table that can be written, and this one is read-only");
		return -EROFS;
	}
	if (!t->readonly && args->nr_missing) {
		scnprintf(error, TIER_ERROR_LEN,
			  "a missing tier (" TIER_MISSING ") needs a read-only table: dmsetup create --readonly");
		return -EINVAL;
	}
	return 0;
}

static int build(struct tier *t, const struct tier_args *args, char *error)
{
	int r;

	scnprintf(error, TIER_ERROR_LEN, "not enough memory");
	r = init_queues(t);
	if (r)
		return r;
	t->block_sectors = args->block_sectors;
	t->mode = args->mode;
	t->mode_given = args->mode_given;
	t->tune = args->tunables;
	t->discard_passdown = !args->no_discard_passdown;
	t->accept_changed_slow = args->accept_changed_slow;
	t->accept_new_fast = args->accept_new_fast;
	t->accept_new_tier = args->accept_new_tier;
	t->readonly = !(dm_table_get_mode(t->ti->table) & TIER_MODE_BIT_WRITE);
	r = check_readonly(t, args, error);
	if (r)
		return r;
	if (t->readonly)
		atomic_set(&t->health, TIER_HEALTH_RO);
	if (tier_exclusive(t))
		r = tier_move_init(t);
	r = r ?: open_devices(t, args, error) ?: check_devices(t, error);
	if (r)
		return r;
	r = choose_policy(t, args, error);
	if (r)
		return r;
	scnprintf(error, TIER_ERROR_LEN, "metadata don't fit this table line, the kernel log says why");
	return tier_check_sb(t);
}

static int tier_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	static char last_error[TIER_ERROR_LEN];	/* device-mapper prints it after we are gone */
	struct tier_args *args = kzalloc(sizeof(*args), GFP_KERNEL);
	char *error = kzalloc(TIER_ERROR_LEN, GFP_KERNEL);
	struct tier *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	int r = -ENOMEM;

	ti->error = "not enough memory";
	if (t) {	/* what tier_free() needs */
		INIT_LIST_HEAD(&t->claim);
		INIT_LIST_HEAD(&t->jobs);
		INIT_LIST_HEAD(&t->switched);
		INIT_LIST_HEAD(&t->leaving);
	}
	if (!args || !error || !t)
		goto out;
	t->ti = ti;
	t->name = dm_table_device_name(ti->table);
	t->fast = &t->devs[0];
	t->slow = &t->devs[1];
	r = tier_args_parse(args, argc, argv, error) ?: build(t, args, error);
	if (!r) {
		r = dm_set_target_max_io_len(ti, t->block_sectors);
		scnprintf(error, TIER_ERROR_LEN, "block size is refused by device-mapper");
	}
	if (r) {
		strscpy(last_error, error, sizeof(last_error));
		ti->error = last_error;
		goto out;
	}
	ti->error = NULL;
	ti->private = t;
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->num_write_zeroes_bios = 1;
	ti->per_io_data_size = sizeof(struct tier_io);
	t = NULL;
out:
	tier_free(t);
	kfree(error);
	kfree(args);
	return r;
}

static void tier_dtr(struct dm_target *ti)
{
	tier_free(ti->private);
}

/* ---- resume and suspend ---- */

static int tier_preresume(struct dm_target *ti)
{
	struct tier *t = ti->private;
	int r;

	mutex_lock(&t->life_mutex);
	r = t->loaded ? tier_reactivate(t) : -ESTALE;
	if (r == -ESTALE) {
		tier_unload(t);
		r = tier_load(t);
	}
	mutex_unlock(&t->life_mutex);
	return r;
}

static void tier_resume(struct dm_target *ti)
{
	struct tier *t = ti->private;

	WRITE_ONCE(t->live, true);
	start_background(t);
}

static void tier_presuspend(struct dm_target *ti)
{
	stop_background(ti->private);
}

static void tier_presuspend_undo(struct dm_target *ti)
{
	start_background(ti->private);
}

/* no bio is under way any more; fills may still write what they have read */
static void tier_postsuspend(struct dm_target *ti)
{
	struct tier *t = ti->private;

	mutex_lock(&t->life_mutex);
	WRITE_ONCE(t->live, false);
	if (t->loaded) {
		/* a message may have started some of it again */
		stop_background(t);
		tier_copies_wait(t);
		flush_workqueue(t->wq);
		flush_workqueue(t->commit_wq);
		tier_stop(t);
	}
	mutex_unlock(&t->life_mutex);
}

/* ---- the rest of the target's operations ---- */

static int tier_map(struct dm_target *ti, struct bio *bio)
{
	return tier_io_map(ti->private, bio);
}

static int tier_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	return tier_io_end(ti->private, bio, error);
}

static void tier_target_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
			       unsigned int maxlen)
{
	tier_status(ti->private, type, flags, result, maxlen);
}

static int tier_target_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			       unsigned int maxlen)
{
	return tier_message(ti->private, argc, argv, result, maxlen);
}

static int tier_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct tier *t = ti->private;

	u32 i;
	int r = 0;

	for (i = 0; i < t->nr_devs && !r; i++)
		if (!tier_dev_missing(&t->devs[i]))
			r = fn(ti, t->devs[i].dm, 0, i && !tier_exclusive(t) ? ti->len : t->devs[i].sectors, data);
	return r;
}

static void tier_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct tier *t = ti->private;
	u32 granule = tier_granule_sectors(t->block_sectors) << SECTOR_SHIFT;

	tier_limits_discard(limits, granule);
	limits->io_min = max(limits->io_min, max(granule, limits->physical_block_size));
	limits->io_opt = max(limits->io_opt, t->block_sectors << SECTOR_SHIFT);
}

static struct target_type tier_target = {
	.name = "tier",
	.version = { 0, 1, 0 },
	.module = THIS_MODULE,
	.ctr = tier_ctr,
	.dtr = tier_dtr,
	.map = tier_map,
	.end_io = tier_end_io,
	.preresume = tier_preresume,
	.resume = tier_resume,
	.presuspend = tier_presuspend,
	.presuspend_undo = tier_presuspend_undo,
	.postsuspend = tier_postsuspend,
	.status = tier_target_status,
	.message = tier_target_message,
	.iterate_devices = tier_iterate_devices,
	.io_hints = tier_io_hints,
};

static int __init tier_init(void)
{
	int r;

	r = tier_copy_init();
	if (r)
		return r;
	r = tier_policy_register(&tier_policy_builtin);
	if (r)
		goto copy;
	r = dm_register_target(&tier_target);
	if (!r)
		return 0;
	tier_policy_unregister(&tier_policy_builtin);
copy:
	tier_copy_exit();
	return r;
}

static void __exit tier_exit(void)
{
	dm_unregister_target(&tier_target);
	tier_policy_unregister(&tier_policy_builtin);
	tier_copy_exit();
}

module_init(tier_init);
module_exit(tier_exit);

MODULE_DESCRIPTION("device-mapper target: one fast device out of an SSD and a HDD, with pluggable policies");
MODULE_AUTHOR("the dm-tier authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
