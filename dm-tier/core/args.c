// SPDX-License-Identifier: GPL-2.0
/* The table line, the messages and the tunables of the core, as text. */
#include <linux/compiler.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "args.h"

#define MAX_POLICY_NAME		31U	/* the superblock has room for so much */
#define SHOWN_CHARS		40U	/* of a word in a message */

/* A word as it may be shown to people: printable and not too long */
struct shown {
	char text[SHOWN_CHARS + 4];
};

static const char *show(struct shown *s, const char *word)
{
	u32 i;

	for (i = 0; i < SHOWN_CHARS && word[i]; i++)
		s->text[i] = isascii(word[i]) && isprint(word[i]) ? word[i] : '?';
	strscpy(s->text + i, word[i] ? "..." : "", sizeof(s->text) - i);
	return s->text;
}

/* Digits only: 0, -EINVAL (not a number), -ERANGE (more than a u64) */
static int parse_number(const char *word, u64 *value)
{
	const char *p;
	u64 v = 0;

	if (!*word)
		return -EINVAL;
	for (p = word; *p; p++)
		if (*p < '0' || *p > '9')
			return -EINVAL;
	for (p = word; *p; p++) {
		u32 digit = *p - '0';

		if (v > U64_MAX / 10 || v * 10 > U64_MAX - digit)
			return -ERANGE;
		v = v * 10 + digit;
	}
	*value = v;
	return 0;
}

static bool legal_block_size(u64 sectors)
{
	return sectors >= TIER_MIN_BLOCK_SECTORS && sectors <= TIER_MAX_BLOCK_SECTORS &&
	       is_power_of_2(sectors);
}

/* --- modes --- */

static const char *const mode_names[TIER_NR_MODES] = {
	[TIER_MODE_WRITEBACK] = "writeback",
	[TIER_MODE_WRITETHROUGH] = "writethrough",
	[TIER_MODE_WRITEAROUND] = "writearound",
	[TIER_MODE_PASSTHROUGH] = "passthrough",
	[TIER_MODE_TIERED] = "tiered",
};

#define CACHE_MODE_WORDS "writeback, writethrough, writearound or passthrough"
#define MODE_WORDS	"writeback, writethrough, writearound, passthrough or tiered"

const char *tier_mode_name(enum tier_mode mode)
{
	return (u32)mode < TIER_NR_MODES ? mode_names[mode] : "unknown";
}

