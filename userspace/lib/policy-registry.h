/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policies in userspace: the modules are linked in and register themselves when the program starts.
 */
#ifndef TIER_POLICY_REGISTRY_H
#define TIER_POLICY_REGISTRY_H

#include "tier-policy.h"

/**
 * tier_policy_find() - a registered policy by name
 * @name: as in the table line
 *
 * Return: NULL if there is none of that name.
 */
struct tier_policy_type *tier_policy_find(const char *name);

/**
 * tier_policy_nth() - walk the registered policies
 * @n: 0 for the first
 *
 * Return: NULL after the last.
 */
struct tier_policy_type *tier_policy_nth(unsigned int n);

/**
 * tier_policy_chain_create() - make a policy, and those it wraps, from words
 * @argc: number of words
 * @argv: NAME [KEY VALUE]... ["next" NAME [KEY VALUE]...]..., as in the table line
 * @params: what it is made for
 * @error: set to what is wrong if it fails, good until the thread's next failure; may be NULL
 *
 * Return: the outermost policy, or ERR_PTR(-EINVAL), -ENOENT (no such policy), -ENOMEM.
 */
struct tier_policy *tier_policy_chain_create(int argc, const char *const *argv,
					     const struct tier_policy_params *params,
					     const char **error);

/**
 * tier_policy_chain_create_from() - the same from one string
 * @line: words separated by blanks
 * @params: what it is made for
 * @error: set to what is wrong if it fails; may be NULL
 *
 * Return: as tier_policy_chain_create().
 */
struct tier_policy *tier_policy_chain_create_from(const char *line,
						  const struct tier_policy_params *params,
						  const char **error);

/**
 * tier_policy_chain_destroy() - free a policy and those it wraps
 * @p: the outermost; NULL and error pointers are ignored
 */
void tier_policy_chain_destroy(struct tier_policy *p);

/**
 * tier_policy_chain_memory() - predicted memory of a policy and those it wraps
 * @p: the outermost
 * @params: what it was made for
 */
u64 tier_policy_chain_memory(const struct tier_policy *p, const struct tier_policy_params *params);

#endif /* TIER_POLICY_REGISTRY_H */
