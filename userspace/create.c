// SPDX-License-Identifier: GPL-2.0
/* dmtier create and remove: start and stop a tier device. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dmtier.h"
#include "lib/devices.h"
#include "lib/dm.h"
#include "lib/flush.h"
#include "lib/status-parse.h"
#include "lib/table-line.h"
#include "lib/text.h"

/* ---- create ---- */

static int refuse_files(const struct bdev *devs, char *why)
{
	unsigned int i;

	for (i = 0; i < NR_DEVS; i++)
		if (!devs[i].is_block)
			return text_why(why, -ENOTBLK, "%s %.400s is a file, not a block device",
					device_names[i], devs[i].path);
	return 0;
}

static int create_device(const char *name, char **paths, const struct table_options *opt)
{
	char why[TEXT_LEN], uuid[37], *dm_uuid, *params = NULL;
	struct bdev devs[NR_DEVS];
	uint64_t sectors = 0;
	struct audit a;
	int r, code;

	r = devices_open_sb(devs, paths, table_feature(opt, "accept_new_fast"), &a, why);
	if (!r)
		r = refuse_files(devs, why);
	code = tool_exit_code(r);
	if (!r) {
		sectors = table_sectors(&a.sb, &devs[DEV_SSD], &devs[DEV_HDD], opt);
		params = table_params(&a.sb, paths, opt, why);
		code = params ? TOOL_OK : TOOL_USAGE;
	}
	devices_close(devs);
	if (code == TOOL_OK) {
		/* the kernel takes a UUID once: the same metadata can't be started twice */
		dm_uuid = text_format("TIER-%s", text_uuid(a.sb.uuid, uuid));
		r = mapper_create(name, dm_uuid, sectors, params, why);
		code = tool_exit_code(r);
		free(dm_uuid);
	}
	if (code != TOOL_OK)
		text_error("%s", why);
	free(params);
	audit_free(&a);
	return code;
}

static int run_create(int argc, char **argv)
{
	static const struct option options[] = {
		TABLE_OPTIONS,
		TOOL_OPTIONS
	};
	struct table_options opt = { };
	int o, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!table_option(&opt, o, optarg))
			tool_common_option(&verb_create, o, &code);
	if (code == TOOL_CONTINUE && argc - optind != 1 + NR_DEVS) {
		text_error("it takes a name and three devices: NAME SSD HDD METADATA");
		code = tool_usage(&verb_create);
	}
	if (code == TOOL_CONTINUE)
		code = create_device(argv[optind], argv + optind + 1, &opt);
	table_options_free(&opt);
	return code;
}

const struct verb verb_create = {
	.name = "create",
	.synopsis = TABLE_SYNOPSIS " NAME SSD HDD METADATA",
	.summary = "start a tier device",
	.help = TABLE_HELP,
	.run = run_create,
};

/* ---- remove ---- */

/* dirty granules left, and a refusal while somebody has it open */
static int look_at(const char *name, uint64_t *dirty_bytes, char *why)
{
	struct mapper_line line;
	struct status s;
	int r;

	r = mapper_status(name, &line, why);
	if (r)
		return r;
	if (line.open_count) {
		r = text_why(why, -EBUSY, "%.300s is in use", name);
	} else if (!status_parse(&s, line.params, why)) {
		*dirty_bytes = s.dirty_granules * s.granule_sectors * 512;
		status_free(&s);
	} else {
		/* a target that makes no sense must still be removable */
		*dirty_bytes = 0;
		status_free(&s);
	}
	free(line.params);
	return r;
}

static int remove_device(const char *name, bool flush)
{
	char why[TEXT_LEN], size[TEXT_SIZE_LEN];
	uint64_t dirty_bytes = 0;
	int r;

	r = look_at(name, &dirty_bytes, why);
	if (!r && flush)
		r = flush_device(name, &tool_cancelled, why);
	if (!r && flush)
		r = look_at(name, &dirty_bytes, why);
	if (!r && flush && dirty_bytes)
		r = text_why(why, -EAGAIN,
			     "%.200s has %s of new dirty data: it was written to meanwhile", name,
			     text_size(dirty_bytes, size));
	if (!r)
		r = mapper_remove(name, why);
	if (r)
		text_error("%s", why);
	else if (dirty_bytes)
		printf("%s of data stay on the SSD, safely recorded; the HDD lacks them\n",
		       text_size(dirty_bytes, size));
	return tool_exit_code(r);
}

static int run_remove(int argc, char **argv)
{
	enum { FLUSH = OPT_OWN };
	static const struct option options[] = {
		{ "flush", no_argument, NULL, FLUSH },
		TOOL_OPTIONS
	};
	int o, code = TOOL_CONTINUE;
	bool flush = false;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == FLUSH)
			flush = true;
		else
			tool_common_option(&verb_remove, o, &code);
	}
	if (code == TOOL_CONTINUE && argc - optind != 1) {
		text_error("it takes one name");
		code = tool_usage(&verb_remove);
	}
	return code == TOOL_CONTINUE ? remove_device(argv[optind], flush) : code;
}

const struct verb verb_remove = {
	.name = "remove",
	.synopsis = "[--flush] NAME",
	.summary = "stop a tier device",
	.help =
"  --flush  write all dirty data back first; without it they stay on the SSD, safely recorded\n",
	.run = run_remove,
};
