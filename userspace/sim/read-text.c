// SPDX-License-Identifier: GPL-2.0
/* Traces that are text: what blkparse prints, fio's logs, CSV. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "input.h"
#include "lib/text.h"

#define MAX_WORDS	12	/* more than any line needs; the rest is of no interest */
#define MAX_COLUMNS	64
#define STEP_US		10000	/* between requests of a trace that has no times */
#define MAX_BYTES	(1ULL << 62)

/* Cuts a line into words; those that aren't there are NULL. */
static void split(char *line, char **words)
{
	unsigned int i;
	char *save;

	for (i = 0; i < MAX_WORDS; i++)
		words[i] = strtok_r(i ? NULL : line, " \t", &save);
}

/* ---- blkparse ---- */

/*
 *	8,0    1   42   0.001234567  697  Q  WS 223490 + 8 [kjournald]
 *
 * device, CPU, sequence number, seconds, PID, action, kind, sector, "+", sectors
 */
enum { DEVICE, CPU, SEQUENCE, SECONDS, PID, ACTION, KIND, SECTOR, PLUS, SECTORS };

/*
 * A request shows up when it is queued, issued and completed.  One of these is taken: the first that the device has
 * any of.
 */
static const char actions[] = "CDQ";

/* what else blkparse tells of requests, and what kinds of them there are */
static const char * const other_actions[] = {
	"A", "B", "F", "G", "I", "M", "P", "R", "S", "T", "U", "UT", "X", "d", "m", "r", "w",
};
static const char kinds[] = "ABDEFMNRSW";

static bool is_event(const char *line)
{
	size_t major = strspn(line, "0123456789");
	size_t minor = major && line[major] == ',' ? strspn(line + major + 1, "0123456789") : 0;

	return minor && isspace((unsigned char)line[major + 1 + minor]);
}

/* what blkparse says besides: files on top, sums at the end, whose lines have a colon */
static bool starts_sums(const char *line)
{
	return !strncmp(line, "CPU", 3) || !strncmp(line, "Total", 5) || !strncmp(line, "Input file", 10);
}

/* Damage that need not spoil the rest: the line is left out, and counted. */
static void leave_out(struct input *in)
{
	if (!in->trace->skipped++)
		in->trace->first_skipped = in->line;
}

static bool is_other_action(const char *action)
{
	unsigned int i;

	for (i = 0; i < sizeof(other_actions) / sizeof(other_actions[0]); i++)
		if (!strcmp(action, other_actions[i]))
			return true;
	return false;
}

/* All requests so far were told by a lesser action than this one is. */
static void begin_again(struct input *in)
{
	struct sim_trace *t = in->trace;
	u64 skipped = t->skipped, first = t->first_skipped;

	sim_trace_clear(t);
	t->skipped = skipped;
	t->first_skipped = first;
}

/* seconds with a fraction to us */
static int read_seconds(struct input *in, char *word, u64 *us)
{
	char *point = strchr(word, '.');
	u64 seconds, part, scale = 1;
	char *s;
	int r;

	if (point)
		*point++ = '\0';
	r = input_number(in, "time", word, SIM_MAX_TIME_US / 1000000 - 1, &seconds);
	if (!r && point)
		r = input_number(in, "fraction of a second", point, 999999999, &part);
	if (r)
		return r;
	*us = seconds * 1000000;
	if (point) {
		for (s = point; *s; s++)
			scale *= 10;
		*us += part * 1000000 / scale;
	}
	return 0;
}

