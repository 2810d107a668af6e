// SPDX-License-Identifier: GPL-2.0
/* Table lines and messages: what is accepted, and what is said of what is refused. */
#include "tap.h"
#include <linux/kernel.h>
#include <linux/string.h>
#include <errno.h>
#include "core/args.h"

#define MAX_WORDS	128

static char error[TIER_ERROR_LEN + 1];
static char copy[8192];
static char *words[MAX_WORDS];

/* Splits at single blanks; "" between two blanks is an empty word */
static unsigned int split(const char *line)
{
	unsigned int n = 0;
	char *p = copy;

	strcpy(copy, line);
	if (!*p)
		return 0;
	for (;;) {
		words[n++] = p;
		p = strchr(p, ' ');
		if (!p)
			return n;
		*p++ = '\0';
	}
}

static int parse(struct tier_args *a, const char *line)
{
	unsigned int n = split(line);

	memset(error, 0x7e, sizeof(error));
	return tier_args_parse(a, n, words, error);
}

/* One sentence, printable, ended within its buffer */
static bool legal_error(void)
{
	size_t i, len = strnlen(error, TIER_ERROR_LEN);

	if (!len || len == TIER_ERROR_LEN || error[TIER_ERROR_LEN] != 0x7e)
		return false;
	for (i = 0; i < len; i++)
		if (error[i] < 0x20 || error[i] > 0x7e)
			return false;
	return true;
}

/* The head of a line as part of a test's name */
static const char *shown(const char *line)
{
	static char text[61];
	size_t i;

	for (i = 0; i < 60 && line[i]; i++)
		text[i] = line[i] < 0x20 || line[i] > 0x7e ? '?' : line[i];
	text[i] = '\0';
	return text;
}

static void refused(const char *line, const char *want)
{
	struct tier_args a;
	int r = parse(&a, line);

	if (!ok(r == -EINVAL && legal_error() && strstr(error, want), "refused: %s", shown(line)))
		diag("%d, \"%s\", want \"%s\"", r, error, want);
}

#define DEVS	"/dev/ssd /dev/hdd /dev/meta"
#define FORM	"expected <ssd> <hdd> <metadata> <block sectors> <#features> <feature>* " \
		"<policy> <#policy args> <arg>*"

