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

#define MODE_WORDS	"writeback, writethrough, writearound or passthrough"

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
	u32 min;
	u32 max;
	u32 def;
	const char *unit;
};

static const struct tunable_info tunable_infos[TIER_NR_TUNABLES] = {
	[TIER_TUNE_FILL] = { "fill_sectors", 0, TIER_MAX_BLOCK_SECTORS, TIER_FILL_AUTO, "" },
	[TIER_TUNE_DIRTY_HIGH] = { "dirty_high", 1, 99, 50, " (percent)" },
	[TIER_TUNE_DIRTY_LOW] = { "dirty_low", 0, 98, 20, " (percent)" },
	[TIER_TUNE_WB_RATE] = { "writeback_rate", 0, U32_MAX, 0, " (KiB/s, 0: no limit)" },
	[TIER_TUNE_IDLE_MS] = { "idle_ms", 0, 3600000, 500, " (milliseconds)" },
	[TIER_TUNE_MIG_RATE] = { "migration_rate", 0, U32_MAX, 10240, " (KiB/s, 0: none)" },
	[TIER_TUNE_RESERVE] = { "reserve_slots", 0, 1048576, 0, " (0: by size)" },
	[TIER_TUNE_COMMIT_MS] = { "commit_ms", 10, 60000, 1000, " (milliseconds)" },
	[TIER_TUNE_MAX_ERRORS] = { "max_errors", 1, 1000000, 32, "" },
};

void tier_tunables_default(struct tier_tunables *t)
{
	u32 i;

	for (i = 0; i < TIER_NR_TUNABLES; i++)
		t->v[i] = tunable_infos[i].def;
}

/* Which tunable, or TIER_NR_TUNABLES */
static u32 find_tunable(const char *key)
{
	u32 i;

	for (i = 0; i < TIER_NR_TUNABLES; i++)
		if (!strcmp(key, tunable_infos[i].key))
			break;
	return i;
}

static int parse_fill(const char *word, u32 *value, char *error)
{
	struct shown s;
	u64 v;

	if (!strcmp(word, "auto")) {
		*value = TIER_FILL_AUTO;
		return 0;
	}
	if (parse_number(word, &v) || (v && !legal_block_size(v))) {
		scnprintf(error, TIER_ERROR_LEN,
			  "fill_sectors \"%s\" is neither auto nor 0 nor a power of two from 8 to 2048",
			  show(&s, word));
		return -EINVAL;
	}
	*value = v;
	return 0;
}

static int parse_tunable(u32 i, const char *word, u32 *value, char *error)
{
	const struct tunable_info *info = &tunable_infos[i];
	struct shown s;
	u64 v;

	if (i == TIER_TUNE_FILL)
		return parse_fill(word, value, error);
	if (parse_number(word, &v) || v < info->min || v > info->max) {
		scnprintf(error, TIER_ERROR_LEN, "%s \"%s\" is not a number from %u to %u%s",
			  info->key, show(&s, word), info->min, info->max, info->unit);
		return -EINVAL;
	}
	*value = v;
	return 0;
}

static int check_tunables(const struct tier_tunables *t, char *error)
{
	u32 high = t->v[TIER_TUNE_DIRTY_HIGH], low = t->v[TIER_TUNE_DIRTY_LOW];

	if (low < high)
		return 0;
	scnprintf(error, TIER_ERROR_LEN, "dirty_low %u is not below dirty_high %u", low, high);
	return -EINVAL;
}

int tier_tunable_set(struct tier_tunables *t, const char *key, const char *value, char *error)
{
	struct tier_tunables new = *t;
	u32 i = find_tunable(key);
	int r;

	if (i == TIER_NR_TUNABLES)
		return -ENOENT;
	r = parse_tunable(i, value, &new.v[i], error) ?: check_tunables(&new, error);
	if (!r)
		WRITE_ONCE(t->v[i], new.v[i]);	/* others may be reading it */
	return r;
}

