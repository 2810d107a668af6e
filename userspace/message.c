// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs that are messages to a running target.  The kernel answers with an error number only, so
 * they are read by the kernel's own parser here first, whose errors are sentences.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/args.h"
#include "dmtier.h"
#include "lib/dm.h"
#include "lib/flush.h"
#include "lib/mode-word.h"
#include "lib/policy-registry.h"
#include "lib/policy-words.h"
#include "lib/status-parse.h"
#include "lib/table-line.h"
#include "lib/text.h"
#include "lib/units.h"

/* ---- command line ---- */

/* options, and the number of words behind them; TOOL_CONTINUE or an exit code */
static int parse_line(const struct verb *v, int argc, char **argv, int min, int max,
		      const char *takes)
{
	static const struct option options[] = { TOOL_OPTIONS };
	int o, code = TOOL_CONTINUE;

	/* values may look like options: stop at the first word */
	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "+", options, NULL)) != -1)
		tool_common_option(v, o, &code);
	if (code == TOOL_CONTINUE && (argc - optind < min || (max && argc - optind > max))) {
		text_error("it takes %s", takes);
		code = tool_usage(v);
	}
	return code;
}

/* ---- a message ---- */

static bool must_quote(char c)
{
	return isspace((unsigned char)c) || c == '\\';
}

/* words to a line that device-mapper splits into the same words */
static char *join(char **words, unsigned int nr)
{
	char *line = NULL;
	unsigned int i;
	const char *s;

	for (i = 0; i < nr; i++) {
		line = text_append(line, i ? " " : "");
		for (s = words[i]; *s; s++)
			line = text_append(line, must_quote(*s) ? "\\%c" : "%c", *s);
	}
	return line;
}

static int parse_message(char **words, unsigned int nr, enum tier_kind kind, uint64_t sectors)
{
	char error[TIER_ERROR_LEN] = "";
	struct tier_message m;

	if (!tier_message_parse(&m, nr, words, kind, sectors, error))
		return TOOL_CONTINUE;
	text_error("%s", error[0] ? error : "the message makes no sense");
	return TOOL_USAGE;
}

/* is a running device tiered?  From its status */
static enum tier_kind kind_of(const char *params)
{
	enum tier_mode mode = TIER_MODE_WRITEBACK;
	char why[TEXT_LEN];
	struct status s;
	bool known;

	known = !status_parse(&s, params, why) && s.wanted_mode && !tier_mode_parse(s.wanted_mode, &mode);
	status_free(&s);
	return known ? tier_mode_kind(mode) : TIER_KIND_BOTH;
}

/* ranges are checked against the largest device there may be before the real one is known */
#define ANY_SECTORS	(1ULL << 54)

static int send(const char *name, char **words, unsigned int nr)
{
	struct mapper_line line;
	char why[TEXT_LEN], *text;
	int r, code;

	code = parse_message(words, nr, TIER_KIND_BOTH, ANY_SECTORS);
	if (code != TOOL_CONTINUE)
		return code;
	r = mapper_status(name, &line, why);
	if (!r) {
		code = parse_message(words, nr, kind_of(line.params), line.sectors);
		free(line.params);
		if (code != TOOL_CONTINUE)
			return code;
		text = join(words, nr);
		r = mapper_message(name, text, why);
		free(text);
	}
	if (r)
		text_error("%s", why);
	return tool_exit_code(r);
}

/* ---- flush ---- */

static int run_flush(int argc, char **argv)
{
	char why[TEXT_LEN];
	int r, code;

	code = parse_line(&verb_flush, argc, argv, 1, 1, "one name");
	if (code != TOOL_CONTINUE)
		return code;
	r = flush_device(argv[optind], &tool_cancelled, why);
	if (r)
		text_error("%s", why);
	return tool_exit_code(r);
}

const struct verb verb_flush = {
	.name = "flush",
	.synopsis = "NAME",
	.summary = "write all dirty data back to the HDD, and wait for it",
	.help =
"Exit code 0 only if everything that was dirty at the start is on the HDD.\n",
	.run = run_flush,
};