static const struct {
	const char *line;
	const char *error;
} refusals[] = {
	{ "", "fast device is missing: " FORM },
	{ "/dev/ssd", "slow device is missing: " FORM },
	{ "/dev/ssd /dev/hdd", "metadata device is missing: " FORM },
	{ DEVS, "block size is missing: " FORM },
	{ DEVS " 128", "number of features is missing: " FORM },
	{ DEVS " 128 0", "policy is missing: " FORM },
	{ DEVS " 128 0 lru", "number of policy arguments is missing: " FORM },
	{ DEVS " 128 1 writeback", "policy is missing" },
	{ DEVS " 128 1 writeback lru", "number of policy arguments is missing" },
	{ " /dev/hdd /dev/meta 128 0 lru 0", "fast device is empty" },
	{ "/dev/ssd  /dev/meta 128 0 lru 0", "slow device is empty" },
	{ DEVS "  0 lru 0", "block size is empty" },
	{ DEVS " 128  lru 0", "number of features is empty" },
	{ DEVS " 128 0  0", "policy is empty" },
	{ DEVS " 128 0 lru ", "number of policy arguments is empty" },

	{ "/dev/a /dev/a /dev/b 128 0 lru 0", "device /dev/a is given twice" },
	{ "/dev/a /dev/b /dev/a 128 0 lru 0", "device /dev/a is given twice" },
	{ "/dev/b /dev/a /dev/a 128 0 lru 0", "device /dev/a is given twice" },

	{ DEVS " 100 0 lru 0",
	  "block size 100 is not a power of two of sectors from 8 (4 KiB) to 2048 (1 MiB)" },
	{ DEVS " 0 0 lru 0", "block size 0 is not" },
	{ DEVS " 4 0 lru 0", "block size 4 is not" },
	{ DEVS " 4096 0 lru 0", "block size 4096 is not" },
	{ DEVS " 64k 0 lru 0", "block size 64k is not" },
	{ DEVS " -8 0 lru 0", "block size -8 is not" },
	{ DEVS " +8 0 lru 0", "block size +8 is not" },
	{ DEVS " 0x80 0 lru 0", "block size 0x80 is not" },
	{ DEVS " 8.0 0 lru 0", "block size 8.0 is not" },
	{ DEVS " 4294967304 0 lru 0", "block size 4294967304 is not" },
	{ DEVS " 18446744073709551624 0 lru 0", "block size 18446744073709551624 is not" },

	{ DEVS " 128 x lru 0", "number of features \"x\" is not a number" },
	{ DEVS " 128 -1 lru 0", "number of features \"-1\" is not a number" },
	{ DEVS " 128 3 lru 0", "number of features is 3, but only 2 words follow" },
	{ DEVS " 128 4294967296 lru 0",
	  "number of features is 4294967296, but only 2 words follow" },
	{ DEVS " 128 18446744073709551616 lru 0", "\"18446744073709551616\" is not a number" },
	{ DEVS " 128 2 lru 0", "unknown feature \"lru\"" },
	{ DEVS " 128 1 writeboth lru 0",
	  "unknown feature \"writeboth\": expected a mode (writeback, writethrough, writearound, passthrough "
	  "or tiered), tier_dev and its path, no_discard_passdown, accept_changed_slow, accept_new_fast, accept_new_tier "
	  "or a tunable and its value" },
	{ DEVS " 128 1 WRITEBACK lru 0", "unknown feature \"WRITEBACK\"" },
	{ DEVS " 128 1  lru 0", "unknown feature \"\"" },
	{ DEVS " 128 2 writeback writethrough lru 0",
	  "two modes are given, writeback and writethrough" },
	{ DEVS " 128 2 writeback writeback lru 0", "two modes are given, writeback and writeback" },
	{ DEVS " 128 2 writeback tiered lru 0", "two modes are given, writeback and tiered" },
	{ DEVS " 64 1 tiered lru 0",
	  "block size 64 is too small for tiered mode: 128 (64 KiB) to 2048 (1 MiB) sectors" },
	{ DEVS " 128 2 tier_dev /dev/x lru 0",
	  "feature tier_dev belongs to tiered mode: feature tiered is missing" },
	{ DEVS " 128 3 writeback tier_dev /dev/x lru 0", "feature tier_dev belongs to tiered mode" },
	{ DEVS " 128 2 tiered tier_dev lru 0", "feature tier_dev has no path: <#features> counts words" },
	{ DEVS " 128 3 tiered tier_dev  lru 0", "feature tier_dev has no path" },
	{ DEVS " 128 3 tiered tier_dev /dev/hdd lru 0", "device /dev/hdd is given twice: all devices must differ" },
	{ DEVS " 128 3 tiered tier_dev /dev/ssd lru 0", "device /dev/ssd is given twice" },
	{ DEVS " 128 3 tier_dev /dev/meta tiered lru 0", "device /dev/meta is given twice" },
	{ DEVS " 128 5 tiered tier_dev /dev/x tier_dev /dev/x lru 0", "device /dev/x is given twice" },
	{ DEVS " 128 31 tiered tier_dev 1 tier_dev 2 tier_dev 3 tier_dev 4 tier_dev 5 tier_dev 6 tier_dev 7 tier_dev 8 "
	  "tier_dev 9 tier_dev 10 tier_dev 11 tier_dev 12 tier_dev 13 tier_dev 14 tier_dev 15 lru 0",
	  "device 15 is one too many: at most 16 tiers" },
	{ "- - /dev/meta 128 1 tiered lru 0", "all tiers are missing (-): at least one is needed" },
	{ "- - /dev/meta 128 5 tiered tier_dev - tier_dev - lru 0", "all tiers are missing (-)" },
	{ "/dev/ssd /dev/hdd - 128 1 tiered lru 0", "metadata device is missing (-): only tiers may be" },
	{ "/dev/ssd - - 128 1 tiered lru 0", "metadata device is missing (-)" },
	{ "- /dev/hdd /dev/hdd 128 1 tiered lru 0", "device /dev/hdd is given twice" },
	{ DEVS " 128 2 tiered accept_new_fast lru 0", "feature accept_new_fast belongs to the cache modes" },
	{ DEVS " 128 3 tiered dirty_high 60 lru 0",
	  "dirty_high belongs to the cache modes: tiered mode has idle_ms, migration_rate, commit_ms, max_errors, "
	  "free_low, free_high, sequential_landing, migration, yield_ms" },
	{ DEVS " 128 3 reserve_slots 60 tiered lru 0", "reserve_slots belongs to the cache modes" },
	{ DEVS " 128 2 yield_ms 10 lru 0",
	  "yield_ms belongs to tiered mode: a cache has fill_sectors, dirty_high, dirty_low, writeback_rate, idle_ms, "
	  "migration_rate, reserve_slots, commit_ms, max_errors" },
	{ DEVS " 128 3 tiered free_low 99 lru 0", "free_low \"99\" is not a number from 0 to 98 (percent)" },
	{ DEVS " 128 3 tiered free_low 10 lru 0", "free_low 10 is not below free_high 10" },
	{ DEVS " 128 3 tiered free_low.1 10 lru 0", "free_low.1 10 is not below free_high.1 10" },
	{ DEVS " 128 3 tiered free_low.1 99 lru 0", "free_low \"99\" is not a number from 0 to 98 (percent)" },
	{ DEVS " 128 3 tiered free_low.16 1 lru 0", "free_low.<tier>: a tier is a number from 0 to 15" },
	{ DEVS " 128 3 tiered free_low.2 1 lru 0", "free_low.2: there is no tier 2: they are 0 to 1" },
	{ DEVS " 128 5 tiered free_high.3 50 tier_dev /dev/x lru 0", "free_high.3: there is no tier 3: they are 0 to 2" },
	{ DEVS " 128 7 tiered free_low.3 5 free_high.1 50 tier_dev /dev/x lru 0", "free_low.3: there is no tier 3: they are 0 to 2" },
	{ DEVS " 128 3 tiered free_low.2 default lru 0", "free_low.2: there is no tier 2: they are 0 to 1" },
	{ DEVS " 128 3 tiered free_high. 1 lru 0", "free_high.<tier>: a tier is a number from 0 to 15" },
	{ DEVS " 128 3 tiered yield_ms.1 1 lru 0", "unknown feature \"yield_ms.1\"" },
	{ DEVS " 128 5 tiered free_low.1 1 free_low.1 1 lru 0", "feature free_low.1 is given twice" },
	{ DEVS " 128 2 tiered free_low.1 lru 0", "feature free_low.1 has no value" },
	{ DEVS " 128 2 free_low.1 1 lru 0", "free_low belongs to tiered mode" },
	{ DEVS " 128 3 tiered free_high 0 lru 0", "free_high \"0\" is not a number from 1 to 99" },
	{ DEVS " 128 3 tiered sequential_landing 16 lru 0",
	  "sequential_landing \"16\" is not a number from 0 to 15 (a tier)" },
	{ DEVS " 128 3 tiered migration 0 lru 0",
	  "migration \"0\" is neither continuous nor idle nor off nor a number of seconds from 1 to 86400" },
	{ DEVS " 128 3 tiered migration 86401 lru 0", "migration \"86401\" is neither" },
	{ DEVS " 128 3 tiered migration auto lru 0", "migration \"auto\" is neither" },
	{ DEVS " 128 3 tiered yield_ms off lru 0", "yield_ms \"off\" is not a number from 0 to 60000" },
	{ DEVS " 128 2 no_discard_passdown no_discard_passdown lru 0",
	  "feature no_discard_passdown is given twice" },
	{ DEVS " 128 2 accept_changed_slow accept_changed_slow lru 0",
	  "feature accept_changed_slow is given twice" },
	{ DEVS " 128 1 idle_ms lru 0", "feature idle_ms has no value: <#features> counts words" },
	{ DEVS " 128 2 writeback idle_ms 5 lru 0", "feature idle_ms has no value" },
	{ DEVS " 128 4 idle_ms 5 idle_ms 5 lru 0", "feature idle_ms is given twice" },
	{ DEVS " 128 2 idle_ms 3600001 lru 0",
	  "idle_ms \"3600001\" is not a number from 0 to 3600000 (milliseconds)" },
	{ DEVS " 128 2 idle_ms x lru 0", "idle_ms \"x\" is not a number from 0 to 3600000" },
	{ DEVS " 128 2 idle_ms  lru 0", "idle_ms \"\" is not a number" },
	{ DEVS " 128 2 fill_sectors 4 lru 0",
	  "fill_sectors \"4\" is neither auto nor 0 nor a power of two" },
	{ DEVS " 128 2 fill_sectors 100 lru 0", "fill_sectors \"100\" is neither" },
	{ DEVS " 128 2 fill_sectors 4096 lru 0", "fill_sectors \"4096\" is neither" },
	{ DEVS " 128 2 fill_sectors Auto lru 0", "fill_sectors \"Auto\" is neither" },
	{ DEVS " 128 2 fill_sectors 4294967295 lru 0", "fill_sectors \"4294967295\" is neither" },
	{ DEVS " 128 2 dirty_high 0 lru 0",
	  "dirty_high \"0\" is not a number from 1 to 99 (percent)" },
	{ DEVS " 128 2 dirty_high 100 lru 0", "dirty_high \"100\" is not a number from 1 to 99" },
	{ DEVS " 128 2 dirty_low 99 lru 0", "dirty_low \"99\" is not a number from 0 to 98" },
	{ DEVS " 128 2 dirty_high 20 lru 0", "dirty_low 20 is not below dirty_high 20" },
	{ DEVS " 128 4 dirty_low 60 dirty_high 60 lru 0",
	  "dirty_low 60 is not below dirty_high 60" },
	{ DEVS " 128 2 writeback_rate 4294967296 lru 0",
	  "writeback_rate \"4294967296\" is not a number" },
	{ DEVS " 128 2 migration_rate -1 lru 0", "migration_rate \"-1\" is not a number" },
	{ DEVS " 128 2 reserve_slots 1048577 lru 0", "reserve_slots \"1048577\" is not a number" },
	{ DEVS " 128 2 commit_ms 9 lru 0", "commit_ms \"9\" is not a number from 10 to 60000" },
	{ DEVS " 128 2 commit_ms 60001 lru 0", "commit_ms \"60001\" is not a number" },
	{ DEVS " 128 2 max_errors 0 lru 0", "max_errors \"0\" is not a number from 1 to 1000000" },
	{ DEVS " 128 2 max_errors 1000001 lru 0", "max_errors \"1000001\" is not a number" },

	{ DEVS " 128 0 ../lru 0",
	  "policy \"../lru\" is not a name: expected up to 31 letters, digits, - and _" },
	{ DEVS " 128 0 a-name-of-just-32-characters-... 0",
	  "policy \"a-name-of-just-32-characters-...\" is not a name" },
	{ DEVS " 128 0 a-name-of-just-32-characters-abc 0",
	  "policy \"a-name-of-just-32-characters-abc\" is not a name" },
	{ DEVS " 128 0 lru x", "number of policy arguments \"x\" is not a number" },
	{ DEVS " 128 0 lru 1", "number of policy arguments is 1, but only 0 words follow" },
	{ DEVS " 128 0 lru 3 a 1", "number of policy arguments is 3, but only 2 words follow" },
	{ DEVS " 128 0 lru 4294967298 a 1",
	  "number of policy arguments is 4294967298, but only 2 words follow" },
	{ DEVS " 128 0 lru 0 a", "extra word \"a\" behind the 0 policy arguments announced" },
	{ DEVS " 128 0 lru 2 a 1 b", "extra word \"b\" behind the 2 policy arguments announced" },

	/* What users type is shown with care. */
	{ DEVS " 128 1 a\tb\033[31m\177\304\200 lru 0", "unknown feature \"a?b?[31m???\"" },
	{ DEVS " 128 1 0123456789012345678901234567890123456789 lru 0",
	  "unknown feature \"0123456789012345678901234567890123456789\":" },
	{ DEVS " 128 1 01234567890123456789012345678901234567890 lru 0",
	  "unknown feature \"0123456789012345678901234567890123456789...\":" },
	{ DEVS " 0123456789012345678901234567890123456789012345678901234567890123456789 0 lru 0",
	  "block size 0123456789012345678901234567890123456789... is not" },
	{ DEVS " 128 0 0123456789012345678901234567890123456789012345678901234567890123456789 0",
	  "policy \"0123456789012345678901234567890123456789...\" is not a name" },
};

