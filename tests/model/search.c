// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

/*
 * States are numbered in the order in which they are found, which is the order in which they are
 * expanded.  The table maps keys to numbers, by open addressing.
 */
struct search {
	const struct search_model *m;
	struct key *keys;
	u32 *parent;
	u32 *table;
	u64 nr, room;
	u64 mask;
	u64 max_states;
	u64 steps;
	u32 now;		/* being expanded */
	const char *violated;
	struct key bad;
	struct step bad_step;
	/* while a trace is printed: the step to this key is looked for */
	const struct key *wanted;
	struct step found;
};

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

static u64 hash(const struct key *key)
{
	u64 h = 0x9e3779b97f4a7c15ULL;
	u32 i;

	for (i = 0; i < KEY_WORDS; i++) {
		h = (h ^ key->w[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return h;
}

static void enter(struct search *s, u32 number)
{
	u64 i = hash(&s->keys[number]) & s->mask;

	while (s->table[i])
		i = (i + 1) & s->mask;
	s->table[i] = number + 1;
}

static void grow(struct search *s)
{
	u64 i;

	s->room *= 2;
	s->keys = need(realloc(s->keys, s->room * sizeof(*s->keys)));
	s->parent = need(realloc(s->parent, s->room * sizeof(*s->parent)));
	free(s->table);
	s->mask = s->room * 2 - 1;
	s->table = need(calloc(s->room * 2, sizeof(*s->table)));
	for (i = 0; i < s->nr; i++)
		enter(s, i);
}

static bool same(const struct key *a, const struct key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void search_add(struct search *s, const struct key *key, struct step step)
{
	u64 i;

	if (s->wanted) {
		if (!s->found.fmt && same(key, s->wanted))
			s->found = step;
		return;
	}
	if (s->violated)
		return;
	s->steps++;
	for (i = hash(key) & s->mask; s->table[i]; i = (i + 1) & s->mask)
		if (same(&s->keys[s->table[i] - 1], key))
			return;
	if (s->nr == s->room) {
		grow(s);
		for (i = hash(key) & s->mask; s->table[i]; i = (i + 1) & s->mask)
			;
	}
	s->keys[s->nr] = *key;
	s->parent[s->nr] = s->now;
	s->table[i] = ++s->nr;
}

void search_fail(struct search *s, const struct key *key, struct step step, const char *why)
{
	if (s->violated)
		return;
	s->violated = why;
	s->bad = *key;
	s->bad_step = step;
}

static void print_step(struct search *s, u32 nr, struct step step, const struct key *key)
{
	printf("#  %3u  ", nr);
	printf(step.fmt, step.n[0], step.n[1], step.n[2], step.n[3]);
	printf("\n#         ");
	s->m->show(key);
	printf("\n");
}

static void print_trace(struct search *s)
{
	u32 *path, n = 0, i, at;

	for (at = s->now; at; at = s->parent[at])
		n++;
	path = need(malloc((n + 1) * sizeof(*path)));
	for (at = s->now, i = n; ; at = s->parent[at]) {
		path[i] = at;
		if (!i--)
			break;
	}
	printf("# %s:\n", s->violated);
	print_step(s, 0, STEP("start", 0), &s->keys[0]);
	for (i = 1; i <= n; i++) {
		s->wanted = &s->keys[path[i]];
		s->found.fmt = NULL;
		s->m->expand(s, &s->keys[path[i - 1]]);
		print_step(s, i, s->found, s->wanted);
	}
	s->wanted = NULL;
	print_step(s, n + 1, s->bad_step, &s->bad);
	free(path);
}

struct search_result search_run(const struct search_model *m, const struct key *start, u64 max_states,
				bool trace)
{
	struct search s = { .m = m, .max_states = max_states };
	struct search_result r = { 0 };
	u64 level_end = 1;

	s.room = 1 << 16;
	s.keys = need(malloc(s.room * sizeof(*s.keys)));
	s.parent = need(malloc(s.room * sizeof(*s.parent)));
	s.mask = s.room * 2 - 1;
	s.table = need(calloc(s.room * 2, sizeof(*s.table)));
	search_add(&s, start, STEP("start", 0));

	for (u64 i = 0; i < s.nr && !s.violated && s.nr < max_states; i++) {
		struct key key = s.keys[i];	/* the array may move */

		if (i == level_end) {
			r.depth++;
			level_end = s.nr;
		}
		s.now = i;
		m->expand(&s, &key);
	}
	r.states = s.nr;
	r.steps = s.steps;
	r.violated = s.violated;
	r.full = !s.violated && s.nr >= max_states;
	if (s.violated && trace)
		print_trace(&s);
	free(s.keys);
	free(s.parent);
	free(s.table);
	return r;
}
