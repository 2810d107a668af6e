// SPDX-License-Identifier: GPL-2.0
/* dmtier table: print the table line of a tier device. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "dmtier.h"
#include "lib/devices.h"
#include "lib/table-line.h"
#include "lib/text.h"

static int print_table(char **paths, unsigned int nr, const struct table_options *opt)
{
	bool accept_new = table_feature(opt, "accept_new_fast") || table_feature(opt, "accept_new_tier");
	struct bdev devs[MAX_DEVS];
	char why[TEXT_LEN];
	struct audit a;
	char *params;
	int code;

	code = tool_exit_code(devices_open_sb(devs, nr, paths, accept_new, &a, why));
	if (code == TOOL_OK) {
		params = table_params(&a.sb, paths, nr, opt, why);
		if (params) {
			printf("0 %llu " TABLE_TARGET " %s\n",
			       (unsigned long long)table_sectors(&a.sb, devs, nr, opt), params);
			table_warn_policy(&a.sb, opt);
		} else {
			code = TOOL_USAGE;
		}
		free(params);
	}
	if (code != TOOL_OK)
		text_error("%s", why);
	audit_free(&a);
	devices_close(devs, nr);
	return code;
}

static int run_table(int argc, char **argv)
{
	static const struct option options[] = {
		TABLE_OPTIONS,
		TOOL_OPTIONS
	};
	struct table_options opt = { };
	int o, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!table_option(&opt, o, optarg))
			tool_common_option(&verb_table, o, &code);
	if (code == TOOL_CONTINUE && !devices_count_is_right(argc - optind))
		code = tool_usage(&verb_table);
	if (code == TOOL_CONTINUE)
		code = print_table(argv + optind, (unsigned int)(argc - optind), &opt);
	table_options_free(&opt);
	return code;
}

const struct verb verb_table = {
	.name = "table",
	.synopsis = TABLE_SYNOPSIS " SSD HDD METADATA [TIER...]",
	.summary = "print the table line of a tier device",
	.help = TABLE_HELP "\n" TABLE_MISSING_HELP,
	.run = run_table,
};
