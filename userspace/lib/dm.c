// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/dm-ioctl.h>
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

/* records of the kernel's log: their level is the same bits */
#define LOG_PREFIX		"device-mapper: "
#define KERNEL_LEVEL_WARNING	4
#define MAX_LINES		8U	/* told of an attempt */

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

/**
 * struct said - what the kernel's log has of the target
 * @lines: all lines that matter, each on a line of its own if there are several; NULL if none
 * @nr: of them
 * @effect: a line that says no more than that something failed, or NULL
 */
struct said {
	char *lines;
	unsigned int nr;
	char *effect;
};

/* one line, behind "device-mapper: "; "tier: ..." is the target's own sentence */
static void take_line(struct said *k, const char *line, bool error)
{
	if (strstr(line, TARGET ": preresume failed")) {
		free(k->effect);
		k->effect = text_format("%s", line);
	} else if (error && k->nr < MAX_LINES) {
		if (++k->nr == 2) {
			char *first = k->lines;

			k->lines = text_format("\n  %s", first);
			free(first);
		}
		k->lines = text_append(k->lines, k->nr > 1 ? "\n  %s" : "%s", line);
	}
}

/* what device-mapper said of the target since then; to be freed, NULL if nothing; closes @fd */
static char *read_kernel_log(int fd)
{
	struct said k = { };
	char record[2048], *s;
	ssize_t n;

	if (fd < 0)
		return NULL;
	/* EPIPE: records were overwritten before they were read; go on with the next */
	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		record[n] = '\0';
		record[strcspn(record, "\n")] = '\0';
		s = strchr(record, ';');
		if (s && !strncmp(s + 1, LOG_PREFIX, strlen(LOG_PREFIX)) && strstr(s, TARGET ": "))
			take_line(&k, s + 1 + strlen(LOG_PREFIX),
				  (strtoul(record, NULL, 10) & LOG_LEVEL_MASK) <= KERNEL_LEVEL_WARNING);
	}
	close(fd);
	if (!k.lines)
		return k.effect;
	free(k.effect);
	return k.lines;
}

static void close_kernel_log(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int refused(const char *what, const char *name, int r, int log, char *why)
{
	char *kernel = read_kernel_log(log);

	if (kernel)
		text_why(why, r, "%s %.64s: the kernel says: %.800s%s", what, name, kernel,
			 strstr(kernel, "unknown target type") ? "; is the module loaded? modprobe dm-tier" : "");
	else
		text_why(why, r, "%s %.64s: %s", what, name, strerror(-r));
	free(kernel);
	return r;
}

/* ---- tasks ---- */

static int no_device(const char *name, char *why)
{
	return text_why(why, -ENXIO, "there is no device %.300s", name);
}

/* a task failed before it came to a device */
static int no_mapper(int r, char *why)
{
	const char *text = last_message[0] ? last_message : strerror(-r);

	return text_why(why, r, "%.800s%s", text,
			strstr(text, "mapper/control") && access("/sys/class/misc/device-mapper", F_OK) ?
			"; is device-mapper loaded? modprobe dm-tier loads it, too" : "");
}

static struct dm_task *new_task(int type, const char *name, int *r, char *why)
{
	struct dm_task *task;

	dm_log_with_errno_init(keep_message);
	last_message[0] = '\0';
	task = dm_task_create(type);
	if (task && (!name || dm_task_set_name(task, name)))
		return task;
	if (task) {
		dm_task_destroy(task);
		*r = no_device(name, why);
		return NULL;
	}
	*r = no_mapper(-EIO, why);
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

/* @name: NULL if the question is not about a device */
static int run_query(struct dm_task *task, const char *name, char *why)
{
	int r = run_task(task);
	struct dm_info info;

	if (r == -ENXIO && name)
		return no_device(name, why);
	if (r)
		return no_mapper(r, why);
	/* to libdevmapper a device that isn't there is an answer like another */
	if (name && dm_task_get_info(task, &info) && !info.exists)
		return no_device(name, why);
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
	r = run_query(task, NULL, why);
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
		if (dm_task_get_info(task, &info)) {
			line->open_count = (unsigned int)info.open_count;
			line->read_only = info.read_only;
		}
	}
	dm_task_destroy(task);
	return r;
}

int mapper_message(const char *name, const char *message, char *why)
{
	return mapper_ask(name, message, NULL, why);
}

int mapper_ask(const char *name, const char *message, char **answer, char *why)
{
	struct dm_task *task;
	const char *text;
	int r = 0, log;

	if (answer)
		*answer = NULL;
	task = new_task(DM_DEVICE_TARGET_MSG, name, &r, why);
	if (!task)
		return r;
	log = open_kernel_log();
	if (!dm_task_set_sector(task, 0) || !dm_task_set_message(task, message))
		r = -ENOMEM;
	else
		r = run_task(task);
	if (r == -ENXIO) {
		no_device(name, why);
		close_kernel_log(log);
	} else if (r) {
		refused("the target refuses the message for", name, r, log, why);
	} else {
		close_kernel_log(log);
		text = answer ? dm_task_get_message_response(task) : NULL;
		if (answer)
			*answer = text_format("%s", text ? text : "");
	}
	dm_task_destroy(task);
	return r;
}

char *mapper_name_of(unsigned int major, unsigned int minor, char *why)
{
	char *path = text_format("/sys/dev/block/%u:%u/dm/name", major, minor), name[DM_NAME_LEN + 2] = "";
	FILE *f = fopen(path, "re");

	free(path);
	if (f) {
		if (!fgets(name, sizeof(name), f))
			name[0] = '\0';
		fclose(f);
	}
	name[strcspn(name, "\n")] = '\0';
	if (*name)
		return text_format("%s", name);
	text_why(why, 0, "is not a device of device-mapper (%u:%u)", major, minor);
	return NULL;
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

int mapper_name(const char *name, char *why)
{
	if (!*name || strlen(name) >= DM_NAME_LEN || strchr(name, '/'))
		return text_why(why, -EINVAL, "'%.200s' is not a valid name: 1 to %d characters, and no slash",
				name, DM_NAME_LEN - 1);
	return 0;
}

int mapper_check_free(const char *name, const char *uuid, char *why)
{
	char found[DM_NAME_LEN];
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

int mapper_create(const char *name, const char *uuid, uint64_t sectors, const char *params, bool read_only,
		  char *why)
{
	struct dm_task *task;
	int r = 0, log;

	task = new_task(DM_DEVICE_CREATE, name, &r, why);
	if (!task)
		return r;
	log = open_kernel_log();
	if (!dm_task_set_uuid(task, uuid) || !dm_task_set_add_node(task, DM_ADD_NODE_ON_CREATE) ||
	    (read_only && !dm_task_set_ro(task)) ||
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

int mapper_remove(const char *name, char **said, char *why)
{
	struct dm_task *task;
	int r = 0, log;

	*said = NULL;
	task = new_task(DM_DEVICE_REMOVE, name, &r, why);
	if (!task)
		return r;
	log = open_kernel_log();
	/* udev's rules open a new device for a moment */
	if (!dm_task_retry_remove(task))
		r = -ENOMEM;
	else
		r = run_with_udev(task);
	if (!r) {
		/* stopping may fail halfway, and removing does not */
		*said = read_kernel_log(log);
	} else if (r == -ENXIO) {
		no_device(name, why);
		close_kernel_log(log);
	} else if (r == -EBUSY) {
		text_why(why, r, "%.300s is in use", name);
		close_kernel_log(log);
	} else {
		refused("cannot remove", name, r, log, why);
	}
	dm_task_destroy(task);
	return r;
}