/* ---- mode ---- */

static int run_mode(int argc, char **argv)
{
	int code = parse_line(&verb_mode, argc, argv, 2, 2, "a name and a mode");
	char why[TEXT_LEN], *words[2];
	enum tier_mode mode;

	if (code != TOOL_CONTINUE)
		return code;
	if (mode_word_parse(argv[optind + 1], TIER_KIND_CACHE, &mode, why)) {
		text_error("%s", why);
		return TOOL_USAGE;
	}
	words[0] = "mode";
	words[1] = argv[optind + 1];
	return send(argv[optind], words, 2);
}

const struct verb verb_mode = {
	.name = "mode",
	.synopsis = "NAME MODE",
	.summary = "change the mode of a running tier device",
	.help =
"MODE is writeback, writethrough, writearound or passthrough.\n",
	.run = run_mode,
};

/* ---- set ---- */

/* help on the tunables of a policy, behind @text, if it is known and has some */
static char *policy_help(char *text, const char *policy)
{
	struct tier_policy_type *type = tier_policy_find(policy);

	if (!type || !type->tunables_help || !*type->tunables_help)
		return text;
	return text_append(text, "\ntunables of policy %s:\n%.*s", policy,
			   (int)strlen(type->tunables_help) - 1, type->tunables_help);
}

/* the same of the policy in force and those it wraps, to be freed */
static char *chain_help(const struct status *s)
{
	const struct status_section *sec = &s->sections[STATUS_POLICY];
	char *text = policy_help(text_format("%s", ""), s->policy);
	unsigned int i;

	for (i = 0; i < sec->nr; i++)
		if (!strcmp(sec->pairs[i].key, "next"))
			text = policy_help(text, sec->pairs[i].value);
	return text;
}

/*
 * Tunables that a running target has now; what can't be found out stays at its default.  @help is about those
 * of its policy, to be freed; NULL if there is no such target.
 */
static void current_tunables(const char *name, struct tier_tunables *t, char **help)
{
	char why[TEXT_LEN], error[TIER_ERROR_LEN];
	const struct status_section *sec;
	struct mapper_line line;
	struct status s;
	unsigned int pass, i;

	tier_tunables_default(t, TIER_KIND_BOTH);
	if (mapper_status(name, &line, why))
		return;
	t->kind = kind_of(line.params);
	if (!status_parse(&s, line.params, why)) {
		/* twice, because some are bounds of each other */
		if (s.nr_tiers)
			t->nr_devs = s.nr_tiers;
		sec = &s.sections[STATUS_TUNABLES];
		for (pass = 0; pass < 2; pass++)
			for (i = 0; i < sec->nr; i++)
				tier_tunable_set(t, sec->pairs[i].key, sec->pairs[i].value, error);
		*help = chain_help(&s);
	}
	status_free(&s);
	free(line.params);
}

static int run_set(int argc, char **argv)
{
	int code = parse_line(&verb_set, argc, argv, 3, 3, "a name, a key and a value");
	char error[TIER_ERROR_LEN] = "", *help = NULL;
	struct tier_tunables t;
	char *words[3];
	int r;

	if (code != TOOL_CONTINUE)
		return code;
	words[0] = "set";
	words[1] = argv[optind + 1];
	words[2] = argv[optind + 2];
	if (!strcmp(words[1], "mode") || !strcmp(words[1], "policy")) {
		text_error("%s is no tunable: dmtier %s %s %s sets it", words[1], words[1], argv[optind], words[2]);
		return TOOL_USAGE;
	}
	current_tunables(argv[optind], &t, &help);
	r = tier_tunable_set(&t, words[1], words[2], error);
	if (r == -EINVAL) {
		text_error("%s", error);
		code = TOOL_USAGE;
	} else {
		code = send(argv[optind], words, 3);
		/* the kernel names them all, and knows less of those of the policy */
		if (r == -ENOENT && code == TOOL_OPERATIONAL && help && *help)
			fprintf(stderr, "%s\n", help + 1);
	}
	free(help);
	return code;
}

