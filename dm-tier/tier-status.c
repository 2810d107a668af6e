// SPDX-License-Identifier: GPL-2.0
/* Status, table line and IMA form.  The order of the words is documented in docs/guide.md and only grows. */
#include "tier.h"

const char * const tier_stat_names[TIER_NR_STATS] = {
	[TIER_STAT_READ_HITS] = "read_hits",
	[TIER_STAT_READ_MISSES] = "read_misses",
	[TIER_STAT_WRITE_HITS] = "write_hits",
	[TIER_STAT_WRITE_MISSES] = "write_misses",
	[TIER_STAT_BYPASS_SEQ] = "bypass_seq",
	[TIER_STAT_BYPASS_POLICY] = "bypass_policy",
	[TIER_STAT_BYPASS_MODE] = "bypass_mode",
	[TIER_STAT_BYPASS_ERROR] = "bypass_error",
	[TIER_STAT_BYPASS_PARTIAL] = "bypass_partial",
	[TIER_STAT_BYPASS_NOSLOT] = "bypass_noslot",
	[TIER_STAT_PROMOTIONS] = "promotions",
	[TIER_STAT_DEMOTIONS] = "demotions",
	[TIER_STAT_POPULATES] = "populates",
	[TIER_STAT_FILLS] = "fills",
	[TIER_STAT_FILL_SECTORS] = "fill_sectors",
	[TIER_STAT_WRITE_BACKS] = "write_backs",
	[TIER_STAT_WRITE_BACK_SECTORS] = "write_back_sectors",
	[TIER_STAT_COMMITS] = "commits",
	[TIER_STAT_CHECKPOINTS] = "checkpoints",
	[TIER_STAT_DISCARDS] = "discards",
	[TIER_STAT_READ_ERRORS] = "read_errors",
	[TIER_STAT_WRITE_ERRORS] = "write_errors",
};

static const char * const health_names[] = {
	[TIER_HEALTH_RW] = "rw",
	[TIER_HEALTH_DEGRADED] = "degraded",
	[TIER_HEALTH_RO] = "ro",
	[TIER_HEALTH_FAIL] = "fail",
};

static const char * const flush_names[] = {
	[TIER_FLUSH_IDLE] = "idle",
	[TIER_FLUSH_RUNNING] = "running",
	[TIER_FLUSH_FAILED] = "failed",
};

static u64 sum_stat(struct tier *t, enum tier_stat s)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(t->stats, cpu)->v[s]);
	return sum;
}

static u32 nr_free(struct tier *t)
{
	u32 nr = READ_ONCE(t->map.free.nr), i;

	for (i = 0; i < t->nr_devs; i++)
		nr += READ_ONCE(t->devs[i].free.nr);
	return nr;
}

static const char *tier_state(struct tier *t, const struct tier_dev *d)
{
	if (tier_dev_missing(d))
		return "missing";
	if (READ_ONCE(d->failing))
		return "failing";
	if (READ_ONCE(d->settle))
		return tier_settle_state(t);
	if (READ_ONCE(d->evacuate))
		return atomic_read(&d->used) || atomic_read(&d->leaving) ? "evacuating" : "empty";
	return "ok";
}

#define TIER_WORDS	11

/* for each tier: slots, used, reads, writes, landings, moves in, moves out, pinned, errors, state, stuck */
static void emit_tiers(struct tier *t, char *result, unsigned int maxlen, unsigned int sz)
{
	u32 i, k;

	DMEMIT(" %u tiers %u", 2 + t->nr_devs * TIER_WORDS, t->nr_devs);
	for (i = 0; i < t->nr_devs; i++) {
		struct tier_dev *d = &t->devs[i];

		DMEMIT(" %u %d", d->nr_slots, atomic_read(&d->used));
		for (k = 0; k < TIER_NR_DEV_STATS; k++) {
			u64 sum = 0;
			int cpu;

			for_each_possible_cpu(cpu)
				sum += READ_ONCE(per_cpu_ptr(d->stats, cpu)->v[k]);
			DMEMIT(" %llu", sum);
		}
		DMEMIT(" %d %d %s %u", atomic_read(&d->pinned), atomic_read(&d->errors), tier_state(t, d),
		       READ_ONCE(d->stuck));
	}
}

