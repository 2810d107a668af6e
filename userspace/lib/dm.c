// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "text.h"

#define TARGET "tier"

/* libdevmapper hands out levels, with flags above, but not their names */
#define LOG_LEVEL_MASK	7
#define LOG_LEVEL_ERROR	3

/* ---- what libdevmapper and the kernel say ---- */

static char last_message[TEXT_LEN];

static void __attribute__((format(printf, 5, 6)))
keep_message(int level, const char *file, int line, int dm_errno, const char *fmt, ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)dm_errno;
	/* the first error is the cause, what follows are consequences */
	if ((level & LOG_LEVEL_MASK) > LOG_LEVEL_ERROR || last_message[0])
		return;
	va_start(ap, fmt);
	vsnprintf(last_message, sizeof(last_message), fmt, ap);
	va_end(ap);
}

/* the end of the kernel's log now; -1 if it can't be read */
static int open_kernel_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* the last line of device-mapper since then: "tier: ..." is the target's own sentence */
static void read_kernel_log(int fd, char *text)
{
	char record[2048], *s;
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return;
	/* EPIPE: records were overwritten before they were read; go on with the next */
	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		record[n] = '\0';
		record[strcspn(record, "\n")] = '\0';
		s = strchr(record, ';');
		if (s && strstr(s, "device-mapper:") && strstr(s, TARGET))
			text_why(text, 0, "%.600s", s + 1);
	}
	close(fd);
}