const struct verb verb_set = {
	.name = "set",
	.synopsis = "NAME KEY VALUE",
	.summary = "change a tunable of a running tier device or of its policy",
	.help =
"KEY is fill_sectors, dirty_high, dirty_low, writeback_rate, idle_ms, migration_rate,\n"
"reserve_slots, commit_ms, max_errors, or a tunable of the policy; of a tiered device idle_ms,\n"
"migration_rate, commit_ms, max_errors, free_low, free_high (of one tier free_low.TIER and\n"
"free_high.TIER), sequential_landing, migration, yield_ms,\n"
"or a tunable of the policy; see dmtier(8).\n",
	.run = run_set,
};

/* ---- policy ---- */

static int run_policy(int argc, char **argv)
{
	int code = parse_line(&verb_policy, argc, argv, 2, 0, "a name and a policy");
	char why[TEXT_LEN], *text, **words;
	unsigned int nr, i;

	if (code != TOOL_CONTINUE)
		return code;
	/* several words, or one quoted word that holds them all */
	text = text_format("policy");
	for (i = (unsigned int)optind + 1; i < (unsigned int)argc; i++)
		text = text_append(text, " %s", argv[i]);
	words = table_split(text, &nr);
	if (policy_words_check(nr - 1, words + 1, why)) {
		text_error("%s", why);
		code = TOOL_USAGE;
	} else {
		code = send(argv[optind], words, nr);
	}
	free(words);
	free(text);
	return code;
}

const struct verb verb_policy = {
	.name = "policy",
	.synopsis = "NAME POLICY [KEY VALUE]... [next POLICY [KEY VALUE]...]",
	.summary = "change the policy of a running tier device; what is on the SSD stays there",
	.help = "",
	.run = run_policy,
};

/* ---- ranges ---- */

static char *sectors_word(const char *text)
{
	uint64_t sectors;

	/* what is no size goes to the parser as it is: it has the sentence for it */
	if (units_parse_sectors(text, 512, (u64 *)&sectors))
		return text_format("%s", text);
	return text_format("%llu", (unsigned long long)sectors);
}

static int run_range(const struct verb *v, int argc, char **argv)
{
	int code = parse_line(v, argc, argv, 3, 3, "a name, a first sector and a number of them");
	char *op, *words[3];

	if (code != TOOL_CONTINUE)
		return code;
	op = text_format("%s", v->name);
	words[0] = op;
	words[1] = sectors_word(argv[optind + 1]);
	words[2] = sectors_word(argv[optind + 2]);
	code = send(argv[optind], words, 3);
	free(op);
	free(words[1]);
	free(words[2]);
	return code;
}

#define RANGE_HELP	\
"FIRST and COUNT are sectors, or sizes such as 64k and 10g.\n"

#define RANGE_VERB(word, about)						\
static int run_##word(int argc, char **argv)				\
{									\
	return run_range(&verb_##word, argc, argv);			\
}									\
									\
const struct verb verb_##word = {					\
	.name = #word,							\
	.synopsis = "NAME FIRST COUNT",					\
	.summary = about,						\
	.help = RANGE_HELP,						\
	.run = run_##word,						\
}

RANGE_VERB(promote, "copy a range to the SSD; tiered: move it to the next faster tier");
RANGE_VERB(demote, "write a range back and take it off the SSD; tiered: move it to the next slower tier");
RANGE_VERB(pin, "keep a range on the SSD whatever the policy says; tiered: on the tier that it is on");
RANGE_VERB(unpin, "end pin");
RANGE_VERB(invalidate,
	   "forget the clean copies of a range on the SSD; refused if it holds dirty data");

/* ---- tiers ---- */

static int run_move(int argc, char **argv)
{
	int code = parse_line(&verb_move, argc, argv, 4, 4, "a name, a tier, a first sector and a number of them");
	char *words[4];

	if (code != TOOL_CONTINUE)
		return code;
	words[0] = "move";
	words[1] = argv[optind + 1];
	words[2] = sectors_word(argv[optind + 2]);
	words[3] = sectors_word(argv[optind + 3]);
	code = send(argv[optind], words, 4);
	free(words[2]);
	free(words[3]);
	return code;
}