static void test_refusals(void)
{
	struct tier_args a;
	char line[4096];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		refused(refusals[i].line, refusals[i].error);

	strcpy(line, DEVS " 128 0 lru 65");
	for (i = 0; i < 65; i++)
		strcat(line, " x");
	refused(line, "65 policy arguments are too many: at most 64");

	/* A path of 3000 characters twice, and with line feeds */
	memset(line, 0, sizeof(line));
	memset(line, '\n', 1500);
	line[1500] = ' ';
	memset(line + 1501, '\n', 1500);
	strcat(line, " /dev/meta 128 0 lru 0");
	refused(line, "device ????????????????????????????????????????... is given twice");

	/* Every prefix of a good line that ends between words is refused. */
	for (i = 0; i < 12; i++) {
		unsigned int n = split(DEVS " 128 3 writethrough idle_ms 5 lru 2 a 1");

		if (tier_args_parse(&a, i, words, error) != -EINVAL || !legal_error())
			break;
		if (n != 12)
			break;
	}
	is(i, 12, "every prefix of a line is refused");
}

static const char long_line[] =
	"8:0 8:16 8:32 8 21 fill_sectors 64 dirty_high 15 dirty_low 10 "
	"writeback_rate 4294967295 no_discard_passdown idle_ms 0 migration_rate 0 writearound "
	"reserve_slots 1048576 commit_ms 10 accept_changed_slow max_errors 1000000 "
	"seqbypass 6 size 1 next hotspot a 1";

