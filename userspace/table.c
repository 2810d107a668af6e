// SPDX-License-Identifier: GPL-2.0
/* dmtier table: print the table line of a tier device. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "dmtier.h"
#include "lib/devices.h"
#include "lib/table-line.h"
#include "lib/text.h"

static int print_table(char **paths, const struct table_options *opt)
{
	struct bdev devs[NR_DEVS];
	char why[TEXT_LEN];
	struct audit a;
	char *params;
	int code;

	code = tool_exit_code(devices_open_sb(devs, paths, table_feature(opt, "accept_new_fast"), &a,
					      why));
	if (code == TOOL_OK) {
		params = table_params(&a.sb, paths, opt, why);
		if (params) {
			printf("0 %llu " TABLE_TARGET " %s\n",
			       (unsigned long long)table_sectors(&a.sb, &devs[DEV_SSD], &devs[DEV_HDD], opt),
			       params);
			table_warn_policy(opt);
		} else {
			code = TOOL_USAGE;
		}
		free(params);
	}
	if (code != TOOL_OK)
		text_error("%s", why);
	audit_free(&a);
	devices_close(devs);
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
	if (code == TOOL_CONTINUE && argc - optind != NR_DEVS) {
		text_error("it takes three devices: SSD HDD METADATA");
		code = tool_usage(&verb_table);
	}
	if (code == TOOL_CONTINUE)
		code = print_table(argv + optind, &opt);
	table_options_free(&opt);
	return code;
}

const struct verb verb_table = {
	.name = "table",
	.synopsis = TABLE_SYNOPSIS " SSD HDD METADATA",
	.summary = "print the table line of a tier device",
	.help = TABLE_HELP,
	.run = run_table,
};