const struct verb verb_move = {
	.name = "move",
	.synopsis = "NAME TIER FIRST COUNT",
	.summary = "move a range of a tiered device to a tier",
	.help =
"TIER is its number, from 0, fastest first.  " RANGE_HELP,
	.run = run_move,
};

/* what a tier has in use, in slots, and its state; the status is freed by the caller */
static int look_at_tier(const char *name, unsigned int tier, struct status *s, char *why)
{
	struct mapper_line line;
	int r;

	memset(s, 0, sizeof(*s));
	r = mapper_status(name, &line, why);
	if (r)
		return r;
	r = status_parse(s, line.params, why);
	free(line.params);
	if (!r && tier >= s->nr_tiers)
		r = text_why(why, -EINVAL, "%.200s has no tier %u", name, tier);
	return r;
}

/* what goes on with a tier, after a message */
struct tier_goal {
	const char *doing;	/* for people */
	const char *done;	/* for people */
	uint64_t (*left)(const struct status *s, unsigned int tier);	/* 0: done */
	const char *which;	/* how to find what can't be moved, and what to do then */
};

static uint64_t left_to_evacuate(const struct status *s, unsigned int tier)
{
	const struct status_tier *t = &s->tiers[tier];

	/* at the end it is recorded */
	return !t->used && !strcmp(t->state, "evacuating") ? 1 : t->used;
}

static const struct tier_goal goal_evacuate = {
	"emptying", "emptied", left_to_evacuate,
	"\"dmtier where\" shows what is on the tier, \"dmtier lost --tier\" which files"
};

static uint64_t left_to_settle(const struct status *s, unsigned int tier)
{
	uint64_t left = status_number(s, STATUS_STATE, "settle_left", 0);

	/* at the end it is checked, and flushed */
	return !strcmp(s->tiers[tier].state, "settled") ? 0 : left ? left : 1;
}

static const struct tier_goal goal_settle = {
	"settling", "settled", left_to_settle, "the kernel log names those that failed"
};

/* a pass did nothing but fail, twice: it is said, and left to who asked; the kernel goes on trying */
static int look_stuck(const char *name, unsigned int tier, const struct status *s, const struct tier_goal *w, char *why)
{
	const struct status_tier *t = &s->tiers[tier];

	if (!strcmp(t->state, "failing") && w == &goal_settle)
		return text_why(why, -EIO,
				"%.200s: tier %u is failing after %llu errors, %llu blocks are left: it rests until a minute has passed without any, and goes on then; \"dmtier keep\" ends it",
				name, tier, (unsigned long long)t->errors, (unsigned long long)w->left(s, tier));
	if (!t->stuck)
		return 0;
	return text_why(why, -EIO,
			"%.200s: %llu blocks can't be moved while tier %u is %s, %llu are left: copies fail, a device can't be flushed, or the other tiers are full; %s.  Write these ranges anew, or discard them.  It goes on trying, \"dmtier keep\" ends it",
			name, (unsigned long long)t->stuck, tier, w->done, (unsigned long long)w->left(s, tier), w->which);
}

/* nothing goes on, and yet there is something left: what is it? */
static int look_why(const char *name, unsigned int tier, const struct status *s, const struct tier_goal *w, char *why)
{
	uint64_t beyond = status_number(s, STATUS_STATE, "settle_left", 0);

	if (!strcmp(s->tiers[tier].state, "ok"))
		return text_why(why, -ECANCELED, "tier %u is not to be %s any more", tier, w->done);
	if (strcmp(s->health, "rw"))
		return text_why(why, -EIO, "%.200s: health is %.20s: nothing is moved", name, s->health);
	if (!strcmp(s->tiers[tier].state, "settling") && beyond && !status_number(s, STATUS_STATE, "jobs", 1))
		return text_why(why, -ENOSPC,
				"%llu blocks with data lie behind the end of tier %u: shrink the file system, and discard what is behind it",
				(unsigned long long)beyond, tier);
	return look_stuck(name, tier, s, w, why);
}