static void test_accepted(void)
{
	struct tier_tunables def;
	struct tier_args a;

	tier_tunables_default(&def, TIER_KIND_CACHE);
	ok(!parse(&a, DEVS " 128 0 lru 0"), "shortest line");
	is_str(a.fast, "/dev/ssd", "fast");
	is_str(a.slow, "/dev/hdd", "slow");
	is_str(a.meta, "/dev/meta", "metadata");
	is(a.block_sectors, 128, "block size");
	ok(!a.mode_given && a.mode == TIER_MODE_WRITEBACK, "writeback by default");
	ok(!a.no_discard_passdown && !a.accept_changed_slow && !a.nr_tier_devs, "no features");
	def.nr_devs = 2;
	ok(!memcmp(&a.tunables, &def, sizeof(def)), "default tunables");
	is_str(a.policy, "lru", "policy");
	is(a.policy_argc, 0, "no policy arguments");
	is_str(error, "", "no error");

	ok(!parse(&a, long_line), "longest line");
	if (*error)
		diag("%s", error);
	is(a.block_sectors, 8, "block size");
	ok(a.mode_given && a.mode == TIER_MODE_WRITEAROUND, "mode");
	ok(a.no_discard_passdown && a.accept_changed_slow, "flags");
	is(a.tunables.v[TIER_TUNE_FILL], 64, "fill_sectors");
	is(a.tunables.v[TIER_TUNE_DIRTY_HIGH], 15, "dirty_high");
	is(a.tunables.v[TIER_TUNE_DIRTY_LOW], 10, "dirty_low");
	is(a.tunables.v[TIER_TUNE_WB_RATE], U32_MAX, "writeback_rate");
	is(a.tunables.v[TIER_TUNE_IDLE_MS], 0, "idle_ms");
	is(a.tunables.v[TIER_TUNE_MIG_RATE], 0, "migration_rate");
	is(a.tunables.v[TIER_TUNE_RESERVE], 1048576, "reserve_slots");
	is(a.tunables.v[TIER_TUNE_COMMIT_MS], 10, "commit_ms");
	is(a.tunables.v[TIER_TUNE_MAX_ERRORS], 1000000, "max_errors");
	is_str(a.policy, "seqbypass", "policy");
	is(a.policy_argc, 6, "policy arguments");
	is_str(a.policy_argv[0], "size", "the first");
	is_str(a.policy_argv[5], "1", "the last");

	ok(!parse(&a, DEVS " 2048 2 fill_sectors 0 lru 0") && a.tunables.v[TIER_TUNE_FILL] == 0,
	   "fill_sectors 0");
	ok(!parse(&a, DEVS " 2048 2 fill_sectors auto lru 0") &&
	   a.tunables.v[TIER_TUNE_FILL] == TIER_FILL_AUTO,
	   "fill_sectors auto");
	ok(!parse(&a, DEVS " 00128 00 lru 00") && a.block_sectors == 128, "leading zeros");
	ok(!parse(&a, DEVS " 128 0 a-name_of-just-31-characters-XY 0"), "policy of 31 characters");
}

