// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "input.h"
#include "lib/text.h"
#include "trace-file.h"

#define PEEK_BYTES	512	/* enough to know a format by */

/* programs that make files for Windows put it before UTF-8 */
static const char byte_order_mark[] = "\xef\xbb\xbf";

/* struct blk_io_trace begins with this and its version, 7, in the order of the machine's bytes */
static const char blktrace_magic[] = "\x07\x74\x61\x65";
static const char blktrace_magic_swapped[] = "\x65\x61\x74\x07";

static const char zstd_magic[] = { '\x28', '\xb5', '\x2f', '\xfd' };

/* ---- zstd ---- */

/* A child that unpacks @in->fd, which is put at its beginning again, and takes its place. */
static int unpack(struct input *in, pid_t *child)
{
	char * const args[] = { "zstd", "-dc", NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], r;

	if (lseek(in->fd, 0, SEEK_SET))
		return text_why(in->why, -EINVAL, "%s: it is packed by zstd, and no file: use zstd -dc FILE | ...",
				in->name);
	if (pipe2(ends, O_CLOEXEC))
		return text_why(in->why, -errno, "%s: %s", in->name, strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in->fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	r = posix_spawnp(child, "zstd", &actions, NULL, args, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (r) {
		close(ends[0]);
		return text_why(in->why, -r, "%s: it is packed, and the program zstd cannot be run: %s", in->name,
				strerror(r));
	}
	close(in->fd);
	in->fd = ends[0];
	in->pos = 0;
	in->len = 0;
	in->end = false;
	return 0;
}

/* @r is what became of reading.  A child that we left early dies of SIGPIPE. */
static int unpack_end(struct input *in, pid_t child, int r)
{
	int status;

	close(in->fd);
	in->fd = -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return r;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return text_why(in->why, -EINVAL, "%s: zstd cannot unpack it", in->name);
	return r;
}

/* ---- formats ---- */

static bool starts_with(const char *text, size_t len, const char *what)
{
	return len >= strlen(what) && !memcmp(text, what, strlen(what));
}

static int read_any(struct input *in)
{
	static const char unknown[] =
		"%s: neither text of blkparse nor an iolog of fio nor CSV with a head line nor DMT1";
	const char *text;
	int n = input_peek(in, PEEK_BYTES, &text);
	size_t len, line, digits;

	if (n > 0 && starts_with(text, (size_t)n, byte_order_mark)) {
		input_skip(in, strlen(byte_order_mark));
		n = input_peek(in, PEEK_BYTES, &text);
	}
	if (n < 0)
		return n;
	len = (size_t)n;
	if (starts_with(text, len, "DMT1"))
		return read_dmt(in);
	if (starts_with(text, len, blktrace_magic) || starts_with(text, len, blktrace_magic_swapped))
		return text_why(in->why, -EINVAL,
				"%s: what blktrace writes: make text of all its files with blkparse -i NAME -o FILE",
				in->name);
	if (starts_with(text, len, "fio version"))
		return read_iolog(in);
	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	for (line = 0; line < len && text[line] != '\n'; line++)
		if (!isprint((unsigned char)text[line]) && !isspace((unsigned char)text[line]))
			return text_why(in->why, -EINVAL, unknown, in->name);
	/* "8,0    1", as no line of CSV begins */
	for (digits = 0; digits < line && (isdigit((unsigned char)text[digits]) || text[digits] == ','); digits++)
		;
	if ((digits && digits < line && isblank((unsigned char)text[digits])) ||
	    starts_with(text, len, "Input file") || starts_with(text, len, "CPU"))
		return read_blkparse(in);
	if (memchr(text, ',', line) || memchr(text, ';', line))
		return read_csv(in);
	return len ? text_why(in->why, -EINVAL, unknown, in->name) : 0;
}

/* closes the file */
static int read_file(struct input *in)
{
	const char *text;
	pid_t child = 0;
	int r;

	r = input_peek(in, sizeof(zstd_magic), &text);
	if (r == sizeof(zstd_magic) && !memcmp(text, zstd_magic, sizeof(zstd_magic)))
		r = unpack(in, &child);
	if (r >= 0)
		r = read_any(in);
	if (child)
		return unpack_end(in, child, r);
	close(in->fd);
	return r;
}

int sim_trace_read(struct sim_trace *t, const char *path, const char *device, char *why)
{
	bool standard = !strcmp(path, SIM_STDIN);
	struct input *in = text_alloc(1, sizeof(*in));
	int r;

	in->name = standard ? "standard input" : path;
	in->trace = t;
	in->device = device;
	in->why = why;
	why[0] = '\0';
	in->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
	r = in->fd < 0 ? -errno : read_file(in);
	if (!r && !t->nr)
		r = text_why(why, -ENODATA, device ? "%s: no read or write of %s in it" : "%s: no read or write in it",
			     in->name, device);
	if (r && !why[0])
		text_why(why, 0, "%s: %s", in->name, strerror(-r));
	if (r)
		sim_trace_clear(t);
	free(in);
	return r;
}