static void emit_info(struct tier *t, char *result, unsigned int maxlen)
{
	struct tier_metadata_info info = { 0 };
	enum tier_flush_state flush;
	unsigned int sz = 0, words, i;
	char text[TIER_TUNABLES_LEN];

	lockdep_assert_held(&t->life_mutex);
	if (!t->loaded) {
		DMEMIT("inactive");
		return;
	}
	percpu_down_read(&t->config_sem);
	flush = READ_ONCE(t->flush_state);
	tier_look_at_metadata(t);
	tier_metadata_info(t->md, &info);
	DMEMIT("%s %s %s %s %u %u", health_names[tier_health(t)], info.needs_check ? "needs_check" : "-",
	       tier_mode_name(READ_ONCE(t->settled)), tier_mode_name(t->mode), t->g.block_sectors,
	       t->g.granule_sectors);
	/* in tiered mode no data are newer than others, there is only one place */
	DMEMIT(" %d/%llu %u %d %lld %llu/%llu", atomic_read(&t->nr_used), tier_real_slots(&t->g), nr_free(t),
	       tier_exclusive(t) ? 0 : atomic_read(&t->nr_dirty_slots),
	       tier_exclusive(t) ? 0LL : (long long)atomic64_read(&t->nr_dirty), info.journal_used,
	       info.journal_blocks);
	DMEMIT(" %u", TIER_NR_STATS * 2);
	for (i = 0; i < TIER_NR_STATS; i++)
		DMEMIT(" %s %llu", tier_stat_names[i],
		       i == TIER_STAT_CHECKPOINTS ? info.checkpoints - t->checkpoints_reset : sum_stat(t, i));
	DMEMIT(" %u flush %s flush_left %lld intent %u unwritable %lld fast_errors %d jobs %u granules %u pinned %d",
	       tier_exclusive(t) ? 18 : 16, flush_names[flush],
	       flush == TIER_FLUSH_IDLE ? 0 : (long long)atomic64_read(&t->nr_dirty),
	       READ_ONCE(t->nr_intents), (long long)atomic64_read(&t->unwritable), atomic_read(&t->fast->errors),
	       READ_ONCE(t->nr_jobs) + tier_settle_works(t), t->g.nr_granules, atomic_read(&t->nr_pinned));
	if (tier_exclusive(t))
		DMEMIT(" settle_left %llu", READ_ONCE(t->settle.left));
	tier_tunables_emit(&t->tune, true, text, sizeof(text), &words);
	DMEMIT(" %u %s ", words, text);
	tier_policy_emit(t, text, sizeof(text));
	DMEMIT("%s", text);
	if (tier_exclusive(t))
		emit_tiers(t, result, maxlen, sz);
	percpu_up_read(&t->config_sem);
}

static unsigned int emit_policy(struct tier *t, char *result, unsigned int maxlen, unsigned int sz)
{
	char text[512];
	unsigned int i;

	if (t->policy) {
		tier_policy_emit(t, text, sizeof(text));
		DMEMIT(" %s", text);
		return sz;
	}
	DMEMIT(" %s %u", t->policy_words.argv[0], t->policy_words.argc - 1);
	for (i = 1; i < t->policy_words.argc; i++)
		DMEMIT(" %s", t->policy_words.argv[i]);
	return sz;
}

/* as in the table line */
static const char *path_of(const struct tier_dev *d)
{
	return tier_dev_missing(d) ? TIER_MISSING : d->dm->name;
}

static void emit_table(struct tier *t, char *result, unsigned int maxlen)
{
	unsigned int sz = 0, words, i;
	/* until the metadata are loaded, a mode that wasn't given isn't known */
	bool mode = t->mode_given || t->loaded;
	char text[TIER_TUNABLES_LEN];

	tier_tunables_emit(&t->tune, false, text, sizeof(text), &words);
	words += 2 * (t->nr_devs - 2) + mode + !t->discard_passdown + t->accept_changed_slow + t->accept_new_fast +
		 t->accept_new_tier;
	DMEMIT("%s %s %s %u %u", path_of(t->fast), path_of(t->slow), t->meta_dev->name, t->block_sectors, words);
	if (mode)
		DMEMIT(" %s", tier_mode_name(t->mode));
	for (i = 2; i < t->nr_devs; i++)
		DMEMIT(" tier_dev %s", path_of(&t->devs[i]));
	if (!t->discard_passdown)
		DMEMIT(" no_discard_passdown");
	if (t->accept_changed_slow)
		DMEMIT(" accept_changed_slow");
	if (t->accept_new_fast)
		DMEMIT(" accept_new_fast");
	if (t->accept_new_tier)
		DMEMIT(" accept_new_tier");
	if (*text)
		DMEMIT(" %s", text);
	emit_policy(t, result, maxlen, sz);
}

static void emit_ima(struct tier *t, char *result, unsigned int maxlen)
{
	unsigned int sz = 0, i;

	DMEMIT_TARGET_NAME_VERSION(t->ti->type);
	DMEMIT(",fast_device=%s,slow_device=%s,metadata_device=%s,block_size=%u,mode=%s,policy=%s",
	       path_of(t->fast), path_of(t->slow), t->meta_dev->name, t->block_sectors, tier_mode_name(t->mode),
	       t->policy ? t->policy->type->name : t->policy_words.argv[0]);
	for (i = 2; i < t->nr_devs; i++)
		DMEMIT(",tier_device_%u=%s", i, path_of(&t->devs[i]));
	DMEMIT(";");
}

/**
 * tier_status() - status of the target
 * @t: target
 * @type: STATUSTYPE_*
 * @flags: DM_STATUS_NOFLUSH_FLAG or 0; makes no difference, the counts are those in core
 * @result: text
 * @maxlen: its room
 *
 * Context: may sleep.
 */
void tier_status(struct tier *t, status_type_t type, unsigned int flags, char *result, unsigned int maxlen)
{
	mutex_lock(&t->life_mutex);
	switch (type) {
	case STATUSTYPE_INFO:
		emit_info(t, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		emit_table(t, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		emit_ima(t, result, maxlen);
		break;
	}
	mutex_unlock(&t->life_mutex);
}