int tier_mode_parse(const char *word, enum tier_mode *mode)
{
	u32 i;

	for (i = 0; i < TIER_NR_MODES; i++) {
		if (!strcmp(word, mode_names[i])) {
			*mode = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* --- tunables --- */

struct tunable_info {
	const char *key;
	enum tier_kind kind;
	u32 min;
	u32 max;
	u32 def;
	const char *unit;
};

static const struct tunable_info tunable_infos[TIER_NR_TUNABLES] = {
	[TIER_TUNE_FILL] = { "fill_sectors", TIER_KIND_CACHE, 0, TIER_MAX_BLOCK_SECTORS, TIER_FILL_AUTO, "" },
	[TIER_TUNE_DIRTY_HIGH] = { "dirty_high", TIER_KIND_CACHE, 1, 99, 50, " (percent)" },
	[TIER_TUNE_DIRTY_LOW] = { "dirty_low", TIER_KIND_CACHE, 0, 98, 20, " (percent)" },
	[TIER_TUNE_WB_RATE] = { "writeback_rate", TIER_KIND_CACHE, 0, U32_MAX, 0, " (KiB/s, 0: no limit)" },
	[TIER_TUNE_IDLE_MS] = { "idle_ms", TIER_KIND_BOTH, 0, 3600000, 500, " (milliseconds)" },
	[TIER_TUNE_MIG_RATE] = { "migration_rate", TIER_KIND_BOTH, 0, U32_MAX, 10240, " (KiB/s, 0: none)" },
	[TIER_TUNE_RESERVE] = { "reserve_slots", TIER_KIND_CACHE, 0, 1048576, 0, " (0: by size)" },
	[TIER_TUNE_COMMIT_MS] = { "commit_ms", TIER_KIND_BOTH, 10, 60000, 1000, " (milliseconds)" },
	[TIER_TUNE_MAX_ERRORS] = { "max_errors", TIER_KIND_BOTH, 1, 1000000, 32, "" },
	[TIER_TUNE_FREE_LOW] = { "free_low", TIER_KIND_TIERED, 0, 98, 5, " (percent)" },
	[TIER_TUNE_FREE_HIGH] = { "free_high", TIER_KIND_TIERED, 1, 99, 10, " (percent)" },
	[TIER_TUNE_SEQ_LANDING] = { "sequential_landing", TIER_KIND_TIERED, 0, TIER_MAX_DEVS - 1, 1, " (a tier)" },
	[TIER_TUNE_MIGRATION] = { "migration", TIER_KIND_TIERED, 1, TIER_MIGRATION_MAX, TIER_MIGRATION_CONTINUOUS, "" },
	[TIER_TUNE_YIELD_MS] = { "yield_ms", TIER_KIND_TIERED, 0, 60000, 0, " (milliseconds, 0: never)" },
};

/* Values that are words */
static const struct {
	enum tier_tunable tunable;
	u32 value;
	const char *word;
} value_words[] = {
	{ TIER_TUNE_FILL, TIER_FILL_AUTO, "auto" },
	{ TIER_TUNE_MIGRATION, TIER_MIGRATION_CONTINUOUS, "continuous" },
	{ TIER_TUNE_MIGRATION, TIER_MIGRATION_IDLE, "idle" },
	{ TIER_TUNE_MIGRATION, TIER_MIGRATION_OFF, "off" },
};

static const char *kind_text(enum tier_kind kind)
{
	return kind == TIER_KIND_TIERED ? "tiered mode" : "the cache modes";
}

void tier_tunables_default(struct tier_tunables *t, enum tier_kind kind)
{
	u32 i;

	t->kind = kind;
	t->nr_devs = TIER_MAX_DEVS;
	for (i = 0; i < TIER_NR_TUNABLES; i++)
		t->v[i] = tunable_infos[i].def;
	for (i = 0; i < TIER_MAX_DEVS; i++) {
		t->free_low[i] = TIER_AS_ALL;
		t->free_high[i] = TIER_AS_ALL;
	}
}

static u32 of_tier(u32 own, const u32 *common)
{
	return own == TIER_AS_ALL ? READ_ONCE(*common) : own;
}

u32 tier_free_low(const struct tier_tunables *t, u32 dev)
{
	return of_tier(READ_ONCE(t->free_low[dev]), &t->v[TIER_TUNE_FREE_LOW]);
}

u32 tier_free_high(const struct tier_tunables *t, u32 dev)
{
	return of_tier(READ_ONCE(t->free_high[dev]), &t->v[TIER_TUNE_FREE_HIGH]);
}

/* A key: which tunable, and whether that of one tier */
struct tunable_key {
	u32 i;
	bool of_tier;
	u32 tier;
};

/* 0, -ENOENT, -EINVAL */
static int parse_key(const char *word, struct tunable_key *key, char *error)
{
	size_t len = strcspn(word, ".");
	u64 tier = 0;

	for (key->i = 0; key->i < TIER_NR_TUNABLES; key->i++)
		if (strlen(tunable_infos[key->i].key) == len && !memcmp(word, tunable_infos[key->i].key, len))
			break;
	key->of_tier = word[len];
	if (key->i == TIER_NR_TUNABLES ||
	    (key->of_tier && key->i != TIER_TUNE_FREE_LOW && key->i != TIER_TUNE_FREE_HIGH))
		return -ENOENT;
	if (key->of_tier && (parse_number(word + len + 1, &tier) || tier >= TIER_MAX_DEVS)) {
		scnprintf(error, TIER_ERROR_LEN, "%s.<tier>: a tier is a number from 0 to %u",
			  tunable_infos[key->i].key, TIER_MAX_DEVS - 1);
		return -EINVAL;
	}
	key->tier = tier;
	return 0;
}

static u32 *value_of(struct tier_tunables *t, const struct tunable_key *key)
{
	if (!key->of_tier)
		return &t->v[key->i];
	return key->i == TIER_TUNE_FREE_LOW ? &t->free_low[key->tier] : &t->free_high[key->tier];
}

/* Is there a tier of this number? */
static int check_tier(const struct tier_tunables *t, const struct tunable_key *key, char *error)
{
	if (key->tier < t->nr_devs)
		return 0;
	scnprintf(error, TIER_ERROR_LEN, "%s.%u: there is no tier %u: they are 0 to %u", tunable_infos[key->i].key,
		  key->tier, key->tier, t->nr_devs - 1);
	return -EINVAL;
}

/* What a value that is none should have been */
static int bad_value(u32 i, const char *word, char *error)
{
	const struct tunable_info *info = &tunable_infos[i];
	struct shown s;

	if (i == TIER_TUNE_FILL)
		scnprintf(error, TIER_ERROR_LEN,
			  "fill_sectors \"%s\" is neither auto nor 0 nor a power of two from 8 to 2048",
			  show(&s, word));
	else if (i == TIER_TUNE_MIGRATION)
		scnprintf(error, TIER_ERROR_LEN,
			  "migration \"%s\" is neither continuous nor idle nor off nor a number of seconds from %u to %u",
			  show(&s, word), info->min, info->max);
	else
		scnprintf(error, TIER_ERROR_LEN, "%s \"%s\" is not a number from %u to %u%s", info->key,
			  show(&s, word), info->min, info->max, info->unit);
	return -EINVAL;
}

static int parse_tunable(const struct tunable_key *key, const char *word, u32 *value, char *error)
{
	const struct tunable_info *info = &tunable_infos[key->i];
	u32 i = key->i, k;
	u64 v;

	if (key->of_tier && !strcmp(word, "default")) {
		*value = TIER_AS_ALL;
		return 0;
	}
	for (k = 0; k < ARRAY_SIZE(value_words); k++)
		if (value_words[k].tunable == i && !strcmp(word, value_words[k].word)) {
			*value = value_words[k].value;
			return 0;
		}
	if (parse_number(word, &v) || v < info->min || v > info->max ||
	    (i == TIER_TUNE_FILL && v && !legal_block_size(v)))
		return bad_value(i, word, error);
	*value = v;
	return 0;
}

static int check_pair(u32 low, u32 high, u32 i, const char *tier, char *error)
{
	if (low < high)
		return 0;
	scnprintf(error, TIER_ERROR_LEN, "%s%s %u is not below %s%s %u", tunable_infos[i].key, tier, low,
		  i == TIER_TUNE_DIRTY_LOW ? "dirty_high" : "free_high", tier, high);
	return -EINVAL;
}

static int check_tunables(const struct tier_tunables *t, char *error)
{
	int r = check_pair(t->v[TIER_TUNE_DIRTY_LOW], t->v[TIER_TUNE_DIRTY_HIGH], TIER_TUNE_DIRTY_LOW, "", error) ?:
		check_pair(t->v[TIER_TUNE_FREE_LOW], t->v[TIER_TUNE_FREE_HIGH], TIER_TUNE_FREE_LOW, "", error);
	char tier[8];
	u32 i;

	for (i = 0; i < TIER_MAX_DEVS && !r; i++) {
		scnprintf(tier, sizeof(tier), ".%u", i);
		r = check_pair(tier_free_low(t, i), tier_free_high(t, i), TIER_TUNE_FREE_LOW, tier, error);
	}
	return r;
}

/* Does a tunable belong to this kind of tier device? */
static int check_kind(u32 i, enum tier_kind kind, char *error)
{
	int n;

	if (tunable_infos[i].kind & kind)
		return 0;
	n = scnprintf(error, TIER_ERROR_LEN, "%s belongs to %s: %s has ", tunable_infos[i].key,
		      kind_text(tunable_infos[i].kind), kind == TIER_KIND_TIERED ? "tiered mode" : "a cache");
	tier_tunable_names(kind, error + n, TIER_ERROR_LEN - n);
	return -EINVAL;
}

int tier_tunable_set(struct tier_tunables *t, const char *key, const char *value, char *error)
{
	struct tier_tunables new = *t;
	struct tunable_key k;
	int r = parse_key(key, &k, error);

	if (r)
		return r;
	r = check_kind(k.i, t->kind, error) ?: check_tier(t, &k, error) ?:
	    parse_tunable(&k, value, value_of(&new, &k), error) ?: check_tunables(&new, error);
	if (!r)
		WRITE_ONCE(*value_of(t, &k), *value_of(&new, &k));	/* others may be reading it */
	return r;
}

int tier_tunable_names(enum tier_kind kind, char *buf, size_t size)
{
	int n = 0;
	u32 i;

	for (i = 0; i < TIER_NR_TUNABLES; i++)
		if (tunable_infos[i].kind & kind)
			n += scnprintf(buf + n, size - n, "%s%s", n ? ", " : "", tunable_infos[i].key);
	return n;
}

static const char *value_word(u32 i, u32 value)
{
	u32 k;

	for (k = 0; k < ARRAY_SIZE(value_words); k++)
		if (value_words[k].tunable == i && value_words[k].value == value)
			return value_words[k].word;
	return NULL;
}

static int emit_of_tier(const char *key, u32 dev, u32 value, char *buf, size_t size, int n, unsigned int *count)
{
	if (value == TIER_AS_ALL)
		return n;
	n += scnprintf(buf + n, size - n, "%s%s.%u %u", *count ? " " : "", key, dev, value);
	*count += 2;
	return n;
}

int tier_tunables_emit(const struct tier_tunables *t, bool all, char *buf, size_t size,
		       unsigned int *count)
{
	int n = 0;
	u32 i;

	*count = 0;
	if (size)
		buf[0] = '\0';
	for (i = 0; i < TIER_NR_TUNABLES; i++) {
		const char *blank = *count ? " " : "", *word = value_word(i, t->v[i]);

		if (!(tunable_infos[i].kind & t->kind) || (!all && t->v[i] == tunable_infos[i].def))
			continue;
		*count += 2;
		if (word)
			n += scnprintf(buf + n, size - n, "%s%s %s", blank, tunable_infos[i].key, word);
		else
			n += scnprintf(buf + n, size - n, "%s%s %u", blank, tunable_infos[i].key,
				       t->v[i]);
	}
	for (i = 0; i < TIER_MAX_DEVS; i++) {
		n = emit_of_tier("free_low", i, t->free_low[i], buf, size, n, count);
		n = emit_of_tier("free_high", i, t->free_high[i], buf, size, n, count);
	}
	return n;
}

/* --- policies --- */

/* The name becomes part of a module's name: letters, digits, - and _ */
static int check_policy(const char *name, char *error)
{
	struct shown s;
	size_t i;

	for (i = 0; name[i]; i++)
		if (!isascii(name[i]) || (!isalnum(name[i]) && name[i] != '-' && name[i] != '_'))
			break;
	if (i && !name[i] && i <= MAX_POLICY_NAME)
		return 0;
	scnprintf(error, TIER_ERROR_LEN,
		  "policy \"%s\" is not a name: expected up to %u letters, digits, - and _",
		  show(&s, name), MAX_POLICY_NAME);
	return -EINVAL;
}

/* --- table line --- */

/* The tunables that a table line has */
struct seen {
	u32 bits;			/* one for each */
	struct tunable_key of_tier;	/* of those of a single tier that of the last tier; of_tier: there is one */
};

#define TABLE_FORM	"expected <ssd> <hdd> <metadata> <block sectors> <#features> <feature>* " \
			"<policy> <#policy args> <arg>*"

/* The words still to be parsed */
struct words {
	unsigned int argc;
	char **argv;
	char *error;
};

static const char *next_word(struct words *w, const char *what)
{
	if (!w->argc) {
		scnprintf(w->error, TIER_ERROR_LEN, "%s is missing: " TABLE_FORM, what);
		return NULL;
	}
	if (!**w->argv) {
		scnprintf(w->error, TIER_ERROR_LEN, "%s is empty: " TABLE_FORM, what);
		return NULL;
	}
	w->argc--;
	return *w->argv++;
}

/* A count of words that must be there */
static int next_count(struct words *w, const char *what, unsigned int *count)
{
	const char *word = next_word(w, what);
	struct shown s;
	u64 v;

	if (!word)
		return -EINVAL;
	if (parse_number(word, &v)) {
		scnprintf(w->error, TIER_ERROR_LEN, "%s \"%s\" is not a number of words", what,
			  show(&s, word));
		return -EINVAL;
	}
	if (v > w->argc) {
		scnprintf(w->error, TIER_ERROR_LEN, "%s is %s, but only %u words follow", what,
			  show(&s, word), w->argc);
		return -EINVAL;
	}
	*count = v;
	return 0;
}

/* In a cache TIER_MISSING is a path as any other: there is no such device */
static bool is_missing(const char *path)
{
	return !strcmp(path, TIER_MISSING);
}

/* Any number of tiers may be missing */
static bool same_device(const char *a, const char *b)
{
	return !strcmp(a, b) && !is_missing(a);
}

static int parse_devices(struct tier_args *args, struct words *w)
{
	const char *twice = NULL;
	struct shown s;

	args->fast = next_word(w, "fast device");
	if (!args->fast)
		return -EINVAL;
	args->slow = next_word(w, "slow device");
	if (!args->slow)
		return -EINVAL;
	args->meta = next_word(w, "metadata device");
	if (!args->meta)
		return -EINVAL;

	if (same_device(args->fast, args->slow) || same_device(args->fast, args->meta))
		twice = args->fast;
	else if (same_device(args->slow, args->meta))
		twice = args->slow;
	if (!twice)
		return 0;
	scnprintf(w->error, TIER_ERROR_LEN,
		  "device %s is given twice: fast, slow and metadata device must differ",
		  show(&s, twice));
	return -EINVAL;
}

static int parse_block_size(struct tier_args *args, struct words *w)
{
	const char *word = next_word(w, "block size");
	struct shown s;
	u64 v;

	if (!word)
		return -EINVAL;
	if (parse_number(word, &v) || !legal_block_size(v)) {
		scnprintf(w->error, TIER_ERROR_LEN,
			  "block size %s is not a power of two of sectors from 8 (4 KiB) to 2048 (1 MiB)",
			  show(&s, word));
		return -EINVAL;
	}
	args->block_sectors = v;
	return 0;
}

static int feature_twice(struct words *w, const char *what)
{
	scnprintf(w->error, TIER_ERROR_LEN, "feature %s is given twice", what);
	return -EINVAL;
}

static int feature_mode(struct tier_args *args, enum tier_mode mode, struct words *w)
{
	if (args->mode_given) {
		scnprintf(w->error, TIER_ERROR_LEN, "two modes are given, %s and %s",
			  tier_mode_name(args->mode), tier_mode_name(mode));
		return -EINVAL;
	}
	args->mode_given = true;
	args->mode = mode;
	return 0;
}

static int feature_flag(bool *flag, const char *word, struct words *w)
{
	if (*flag)
		return feature_twice(w, word);
	*flag = true;
	return 0;
}

/* A further tier; no path is given twice */
static int feature_tier_dev(struct tier_args *args, struct words *w)
{
	struct shown s;
	const char *path;
	bool twice;
	u32 i;

	if (!w->argc || !**w->argv) {
		scnprintf(w->error, TIER_ERROR_LEN,
			  "feature tier_dev has no path: <#features> counts words, tier_dev and its path are two");
		return -EINVAL;
	}
	path = *w->argv++;
	w->argc--;
	twice = same_device(path, args->fast) || same_device(path, args->slow) || same_device(path, args->meta);
	for (i = 0; i < args->nr_tier_devs; i++)
		twice |= same_device(path, args->tier_devs[i]);
	if (twice) {
		scnprintf(w->error, TIER_ERROR_LEN, "device %s is given twice: all devices must differ",
			  show(&s, path));
		return -EINVAL;
	}
	if (args->nr_tier_devs == TIER_MAX_DEVS - 2) {
		scnprintf(w->error, TIER_ERROR_LEN, "device %s is one too many: at most %u tiers", show(&s, path),
			  TIER_MAX_DEVS);
		return -EINVAL;
	}
	args->tier_devs[args->nr_tier_devs++] = path;
	return 0;
}

/* @word: of @key */
static int feature_tunable(struct tier_args *args, const char *word, const struct tunable_key *key,
			   struct seen *seen, struct words *w)
{
	u32 *value = value_of(&args->tunables, key);

	if (key->of_tier ? *value != TIER_AS_ALL : seen->bits & BIT(key->i))
		return feature_twice(w, word);
	if (!key->of_tier)
		seen->bits |= BIT(key->i);
	else if (key->tier >= seen->of_tier.tier)
		seen->of_tier = *key;
	if (!w->argc) {
		scnprintf(w->error, TIER_ERROR_LEN,
			  "feature %s has no value: <#features> counts words, a key and its value are two", word);
		return -EINVAL;
	}
	w->argc--;
	return parse_tunable(key, *w->argv++, value, w->error);
}

static int parse_feature(struct tier_args *args, struct seen *seen, struct words *w)
{
	const char *word = *w->argv;
	enum tier_mode mode;
	struct shown s;
	struct tunable_key key;
	int r;

	w->argv++;
	w->argc--;
	if (!tier_mode_parse(word, &mode))
		return feature_mode(args, mode, w);
	if (!strcmp(word, "tier_dev"))
		return feature_tier_dev(args, w);
	if (!strcmp(word, "no_discard_passdown"))
		return feature_flag(&args->no_discard_passdown, word, w);
	if (!strcmp(word, "accept_changed_slow"))
		return feature_flag(&args->accept_changed_slow, word, w);
	if (!strcmp(word, "accept_new_fast"))
		return feature_flag(&args->accept_new_fast, word, w);
	if (!strcmp(word, "accept_new_tier"))
		return feature_flag(&args->accept_new_tier, word, w);
	r = parse_key(word, &key, w->error);
	if (!r)
		return feature_tunable(args, word, &key, seen, w);
	if (r != -ENOENT)
		return r;
	scnprintf(w->error, TIER_ERROR_LEN,
		  "unknown feature \"%s\": expected a mode (" MODE_WORDS
		  "), tier_dev and its path, no_discard_passdown, accept_changed_slow, accept_new_fast, accept_new_tier or a tunable and its value",
		  show(&s, word));
	return -EINVAL;
}

/* Tiers that are missing: not all of them, and not the metadata */
static int check_missing(struct tier_args *args, char *error)
{
	u32 i;

	args->nr_missing = is_missing(args->fast) + is_missing(args->slow);
	for (i = 0; i < args->nr_tier_devs; i++)
		args->nr_missing += is_missing(args->tier_devs[i]);
	if (is_missing(args->meta))
		scnprintf(error, TIER_ERROR_LEN, "metadata device is missing (" TIER_MISSING "): only tiers may be");
	else if (args->nr_missing == args->nr_tier_devs + 2)
		scnprintf(error, TIER_ERROR_LEN, "all tiers are missing (" TIER_MISSING "): at least one is needed");
	else
		return 0;
	return -EINVAL;
}

/* Does all that was given belong to the mode?  A tier may be told behind its tunables */
static int check_features(struct tier_args *args, const struct seen *seen, char *error)
{
	bool tiered = args->mode == TIER_MODE_TIERED;
	u32 i;
	int r;

	args->tunables.kind = tier_mode_kind(args->mode);
	args->tunables.nr_devs = args->nr_tier_devs + 2;
	for (i = 0; i < TIER_NR_TUNABLES; i++) {
		r = (seen->bits & BIT(i)) ? check_kind(i, args->tunables.kind, error) : 0;
		if (r)
			return r;
	}
	r = seen->of_tier.of_tier ? check_kind(seen->of_tier.i, args->tunables.kind, error) ?:
				    check_tier(&args->tunables, &seen->of_tier, error) : 0;
	if (r)
		return r;
	if (args->nr_tier_devs && !tiered) {
		scnprintf(error, TIER_ERROR_LEN, "feature tier_dev belongs to tiered mode: feature tiered is missing");
		return -EINVAL;
	}
	if (args->accept_new_tier && !tiered) {
		scnprintf(error, TIER_ERROR_LEN, "feature accept_new_tier belongs to the mode tiered");
		return -EINVAL;
	}
	if (args->accept_new_fast && tiered) {
		scnprintf(error, TIER_ERROR_LEN,
			  "feature accept_new_fast belongs to the cache modes: a tier that is gone has taken its data with it");
		return -EINVAL;
	}
	if (tiered && args->block_sectors < TIER_MIN_TIERED_BLOCK_SECTORS) {
		scnprintf(error, TIER_ERROR_LEN,
			  "block size %u is too small for tiered mode: 128 (64 KiB) to 2048 (1 MiB) sectors",
			  args->block_sectors);
		return -EINVAL;
	}
	return check_tunables(&args->tunables, error) ?: (tiered ? check_missing(args, error) : 0);
}

static int parse_features(struct tier_args *args, struct words *w)
{
	struct words features = *w;
	struct seen seen = { };
	int r;

	r = next_count(w, "number of features", &features.argc);
	if (r)
		return r;
	features.argv = w->argv;
	w->argv += features.argc;
	w->argc -= features.argc;
	while (features.argc) {
		r = parse_feature(args, &seen, &features);
		if (r)
			return r;
	}
	return check_features(args, &seen, w->error);
}

static int parse_policy(struct tier_args *args, struct words *w)
{
	struct shown s;
	int r;

	args->policy = next_word(w, "policy");
	if (!args->policy)
		return -EINVAL;
	r = check_policy(args->policy, w->error);
	if (!r)
		r = next_count(w, "number of policy arguments", &args->policy_argc);
	if (r)
		return r;
	if (args->policy_argc > TIER_MAX_POLICY_ARGS) {
		scnprintf(w->error, TIER_ERROR_LEN, "%u policy arguments are too many: at most %u",
			  args->policy_argc, TIER_MAX_POLICY_ARGS);
		return -EINVAL;
	}
	args->policy_argv = w->argv;
	w->argv += args->policy_argc;
	w->argc -= args->policy_argc;
	if (w->argc) {
		scnprintf(w->error, TIER_ERROR_LEN,
			  "extra word \"%s\" behind the %u policy arguments announced",
			  show(&s, *w->argv), args->policy_argc);
		return -EINVAL;
	}
	return 0;
}

int tier_args_parse(struct tier_args *args, unsigned int argc, char **argv, char *error)
{
	struct words w = { .argc = argc, .argv = argv, .error = error };
	int r;

	memset(args, 0, sizeof(*args));
	error[0] = '\0';
	args->mode = TIER_MODE_WRITEBACK;
	tier_tunables_default(&args->tunables, TIER_KIND_CACHE);

	r = parse_devices(args, &w);
	if (!r)
		r = parse_block_size(args, &w);
	if (!r)
		r = parse_features(args, &w);
	if (!r)
		r = parse_policy(args, &w);
	return r;
}

/* --- messages --- */

/* How many words a message has, and what reads the ones behind its name */
struct message_info {
	const char *name;
	enum tier_message_op op;
	enum tier_kind kind;
	unsigned int min_argc;
	unsigned int max_argc;
	const char *form;
	int (*parse)(struct tier_message *m, char **argv, u64 nr_sectors, char *error);
};

static int message_mode(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	struct shown s;

	if (tier_mode_parse(argv[0], &m->mode)) {
		scnprintf(error, TIER_ERROR_LEN, "unknown mode \"%s\": expected " CACHE_MODE_WORDS,
			  show(&s, argv[0]));
		return -EINVAL;
	}
	if (m->mode == TIER_MODE_TIERED) {
		scnprintf(error, TIER_ERROR_LEN, "a cache can't become tiered: expected " CACHE_MODE_WORDS);
		return -EINVAL;
	}
	return 0;
}

static int message_policy(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	m->key = argv[0];
	m->argv = argv + 1;
	m->argc -= 2;
	return check_policy(m->key, error);
}

static int message_set(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	m->key = argv[0];
	m->value = argv[1];
	return 0;
}

static int message_range(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	struct shown s;
	u32 i;

	for (i = 0; i < 2; i++) {
		if (parse_number(argv[i], i ? &m->count : &m->first)) {
			scnprintf(error, TIER_ERROR_LEN, "\"%s\" is not a number of sectors",
				  show(&s, argv[i]));
			return -EINVAL;
		}
	}
	if (!m->count) {
		scnprintf(error, TIER_ERROR_LEN, "the range is empty: expected at least 1 sector");
		return -EINVAL;
	}
	if (m->first >= nr_sectors || m->count > nr_sectors - m->first) {
		scnprintf(error, TIER_ERROR_LEN,
			  "%llu sectors from %llu on are beyond the end of the device at %llu",
			  (unsigned long long)m->count, (unsigned long long)m->first,
			  (unsigned long long)nr_sectors);
		return -EINVAL;
	}
	return 0;
}

static int message_tier(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	struct shown s;
	u64 v;

	if (parse_number(argv[0], &v) || v >= TIER_MAX_DEVS) {
		scnprintf(error, TIER_ERROR_LEN,
			  "\"%s\" is not the number of a tier: they are 0 to %u at most, fastest first",
			  show(&s, argv[0]), TIER_MAX_DEVS - 1);
		return -EINVAL;
	}
	m->tier = v;
	return 0;
}

static int message_move(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	return message_tier(m, argv, nr_sectors, error) ?: message_range(m, argv + 1, nr_sectors, error);
}

static int message_stats(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	struct shown s;

	if (!strcmp(argv[0], "reset"))
		return 0;
	scnprintf(error, TIER_ERROR_LEN, "unknown word \"%s\" behind stats: expected reset",
		  show(&s, argv[0]));
	return -EINVAL;
}

#define RANGE_FORM	"<first sector> <sectors>"

static const struct message_info message_infos[] = {
	{ "mode", TIER_MSG_MODE, TIER_KIND_CACHE, 2, 2, "<mode>", message_mode },
	{ "flush", TIER_MSG_FLUSH, TIER_KIND_CACHE, 1, 1, "", NULL },
	{ "policy", TIER_MSG_POLICY, TIER_KIND_BOTH, 2, 2 + TIER_MAX_POLICY_ARGS, "<name> [<key> <value>]...",
	  message_policy },
	{ "set", TIER_MSG_SET, TIER_KIND_BOTH, 3, 3, "<key> <value>", message_set },
	{ "promote", TIER_MSG_PROMOTE, TIER_KIND_BOTH, 3, 3, RANGE_FORM, message_range },
	{ "demote", TIER_MSG_DEMOTE, TIER_KIND_BOTH, 3, 3, RANGE_FORM, message_range },
	{ "pin", TIER_MSG_PIN, TIER_KIND_BOTH, 3, 3, RANGE_FORM, message_range },
	{ "unpin", TIER_MSG_UNPIN, TIER_KIND_BOTH, 3, 3, RANGE_FORM, message_range },
	{ "invalidate", TIER_MSG_INVALIDATE, TIER_KIND_CACHE, 3, 3, RANGE_FORM, message_range },
	{ "move", TIER_MSG_MOVE, TIER_KIND_TIERED, 4, 4, "<tier> " RANGE_FORM, message_move },
	{ "where", TIER_MSG_WHERE, TIER_KIND_TIERED, 3, 3, RANGE_FORM, message_range },
	{ "evacuate", TIER_MSG_EVACUATE, TIER_KIND_TIERED, 2, 2, "<tier>", message_tier },
	{ "settle", TIER_MSG_SETTLE, TIER_KIND_TIERED, 2, 2, "<tier>", message_tier },
	{ "keep", TIER_MSG_KEEP, TIER_KIND_TIERED, 2, 2, "<tier>", message_tier },
	{ "stats", TIER_MSG_STATS_RESET, TIER_KIND_BOTH, 2, 2, "reset", message_stats },
};

/* behind @n bytes of an error: which messages there are */
static void expected_messages(enum tier_kind kind, char *error, int n)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(message_infos) - 1; i++)
		if (message_infos[i].kind & kind)
			n += scnprintf(error + n, TIER_ERROR_LEN - n, "%s, ", message_infos[i].name);
	/* the last one, without the comma */
	scnprintf(error + n - 2, TIER_ERROR_LEN - n + 2, " or %s %s", message_infos[i].name, message_infos[i].form);
}

static const struct message_info *find_message(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(message_infos); i++)
		if (!strcmp(name, message_infos[i].name))
			return &message_infos[i];
	return NULL;
}

