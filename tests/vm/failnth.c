// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets the first allocation of a device-mapper ioctl fail, then the second, and so on, until there are no more.
 *
 *	failnth [-f FIRST] [-n COUNT] [-e ERRNO]... STEP...
 *
 * A step is one argument:
 *	create NAME TABLE	a device with this table, not yet resumed
 *	load NAME TABLE		another table for a device
 *	resume NAME
 *	suspend NAME
 *	message NAME WORD...
 *	status NAME
 *	table NAME
 *	remove NAME
 *	run COMMAND		by the shell; must succeed
 * Allocations fail in the steps that begin with '!'; those may fail then, with ENOMEM or an ERRNO given.  A
 * step that begins with '-' may fail for any reason (what it is about may not be there).  All others must
 * succeed.  The whole list of steps is repeated for each allocation.
 *
 * Prints how many there were, and how many of them made a step fail.  Exit status: 0 if all went that way,
 * 77 if the kernel can't do this.  Needs a kernel with FAULT_INJECTION and FAILSLAB; the caller sets the rest
 * in debugfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_ERRNO 200

static int nth_fd = -1;
static int arm;			/* allocation to fail in the next ioctl of device-mapper, 0: none */
static bool injected;		/* it was reached */
static bool quiet;
static bool allowed[MAX_ERRNO];
static int last_errno;

static void set_nth(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(nth_fd, text, len, 0) != len) {
		perror("failnth: fail-nth");
		exit(77);
	}
}

static int get_nth(void)
{
	char text[16] = "";

	if (pread(nth_fd, text, sizeof(text) - 1, 0) < 0) {
		perror("failnth: fail-nth");
		exit(77);
	}
	return atoi(text);
}

/* libdevmapper calls this one */
int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int r, e;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!arm)
		return syscall(SYS_ioctl, fd, request, arg);
	set_nth(arm);
	r = syscall(SYS_ioctl, fd, request, arg);
	e = errno;
	if (!get_nth())
		injected = true;
	set_nth(0);
	arm = 0;		/* libdevmapper may try again */
	errno = e;
	return r;
}

static void no_log(int level, const char *file, int line, int code, const char *format, ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)code;
	if (quiet || (level & 7) > 3)
		return;
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static const struct {
	const char *word;
	int type;
	bool table, message;
} tasks[] = {
	{ "create", DM_DEVICE_CREATE, true, false },
	{ "load", DM_DEVICE_RELOAD, true, false },
	{ "resume", DM_DEVICE_RESUME, false, false },
	{ "suspend", DM_DEVICE_SUSPEND, false, false },
	{ "message", DM_DEVICE_TARGET_MSG, false, true },
	{ "status", DM_DEVICE_STATUS, false, false },
	{ "table", DM_DEVICE_TABLE, false, false },
	{ "remove", DM_DEVICE_REMOVE, false, false },
};

static bool run_task(int type, const char *name, const char *table, const char *message, int nth)
{
	struct dm_task *task = dm_task_create(type);
	bool ok = task && dm_task_set_name(task, name);

	if (ok && table) {
		unsigned long long start, len;
		char target[32];
		int at = 0;

		ok = sscanf(table, "%llu %llu %31s %n", &start, &len, target, &at) == 3 && at &&
		     dm_task_add_target(task, start, len, target, table + at);
	}
	if (ok && message)
		ok = dm_task_set_sector(task, 0) && dm_task_set_message(task, message);
	if (ok) {
		dm_task_retry_remove(task);
		arm = nth;
		errno = 0;
		ok = dm_task_run(task);
		last_errno = ok ? 0 : dm_task_get_errno(task);
		arm = 0;
	}
	if (task)
		dm_task_destroy(task);
	dm_task_update_nodes();		/* no udevd does */
	return ok;
}

/* one step; nth: which allocation is to fail */
static bool run_step(const char *step, int nth)
{
	char word[16], name[64];
	const char *rest;
	size_t i;
	int at = 0;

	if (sscanf(step, "%15s %n", word, &at) != 1) {
		fprintf(stderr, "failnth: not a step: %s\n", step);
		exit(2);
	}
	if (!strcmp(word, "run"))
		return system(step + at) == 0;
	rest = step + at;
	at = 0;
	if (sscanf(rest, "%63s %n", name, &at) != 1 || !at) {
		fprintf(stderr, "failnth: no name: %s\n", step);
		exit(2);
	}
	rest += at;
	for (i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
		if (strcmp(word, tasks[i].word))
			continue;
		if (tasks[i].type == DM_DEVICE_CREATE)	/* in two: the first does not come to the target */
			return run_task(DM_DEVICE_CREATE, name, NULL, NULL, 0) &&
			       run_task(DM_DEVICE_RELOAD, name, rest, NULL, nth);
		return run_task(tasks[i].type, name, tasks[i].table ? rest : NULL,
				tasks[i].message ? rest : NULL, nth);
	}
	fprintf(stderr, "failnth: not a step: %s\n", step);
	exit(2);
}

/* all steps once; false: something went wrong */
static bool run_all(char **steps, int n, int nth, int *failed)
{
	int i;

	injected = false;
	for (i = 0; i < n; i++) {
		const char *step = steps[i];
		bool may_fail = *step == '-', inject = *step == '!' && !injected;

		quiet = may_fail || inject;
		if (run_step(step + (*step == '-' || *step == '!'), inject ? nth : 0) || may_fail)
			continue;
		if (!inject || !injected) {
			printf("allocation %d: fails though nothing was in its way: %s: %s\n", nth, step, strerror(last_errno));
			return false;
		}
		++*failed;
		if (last_errno < 0 || last_errno >= MAX_ERRNO || !allowed[last_errno]) {
			printf("allocation %d: fails with %d (%s): %s\n", nth, last_errno, strerror(last_errno), step);
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	int opt, nth = 1, end = 100000, failed = 0;
	bool ok = true;

	allowed[ENOMEM] = true;
	while ((opt = getopt(argc, argv, "+f:n:e:")) != -1)
		switch (opt) {
		case 'f':
			nth = atoi(optarg);
			break;
		case 'n':
			end = atoi(optarg);
			break;
		case 'e':
			if (atoi(optarg) > 0 && atoi(optarg) < MAX_ERRNO)
				allowed[atoi(optarg)] = true;
			break;
		default:
			return 2;
		}
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0) {
		perror("failnth: /proc/thread-self/fail-nth");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	dm_log_with_errno_init(no_log);
	dm_udev_set_sync_support(0);
	for (; nth <= end; nth++) {
		ok = run_all(argv + optind, argc - optind, nth, &failed) && ok;
		if (!injected)
			break;
	}
	printf("%d allocations, %d made it fail\n", nth - 1, failed);
	if (nth == 1) {
		printf("no allocation was reached\n");
		ok = false;
	}
	return !ok;
}
