// SPDX-License-Identifier: GPL-2.0
/*
 * Table line: <start> <len> tier-mdtest <metadata dev> <fast dev> [<further tier>]...
 *
 * Messages; all answer with text, or fail with what the metadata code returned:
 *
 *	format BLOCK FAST SLOW JOURNAL SEED	sizes in sectors, journal in blocks
 *	tiered BLOCK JOURNAL SEED		all devices but the metadata's are tiers, the last without header
 *	model SEED SLOTS			the expected state is the empty one
 *	open [POLICY]				open, load, compare everything: "txn N"
 *	verify					the same, and close
 *	activate [nofast]
 *	run N					N transactions
 *	align					transactions until no intent is left
 *	checkpoint
 *	resize FAST SLOW
 *	mode N
 *	stop [POLICY]
 *	close
 *	check_dev INDEX [DEV]			the reason, or "good"; DEV, else INDEX: number in the table, from 0
 *	find_dev DEV				its index, or the reason
 *	change WAS...				the tiers of the table were at these places, - is a new one
 *	flags INDEX FLAGS			set them; they are part of info
 *	unchanged				0 or 1
 *	info
 *	fingerprint SEED			of the fast device
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "tier-mdtest.h"

/**
 * struct mdtest - the target's object
 * @meta: metadata device
 * @devs: data devices, the fast one first
 * @nr_devs: their number
 * @md: NULL unless open
 * @lock: one message at a time
 */
struct mdtest {
	struct dm_dev *meta;
	struct dm_dev *devs[TIER_MDTEST_DEVS];
	u32 nr_devs;
	struct tier_metadata *md;
	struct mutex lock;	/* one message at a time */
};

/* Outlives the targets; the case uses one at a time. */
static struct tier_model model;

struct answer {
	char *text;
	unsigned int size;
};

static __printf(2, 3) int say(struct answer *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(a->text, a->size, format, args);
	va_end(args);
	return 1;
}

static int to_number(const char *s, u64 *n)
{
	return s ? kstrtou64(s, 0, n) : -EINVAL;
}

static int to_u32(const char *s, u32 *n)
{
	return s ? kstrtou32(s, 0, n) : -EINVAL;
}

/*
 * Comparing
 */

/**
 * struct comparison - a load under way
 * @next: slots below have been compared
 * @txn: that the metadata ended with
 * @hints: seen so far
 * @wrong: differences
 * @mapped: slots seen
 * @next_hint: slots below have had their hint
 */
struct comparison {
	u32 next;
	u64 txn;
	u64 hints;
	u64 wrong;
	u64 mapped;
	u32 next_hint;
};

static void count_wrong(struct comparison *c, const char *what, u32 where)
{
	if (c->wrong++ < 10)
		DMERR("mdtest: %s %u differs from the model after transaction %llu", what, where,
		      model.txn);
}

static void expect_free(struct comparison *c, u32 end)
{
	for (; c->next < end; c->next++)
		if (c->next < model.nr_slots && model.records[c->next].flags)
			count_wrong(c, "missing slot", c->next);
}

static int compare_slot(void *context, tier_slot_t slot, const struct tier_record *rec)
{
	struct comparison *c = context;
	u32 s = tier_from_slot(slot);
	const struct tier_record *want;

	expect_free(c, s);
	c->next = s + 1;
	c->mapped++;
	want = s < model.nr_slots ? &model.records[s] : NULL;
	if (!want || want->flags != rec->flags || want->block != rec->block ||
	    want->valid != rec->valid || want->dirty != rec->dirty)
		count_wrong(c, "slot", s);
	return 0;
}

static void compare_hint(void *context, tier_slot_t slot, u32 hint)
{
	struct comparison *c = context;
	u32 s = tier_from_slot(slot);

	if (s < c->next_hint || s >= model.nr_slots || !model.records[s].flags)
		count_wrong(c, "place of hint", s);
	c->next_hint = s + 1;
	if (hint == tier_model_hint(&model, model.txn, slot))
		c->hints++;
	else if (hint)
		count_wrong(c, "hint", s);
}

