// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "lib/text.h"

/* Reads on until there are @nr bytes, or all. */
static int fill(struct input *in, size_t nr)
{
	ssize_t got;

	if (in->len - in->pos >= nr || in->end)
		return 0;
	memmove(in->buf, in->buf + in->pos, in->len - in->pos);
	in->len -= in->pos;
	in->pos = 0;
	while (in->len < nr && !in->end) {
		got = read(in->fd, in->buf + in->len, INPUT_BYTES - in->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return text_why(in->why, -errno, "%s: %s", in->name, strerror(errno));
		in->end = !got;
		in->len += (size_t)got;
	}
	return 0;
}

int input_peek(struct input *in, size_t nr, const char **bytes)
{
	int r = fill(in, nr);
	size_t there = in->len - in->pos;

	*bytes = in->buf + in->pos;
	return r ? r : (int)(there < nr ? there : nr);
}

void input_skip(struct input *in, size_t nr)
{
	in->pos += nr;
}

int input_wrong(struct input *in, const char *fmt, ...)
{
	char *what;
	va_list ap;

	va_start(ap, fmt);
	what = text_vformat(fmt, ap);
	va_end(ap);
	text_why(in->why, 0, "%s:%llu: %s", in->name, (unsigned long long)in->line, what);
	free(what);
	return -EINVAL;
}

/* Cuts a line off what is there; NULL: it does not end in there. */
static char *cut_line(struct input *in)
{
	char *line = in->buf + in->pos, *end;
	size_t there = in->len - in->pos;

	end = memchr(line, '\n', there);
	/* room for the end of the last one: it is shorter than the buffer */
	if (!end && in->end && there < INPUT_BYTES)
		end = line + there;
	if (!end)
		return NULL;
	in->pos += (size_t)(end - line);
	if (in->pos < in->len)
		in->pos++;
	*end = '\0';
	if (memchr(line, '\0', (size_t)(end - line)))
		return NULL;
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return line + strspn(line, " \t");
}

int input_line(struct input *in, char **line)
{
	const char *next;
	int r;

	do {
		r = input_peek(in, 1, &next);
		if (r <= 0)
			return r;
		in->line++;
		if (!memchr(next, '\n', in->len - in->pos)) {
			r = fill(in, INPUT_BYTES);
			if (r)
				return r;
		}
		*line = cut_line(in);
		if (!*line)
			return input_wrong(in, "this is no line of text");
	} while (!**line);
	return 1;
}

int input_number(struct input *in, const char *what, const char *word, u64 max, u64 *value)
{
	const char *s = word;
	u64 v = 0;

	if (!word || !*word)
		return input_wrong(in, "no %s", what);
	if (*s == '-' && isdigit((unsigned char)s[1]))
		return input_wrong(in, "%s '%.40s' is negative", what, word);
	if (s[strspn(s, "0123456789")])
		return input_wrong(in, "%s '%.40s' is no number", what, word);
	for (; *s; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (u64)(*s - '0'), &v) ||
		    v > max)
			return input_wrong(in, "%s '%.40s' is too large", what, word);
	*value = v;
	return 0;
}

int input_device(struct input *in, const char *device)
{
	if (in->device)
		return !strcmp(in->device, device);
	if (!in->found[0])
		text_copy(in->found, sizeof(in->found), device);
	if (strncmp(in->found, device, sizeof(in->found) - 1))
		return input_wrong(in, "a request of %s after some of %s: choose one with --device", device,
				   in->found);
	return 1;
}

int input_no_device(struct input *in, const char *format)
{
	if (!in->device)
		return 0;
	return text_why(in->why, -EINVAL,
			"%s: --device %s cannot be had: a trace as %s names no devices, only blkparse's and fio's do",
			in->name, in->device, format);
}

int input_request(struct input *in, u64 time_us, bool write, u64 sector, u64 sectors)
{
	struct sim_trace *t = in->trace;
	u64 last = t->nr ? in->base_us + t->request[t->nr - 1].time_us : time_us;

	if (!sectors)
		return input_wrong(in, "a request of no length");
	if (sectors > SIM_MAX_SECTORS)
		return input_wrong(in, "a request of %llu sectors, which is more than 8 GiB",
				   (unsigned long long)sectors);
	if (sector > SIM_MAX_END - sectors)
		return input_wrong(in, "sector %llu is beyond 256 PiB", (unsigned long long)sector);
	if (!t->nr)
		in->base_us = time_us;
	if (time_us < last) {
		if (!t->backwards++)
			t->first_backwards = in->line;
		time_us = last;
	}
	return sim_trace_add(t, time_us - in->base_us, write, sector, (u32)sectors);
}

int input_bytes(struct input *in, u64 time_us, bool write, u64 offset, u64 bytes)
{
	u64 first = offset / 512;

	return input_request(in, time_us, write, first, bytes ? (offset + bytes + 511) / 512 - first : 0);
}
