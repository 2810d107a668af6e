// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/args.h"
#include "status-parse.h"
#include "text.h"

/**
 * struct words - a line being read
 * @v: its words
 * @nr: how many
 * @at: the next one
 * @ended: a word was asked for behind the last one
 * @bad: the first word that was not what it should be, or NULL
 * @wanted: what should have been there
 */
struct words {
	char **v;
	unsigned int nr;
	unsigned int at;
	bool ended;
	const char *bad;
	const char *wanted;
};

static const char *next(struct words *w)
{
	if (w->at < w->nr)
		return w->v[w->at++];
	w->ended = true;
	return "";
}

/* decimal digits up to @end, which must follow */
static bool parse_number(const char *text, char end, uint64_t *value, const char **rest)
{
	uint64_t v = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *text - '0', &v))
			return false;
	if (*text != end)
		return false;
	*value = v;
	if (rest)
		*rest = text + 1;
	return true;
}

static void reject(struct words *w, const char *word, const char *wanted)
{
	if (w->ended || w->bad)
		return;
	w->bad = word;
	w->wanted = wanted;
}

static uint64_t next_number(struct words *w)
{
	const char *word = next(w);
	uint64_t v = 0;

	if (!parse_number(word, '\0', &v, NULL))
		reject(w, word, "a number");
	return v;
}

/* "<part>/<whole>" */
static void next_ratio(struct words *w, uint64_t *part, uint64_t *whole)
{
	const char *word = next(w), *rest = "";

	if (!parse_number(word, '/', part, &rest) || !parse_number(rest, '\0', whole, NULL))
		reject(w, word, "two numbers with a slash between them");
}

static const char *next_health(struct words *w)
{
	static const char * const known[] = { "rw", "degraded", "ro", "fail", "inactive" };
	const char *word = next(w);
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(word, known[i]))
			return word;
	reject(w, word, "rw, degraded, ro, fail or inactive");
	return word;
}

static const char *next_mode(struct words *w)
{
	const char *word = next(w);
	enum tier_mode mode;

	if (tier_mode_parse(word, &mode))
		reject(w, word, "a mode");
	return word;
}

static void next_section(struct words *w, struct status_section *section)
{
	uint64_t words = next_number(w);
	unsigned int i;

	if (w->ended || w->bad)
		return;
	if (words % 2) {
		reject(w, w->v[w->at - 1], "an even number of words");
		return;
	}
	if (words > w->nr - w->at) {
		words = (w->nr - w->at) & ~1U;
		w->ended = true;
	}
	section->pairs = text_alloc(words / 2, sizeof(*section->pairs));
	section->nr = (unsigned int)(words / 2);
	for (i = 0; i < section->nr; i++) {
		section->pairs[i].key = w->v[w->at++];
		section->pairs[i].value = w->v[w->at++];
	}
}

#define TIER_WORDS	10U	/* of the first kernels */
#define MOST_TIERS	64U

static void next_tier(struct words *w, struct status_tier *t, unsigned int words)
{
	t->slots = next_number(w);
	t->used = next_number(w);
	t->reads = next_number(w);
	t->writes = next_number(w);
	t->landings = next_number(w);
	t->moves_in = next_number(w);
	t->moves_out = next_number(w);
	t->pinned = next_number(w);
	t->errors = next_number(w);
	t->state = next(w);
	words -= TIER_WORDS;
	if (words) {
		t->stuck = next_number(w);
		words--;
	}
	/* those of a newer kernel */
	for (; words; words--)
		next(w);
}

/* the number of words is that of a newer section, if it does not begin with "tiers" */
static void next_tiers(struct words *w, struct status *s)
{
	uint64_t words = next_number(w), nr;
	const char *count;
	unsigned int i;

	if (w->bad || strcmp(next(w), "tiers"))
		return;
	count = next(w);
	if (!parse_number(count, '\0', &nr, NULL) || !nr || nr > MOST_TIERS) {
		reject(w, count, "a number of tiers");
		return;
	}
	if (words < 2 || (words - 2) % nr || (words - 2) / nr < TIER_WORDS || words > 100 * MOST_TIERS) {
		reject(w, count, "a number of tiers that fits the number of words");
		return;
	}
	s->tiers = text_alloc(nr, sizeof(*s->tiers));
	for (i = 0; i < nr; i++)
		s->tiers[i].state = "";
	for (i = 0; i < nr && !w->bad && !w->ended; i++)
		next_tier(w, &s->tiers[i], (unsigned int)((words - 2) / nr));
	s->nr_tiers = i;
}

static void read_line(struct status *s, struct words *w)
{
	const char *flag;
	unsigned int i;

	s->health = next_health(w);
	flag = next(w);
	s->needs_check = !strcmp(flag, "needs_check");
	if (!s->needs_check && strcmp(flag, "-"))
		reject(w, flag, "needs_check or -");
	s->mode = next_mode(w);
	s->wanted_mode = next_mode(w);
	s->block_sectors = next_number(w);
	s->granule_sectors = next_number(w);
	next_ratio(w, &s->used_slots, &s->nr_slots);
	s->ready_slots = next_number(w);
	s->dirty_slots = next_number(w);
	s->dirty_granules = next_number(w);
	next_ratio(w, &s->journal_used, &s->journal_blocks);
	for (i = STATUS_COUNTERS; i <= STATUS_TUNABLES && !w->bad; i++)
		next_section(w, &s->sections[i]);
	if (!w->bad)
		s->policy = next(w);
	if (!w->bad)
		next_section(w, &s->sections[STATUS_POLICY]);
	/* no cache has what may come here */
	if (!w->bad && w->at < w->nr && !strcmp(s->wanted_mode, "tiered"))
		next_tiers(w, s);
}

int status_parse(struct status *s, const char *params, char *why)
{
	struct words w = { };
	char *word, *save = NULL;

	memset(s, 0, sizeof(*s));
	s->policy = "";
	s->text = text_format("%s", params);
	w.v = text_alloc(strlen(params) / 2 + 1, sizeof(*w.v));
	for (word = strtok_r(s->text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save))
		w.v[w.nr++] = word;
	read_line(s, &w);
	s->complete = !w.ended && !w.bad;
	free(w.v);
	if (!s->health[0])
		return text_why(why, -EINVAL, "the status line is empty");
	if (w.bad)
		return text_why(why, -EINVAL, "the status line has '%.64s' where %s should be",
				w.bad, w.wanted);
	return 0;
}

void status_free(struct status *s)
{
	unsigned int i;

	for (i = 0; i < STATUS_NR_SECTIONS; i++)
		free(s->sections[i].pairs);
	free(s->tiers);
	free(s->text);
	memset(s, 0, sizeof(*s));
}

const char *status_value(const struct status *s, enum status_section_name section, const char *key)
{
	const struct status_section *sec = &s->sections[section];
	unsigned int i;

	for (i = 0; i < sec->nr; i++)
		if (!strcmp(sec->pairs[i].key, key))
			return sec->pairs[i].value;
	return NULL;
}

uint64_t status_number(const struct status *s, enum status_section_name section, const char *key,
		       uint64_t missing)
{
	const char *text = status_value(s, section, key);
	uint64_t v;

	return text && parse_number(text, '\0', &v, NULL) ? v : missing;
}