static void compare_intent(struct comparison *c, const u64 *intent)
{
	u32 i;

	for (i = 0; i < TIER_INTENT_WORDS; i++)
		if (intent[i] != model.intent[i])
			count_wrong(c, "intent word", i);
}

/* Entries that a transaction of the model has at most: has to be known before load. */
static u32 model_capacity(const struct tier_geometry *g)
{
	return min_t(u32, g->journal_blocks / 4, TIER_MAX_TXN_BLOCKS) *
	       TIER_JOURNAL_SECTORS_PER_BLOCK * g->entries_per_jsector;
}

static int move_model(const struct tier_geometry *g, u64 txn)
{
	int r;

	if (model.txn > txn) {
		r = tier_model_reset(&model, model.seed, model.nr_slots);
		if (r)
			return r;
	}
	while (model.txn < txn) {
		tier_model_next(&model, g, model_capacity(g), NULL);
		cond_resched();
	}
	return 0;
}

/*
 * The callbacks compare, so the model has to be right before: the first load, into nothing, is
 * only there to learn which transaction is the last.
 */
static int count_slot(void *context, tier_slot_t slot, const struct tier_record *rec)
{
	return 0;
}

static void count_hint(void *context, tier_slot_t slot, u32 hint)
{
}

static int last_txn(struct mdtest *t, u64 *txn)
{
	static const struct tier_metadata_load_ops ops = { .slot = count_slot, .hint = count_hint };
	static u64 intent[TIER_INTENT_WORDS];
	struct tier_metadata *md;
	int r;

	md = tier_metadata_open(t->meta->bdev, bdev_nr_sectors(t->meta->bdev), "mdtest");
	if (IS_ERR(md))
		return PTR_ERR(md);
	r = tier_metadata_load(md, NULL, &ops, NULL, intent);
	if (!r)
		r = move_model(&tier_metadata_sb(md)->geometry, tier_md_last_txn(md));
	if (!r)
		*txn = tier_md_last_txn(md);
	tier_metadata_close(md);
	return r;
}

static int open_and_compare(struct mdtest *t, const char *policy, struct comparison *c)
{
	static const struct tier_metadata_load_ops ops = {
		.slot = compare_slot,
		.hint = compare_hint,
	};
	static u64 intent[TIER_INTENT_WORDS];
	struct tier_metadata *md;
	int r;

	md = tier_metadata_open(t->meta->bdev, bdev_nr_sectors(t->meta->bdev), "mdtest");
	if (IS_ERR(md))
		return PTR_ERR(md);
	r = tier_metadata_load(md, policy, &ops, c, intent);
	if (r) {
		tier_metadata_close(md);
		return r;
	}
	expect_free(c, model.nr_slots);
	compare_intent(c, intent);
	t->md = md;
	return 0;
}

/*
 * Messages
 */

static void bdevs(struct mdtest *t, struct block_device *devs[TIER_MAX_DEVS])
{
	u32 i;

	memset(devs, 0, TIER_MAX_DEVS * sizeof(*devs));
	for (i = 0; i < t->nr_devs; i++)
		devs[i] = t->devs[i]->bdev;
}

static int format(struct mdtest *t, const struct tier_format_args *args, u32 seed, struct answer *a)
{
	struct block_device *devs[TIER_MAX_DEVS];
	u32 nr_slots;
	int r;

	bdevs(t, devs);
	r = tier_mdtest_format(t->meta->bdev, devs, args, &nr_slots);
	if (!r)
		r = tier_model_reset(&model, seed, nr_slots);
	return r ? r : say(a, "%u slots", model.nr_slots);
}

static int do_format(struct mdtest *t, char **argv, struct answer *a)
{
	struct tier_format_args args = { };
	u32 seed;

	if (to_u32(argv[1], &args.block_sectors) || to_number(argv[2], &args.fast_sectors) ||
	    to_number(argv[3], &args.slow_sectors) || to_u32(argv[4], &args.journal_blocks) ||
	    to_u32(argv[5], &seed))
		return -EINVAL;
	return format(t, &args, seed, a);
}

