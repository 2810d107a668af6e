// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dm.h"
#include "flush.h"
#include "status-parse.h"
#include "text.h"

#define POLL_NS	200000000L

struct progress {
	char state[16];
	uint64_t left;		/* dirty bytes */
	uint64_t unwritable;	/* bytes of the blocks whose last write back failed */
	bool read_only;		/* the metadata can't be written */
	bool failed;
};

static int read_progress(const char *name, struct progress *p, char *why)
{
	struct mapper_line line;
	struct status s;
	const char *state;
	int r;

	r = mapper_status(name, &line, why);
	if (r)
		return r;
	r = status_parse(&s, line.params, why);
	if (!r && !strcmp(s.wanted_mode, "tiered"))
		r = text_why(why, -EINVAL, "%.200s is tiered: its data are in one place only, there is nothing to write back",
			     name);
	if (!r) {
		state = status_value(&s, STATUS_STATE, "flush");
		text_copy(p->state, sizeof(p->state), state ? state : "");
		p->left = status_number(&s, STATUS_STATE, "flush_left", s.dirty_granules) * s.granule_sectors * 512;
		p->unwritable = status_number(&s, STATUS_STATE, "unwritable", 0) * s.block_sectors * 512;
		p->read_only = !strcmp(s.health, "ro");
		p->failed = !strcmp(s.health, "fail");
	}
	status_free(&s);
	free(line.params);
	return r;
}

/* does it write anything at all? */
static int judge_health(const char *name, const struct progress *p, char *why)
{
	if (p->read_only)
		return text_why(why, -EIO,
				"%.200s: health is ro: the metadata can't be written; nothing is written back; the kernel log says what happened",
				name);
	if (p->failed)
		return text_why(why, -EIO,
				"%.200s: health is fail: nothing is written back; the kernel log says what happened", name);
	return 0;
}

static int judge(const char *name, const struct progress *p, char *why)
{
	char size[TEXT_SIZE_LEN];
	int r = judge_health(name, p, why);

	if (r)
		return r;
	if (!strcmp(p->state, "failed"))
		return text_why(why, -EIO, "%.200s: write back failed, %s are left; the kernel log names the blocks",
				name, text_size(p->left, size));
	if (p->unwritable)
		return text_why(why, -EIO,
				"%.200s: up to %s can't be written back to the HDD; the kernel log names the blocks",
				name, text_size(p->unwritable, size));
	return 0;
}

int flush_device(const char *name, const volatile int *cancel, char *why)
{
	static const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t total = 0;
	struct progress p = { 0 };
	int r;

	r = read_progress(name, &p, why);
	if (!r)
		r = judge_health(name, &p, why);
	if (!r)
		r = mapper_message(name, "flush", why);
	if (!r)
		r = read_progress(name, &p, why);
	while (!r && !strcmp(p.state, "running")) {
		if (p.read_only || p.failed)
			break;
		if (*cancel)
			return text_why(why, -EINTR,
					"not waiting any longer; the target goes on writing back");
		if (p.left > total)
			total = p.left;
		text_progress("writing back", total - p.left, total);
		nanosleep(&pause, NULL);
		r = read_progress(name, &p, why);
	}
	if (!r)
		text_progress("writing back", total, total);
	else
		text_progress_stop();
	return r ? r : judge(name, &p, why);
}