/* @best is the place in actions[] of what was taken so far. */
static int read_event(struct input *in, char *line, const char **best)
{
	char *words[MAX_WORDS];
	const char *action;
	u64 us, sector, sectors;
	bool write;
	int r;

	split(line, words);
	if (!words[ACTION])
		return input_wrong(in, "the line ends before its action");
	action = words[ACTION][1] ? NULL : strchr(actions, words[ACTION][0]);
	if (!action) {
		if (!is_other_action(words[ACTION]))
			leave_out(in);
		return 0;
	}
	if (!words[KIND])
		return input_wrong(in, "the line ends before the kind of request");
	if (words[KIND][strspn(words[KIND], kinds)]) {
		leave_out(in);
		return 0;
	}
	/* discards and erasures, and flushes without data */
	write = strchr(words[KIND], 'W');
	if (strpbrk(words[KIND], "DE") || (!write && !strchr(words[KIND], 'R')) || !words[SECTOR] ||
	    words[SECTOR][0] == '[')
		return 0;
	/* commands of the device's own kind */
	if (words[PLUS] && words[PLUS][0] == '(')
		return 0;
	if (!words[PLUS] || strcmp(words[PLUS], "+"))
		return input_wrong(in, "no '+' between sector and length");
	r = read_seconds(in, words[SECONDS], &us);
	if (!r)
		r = input_number(in, "sector", words[SECTOR], U64_MAX, &sector);
	if (!r)
		r = input_number(in, "length", words[SECTORS], U64_MAX, &sectors);
	if (r)
		return r;
	/* preflushes */
	if (!sectors)
		return 0;
	r = input_device(in, words[DEVICE]);
	if (r <= 0 || action < *best)
		return r < 0 ? r : 0;
	if (action > *best)
		begin_again(in);
	*best = action;
	return input_request(in, us, write, sector, sectors);
}

int read_blkparse(struct input *in)
{
	const char *best = actions;
	bool sums = false;
	char *line;
	int r;

	while ((r = input_line(in, &line)) > 0) {
		if (is_event(line)) {
			sums = false;
			r = read_event(in, line, &best);
		} else if (starts_sums(line)) {
			sums = true;
		} else if (!sums) {
			r = input_wrong(in, "no line of blkparse: '%.40s'", line);
		} else if (!strchr(line, ':')) {
			leave_out(in);
		}
		if (r < 0)
			return r;
	}
	return r;
}

/* ---- fio ---- */

/*
 *	fio version 2 iolog			fio version 3 iolog
 *	/dev/sdb add				12 /dev/sdb add
 *	/dev/sdb read 4096 8192			345 /dev/sdb read 4096 8192
 *	/dev/sdb wait 200 0
 *
 * Bytes, and us: since the beginning in version 3, for waiting in version 2.
 */
static bool is_known_action(const char *action)
{
	static const char * const known[] = { "add", "open", "close", "sync", "datasync", "trim", "wait" };
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(action, known[i]))
			return true;
	return false;
}

/* @words: file, action, offset, length */
static int read_io(struct input *in, char **words, u64 us)
{
	bool write = words[1] && !strcmp(words[1], "write");
	u64 offset, bytes;
	int r;

	if (!words[1])
		return input_wrong(in, "the line ends before its action");
	if (!write && strcmp(words[1], "read"))
		return is_known_action(words[1]) ? 0 : input_wrong(in, "unknown action '%.40s'", words[1]);
	r = input_number(in, "offset", words[2], MAX_BYTES, &offset);
	if (!r)
		r = input_number(in, "length", words[3], MAX_BYTES, &bytes);
	if (r)
		return r;
	r = input_device(in, words[0]);
	return r > 0 ? input_bytes(in, us, write, offset, bytes) : r;
}

/* @us: the clock; @waits: does the trace have times at all? */
static int read_io_v2(struct input *in, char **words, u64 *us, bool *waits)
{
	u64 wait;
	int r;

	if (!words[1] || strcmp(words[1], "wait"))
		return read_io(in, words, *us);
	r = input_number(in, "time", words[2], SIM_MAX_TIME_US, &wait);
	if (r)
		return r;
	if (wait > SIM_MAX_TIME_US - *us)
		return input_wrong(in, "the times are too large");
	*us += wait;
	*waits = true;
	return 0;
}

int read_iolog(struct input *in)
{
	char *words[MAX_WORDS], *line;
	bool waits = false;
	u64 us = 0, i;
	u32 version;
	int r;

	r = input_line(in, &line);
	if (r <= 0)
		return r;
	version = !strcmp(line, "fio version 2 iolog") ? 2 : !strcmp(line, "fio version 3 iolog") ? 3 : 0;
	if (!version)
		return input_wrong(in, "an iolog of a version that is neither 2 nor 3");
	while ((r = input_line(in, &line)) > 0) {
		split(line, words);
		if (version == 2) {
			r = read_io_v2(in, words, &us, &waits);
		} else {
			r = input_number(in, "time", words[0], SIM_MAX_TIME_US, &us);
			if (!r)
				r = words[1] ? read_io(in, words + 1, us) :
					       input_wrong(in, "the line ends behind the time");
		}
		if (r < 0)
			return r;
	}
	for (i = 0; version == 2 && !waits && i < in->trace->nr; i++)
		in->trace->request[i].time_us = i * STEP_US;
	return r;
}