int tier_message_parse(struct tier_message *m, unsigned int argc, char **argv, enum tier_kind kind, u64 nr_sectors,
		       char *error)
{
	const struct message_info *info;
	struct shown s;
	int n;

	memset(m, 0, sizeof(*m));
	error[0] = '\0';
	info = argc ? find_message(argv[0]) : NULL;
	if (!info) {
		n = scnprintf(error, TIER_ERROR_LEN, "unknown message \"%s\": expected ",
			      argc ? show(&s, argv[0]) : "");
		expected_messages(kind, error, n);
		return -EINVAL;
	}
	if (!(info->kind & kind)) {
		n = scnprintf(error, TIER_ERROR_LEN, "message %s belongs to %s: expected ", info->name,
			      kind_text(info->kind));
		expected_messages(kind, error, n);
		return -EINVAL;
	}
	if (argc < info->min_argc || argc > info->max_argc) {
		scnprintf(error, TIER_ERROR_LEN, "message %s has too %s words: expected %s%s%s",
			  info->name, argc < info->min_argc ? "few" : "many", info->name,
			  *info->form ? " " : "", info->form);
		return -EINVAL;
	}
	m->op = info->op;
	m->argc = argc;
	return info->parse ? info->parse(m, argv + 1, nr_sectors, error) : 0;
}