static void test_accepted_tiered(void)
{
	struct tier_tunables def;
	struct tier_args a;

	tier_tunables_default(&def, TIER_KIND_TIERED);
	ok(!parse(&a, DEVS " 128 1 tiered hotspot 0"), "two tiers");
	ok(a.mode_given && a.mode == TIER_MODE_TIERED && !a.nr_tier_devs, "mode");
	def.nr_devs = 2;
	ok(!memcmp(&a.tunables, &def, sizeof(def)), "default tunables");
	ok(!parse(&a, DEVS " 2048 17 tier_dev /dev/x free_low 0 free_high 1 sequential_landing 15 migration 86400 tiered "
		  "tier_dev /dev/y yield_ms 60000 no_discard_passdown accept_changed_slow lru 0"), "four tiers");
	if (*error)
		diag("%s", error);
	is(a.nr_tier_devs, 2, "further tiers");
	is_str(a.tier_devs[0], "/dev/x", "the first of them");
	is_str(a.tier_devs[1], "/dev/y", "the second");
	is(a.tunables.v[TIER_TUNE_FREE_LOW], 0, "free_low");
	is(a.tunables.v[TIER_TUNE_FREE_HIGH], 1, "free_high");
	is(a.tunables.v[TIER_TUNE_SEQ_LANDING], 15, "sequential_landing");
	is(a.tunables.v[TIER_TUNE_MIGRATION], 86400, "migration");
	is(a.tunables.v[TIER_TUNE_YIELD_MS], 60000, "yield_ms");
	ok(!parse(&a, DEVS " 128 3 tiered migration idle lru 0") &&
	   a.tunables.v[TIER_TUNE_MIGRATION] == TIER_MIGRATION_IDLE, "migration idle");
	ok(!parse(&a, DEVS " 128 3 tiered migration off lru 0") &&
	   a.tunables.v[TIER_TUNE_MIGRATION] == TIER_MIGRATION_OFF, "migration off");
	ok(!parse(&a, DEVS " 128 3 tiered migration continuous lru 0") &&
	   a.tunables.v[TIER_TUNE_MIGRATION] == TIER_MIGRATION_CONTINUOUS, "migration continuous");
	ok(!parse(&a, DEVS " 128 29 tiered tier_dev 1 tier_dev 2 tier_dev 3 tier_dev 4 tier_dev 5 tier_dev 6 tier_dev 7 "
		  "tier_dev 8 tier_dev 9 tier_dev 10 tier_dev 11 tier_dev 12 tier_dev 13 tier_dev 14 lru 0") &&
	   a.nr_tier_devs == 14, "16 tiers");
	ok(!parse(&a, DEVS " 128 11 tiered free_low.0 20 free_high.0 30 free_high.2 40 free_low 6 tier_dev /dev/x lru 0"),
	   "watermarks of tiers");
	is(tier_free_low(&a.tunables, 0), 20, "free_low.0");
	is(tier_free_high(&a.tunables, 0), 30, "free_high.0");
	is(tier_free_low(&a.tunables, 2), 6, "free_low of a tier with a free_high of its own");
	is(tier_free_high(&a.tunables, 2), 40, "free_high.2");
	is(tier_free_high(&a.tunables, 1), 10, "free_high of another");
	ok(!a.nr_missing, "none is missing");
	ok(!parse(&a, "- /dev/hdd /dev/meta 128 1 tiered lru 0") && a.nr_missing == 1, "the first tier is missing");
	is_str(a.fast, TIER_MISSING, "in place of its path");
	ok(!parse(&a, "/dev/ssd - /dev/meta 128 1 tiered lru 0") && a.nr_missing == 1, "the second one is");
	ok(!parse(&a, "- - /dev/meta 128 7 tiered tier_dev - tier_dev /dev/x tier_dev - lru 0") && a.nr_missing == 4,
	   "all but one are");
	ok(!parse(&a, "/dev/ssd - /dev/meta 128 0 lru 0") && !a.nr_missing, "in a cache it is a path as any other");
}

static void test_modes(void)
{
	enum tier_mode mode, got;

	for (mode = 0; mode < TIER_NR_MODES; mode++)
		ok(!tier_mode_parse(tier_mode_name(mode), &got) && got == mode, "mode %s",
		   tier_mode_name(mode));
	is(tier_mode_parse("", &got), -EINVAL, "no mode");
	is(tier_mode_parse("write", &got), -EINVAL, "half a mode");
	is(tier_mode_parse("writebackx", &got), -EINVAL, "more than a mode");
	is_str(tier_mode_name(99), "unknown", "mode 99 has a name for messages");
}

static const char all_defaults[] =
	"fill_sectors auto dirty_high 50 dirty_low 20 writeback_rate 0 idle_ms 500 "
	"migration_rate 10240 reserve_slots 0 commit_ms 1000 max_errors 32";