static void close_kernel_log(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int refused(const char *what, const char *name, int r, int log, char *why)
{
	char kernel[TEXT_LEN];

	read_kernel_log(log, kernel);
	if (kernel[0])
		return text_why(why, r, "%s %.64s: the kernel says: %.600s", what, name, kernel);
	return text_why(why, r, "%s %.64s: %s", what, name, strerror(-r));
}

/* ---- tasks ---- */

static struct dm_task *new_task(int type, const char *name, int *r, char *why)
{
	struct dm_task *task;

	dm_log_with_errno_init(keep_message);
	last_message[0] = '\0';
	task = dm_task_create(type);
	if (task && (!name || dm_task_set_name(task, name)))
		return task;
	if (task)
		dm_task_destroy(task);
	*r = text_why(why, -EIO, "%s", last_message[0] ? last_message :
		      "cannot talk to device-mapper: is its module loaded?");
	return NULL;
}

/* run it; the error number of the ioctl, or -EIO */
static int run_task(struct dm_task *task)
{
	int r;

	if (dm_task_run(task))
		return 0;
	r = dm_task_get_errno(task);
	return r > 0 ? -r : -EIO;
}

static int run_query(struct dm_task *task, const char *name, char *why)
{
	int r = run_task(task);

	if (r == -ENXIO)
		return text_why(why, r, "there is no device %.300s", name);
	if (r)
		return text_why(why, r, "%s", last_message[0] ? last_message : strerror(-r));
	return 0;
}

static int is_tier(const char *name, bool *yes, char *why)
{
	uint64_t start, length;
	char *type = NULL, *params;
	struct dm_task *task;
	int r = 0;

	task = new_task(DM_DEVICE_TABLE, name, &r, why);
	if (!task)
		return r;
	r = run_query(task, name, why);
	if (!r) {
		dm_get_next_target(task, NULL, &start, &length, &type, &params);
		*yes = type && !strcmp(type, TARGET);
	}
	dm_task_destroy(task);
	return r;
}

static int collect_names(struct dm_names *names, char ***list, unsigned int *nr, char *why)
{
	unsigned int next = 0;
	bool yes = false;

	if (!names->dev)
		return 0;
	do {
		names = (struct dm_names *)((char *)names + next);
		/* a device may go away meanwhile */
		if (!is_tier(names->name, &yes, why) && yes) {
			char **more = text_alloc(*nr + 1, sizeof(*more));

			if (*nr)
				memcpy(more, *list, *nr * sizeof(*more));
			free(*list);
			*list = more;
			more[(*nr)++] = text_format("%s", names->name);
		}
		next = names->next;
	} while (next);
	return 0;
}

int mapper_list(char ***list, unsigned int *nr, char *why)
{
	struct dm_names *names;
	struct dm_task *task;
	int r = 0;

	*list = NULL;
	*nr = 0;
	task = new_task(DM_DEVICE_LIST, NULL, &r, why);
	if (!task)
		return r;
	r = run_query(task, "", why);
	if (!r) {
		names = dm_task_get_names(task);
		r = names ? collect_names(names, list, nr, why) :
			    text_why(why, -EIO, "device-mapper gives no list of its devices");
	}
	dm_task_destroy(task);
	return r;
}

void mapper_list_free(char **names, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		free(names[i]);
	free(names);
}

int mapper_status(const char *name, struct mapper_line *line, char *why)
{
	char *type = NULL, *params = NULL;
	struct dm_task *task;
	struct dm_info info;
	uint64_t start;
	int r = 0;

	memset(line, 0, sizeof(*line));
	task = new_task(DM_DEVICE_STATUS, name, &r, why);
	if (!task)
		return r;
	r = run_query(task, name, why);
	if (!r) {
		dm_get_next_target(task, NULL, &start, &line->sectors, &type, &params);
		if (!type || strcmp(type, TARGET))
			r = text_why(why, -EMEDIUMTYPE, "%.300s is not a tier device", name);
		else
			line->params = text_format("%s", params ? params : "");
		if (dm_task_get_info(task, &info))
			line->open_count = (unsigned int)info.open_count;
	}
	dm_task_destroy(task);
	return r;
}

int mapper_message(const char *name, const char *message, char *why)
{
	struct dm_task *task;
	int r = 0, log;

	task = new_task(DM_DEVICE_TARGET_MSG, name, &r, why);
	if (!task)
		return r;
	log = open_kernel_log();
	if (!dm_task_set_sector(task, 0) || !dm_task_set_message(task, message))
		r = -ENOMEM;
	else
		r = run_task(task);
	if (r == -ENXIO) {
		text_why(why, r, "there is no device %.300s", name);
		close_kernel_log(log);
	} else if (r) {
		refused("the target refuses the message for", name, r, log, why);
	} else {
		close_kernel_log(log);
	}
	dm_task_destroy(task);
	return r;
}

/* run a task that makes or removes a device node, and wait until udev is done with it */
static int run_with_udev(struct dm_task *task)
{
	uint32_t cookie = 0;
	int r;

	if (!dm_task_set_cookie(task, &cookie, 0))
		return -EIO;
	r = run_task(task);
	dm_udev_wait(cookie);
	return r;
}

/* the name of the device that has this name or UUID (one is NULL), or "" */
static int find_device(const char *name, const char *uuid, char *found, size_t size, char *why)
{
	struct dm_task *task;
	struct dm_info info;
	int r = 0;

	found[0] = '\0';
	task = new_task(DM_DEVICE_INFO, name, &r, why);
	if (!task)
		return r;
	if ((!uuid || dm_task_set_uuid(task, uuid)) && dm_task_run(task) && dm_task_get_info(task, &info) &&
	    info.exists)
		snprintf(found, size, "%s", dm_task_get_name(task));
	dm_task_destroy(task);
	return 0;
}

/* libdevmapper says no more than "it failed" of these two */
static int check_free(const char *name, const char *uuid, char *why)
{
	char found[128];
	int r;

	r = find_device(name, NULL, found, sizeof(found), why);
	if (!r && found[0])
		return text_why(why, -EEXIST, "cannot create %.128s: a device of this name exists already", name);
	r = r ? r : find_device(NULL, uuid, found, sizeof(found), why);
	if (!r && found[0])
		return text_why(why, -EBUSY, "cannot create %.128s: the metadata are in use by the device %.128s", name,
				found);
	return r;
}

int mapper_create(const char *name, const char *uuid, uint64_t sectors, const char *params,
		  char *why)
{
	struct dm_task *task;
	int r = 0, log;

	r = check_free(name, uuid, why);
	if (r)
		return r;
	task = new_task(DM_DEVICE_CREATE, name, &r, why);
	if (!task)
		return r;
	log = open_kernel_log();
	if (!dm_task_set_uuid(task, uuid) || !dm_task_set_add_node(task, DM_ADD_NODE_ON_CREATE) ||
	    !dm_task_add_target(task, 0, sectors, TARGET, params))
		r = -ENOMEM;
	else
		r = run_with_udev(task);
	if (r)
		refused("cannot create", name, r, log, why);
	else
		close_kernel_log(log);
	dm_task_destroy(task);
	return r;
}

int mapper_remove(const char *name, char *why)
{
	struct dm_task *task;
	int r = 0, log;

	task = new_task(DM_DEVICE_REMOVE, name, &r, why);
	if (!task)
		return r;
	log = open_kernel_log();
	/* udev's rules open a new device for a moment */
	if (!dm_task_retry_remove(task))
		r = -ENOMEM;
	else
		r = run_with_udev(task);
	if (r && r != -EBUSY) {
		refused("cannot remove", name, r, log, why);
	} else {
		if (r)
			text_why(why, r, "%.300s is in use", name);
		close_kernel_log(log);
	}
	dm_task_destroy(task);
	return r;
}
