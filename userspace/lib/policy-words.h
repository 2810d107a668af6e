/* SPDX-License-Identifier: GPL-2.0 */
/* Policies as words of a command line, checked before the kernel sees them. */
#ifndef TIER_TOOLS_POLICY_WORDS_H
#define TIER_TOOLS_POLICY_WORDS_H

/**
 * policy_words_try() - can this policy be made here?
 * @argc: number of words
 * @argv: NAME [KEY VALUE]... [next NAME [KEY VALUE]...]...
 * @why: TEXT_LEN bytes, what is wrong, and for -EINVAL the tunables of the policies named
 *
 * Return: 0; -ENOENT: one of them is not linked in; or -EINVAL.
 */
int policy_words_try(unsigned int argc, char **argv, char *why);

/**
 * policy_words_check() - would this policy start?
 * @argc: number of words
 * @argv: NAME [KEY VALUE]... [next NAME [KEY VALUE]...]...
 * @why: TEXT_LEN bytes
 *
 * Policies that are not linked in pass: the kernel may have them.
 * Return: 0 or -EINVAL.
 */
int policy_words_check(unsigned int argc, char **argv, char *why);

/**
 * policy_words_warn() - warn about policies that the running kernel does not have
 * @argc: number of words
 * @argv: NAME [KEY VALUE]... [next NAME [KEY VALUE]...]...
 *
 * Those of this version and those for which there is a module dm-tier-NAME, or an alias of that name, pass.
 */
void policy_words_warn(unsigned int argc, char **argv);

#endif /* TIER_TOOLS_POLICY_WORDS_H */