/* until it is done; the work goes on without us */
static int wait_tier(const char *name, unsigned int tier, const struct tier_goal *w, char *why)
{
	static const struct timespec pause = { .tv_nsec = 200000000L };
	uint64_t most = 0, left = 1;
	struct status s;
	int r = 0;

	while (!r && left) {
		r = look_at_tier(name, tier, &s, why);
		if (!r) {
			left = w->left(&s, tier);
			most = left > most ? left : most;
			text_progress(w->doing, most - left, most ? most : 1);
			if (left)
				r = look_why(name, tier, &s, w, why);
		}
		status_free(&s);
		if (!r && left && tool_cancelled)
			r = text_why(why, -EINTR, "cancelled; %s tier %u goes on all the same, \"dmtier keep\" ends it",
				     w->doing, tier);
		if (!r && left)
			nanosleep(&pause, NULL);
	}
	if (r)
		text_progress_stop();
	else if (most)
		text_progress(w->doing, most, most);
	return r;
}

/* @wait: for the end of this; NULL: don't */
static int run_tier(const struct verb *v, int argc, char **argv, const struct tier_goal *wait)
{
	char why[TEXT_LEN], *op, *words[2];
	int r, code;

	if (argc - optind != 2) {
		text_error("it takes a name and a tier");
		return tool_usage(v);
	}
	op = text_format("%s", v->name);
	words[0] = op;
	words[1] = argv[optind + 1];
	code = send(argv[optind], words, 2);
	free(op);
	if (code != TOOL_OK || !wait)
		return code;
	r = wait_tier(argv[optind], (unsigned int)strtoul(words[1], NULL, 10), wait, why);
	if (r)
		text_error("%s", why);
	return tool_exit_code(r);
}

static int run_tier_goal(const struct verb *v, int argc, char **argv, const struct tier_goal *w)
{
	enum { WAIT = OPT_OWN };
	static const struct option options[] = {
		{ "wait", no_argument, NULL, WAIT },
		TOOL_OPTIONS
	};
	int o, code = TOOL_CONTINUE;
	bool wait = false;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == WAIT)
			wait = true;
		else
			tool_common_option(v, o, &code);
	}
	return code == TOOL_CONTINUE ? run_tier(v, argc, argv, wait ? w : NULL) : code;
}

static int run_evacuate(int argc, char **argv)
{
	return run_tier_goal(&verb_evacuate, argc, argv, &goal_evacuate);
}

const struct verb verb_evacuate = {
	.name = "evacuate",
	.synopsis = "[--wait] NAME TIER",
	.summary = "move everything off a tier, so that it can be taken out",
	.help =
"  --wait  until it is empty, with progress; an error if only blocks are left that can't be moved\n"
"\n"
"It goes on in the background, also after a restart.  dmtier status shows how far it is, and dmtier keep ends it.\n",
	.run = run_evacuate,
};

static int run_settle(int argc, char **argv)
{
	return run_tier_goal(&verb_settle, argc, argv, &goal_settle);
}

const struct verb verb_settle = {
	.name = "settle",
	.synopsis = "[--wait] NAME TIER",
	.summary = "make a plain disk again of a tier that was taken over with its data",
	.help =
"  --wait  until all is in its place there, with progress; an error if nothing but blocks that can't be moved is left\n"
"\n"
"It goes on in the background, also after a restart.  dmtier status shows how far it is, and dmtier keep ends it.\n"
"When it is settled, and the tiered device was stopped, the disk alone holds what the tiered device held.\n",
	.run = run_settle,
};

static int run_keep(int argc, char **argv)
{
	int code = parse_line(&verb_keep, argc, argv, 2, 2, "a name and a tier");

	return code == TOOL_CONTINUE ? run_tier(&verb_keep, argc, argv, NULL) : code;
}

const struct verb verb_keep = {
	.name = "keep",
	.synopsis = "NAME TIER",
	.summary = "take evacuate or settle back: the tier is used again",
	.help = "",
	.run = run_keep,
};
