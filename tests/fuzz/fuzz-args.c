// SPDX-License-Identifier: GPL-2.0
/*
 * Table lines, messages and tunables from anybody's hand.
 *
 * Input: a byte that says which of the three, and from 3 on of a tiered device; then words, divided by blanks.
 */
#include "fuzz.h"
#include <errno.h>
#include <linux/kernel.h>
#include "core/args.h"

#define FUZZ_WORDS	300U
#define FUZZ_SECTORS	1000000ULL

static char fuzz_text[4096];
static char *fuzz_words[FUZZ_WORDS];
static char fuzz_error[TIER_ERROR_LEN + 1];

static unsigned int split_words(const uint8_t *data, size_t size)
{
	unsigned int n = 0;
	char *p = fuzz_text;

	if (size > sizeof(fuzz_text) - 1)
		size = sizeof(fuzz_text) - 1;
	memcpy(fuzz_text, data, size);
	fuzz_text[size] = '\0';
	if (!size)
		return 0;
	while (n < FUZZ_WORDS) {
		fuzz_words[n++] = p;
		p += strcspn(p, " ");
		if (!*p)
			break;
		*p++ = '\0';
	}
	return n;
}

static void check_result(int r)
{
	size_t i, len = strnlen(fuzz_error, sizeof(fuzz_error));

	fuzz_assert(len < TIER_ERROR_LEN && fuzz_error[TIER_ERROR_LEN] == 0x7e);
	fuzz_assert(r == 0 || r == -EINVAL);
	fuzz_assert(!r == !len);
	for (i = 0; i < len; i++)
		fuzz_assert(fuzz_error[i] >= 0x20 && fuzz_error[i] <= 0x7e);
}

static void check_tunables_fit(const struct tier_tunables *t)
{
	fuzz_assert(t->v[TIER_TUNE_DIRTY_LOW] < t->v[TIER_TUNE_DIRTY_HIGH]);
	fuzz_assert(t->v[TIER_TUNE_FREE_LOW] < t->v[TIER_TUNE_FREE_HIGH]);
	fuzz_assert(t->v[TIER_TUNE_SEQ_LANDING] < TIER_MAX_DEVS && t->v[TIER_TUNE_MIGRATION]);
}

static bool differ(const char *a, const char *b)
{
	return strcmp(a, b) || !strcmp(a, TIER_MISSING);
}

static void fuzz_table(unsigned int n)
{
	struct tier_args a;
	int r = tier_args_parse(&a, n, fuzz_words, fuzz_error);
	u32 i;

	check_result(r);
	if (r)
		return;
	fuzz_assert(*a.fast && *a.slow && *a.meta && *a.policy);
	fuzz_assert(differ(a.fast, a.slow) && differ(a.fast, a.meta) && differ(a.slow, a.meta));
	fuzz_assert(a.block_sectors >= 8 && a.block_sectors <= 2048);
	fuzz_assert(!(a.block_sectors & (a.block_sectors - 1)));
	if (a.mode == TIER_MODE_TIERED)
		fuzz_assert(a.block_sectors >= 128 && a.nr_tier_devs <= TIER_MAX_DEVS - 2 && !a.accept_new_fast &&
			    a.nr_missing < a.nr_tier_devs + 2 && strcmp(a.meta, TIER_MISSING));
	else
		fuzz_assert(a.mode < TIER_MODE_TIERED && !a.nr_tier_devs && !a.nr_missing);
	fuzz_assert(a.tunables.kind == tier_mode_kind(a.mode));
	fuzz_assert(a.policy_argc <= TIER_MAX_POLICY_ARGS);
	fuzz_assert(a.policy_argv + a.policy_argc == fuzz_words + n);
	for (i = 0; a.policy[i]; i++)
		fuzz_assert(a.policy[i] != '/' && a.policy[i] != '.' && i < 31);
	check_tunables_fit(&a.tunables);
}

static void fuzz_message(unsigned int n, enum tier_kind kind)
{
	struct tier_message m;
	int r = tier_message_parse(&m, n, fuzz_words, kind, FUZZ_SECTORS, fuzz_error);

	check_result(r);
	if (r)
		return;
	if (m.op >= TIER_MSG_PROMOTE && m.op <= TIER_MSG_WHERE)
		fuzz_assert(m.count && m.first < FUZZ_SECTORS && m.count <= FUZZ_SECTORS - m.first);
	fuzz_assert(m.tier < TIER_MAX_DEVS);
	if (m.op == TIER_MSG_POLICY)
		fuzz_assert(m.argc <= TIER_MAX_POLICY_ARGS && m.argv + m.argc == fuzz_words + n);
}

static void fuzz_tunables(unsigned int n, enum tier_kind kind, size_t room)
{
	struct tier_tunables t, old;
	char buf[512];
	unsigned int i, count;
	int r, len;

	tier_tunables_default(&t, kind);
	for (i = 0; i + 1 < n; i += 2) {
		old = t;
		fuzz_error[0] = '\0';
		r = tier_tunable_set(&t, fuzz_words[i], fuzz_words[i + 1], fuzz_error);
		if (r == -ENOENT)
			fuzz_assert(!*fuzz_error);
		else
			check_result(r);
		if (r)
			fuzz_assert(!memcmp(&t, &old, sizeof(t)));
		check_tunables_fit(&t);
	}
	room %= sizeof(buf) + 1;
	len = tier_tunables_emit(&t, n & 1, buf, room, &count);
	fuzz_assert(len >= 0 && (size_t)len <= room);
	fuzz_assert(!room || strlen(buf) == (size_t)len);
	fuzz_assert(count % 2 == 0 && count <= 2 * TIER_NR_TUNABLES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum tier_kind kind = TIER_KIND_CACHE;
	unsigned int n;

	if (!size)
		return 0;
	if (data[0] / 3 % 2)
		kind = TIER_KIND_TIERED;
	n = split_words(data + 1, size - 1);
	memset(fuzz_error, 0x7e, sizeof(fuzz_error));
	switch (data[0] % 3) {
	case 0:
		fuzz_table(n);
		break;
	case 1:
		fuzz_message(n, kind);
		break;
	case 2:
		fuzz_tunables(n, kind, size);
		break;
	}
	return 0;
}
