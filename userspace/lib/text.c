// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "exit.h"
#include "text.h"

const char *text_program = "dmtier";

static bool progress_shown;

static void say(const char *kind, const char *fmt, va_list ap)
{
	text_progress_stop();
	fflush(stdout);
	fprintf(stderr, "%s: %s", text_program, kind);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void text_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void text_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("warning: ", fmt, ap);
	va_end(ap);
}

int text_why(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, TEXT_LEN, fmt, ap);
	va_end(ap);
	return r;
}

static void __attribute__((noreturn)) out_of_memory(void)
{
	text_error("out of memory");
	exit(TOOL_OPERATIONAL);
}

char *text_vformat(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		out_of_memory();
	return s;
}

char *text_format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = text_vformat(fmt, ap);
	va_end(ap);
	return s;
}

void *text_alloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void text_copy(char *to, size_t size, const char *from)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

char *text_append(char *s, const char *fmt, ...)
{
	char *more, *all;
	va_list ap;

	va_start(ap, fmt);
	more = text_vformat(fmt, ap);
	va_end(ap);
	if (!s)
		return more;
	all = text_format("%s%s", s, more);
	free(more);
	free(s);
	return all;
}

const char *text_size(uint64_t bytes, char *buf)
{
	static const char * const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int u = 0;
	uint64_t div = 1;

	while (u < 6 && bytes / div >= 1024) {
		div *= 1024;
		u++;
	}
	if (bytes % div)
		snprintf(buf, TEXT_SIZE_LEN, "%.1f %s", (double)bytes / (double)div, units[u]);
	else
		snprintf(buf, TEXT_SIZE_LEN, "%llu %s", (unsigned long long)(bytes / div),
			 units[u]);
	return buf;
}

const char *text_uuid(const uint8_t *uuid, char *buf)
{
	uuid_unparse_lower(uuid, buf);
	return buf;
}

void text_progress(const char *what, uint64_t done, uint64_t total)
{
	static struct timespec last;
	struct timespec now;

	if (!isatty(STDERR_FILENO))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (done < total && now.tv_sec == last.tv_sec && now.tv_nsec - last.tv_nsec < 200000000)
		return;
	if (done >= total && !progress_shown)
		return;
	last = now;
	fprintf(stderr, "\r%s: %3u %%", what,
		total ? (unsigned int)((double)done * 100 / (double)total) : 100);
	progress_shown = true;
	if (done >= total)
		text_progress_stop();
}

void text_progress_stop(void)
{
	if (progress_shown)
		fputc('\n', stderr);
	progress_shown = false;
}