static int do_tiered(struct mdtest *t, char **argv, struct answer *a)
{
	struct tier_format_args args = { .nr_tiers = t->nr_devs };
	u32 seed;

	if (to_u32(argv[1], &args.block_sectors) || to_u32(argv[2], &args.journal_blocks) ||
	    to_u32(argv[3], &seed))
		return -EINVAL;
	return format(t, &args, seed, a);
}

static int do_model(struct mdtest *t, char **argv, struct answer *a)
{
	u32 seed, nr_slots;

	if (to_u32(argv[1], &seed) || to_u32(argv[2], &nr_slots) || !nr_slots)
		return -EINVAL;
	return tier_model_reset(&model, seed, nr_slots);
}

static int do_open(struct mdtest *t, char **argv, struct answer *a)
{
	struct comparison c = { };
	u64 txn;
	int r;

	if (t->md)
		return -EBUSY;
	if (!model.records)
		return -ENOENT;
	r = last_txn(t, &txn);
	if (!r)
		r = open_and_compare(t, argv[1], &c);
	if (r)
		return r;
	if (c.wrong)
		return say(a, "%llu differences", c.wrong);
	if (argv[1])
		return say(a, "txn %llu, %llu hints of %llu", txn, c.hints, c.mapped);
	return say(a, "txn %llu", txn);
}

static int do_close(struct mdtest *t, char **argv, struct answer *a)
{
	tier_metadata_close(t->md);
	t->md = NULL;
	return 0;
}

static int do_verify(struct mdtest *t, char **argv, struct answer *a)
{
	int r = do_open(t, argv, a);

	if (t->md)
		do_close(t, argv, a);
	return r;
}

static int do_activate(struct mdtest *t, char **argv, struct answer *a)
{
	struct block_device *devs[TIER_MAX_DEVS];

	bdevs(t, devs);
	if (argv[1])
		devs[0] = NULL;
	return tier_metadata_activate(t->md, devs, false);
}

static int run_one(struct mdtest *t)
{
	tier_metadata_begin(t->md);
	tier_model_next(&model, &tier_metadata_sb(t->md)->geometry,
			tier_metadata_txn_capacity(t->md), t->md);
	return tier_metadata_commit(t->md);
}

static int do_run(struct mdtest *t, char **argv, struct answer *a)
{
	u64 nr;
	int r = 0;

	if (to_number(argv[1], &nr))
		return -EINVAL;
	while (!r && nr--)
		r = run_one(t);
	return r ? r : say(a, "txn %llu", model.txn);
}

static int do_align(struct mdtest *t, char **argv, struct answer *a)
{
	int r = 0;

	while (!r && model.txn % TIER_MODEL_ALIGN)
		r = run_one(t);
	return r ? r : say(a, "txn %llu", model.txn);
}

static int do_checkpoint(struct mdtest *t, char **argv, struct answer *a)
{
	return tier_metadata_checkpoint(t->md);
}

/* What a smaller geometry cuts off is free, and transactions stay below. */
static int do_resize(struct mdtest *t, char **argv, struct answer *a)
{
	static struct tier_geometry g;
	u64 fast, slow;
	u32 s;
	int r;

	g = tier_metadata_sb(t->md)->geometry;
	if (to_number(argv[1], &fast) || to_number(argv[2], &slow) ||
	    tier_geometry_resize(&g, fast, slow))
		return -EINVAL;
	r = tier_metadata_resize(t->md, &g, false);
	if (r)
		return r;
	for (s = g.nr_slots; s < model.nr_slots; s++)
		memset(&model.records[s], 0, sizeof(model.records[s]));
	model.nr_slots = min_t(u64, model.nr_slots, g.nr_slots);
	return say(a, "%llu slots", g.nr_slots);
}

/*
 * The tiers of the table take the place of those so far.  Those that are left out must have no mapped slots;
 * new ones get their header first.
 */
