// SPDX-License-Identifier: GPL-2.0
/* dmtier: finds the verb, by name or by the name it was called by, and runs it. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dmtier.h"
#include "lib/text.h"

#define LINK_PREFIX	"tier_"	/* tier_format is dmtier format */

static const struct verb * const verbs[] = {
	&verb_format, &verb_check, &verb_table, &verb_create, &verb_remove, &verb_status,
	&verb_flush, &verb_mode, &verb_set, &verb_policy, &verb_promote, &verb_demote, &verb_pin,
	&verb_unpin, &verb_invalidate, &verb_move, &verb_where, &verb_evacuate, &verb_settle, &verb_keep, &verb_size,
	&verb_lost, &verb_sim,
};

#define NR_VERBS	(sizeof(verbs) / sizeof(verbs[0]))

volatile int tool_cancelled;

static void cancel(int signal)
{
	(void)signal;
	tool_cancelled = 1;
}

void tool_catch_signals(void (*handler)(int signal))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESETHAND | SA_RESTART };
	unsigned int i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}

static const struct verb *find_verb(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_VERBS; i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static void print_synopsis(const struct verb *v)
{
	const char *line = v->synopsis;
	const char *lead = "usage: ";
	size_t len;

	do {
		len = strcspn(line, "\n");
		printf("%sdmtier %s%s%.*s\n", lead, v->name, len ? " " : "", (int)len, line);
		lead = "       ";
		line += len;
	} while (*line++);
}

int tool_help(const struct verb *v)
{
	print_synopsis(v);
	printf("\n%s\n", v->summary);
	if (*v->help)
		printf("\n%s", v->help);
	printf("\n  --help     this text\n  --version  version of the program\n");
	return TOOL_OK;
}

int tool_usage(const struct verb *v)
{
	fprintf(stderr, "Try 'dmtier %s --help'.\n", v->name);
	return TOOL_USAGE;
}

static int print_version(void)
{
	printf("dmtier %s\n", DMTIER_VERSION);
	return TOOL_OK;
}

void tool_common_option(const struct verb *v, int option, int *code)
{
	if (option == OPT_HELP)
		*code = tool_help(v);
	else if (option == OPT_VERSION)
		*code = print_version();
	else
		*code = tool_usage(v);
}

int tool_exit_code(int r)
{
	switch (r) {
	case 0:
		return TOOL_OK;
	case -EPROTONOSUPPORT:
		return TOOL_NEWER;
	case -EINTR:
		return TOOL_CANCELLED;
	default:
		return TOOL_OPERATIONAL;
	}
}

static int print_help(void)
{
	unsigned int i;

	printf("usage: dmtier VERB [OPTION]... [ARGUMENT]...\n"
	       "       dmtier help [VERB]\n\n"
	       "Makes one fast block device out of an SSD, a HDD and a small metadata device, and perhaps further disks.\n\n");
	for (i = 0; i < NR_VERBS; i++)
		printf("  %-11s%s\n", verbs[i]->name, verbs[i]->summary);
	printf("\nDevices come in the order SSD HDD METADATA [TIER...].  See dmtier(8).\n");
	return TOOL_OK;
}

static int run_help(int argc, char **argv)
{
	const struct verb *v;

	if (argc < 2)
		return print_help();
	v = find_verb(argv[1]);
	if (v)
		return tool_help(v);
	text_error("unknown verb '%s'; 'dmtier help' lists them", argv[1]);
	return TOOL_USAGE;
}

/* argv[0] becomes "dmtier <verb>": getopt and all messages start with it */
static int run_verb(const struct verb *v, int argc, char **argv)
{
	char *name = text_format("dmtier %s", v->name);
	int code;

	argv[0] = name;
	text_program = name;
	tool_catch_signals(cancel);
	code = v->run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		text_error("cannot write the output");
		code = code ? code : TOOL_OPERATIONAL;
	}
	text_program = "dmtier";
	free(name);
	return code;
}

static int run(int argc, char **argv)
{
	const struct verb *v;

	if (argc < 1) {
		text_error("no verb given; 'dmtier help' lists them");
		return TOOL_USAGE;
	}
	if (!strcmp(argv[0], "help"))
		return run_help(argc, argv);
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
		return print_help();
	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V"))
		return print_version();
	v = find_verb(argv[0]);
	if (v)
		return run_verb(v, argc, argv);
	text_error("unknown verb '%s'; 'dmtier help' lists them", argv[0]);
	return TOOL_USAGE;
}

int main(int argc, char **argv)
{
	const char *name = argc ? strrchr(argv[0], '/') : NULL;
	const struct verb *v;

	name = name ? name + 1 : argc ? argv[0] : "dmtier";
	if (!strncmp(name, LINK_PREFIX, strlen(LINK_PREFIX))) {
		v = find_verb(name + strlen(LINK_PREFIX));
		if (v)
			return run_verb(v, argc, argv);
	}
	return run(argc - 1, argv + 1);
}
