/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs of dmtier. */
#ifndef DMTIER_H
#define DMTIER_H

#include "lib/exit.h"

#ifndef DMTIER_VERSION
#define DMTIER_VERSION "0"
#endif

/**
 * struct verb - one verb
 * @name: as typed
 * @synopsis: what follows the name; several forms are separated by newlines
 * @summary: one line
 * @help: options and details, whole lines, or ""
 * @run: argv[0] is "dmtier <name>"; returns an exit code
 */
struct verb {
	const char *name;
	const char *synopsis;
	const char *summary;
	const char *help;
	int (*run)(int argc, char **argv);
};

extern const struct verb verb_format, verb_check, verb_table, verb_create, verb_remove, verb_status,
	verb_flush, verb_mode, verb_set, verb_policy, verb_promote, verb_demote, verb_pin,
	verb_unpin, verb_invalidate, verb_move, verb_where, verb_evacuate, verb_settle, verb_keep, verb_size, verb_lost,
	verb_sim;

/* set by SIGINT, SIGTERM and SIGHUP; whatever takes long polls it */
extern volatile int tool_cancelled;

/**
 * tool_catch_signals() - what SIGINT, SIGTERM and SIGHUP do, in place of setting tool_cancelled
 * @handler: called in the signal's context; a second signal ends the program at once
 */
void tool_catch_signals(void (*handler)(int signal));

/**
 * tool_help() - print the help of a verb on stdout
 * @v: verb
 *
 * Return: TOOL_OK.
 */
int tool_help(const struct verb *v);

/**
 * tool_usage() - point to the help, after a message
 * @v: verb
 *
 * Return: TOOL_USAGE.
 */
int tool_usage(const struct verb *v);

/* Options that every verb has; values that no letter takes */
enum {
	OPT_HELP = 256,
	OPT_VERSION,
	OPT_OWN,	/* first of a verb's own */
};

#define TOOL_OPTIONS					\
	{ "help", no_argument, NULL, OPT_HELP },	\
	{ "version", no_argument, NULL, OPT_VERSION },	\
	{ NULL, 0, NULL, 0 }

/**
 * tool_common_option() - act on an option that the verb's own switch doesn't know
 * @v: verb
 * @option: from getopt_long()
 * @code: set to the exit code
 */
void tool_common_option(const struct verb *v, int option, int *code);

#define TOOL_CONTINUE	(-1)	/* "no exit code yet" of an option parser */

/* exit code for a -errno of devices_open_sb() and the like */
int tool_exit_code(int r);

#endif /* DMTIER_H */