static void test_tunables(void)
{
	struct tier_tunables t, old, back;
	unsigned int count, i, n;
	char buf[512], small[512];
	int len, size;

	tier_tunables_default(&t, TIER_KIND_CACHE);
	len = tier_tunables_emit(&t, true, buf, sizeof(buf), &count);
	is_str(buf, all_defaults, "all tunables");
	is(len, strlen(buf), "length");
	is(count, 18, "words");
	len = tier_tunables_emit(&t, false, buf, sizeof(buf), &count);
	ok(!len && !count && !*buf, "nothing differs from the defaults");

	is(tier_tunable_set(&t, "idle_ms", "7", error), 0, "set idle_ms");
	is(tier_tunable_set(&t, "fill_sectors", "8", error), 0, "set fill_sectors");
	is(tier_tunable_set(&t, "max_errors", "1", error), 0, "set max_errors");
	len = tier_tunables_emit(&t, false, buf, sizeof(buf), &count);
	is_str(buf, "fill_sectors 8 idle_ms 7 max_errors 1", "those that differ");
	is(len, strlen(buf), "length");
	is(count, 6, "words");

	/* What is emitted is understood again. */
	tier_tunables_default(&back, TIER_KIND_CACHE);
	n = split(buf);
	for (i = 0; i < n; i += 2)
		if (tier_tunable_set(&back, words[i], words[i + 1], error))
			break;
	ok(i == n && !memcmp(&back, &t, sizeof(t)), "emitted and parsed again");

	/* Any size of buffer */
	tier_tunables_default(&t, TIER_KIND_CACHE);
	for (size = 0; size < (int)sizeof(all_defaults) + 2; size++) {
		memset(small, 0x7e, sizeof(small));
		len = tier_tunables_emit(&t, true, small, size, &count);
		if (count != 18 || len != (size ? min(size - 1, (int)sizeof(all_defaults) - 1) : 0))
			break;
		if (size && (strncmp(small, all_defaults, len) || small[len]))
			break;
		if (memchr_inv(small + size, 0x7e, sizeof(small) - size))
			break;
	}
	is(size, sizeof(all_defaults) + 2, "buffers too small");

	len = tier_tunable_names(TIER_KIND_CACHE, small, sizeof(small));
	is_str(small,
	       "fill_sectors, dirty_high, dirty_low, writeback_rate, idle_ms, migration_rate, reserve_slots, "
	       "commit_ms, max_errors",
	       "names of all");
	is(len, (int)strlen(small), "their length");
	is(tier_tunable_names(TIER_KIND_CACHE, small, 20), 19, "in a buffer too small");

	old = t;
	strcpy(error, "untouched");
	is(tier_tunable_set(&t, "no_such_key", "1", error), -ENOENT, "unknown key");
	is_str(error, "untouched", "without a text");
	is(tier_tunable_set(&t, "", "1", error), -ENOENT, "empty key");
	is(tier_tunable_set(&t, "idle_ms", "x", error), -EINVAL, "bad value");
	is_str(error, "idle_ms \"x\" is not a number from 0 to 3600000 (milliseconds)",
	       "with a text");
	is(tier_tunable_set(&t, "dirty_high", "20", error), -EINVAL,
	   "dirty_high down to dirty_low");
	is_str(error, "dirty_low 20 is not below dirty_high 20", "with a text");
	is(tier_tunable_set(&t, "dirty_low", "50", error), -EINVAL, "dirty_low up to dirty_high");
	ok(!memcmp(&t, &old, sizeof(t)), "unchanged after errors");
	is(tier_tunable_set(&t, "dirty_low", "49", error), 0, "dirty_low just below dirty_high");
}

/* The longest text of all tunables fits in TIER_TUNABLES_LEN */
static void test_longest_tunables(void)
{
	static const char *const values[][2] = {
		{ "idle_ms", "3600000" }, { "migration_rate", "4294967295" }, { "commit_ms", "60000" },
		{ "max_errors", "1000000" }, { "free_high", "99" }, { "free_low", "98" }, { "sequential_landing", "15" },
		{ "migration", "continuous" }, { "yield_ms", "60000" },
	};
	struct tier_tunables t;
	char buf[2048], key[32];
	unsigned int count, i;
	int bad = 0;

	tier_tunables_default(&t, TIER_KIND_TIERED);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		bad |= tier_tunable_set(&t, values[i][0], values[i][1], error);
	for (i = 0; i < TIER_MAX_DEVS; i++) {
		sprintf(key, "free_high.%u", i);
		bad |= tier_tunable_set(&t, key, "99", error);
		sprintf(key, "free_low.%u", i);
		bad |= tier_tunable_set(&t, key, "98", error);
	}
	is(bad, 0, "all tunables as long as can be");
	ok(tier_tunables_emit(&t, true, buf, sizeof(buf), &count) < (int)TIER_TUNABLES_LEN, "they fit: %zu", strlen(buf));
	is(count, 2 * (ARRAY_SIZE(values) + 2 * TIER_MAX_DEVS), "words");
}

static void test_tiered_tunables(void)
{
	struct tier_tunables t, old;
	unsigned int count;
	char buf[512];

	tier_tunables_default(&t, TIER_KIND_TIERED);
	tier_tunables_emit(&t, true, buf, sizeof(buf), &count);
	is_str(buf, "idle_ms 500 migration_rate 10240 commit_ms 1000 max_errors 32 free_low 5 free_high 10 "
		    "sequential_landing 1 migration continuous yield_ms 0", "all tunables of a tiered device");
	is(count, 18, "words");
	tier_tunable_names(TIER_KIND_TIERED, buf, sizeof(buf));
	is_str(buf, "idle_ms, migration_rate, commit_ms, max_errors, free_low, free_high, sequential_landing, migration, "
		    "yield_ms", "their names");

	is(tier_tunable_set(&t, "migration", "off", error), 0, "set migration off");
	is(tier_tunable_set(&t, "yield_ms", "20", error), 0, "set yield_ms");
	tier_tunables_emit(&t, false, buf, sizeof(buf), &count);
	is_str(buf, "migration off yield_ms 20", "those that differ");
	is(tier_tunable_set(&t, "migration", "3600", error), 0, "set migration to an hour");
	tier_tunables_emit(&t, false, buf, sizeof(buf), &count);
	is_str(buf, "migration 3600 yield_ms 20", "those that differ");

	old = t;
	is(tier_tunable_set(&t, "dirty_high", "60", error), -EINVAL, "one of the cache modes");
	ok(strstr(error, "dirty_high belongs to the cache modes: tiered mode has idle_ms, "), "with a text");
	is(tier_tunable_set(&t, "free_low", "10", error), -EINVAL, "free_low up to free_high");
	is_str(error, "free_low 10 is not below free_high 10", "with a text");
	is(tier_tunable_set(&t, "no_such_key", "1", error), -ENOENT, "unknown key");
	ok(!memcmp(&t, &old, sizeof(t)), "unchanged after errors");

	is(tier_tunable_set(&t, "free_high.3", "50", error), 0, "set free_high.3");
	is(tier_tunable_set(&t, "free_low.3", "49", error), 0, "set free_low.3");
	is(tier_tunable_set(&t, "free_low.3", "50", error), -EINVAL, "free_low.3 up to free_high.3");
	is_str(error, "free_low.3 50 is not below free_high.3 50", "with a text");
	is(tier_tunable_set(&t, "free_high.3", "default", error), -EINVAL, "free_high.3 as of all, below free_low.3");
	tier_tunables_emit(&t, false, buf, sizeof(buf), &count);
	is_str(buf, "migration 3600 yield_ms 20 free_low.3 49 free_high.3 50", "those that differ");
	is(count, 8, "words");
	is(tier_tunable_set(&t, "free_low.3", "default", error), 0, "free_low.3 as of all");
	is(tier_tunable_set(&t, "free_high.3", "default", error), 0, "then free_high.3");
	ok(!memcmp(&t, &old, sizeof(t)), "as before");
	t.nr_devs = 3;
	is(tier_tunable_set(&t, "free_low.3", "5", error), -EINVAL, "of a tier that there is not");
	is_str(error, "free_low.3: there is no tier 3: they are 0 to 2", "with a text");
	is(tier_tunable_set(&t, "free_low.2", "5", error), 0, "of the last one");
	test_longest_tunables();

	tier_tunables_default(&t, TIER_KIND_CACHE);
	is(tier_tunable_set(&t, "free_low", "1", error), -EINVAL, "one of tiered mode, in a cache");
	ok(strstr(error, "free_low belongs to tiered mode: a cache has fill_sectors, "), "with a text");
	t.kind = TIER_KIND_BOTH;
	ok(!tier_tunable_set(&t, "free_low", "1", error) && !tier_tunable_set(&t, "dirty_low", "1", error),
	   "both, if it is not known which kind it is");
}

