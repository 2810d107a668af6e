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

static int refuse_files(const struct bdev *devs, unsigned int nr, char *why)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!devs[i].missing && !devs[i].is_block)
			return text_why(why, -ENOTBLK, "%s %.400s is a file, not a block device",
					device_name(i), devs[i].path);
	return 0;
}

static int create_device(const char *name, char **paths, unsigned int nr, const struct table_options *opt,
			 bool read_only)
{
	bool accept_new = table_feature(opt, "accept_new_fast") || table_feature(opt, "accept_new_tier");
	char why[TEXT_LEN], uuid[37], *dm_uuid = NULL, *params = NULL;
	struct bdev devs[MAX_DEVS];
	uint64_t sectors = 0;
	unsigned int i;
	struct audit a;
	int r, code;

	r = devices_open_sb(devs, nr, paths, accept_new, &a, why);
	if (!r)
		r = refuse_files(devs, nr, why);
	if (!r) {
		/* the kernel takes a UUID once: the same metadata can't be started twice */
		dm_uuid = text_format("TIER-%s", text_uuid(a.sb.uuid, uuid));
		r = mapper_check_free(name, dm_uuid, why);
	}
	/* the kernel would say no more than that it is busy */
	for (i = 0; !r && i < nr; i++) {
		r = devices_refuse_held(devs, i, why);
		read_only |= devs[i].missing;
	}
	code = tool_exit_code(r);
	if (!r) {
		sectors = table_sectors(&a.sb, devs, nr, opt);
		params = table_params(&a.sb, paths, nr, opt, why);
		code = params ? TOOL_OK : TOOL_USAGE;
	}
	devices_close(devs, nr);
	if (code == TOOL_OK) {
		r = mapper_create(name, dm_uuid, sectors, params, read_only, why);
		code = tool_exit_code(r);
	}
	if (code != TOOL_OK)
		text_error("%s", why);
	free(params);
	free(dm_uuid);
	audit_free(&a);
	return code;
}

static int run_create(int argc, char **argv)
{
	enum { READONLY = OPT_OWN };
	static const struct option options[] = {
		TABLE_OPTIONS,
		{ "readonly", no_argument, NULL, READONLY },
		TOOL_OPTIONS
	};
	struct table_options opt = { };
	bool read_only = false;
	char why[TEXT_LEN];
	int o, code = TOOL_CONTINUE;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == READONLY)
			read_only = true;
		else if (!table_option(&opt, o, optarg))
			tool_common_option(&verb_create, o, &code);
	}
	if (code == TOOL_CONTINUE && argc - optind < 1 + NR_DEVS) {
		text_error("it takes a name and three devices, NAME SSD HDD METADATA, and perhaps further tiers behind them");
		code = tool_usage(&verb_create);
	}
	if (code == TOOL_CONTINUE && !devices_count_is_right(argc - optind - 1))
		code = tool_usage(&verb_create);
	if (code == TOOL_CONTINUE && mapper_name(argv[optind], why)) {
		text_error("%s", why);
		code = TOOL_USAGE;
	}
	if (code == TOOL_CONTINUE)
		code = create_device(argv[optind], argv + optind + 1, (unsigned int)(argc - optind - 1), &opt,
				     read_only);
	table_options_free(&opt);
	return code;
}

const struct verb verb_create = {
	.name = "create",
	.synopsis = TABLE_SYNOPSIS " [--readonly] NAME SSD HDD METADATA [TIER...]",
	.summary = "start a tier device",
	.help = TABLE_HELP
"  --readonly       of a tiered device: write nothing, to none of its devices\n"
"\n"
TABLE_MISSING_HELP,
	.run = run_create,
};

/* ---- remove ---- */

/**
 * struct last - what is known of a device just before it is removed
 * @dirty_bytes: what only the SSD has
 * @health: its word, "" if unknown, or created read-only: then it is in order
 */
struct last {
	uint64_t dirty_bytes;
	char health[16];
};

/* and a refusal while somebody has it open */
static int look_at(const char *name, struct last *l, char *why)
{
	struct mapper_line line;
	struct status s;
	int r;

	memset(l, 0, sizeof(*l));
	r = mapper_status(name, &line, why);
	if (r)
		return r;
	if (line.open_count) {
		r = text_why(why, -EBUSY, "%.300s is in use", name);
	} else {
		/* a target that makes no sense must still be removable */
		if (!status_parse(&s, line.params, why)) {
			l->dirty_bytes = s.dirty_granules * s.granule_sectors * 512;
			if (!line.read_only)
				text_copy(l->health, sizeof(l->health), s.health);
		}
		status_free(&s);
	}
	free(line.params);
	return r;
}

/* what can be promised of the data that only the SSD has; @said: the kernel's log, or NULL */
static void tell_left(const char *name, const struct last *l, const char *said)
{
	char text[TEXT_SIZE_LEN];
	const char *size = text_size(l->dirty_bytes, text);

	if (!strcmp(l->health, "ro") || !strcmp(l->health, "fail")) {
		text_warn("%s was removed in health %s: the metadata could not be written, and what was written since that failure is not recorded",
			  name, l->health);
		if (l->dirty_bytes)
			text_warn("the SSD had %s of data that the HDD lacks; dmtier lost lists what is recorded of them",
				  size);
		text_warn("dmtier check --clear-needs-check makes the device startable again, if nothing else is wrong");
		return;
	}
	if (said && strstr(said, "not cleanly"))
		text_warn("%s was removed, but not stopped cleanly: what was not flushed before may not be recorded; dmtier check says what the metadata hold; the kernel says: %s",
			  name, said);
	else
		said = NULL;
	if (l->dirty_bytes && !strcmp(l->health, "degraded"))
		text_warn("%s of data stay on the SSD, which has errors (health degraded): the HDD lacks them, and they may not be readable; dmtier lost lists them",
			  size);
	else if (l->dirty_bytes && said)
		text_warn("the SSD has %s of data that the HDD lacks; dmtier lost lists what is recorded of them", size);
	else if (l->dirty_bytes)
		printf("%s of data stay on the SSD, safely recorded; the HDD lacks them\n", size);
}

static int remove_device(const char *name, bool flush)
{
	char why[TEXT_LEN], size[TEXT_SIZE_LEN], *said = NULL;
	struct last last;
	int r;

	r = look_at(name, &last, why);
	if (!r && flush)
		r = flush_device(name, &tool_cancelled, why);
	if (!r && flush)
		r = look_at(name, &last, why);
	if (!r && flush && last.dirty_bytes)
		r = text_why(why, -EAGAIN,
			     "%.200s has %s of new dirty data: it was written to meanwhile", name,
			     text_size(last.dirty_bytes, size));
	if (!r)
		r = mapper_remove(name, &said, why);
	if (r)
		text_error("%s", why);
	else
		tell_left(name, &last, said);
	free(said);
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
"  --flush  write all dirty data back first; without it they stay on the SSD, safely recorded\n"
"\n"
"If the metadata can't be written or the SSD has errors, a warning says what can't be promised.\n",
	.run = run_remove,
};