static int do_change(struct mdtest *t, char **argv, struct answer *a)
{
	static struct tier_change tiers[TIER_MDTEST_DEVS];
	static struct tier_geometry g;
	const char *why;
	u32 i;
	int r = 0;

	for (i = 0; i < t->nr_devs; i++) {
		tiers[i].sectors = bdev_nr_sectors(t->devs[i]->bdev);
		tiers[i].was = TIER_NEW_TIER;
		get_random_bytes(tiers[i].uuid, sizeof(tiers[i].uuid));
		if (!argv[1 + i] || (strcmp(argv[1 + i], "-") && to_u32(argv[1 + i], &tiers[i].was)))
			return -EINVAL;
	}
	why = tier_geometry_change(&g, &tier_metadata_sb(t->md)->geometry, t->nr_devs, tiers,
				   tier_metadata_sb(t->md)->geometry.nr_sectors);
	if (why)
		return say(a, "%s", why);
	for (i = 0; i < t->nr_devs && !r; i++)
		if (tiers[i].was == TIER_NEW_TIER)
			r = tier_metadata_attach_dev(t->md, &g, i, t->devs[i]->bdev);
	if (!r)
		r = tier_metadata_resize(t->md, &g, false);
	return r ? r : say(a, "%llu slots in %u pieces", g.nr_slots, g.nr_extents);
}

static int do_flags(struct mdtest *t, char **argv, struct answer *a)
{
	u32 index, flags;

	if (to_u32(argv[1], &index) || to_u32(argv[2], &flags))
		return -EINVAL;
	return tier_metadata_set_dev_flags(t->md, index, TIER_DEV_EVACUATE, flags);
}

static int do_mode(struct mdtest *t, char **argv, struct answer *a)
{
	u32 mode;

	return to_u32(argv[1], &mode) ? -EINVAL : tier_metadata_set_mode(t->md, mode);
}

static u32 stop_hint(void *context, tier_slot_t slot)
{
	return tier_model_hint(&model, model.txn, slot);
}

static int do_stop(struct mdtest *t, char **argv, struct answer *a)
{
	static struct tier_fingerprint fp[TIER_MAX_DEVS];
	const struct tier_sb *sb = tier_metadata_sb(t->md);
	u32 i;

	memset(fp, 0, sizeof(fp));
	for (i = 0; i < t->nr_devs; i++)
		if (sb->geometry.devs[i].flags & TIER_DEV_NO_HEADER &&
		    tier_fingerprint_read(t->devs[i]->bdev, bdev_nr_sectors(t->devs[i]->bdev),
					  tier_csum_seed(sb->uuid), &fp[i]))
			return -EIO;
	return tier_metadata_stop(t->md, argv[1], stop_hint, NULL, fp);
}

static int do_check_dev(struct mdtest *t, char **argv, struct answer *a)
{
	const char *why;
	u32 index, dev;
	int r;

	if (to_u32(argv[1], &index) || to_u32(argv[2] ?: argv[1], &dev) || dev >= t->nr_devs)
		return -EINVAL;
	r = tier_metadata_check_dev(t->md, index, t->devs[dev]->bdev, &why);
	return r ? say(a, "%d %s", r, why) : say(a, "good");
}

static int do_find_dev(struct mdtest *t, char **argv, struct answer *a)
{
	const char *why;
	u32 dev;
	int r;

	if (to_u32(argv[1], &dev) || dev >= t->nr_devs)
		return -EINVAL;
	r = tier_metadata_find_dev(t->md, t->devs[dev]->bdev, false, &why);
	return r < 0 ? say(a, "%d %s", r, why) : say(a, "%d", r);
}

static int do_unchanged(struct mdtest *t, char **argv, struct answer *a)
{
	return say(a, "%d", tier_metadata_unchanged(t->md));
}

static int do_info(struct mdtest *t, char **argv, struct answer *a)
{
	const struct tier_sb *sb = tier_metadata_sb(t->md);
	struct tier_metadata_info i;
	char sb_text[96];

	snprintf(sb_text, sizeof(sb_text), "generation %llu clean %d mode %u flags %u,%u,%u", sb->generation,
		 !!(sb->flags & TIER_SB_CLEAN), sb->mode, sb->geometry.devs[0].flags, sb->geometry.devs[1].flags,
		 sb->geometry.devs[2].flags);
	tier_metadata_info(t->md, &i);
	return say(a, "used %llu/%llu commits %llu checkpoints %llu failed %d needs_check %d %s",
		   i.journal_used, i.journal_blocks, i.commits, i.checkpoints, i.failed,
		   i.needs_check, sb_text);
}