/* ---- CSV ---- */

/*
 * The first line names the columns, in any order; others may be there too.  They stand between commas, or, as
 * spreadsheets have it where the comma is the decimal point, semicolons.
 */
enum { TIME_US, OP, CSV_SECTOR, CSV_SECTORS, OFFSET, BYTES, NR_NAMES };

static const char * const csv_names[NR_NAMES] = {
	[TIME_US] = "time_us", [OP] = "op", [CSV_SECTOR] = "sector", [CSV_SECTORS] = "sectors",
	[OFFSET] = "offset", [BYTES] = "bytes",
};

/* Cuts a line at @separator, into at most MAX_COLUMNS; gives their number. */
static unsigned int split_csv(char *line, const char *separator, char **fields)
{
	unsigned int n = 0;
	char *field, *end;

	while (line && n < MAX_COLUMNS) {
		field = strsep(&line, separator);
		field += strspn(field, " \t");
		end = field + strlen(field);
		while (end > field && isspace((unsigned char)end[-1]))
			*--end = '\0';
		fields[n++] = field;
	}
	return n;
}

/* @at: number of each name's column, or -1 */
static int read_head(struct input *in, char *line, const char *separator, int *at)
{
	char *fields[MAX_COLUMNS];
	unsigned int n = split_csv(line, separator, fields), i, k;

	for (k = 0; k < NR_NAMES; k++) {
		at[k] = -1;
		for (i = 0; i < n; i++)
			if (!strcasecmp(fields[i], csv_names[k]))
				at[k] = (int)i;
	}
	if (at[TIME_US] < 0 || at[OP] < 0 || !((at[CSV_SECTOR] >= 0 && at[CSV_SECTORS] >= 0) ||
					       (at[OFFSET] >= 0 && at[BYTES] >= 0)))
		return input_wrong(in,
				   "the first line must name the columns time_us, op, and sector and sectors or offset and bytes");
	return 0;
}

static int read_op(struct input *in, const char *op, bool *write)
{
	*write = op && (!strcasecmp(op, "W") || !strcasecmp(op, "write"));
	if (!*write && (!op || (strcasecmp(op, "R") && strcasecmp(op, "read"))))
		return input_wrong(in, "op '%.40s' is neither R nor W", op ? op : "");
	return 0;
}

static int read_row(struct input *in, char *line, const char *separator, const int *at)
{
	bool sectors = at[CSV_SECTOR] >= 0 && at[CSV_SECTORS] >= 0;
	char *fields[MAX_COLUMNS], *value[NR_NAMES];
	unsigned int n = split_csv(line, separator, fields), i;
	u64 us, from, len;
	bool write;
	int r;

	for (i = 0; i < NR_NAMES; i++)
		value[i] = at[i] >= 0 && (unsigned int)at[i] < n ? fields[at[i]] : NULL;
	r = input_number(in, "time", value[TIME_US], SIM_MAX_TIME_US, &us);
	if (!r)
		r = read_op(in, value[OP], &write);
	if (!r)
		r = input_number(in, sectors ? "sector" : "offset", value[sectors ? CSV_SECTOR : OFFSET],
				 sectors ? U64_MAX : MAX_BYTES, &from);
	if (!r)
		r = input_number(in, "length", value[sectors ? CSV_SECTORS : BYTES], sectors ? U64_MAX : MAX_BYTES,
				 &len);
	if (r)
		return r;
	return sectors ? input_request(in, us, write, from, len) : input_bytes(in, us, write, from, len);
}

int read_csv(struct input *in)
{
	const char *separator;
	int at[NR_NAMES], r;
	char *line;

	r = input_no_device(in, "CSV");
	if (r)
		return r;
	r = input_line(in, &line);
	if (r <= 0)
		return r;
	separator = strchr(line, ',') ? "," : ";";
	for (r = read_head(in, line, separator, at); !r; r = read_row(in, line, separator, at)) {
		r = input_line(in, &line);
		if (r <= 0)
			return r;
	}
	return r;
}