int tier_tunable_names(char *buf, size_t size)
{
	int n = 0;
	u32 i;

	for (i = 0; i < TIER_NR_TUNABLES; i++)
		n += scnprintf(buf + n, size - n, "%s%s", i ? ", " : "", tunable_infos[i].key);
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
		const char *blank = *count ? " " : "";

		if (!all && t->v[i] == tunable_infos[i].def)
			continue;
		*count += 2;
		if (i == TIER_TUNE_FILL && t->v[i] == TIER_FILL_AUTO)
			n += scnprintf(buf + n, size - n, "%s%s auto", blank,
				       tunable_infos[i].key);
		else
			n += scnprintf(buf + n, size - n, "%s%s %u", blank, tunable_infos[i].key,
				       t->v[i]);
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

	if (!strcmp(args->fast, args->slow) || !strcmp(args->fast, args->meta))
		twice = args->fast;
	else if (!strcmp(args->slow, args->meta))
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

static int refuse_tiered(const char *what, char *error)
{
	scnprintf(error, TIER_ERROR_LEN, "%s is not supported in this version", what);
	return -EINVAL;
}

static int feature_mode(struct tier_args *args, enum tier_mode mode, struct words *w)
{
	if (mode == TIER_MODE_TIERED)
		return refuse_tiered("mode tiered", w->error);
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

static int feature_tunable(struct tier_args *args, u32 i, u32 *seen, struct words *w)
{
	const char *key = tunable_infos[i].key;

	if (*seen & (1U << i))
		return feature_twice(w, key);
	*seen |= 1U << i;
	if (!w->argc) {
		scnprintf(w->error, TIER_ERROR_LEN,
			  "feature %s has no value: <#features> counts words, a key and its value are two",
			  key);
		return -EINVAL;
	}
	w->argc--;
	return parse_tunable(i, *w->argv++, &args->tunables.v[i], w->error);
}

static int parse_feature(struct tier_args *args, u32 *seen, struct words *w)
{
	const char *word = *w->argv;
	enum tier_mode mode;
	struct shown s;
	u32 i;

	w->argv++;
	w->argc--;
	if (!tier_mode_parse(word, &mode))
		return feature_mode(args, mode, w);
	if (!strcmp(word, "tier_dev"))
		return refuse_tiered("feature tier_dev", w->error);
	if (!strcmp(word, "no_discard_passdown"))
		return feature_flag(&args->no_discard_passdown, word, w);
	if (!strcmp(word, "accept_changed_slow"))
		return feature_flag(&args->accept_changed_slow, word, w);
	if (!strcmp(word, "accept_new_fast"))
		return feature_flag(&args->accept_new_fast, word, w);
	i = find_tunable(word);
	if (i < TIER_NR_TUNABLES)
		return feature_tunable(args, i, seen, w);
	scnprintf(w->error, TIER_ERROR_LEN,
		  "unknown feature \"%s\": expected a mode (" MODE_WORDS
		  "), no_discard_passdown, accept_changed_slow, accept_new_fast or a tunable and its value",
		  show(&s, word));
	return -EINVAL;
}

static int parse_features(struct tier_args *args, struct words *w)
{
	struct words features = *w;
	u32 seen = 0;
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
	return check_tunables(&args->tunables, w->error);
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
	tier_tunables_default(&args->tunables);

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
	unsigned int min_argc;
	unsigned int max_argc;
	const char *form;
	int (*parse)(struct tier_message *m, char **argv, u64 nr_sectors, char *error);
};

static int message_mode(struct tier_message *m, char **argv, u64 nr_sectors, char *error)
{
	struct shown s;

	if (tier_mode_parse(argv[0], &m->mode)) {
		scnprintf(error, TIER_ERROR_LEN, "unknown mode \"%s\": expected " MODE_WORDS,
			  show(&s, argv[0]));
		return -EINVAL;
	}
	if (m->mode == TIER_MODE_TIERED)
		return refuse_tiered("mode tiered", error);
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
	{ "mode", TIER_MSG_MODE, 2, 2, "<mode>", message_mode },
	{ "flush", TIER_MSG_FLUSH, 1, 1, "", NULL },
	{ "policy", TIER_MSG_POLICY, 2, 2 + TIER_MAX_POLICY_ARGS, "<name> [<key> <value>]...",
	  message_policy },
	{ "set", TIER_MSG_SET, 3, 3, "<key> <value>", message_set },
	{ "promote", TIER_MSG_PROMOTE, 3, 3, RANGE_FORM, message_range },
	{ "demote", TIER_MSG_DEMOTE, 3, 3, RANGE_FORM, message_range },
	{ "pin", TIER_MSG_PIN, 3, 3, RANGE_FORM, message_range },
	{ "unpin", TIER_MSG_UNPIN, 3, 3, RANGE_FORM, message_range },
	{ "invalidate", TIER_MSG_INVALIDATE, 3, 3, RANGE_FORM, message_range },
	{ "stats", TIER_MSG_STATS_RESET, 2, 2, "reset", message_stats },
};

static const struct message_info *find_message(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(message_infos); i++)
		if (!strcmp(name, message_infos[i].name))
			return &message_infos[i];
	return NULL;
}

int tier_message_parse(struct tier_message *m, unsigned int argc, char **argv, u64 nr_sectors,
		       char *error)
{
	const struct message_info *info;
	struct shown s;

	memset(m, 0, sizeof(*m));
	error[0] = '\0';
	info = argc ? find_message(argv[0]) : NULL;
	if (!info) {
		scnprintf(error, TIER_ERROR_LEN,
			  "unknown message \"%s\": expected mode, flush, policy, set, promote, demote, pin, unpin, invalidate or stats reset",
			  argc ? show(&s, argv[0]) : "");
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