static int do_fingerprint(struct mdtest *t, char **argv, struct answer *a)
{
	struct tier_fingerprint fp;
	u32 seed;
	int r;

	if (to_u32(argv[1], &seed))
		return -EINVAL;
	r = tier_fingerprint_read(t->devs[0]->bdev, bdev_nr_sectors(t->devs[0]->bdev), seed, &fp);
	return r ? r : say(a, "%llu %08x %08x", fp.sectors, fp.head, fp.samples);
}

static const struct command {
	const char *name;
	bool needs_md;
	int (*run)(struct mdtest *t, char **argv, struct answer *a);
} commands[] = {
	{ "format", false, do_format },
	{ "tiered", false, do_tiered },
	{ "model", false, do_model },
	{ "open", false, do_open },
	{ "verify", false, do_verify },
	{ "activate", true, do_activate },
	{ "run", true, do_run },
	{ "align", true, do_align },
	{ "checkpoint", true, do_checkpoint },
	{ "resize", true, do_resize },
	{ "mode", true, do_mode },
	{ "stop", true, do_stop },
	{ "close", true, do_close },
	{ "check_dev", true, do_check_dev },
	{ "find_dev", true, do_find_dev },
	{ "change", true, do_change },
	{ "flags", true, do_flags },
	{ "unchanged", true, do_unchanged },
	{ "info", true, do_info },
	{ "fingerprint", false, do_fingerprint },
};

static const struct command *find_command(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

#define MAX_ARGS 8U

static int mdtest_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			  unsigned int maxlen)
{
	struct answer a = { .text = result, .size = maxlen };
	const struct command *c = find_command(argv[0]);
	char *args[MAX_ARGS + 1] = { };
	struct mdtest *t = ti->private;
	int r;

	if (!c || argc > MAX_ARGS)
		return -EINVAL;
	memcpy(args, argv, argc * sizeof(*argv));
	mutex_lock(&t->lock);
	r = c->needs_md && !t->md ? -ENOENT : c->run(t, args, &a);
	mutex_unlock(&t->lock);
	return r;
}

/*
 * The target
 */

static void mdtest_free(struct dm_target *ti, struct mdtest *t)
{
	if (t->md)
		tier_metadata_close(t->md);
	while (t->nr_devs)
		dm_put_device(ti, t->devs[--t->nr_devs]);
	if (t->meta)
		dm_put_device(ti, t->meta);
	kfree(t);
}

static int mdtest_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct mdtest *t;
	int r;

	if (argc < 2 || argc > 1 + TIER_MDTEST_DEVS) {
		ti->error = "two to five devices are needed";
		return -EINVAL;
	}
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	mutex_init(&t->lock);
	r = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &t->meta);
	while (!r && t->nr_devs < argc - 1) {
		r = dm_get_device(ti, argv[1 + t->nr_devs], dm_table_get_mode(ti->table), &t->devs[t->nr_devs]);
		if (!r)
			t->nr_devs++;
	}
	if (r) {
		ti->error = "no such device";
		mdtest_free(ti, t);
		return r;
	}
	ti->private = t;
	return 0;
}

static void mdtest_dtr(struct dm_target *ti)
{
	mdtest_free(ti, ti->private);
}

static int mdtest_map(struct dm_target *ti, struct bio *bio)
{
	return DM_MAPIO_KILL;
}

static struct target_type mdtest_target = {
	.name = "tier-mdtest",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = mdtest_ctr,
	.dtr = mdtest_dtr,
	.map = mdtest_map,
	.message = mdtest_message,
};

static int __init mdtest_init(void)
{
	int r = tier_mdtest_dev_init();

	if (r)
		return r;
	r = dm_register_target(&mdtest_target);
	if (r)
		tier_mdtest_dev_exit();
	return r;
}

static void __exit mdtest_exit(void)
{
	dm_unregister_target(&mdtest_target);
	tier_mdtest_dev_exit();
	tier_model_free(&model);
}

module_init(mdtest_init);
module_exit(mdtest_exit);

MODULE_DESCRIPTION("dm-tier metadata, driven by messages");
MODULE_LICENSE("GPL");