static int message_to(enum tier_kind kind, struct tier_message *m, const char *line, u64 nr_sectors)
{
	unsigned int n = split(line);

	memset(error, 0x7e, sizeof(error));
	return tier_message_parse(m, n, words, kind, nr_sectors, error);
}

static int message(struct tier_message *m, const char *line, u64 nr_sectors)
{
	return message_to(TIER_KIND_CACHE, m, line, nr_sectors);
}

static const struct {
	const char *line;
	const char *error;
} bad_messages[] = {
	{ "",
	  "unknown message \"\": expected mode, flush, policy, set, promote, demote, pin, unpin, "
	  "invalidate or stats reset" },
	{ "Flush", "unknown message \"Flush\"" },
	{ "flush\n", "unknown message \"flush?\"" },
	{ "0123456789012345678901234567890123456789012345678901234567890123456789",
	  "unknown message \"0123456789012345678901234567890123456789...\"" },
	{ "mode", "message mode has too few words: expected mode <mode>" },
	{ "mode writeback now", "message mode has too many words: expected mode <mode>" },
	{ "mode fast",
	  "unknown mode \"fast\": expected writeback, writethrough, writearound or passthrough" },
	{ "mode tiered", "a cache can't become tiered: expected writeback, writethrough" },
	{ "move 0 1 1",
	  "message move belongs to tiered mode: expected mode, flush, policy, set, promote, demote, pin, unpin, "
	  "invalidate or stats reset" },
	{ "where 0 1", "message where belongs to tiered mode" },
	{ "evacuate 0", "message evacuate belongs to tiered mode" },
	{ "settle 1", "message settle belongs to tiered mode" },
	{ "flush now", "message flush has too many words: expected flush" },
	{ "policy", "message policy has too few words: expected policy <name> [<key> <value>]..." },
	{ "policy a/b", "policy \"a/b\" is not a name" },
	{ "policy ", "policy \"\" is not a name" },
	{ "set", "message set has too few words: expected set <key> <value>" },
	{ "set a", "message set has too few words" },
	{ "set a 1 b", "message set has too many words" },
	{ "promote",
	  "message promote has too few words: expected promote <first sector> <sectors>" },
	{ "promote 1", "message promote has too few words" },
	{ "demote 1 2 3", "message demote has too many words" },
	{ "pin x 1", "\"x\" is not a number of sectors" },
	{ "pin 1 -1", "\"-1\" is not a number of sectors" },
	{ "unpin 0 0", "the range is empty: expected at least 1 sector" },
	{ "invalidate 1000 1", "1 sectors from 1000 on are beyond the end of the device at 1000" },
	{ "invalidate 0 1001", "1001 sectors from 0 on are beyond the end" },
	{ "invalidate 999 2", "2 sectors from 999 on are beyond the end" },
	{ "invalidate 999 18446744073709551615",
	  "18446744073709551615 sectors from 999 on are beyond" },
	{ "invalidate 18446744073709551615 2",
	  "2 sectors from 18446744073709551615 on are beyond" },
	{ "invalidate 18446744073709551616 1",
	  "\"18446744073709551616\" is not a number of sectors" },
	{ "stats", "message stats has too few words: expected stats reset" },
	{ "stats show", "unknown word \"show\" behind stats: expected reset" },
};

