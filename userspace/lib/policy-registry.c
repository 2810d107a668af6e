// SPDX-License-Identifier: GPL-2.0
/*
 * Policies in userspace: registry and chains.  The kernel's registry loads modules; here they are
 * linked in.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/list.h>
#include "policy-registry.h"

#define MAX_WORDS	64
#define DEFAULT_POLICY	"clock2q"	/* what a filter without "next" wraps */

/* Statically made, because constructors of any order come here. */
static LIST_HEAD(types);

int tier_policy_register(struct tier_policy_type *type)
{
	if (strlen(type->name) >= TIER_POLICY_NAME_LEN)
		return -EINVAL;
	if (tier_policy_find(type->name))
		return -EEXIST;
	list_add_tail(&type->list, &types);
	return 0;
}

void tier_policy_unregister(struct tier_policy_type *type)
{
	list_del(&type->list);
}

struct tier_policy_type *tier_policy_find(const char *name)
{
	struct tier_policy_type *type;

	list_for_each_entry(type, &types, list)
		if (!strcmp(type->name, name))
			return type;
	return NULL;
}

struct tier_policy_type *tier_policy_nth(unsigned int n)
{
	struct tier_policy_type *type;

	list_for_each_entry(type, &types, list)
		if (!n--)
			return type;
	return NULL;
}

/* the sentence that @error points to from here on, until the thread's next one */
static void __attribute__((format(printf, 2, 3))) say(const char **error, const char *fmt, ...)
{
	static __thread char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*error = text;
}

/* Words of the first policy: up to "next" where a key is expected. */
static int own_words(int argc, const char *const *argv)
{
	int n = 1;

	while (n < argc && strcmp(argv[n], "next"))
		n += 2;
	return n < argc ? n : argc;
}

static int set_all(struct tier_policy *p, int argc, const char *const *argv, const char **error)
{
	int i, r;

	for (i = 1; i + 1 < argc; i += 2) {
		r = p->type->set(p, argv[i], argv[i + 1]);
		if (r == -ENOENT)
			say(error, "policy %s has no tunable \"%.32s\"", p->type->name, argv[i]);
		else if (r)
			say(error, "policy %s: bad value \"%.32s\" of \"%.32s\"", p->type->name,
			    argv[i + 1], argv[i]);
		if (r)
			return -EINVAL;
	}
	if (i < argc) {
		say(error, "policy %s: \"%.32s\" has no value", p->type->name, argv[i]);
		return -EINVAL;
	}
	return 0;
}

struct tier_policy *tier_policy_chain_create(int argc, const char *const *argv,
					     const struct tier_policy_params *params,
					     const char **error)
{
	static const char *const wrapped[] = { DEFAULT_POLICY };
	struct tier_policy *p, *next = NULL;
	struct tier_policy_type *type;
	const char *dummy;
	int words, r;

	if (!error)
		error = &dummy;
	*error = "the policy's name is missing";
	if (argc < 1)
		return ERR_PTR(-EINVAL);
	type = tier_policy_find(argv[0]);
	if (!type) {
		say(error, "unknown policy \"%.32s\"", argv[0]);
		return ERR_PTR(-ENOENT);
	}

	words = own_words(argc, argv);
	if (words < argc && !type->filter) {
		say(error, "policy %s is no filter: \"next\" can't follow", type->name);
		return ERR_PTR(-EINVAL);
	}
	if (words + 1 == argc) {
		say(error, "policy %s: a policy's name must follow \"next\"", type->name);
		return ERR_PTR(-EINVAL);
	}
	if (type->filter) {
		next = words < argc ?
			tier_policy_chain_create(argc - words - 1, argv + words + 1, params, error) :
			tier_policy_chain_create(1, wrapped, params, error);
		if (IS_ERR(next))
			return next;
	}

	p = type->create(params, next);
	if (IS_ERR(p)) {
		say(error, "policy %s can't be made", type->name);
		tier_policy_chain_destroy(next);
		return p;
	}
	p->type = type;
	p->next = next;
	r = set_all(p, words, argv, error);
	if (r) {
		tier_policy_chain_destroy(p);
		return ERR_PTR(r);
	}
	*error = NULL;
	return p;
}

struct tier_policy *tier_policy_chain_create_from(const char *line,
						  const struct tier_policy_params *params,
						  const char **error)
{
	const char *words[MAX_WORDS];
	char *copy, *word, *save;
	struct tier_policy *p;
	int n = 0;

	copy = strdup(line);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	for (word = strtok_r(copy, " ", &save); word && n < MAX_WORDS;
	     word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	p = tier_policy_chain_create(n, words, params, error);
	free(copy);
	return p;
}

void tier_policy_chain_destroy(struct tier_policy *p)
{
	struct tier_policy *next;

	if (IS_ERR(p))
		return;
	for (; p; p = next) {
		next = p->next;
		p->type->destroy(p);
	}
}

u64 tier_policy_chain_memory(const struct tier_policy *p, const struct tier_policy_params *params)
{
	u64 bytes = 0;

	for (; p; p = p->next)
		bytes += p->type->memory(params);
	return bytes;
}