static void test_messages(void)
{
	static const struct { const char *name; enum tier_message_op op;
	} ranges[] = {
		{ "promote", TIER_MSG_PROMOTE },
		{ "demote", TIER_MSG_DEMOTE },
		{ "pin", TIER_MSG_PIN },
		{ "unpin", TIER_MSG_UNPIN },
		{ "invalidate", TIER_MSG_INVALIDATE },
	};
	struct tier_message m;
	char line[512];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad_messages); i++) {
		int r = message(&m, bad_messages[i].line, 1000);

		if (!ok(r == -EINVAL && legal_error() && strstr(error, bad_messages[i].error),
			"refused: %s", shown(bad_messages[i].line)))
			diag("%d, \"%s\", want \"%s\"", r, error, bad_messages[i].error);
	}
	strcpy(line, "policy lru");
	for (i = 0; i < 65; i++)
		strcat(line, " x");
	ok(message(&m, line, 1000) == -EINVAL && strstr(error, "too many words"),
	   "refused: 65 policy words");

	ok(!message(&m, "mode passthrough", 1) && m.op == TIER_MSG_MODE &&
	   m.mode == TIER_MODE_PASSTHROUGH,
	   "mode");
	is_str(error, "", "no error");
	ok(!message(&m, "flush", 1) && m.op == TIER_MSG_FLUSH, "flush");
	ok(!message(&m, "policy lru", 1) && m.op == TIER_MSG_POLICY && !strcmp(m.key, "lru") &&
	   !m.argc,
	   "policy");
	ok(!message(&m, "policy seqbypass size 5 next lru", 1) && !strcmp(m.key, "seqbypass") &&
	   m.argc == 4 && !strcmp(m.argv[0], "size") && !strcmp(m.argv[3], "lru"),
	   "policy with arguments");
	ok(!message(&m, "set idle_ms 5", 1) && m.op == TIER_MSG_SET && !strcmp(m.key, "idle_ms") &&
	   !strcmp(m.value, "5"), "set");
	ok(!message(&m, "set of_policy x", 1), "set leaves unknown keys to the policy");
	ok(!message(&m, "stats reset", 1) && m.op == TIER_MSG_STATS_RESET, "stats reset");
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		sprintf(line, "%s 18446744073709551600 14", ranges[i].name);
		ok(!message(&m, line, U64_MAX) && m.op == ranges[i].op &&
		   m.first == 18446744073709551600ULL && m.count == 14,
		   "%s", line);
		sprintf(line, "%s 0 1000", ranges[i].name);
		ok(!message(&m, line, 1000) && m.first == 0 && m.count == 1000, "%s", line);
	}
}

static const struct {
	const char *line;
	const char *error;
} bad_tiered_messages[] = {
	{ "",
	  "unknown message \"\": expected policy, set, promote, demote, pin, unpin, move, where, evacuate, settle, "
	  "keep or stats reset" },
	{ "flush", "message flush belongs to the cache modes: expected policy, set, promote" },
	{ "mode writeback", "message mode belongs to the cache modes" },
	{ "invalidate 0 1", "message invalidate belongs to the cache modes" },
	{ "move 0 1", "message move has too few words: expected move <tier> <first sector> <sectors>" },
	{ "move 0 1 2 3", "message move has too many words" },
	{ "move 16 0 1", "\"16\" is not the number of a tier: they are 0 to 15 at most, fastest first" },
	{ "move ssd 0 1", "\"ssd\" is not the number of a tier" },
	{ "move 0 1000 1", "1 sectors from 1000 on are beyond the end of the device at 1000" },
	{ "move 0 0 0", "the range is empty" },
	{ "where 0", "message where has too few words: expected where <first sector> <sectors>" },
	{ "where 0 1001", "1001 sectors from 0 on are beyond the end" },
	{ "evacuate", "message evacuate has too few words: expected evacuate <tier>" },
	{ "evacuate 0 1", "message evacuate has too many words" },
	{ "evacuate -1", "\"-1\" is not the number of a tier" },
	{ "settle", "message settle has too few words: expected settle <tier>" },
	{ "settle disk", "\"disk\" is not the number of a tier" },
};

static void test_tiered_messages(void)
{
	struct tier_message m;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad_tiered_messages); i++) {
		int r = message_to(TIER_KIND_TIERED, &m, bad_tiered_messages[i].line, 1000);

		if (!ok(r == -EINVAL && legal_error() && strstr(error, bad_tiered_messages[i].error),
			"refused in tiered mode: %s", shown(bad_tiered_messages[i].line)))
			diag("%d, \"%s\", want \"%s\"", r, error, bad_tiered_messages[i].error);
	}
	ok(!message_to(TIER_KIND_TIERED, &m, "move 15 8 992", 1000) && m.op == TIER_MSG_MOVE && m.tier == 15 &&
	   m.first == 8 && m.count == 992, "move");
	ok(!message_to(TIER_KIND_TIERED, &m, "where 0 1000", 1000) && m.op == TIER_MSG_WHERE && m.count == 1000, "where");
	ok(!message_to(TIER_KIND_TIERED, &m, "evacuate 0", 1000) && m.op == TIER_MSG_EVACUATE && !m.tier, "evacuate");
	ok(!message_to(TIER_KIND_TIERED, &m, "settle 1", 1000) && m.op == TIER_MSG_SETTLE && m.tier == 1, "settle");
	ok(!message_to(TIER_KIND_TIERED, &m, "promote 0 1000", 1000) && m.op == TIER_MSG_PROMOTE, "promote");
	ok(!message_to(TIER_KIND_TIERED, &m, "stats reset", 1000) && m.op == TIER_MSG_STATS_RESET, "stats reset");
	ok(!message_to(TIER_KIND_BOTH, &m, "flush", 1000) && !message_to(TIER_KIND_BOTH, &m, "evacuate 1", 1000),
	   "both, if it is not known which kind it is");
}

int main(void)
{
	test_refusals();
	test_accepted();
	test_accepted_tiered();
	test_modes();
	test_tunables();
	test_tiered_tunables();
	test_messages();
	test_tiered_messages();
	return tap_done();
}
