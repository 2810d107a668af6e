// SPDX-License-Identifier: GPL-2.0
/* Reading traces: all formats give the same, and what makes no sense is told with its place. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "sim/trace-file.h"
#include "tap.h"
#include "text.h"
#include "trace-write.h"
#include "workload.h"

static char path[] = "/tmp/tier-trace-XXXXXX";

/* The file holds @size bytes of @data. */
static void put(const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		printf("Bail out! cannot write %s\n", path);
		exit(1);
	}
	close(fd);
}

static int get(struct sim_trace *t, const char *device, char *why)
{
	memset(t, 0, sizeof(*t));
	return sim_trace_read(t, path, device, why);
}

static bool same(const struct sim_request *a, const struct sim_request *b)
{
	return a->sector == b->sector && a->sectors == b->sectors && a->time_us == b->time_us && a->write == b->write;
}

static void test_formats(void)
{
	struct sim_trace t = { 0 }, u;
	const char * const *f;
	char why[TEXT_LEN];
	u64 i, base;
	FILE *out;
	int r;

	workload_add(&t, "mail", 1, 3000, 64);
	base = t.request[0].time_us;
	for (i = 0; i < t.nr; i++)
		t.request[i].time_us -= base;
	for (f = trace_formats; *f; f++) {
		out = fopen(path, "w");
		r = trace_write(&t, *f, out);
		fclose(out);
		is(r, 0, "%s: written", *f);
		r = get(&u, NULL, why);
		ok(!r && u.nr == t.nr && u.end == t.end && u.nr_writes == t.nr_writes && u.sectors == t.sectors,
		   "%s: read", *f);
		for (i = 0; i < u.nr && u.nr == t.nr && same(&u.request[i], &t.request[i]); i++)
			;
		is(i, t.nr, "%s: all requests are the same", *f);
		sim_trace_clear(&u);
	}
	is(trace_write(&t, "nosuch", stdout), -ENOENT, "no such format");
	is(workload_add(&t, "nosuch", 1, 1, 16), -ENOENT, "no such workload");
	sim_trace_clear(&t);
}

/* Text, the end of its message (NULL: it is good), and what is in it then. */
struct text_case {
	const char *text;
	const char *why;
	u64 nr;
	u64 sectors;
	u64 last_us;
};

#define BLK(time, action, rest)	"  8,0    1        7     " time "   697  " action "  " rest " [kjournald]\n"
#define CSV			"time_us,op,sector,sectors\n"
#define BOM			"\xef\xbb\xbf"
#define V2			"fio version 2 iolog\n"
#define V3			"fio version 3 iolog\n"
#define COLUMNS			":1: the first line must name the columns time_us, op, and sector and sectors or offset and bytes"
#define UNKNOWN			": neither text of blkparse nor an iolog of fio nor CSV with a head line nor DMT1"

static const struct text_case texts[] = {
	/* nothing */
	{ "", ": no read or write in it", 0, 0, 0 },
	{ "\n  \n", ": no read or write in it", 0, 0, 0 },
	{ CSV, ": no read or write in it", 0, 0, 0 },
	{ V3, ": no read or write in it", 0, 0, 0 },
	{ "CPU0 (sda):\n Reads Queued: 0\n", ": no read or write in it", 0, 0, 0 },
	{ "hello\n", UNKNOWN, 0, 0, 0 },
	{ "\x01\x02\x03\n", UNKNOWN, 0, 0, 0 },
	{ "fio version 1 iolog\n", ":1: an iolog of a version that is neither 2 nor 3", 0, 0, 0 },

	/* blkparse: queued before issued before completed; no discards, flushes, messages; sums are passed over */
	{ BLK("0.5", "Q", "R 8 + 8") BLK("1.25", "Q", "WS 16 + 4"), NULL, 2, 12, 750000 },
	{ BLK("0.1", "C", "R 8 + 8") BLK("0.2", "D", "R 8 + 3") BLK("0.3", "Q", "R 8 + 5"), NULL, 1, 5, 0 },
	{ BLK("0.1", "D", "R 8 + 8") BLK("0.2", "C", "R 8 + 3"), NULL, 1, 8, 0 },
	{ BLK("0.1", "Q", "R 8 + 8") BLK("0.2", "G", "R 8 + 3"), NULL, 1, 8, 0 },
	{ BLK("0.1", "Q", "D 8 + 8") BLK("0.2", "Q", "FWS") BLK("0.3", "Q", "W 0 + 0") BLK("0.4", "Q", "FN"),
	  ": no read or write in it", 0, 0, 0 },
	{ BLK("0.1", "D", "R 36 (12 00 00)") BLK("0.2", "m", "N cfq ?") BLK("0.3", "D", "R 1 + 1"), NULL, 1, 1, 0 },
	{ BLK("0.1", "Q", "R 8 + 8") "CPU0 (sda):\n Reads Queued: 1\n\nTotal (sda):\n x\n" BLK("0.2", "Q", "R 8 + 8"),
	  NULL, 2, 16, 100000 },
	{ BLK("0.1", "C", "R 8 + 8") "rubbish\n", ":2: no line of blkparse: 'rubbish'", 0, 0, 0 },
	{ "8,0 1\n", ":1: the line ends before its action", 0, 0, 0 },
	{ "8,0 1 2 0.1 3 Q\n", ":1: the line ends before the kind of request", 0, 0, 0 },
	{ BLK("0.1", "Q", "R 8 8"), ":1: no '+' between sector and length", 0, 0, 0 },
	{ BLK("0.1", "Q", "R 8 +"), ":1: length '[kjournald]' is no number", 0, 0, 0 },
	{ BLK("0.1", "Q", "R x + 8"), ":1: sector 'x' is no number", 0, 0, 0 },
	{ BLK("-0.1", "Q", "R 8 + 8"), ":1: time '-0' is negative", 0, 0, 0 },
	{ BLK("0.-1", "Q", "R 8 + 8"), ":1: fraction of a second '-1' is negative", 0, 0, 0 },
	{ BLK("0.1", "Q", "R -8 + 8"), ":1: sector '-8' is negative", 0, 0, 0 },
	{ BLK("99999999999999999999.0", "Q", "R 8 + 8"), ":1: time '99999999999999999999' is too large", 0, 0, 0 },
	{ BLK("0.1", "Q", "R 99999999999999999999 + 8"), ":1: sector '99999999999999999999' is too large", 0, 0, 0 },
	{ BLK("0.1", "Q", "R 18446744073709551615 + 8"), ":1: sector 18446744073709551615 is beyond 256 PiB", 0, 0, 0 },
	{ BLK("0.1", "Q", "R 8 + 16777217"), ":1: a request of 16777217 sectors, which is more than 8 GiB", 0, 0, 0 },
	{ BLK("0.1", "Q", "R 8 + 8") "8,16 1 2 0.2 3 Q R 8 + 8 [x]\n",
	  ":2: a request of 8,16 after some of 8,0: choose one with --device", 0, 0, 0 },

	/* also if the second one is told of otherwise */
	{ BLK("0.1", "Q", "R 8 + 8") "8,16 1 2 0.2 3 C R 8 + 8 [0]\n",
	  ":2: a request of 8,16 after some of 8,0: choose one with --device", 0, 0, 0 },
	{ BLK("0.1", "C", "R 8 + 8") "8,16 1 2 0.2 3 Q R 8 + 8 [x]\n",
	  ":2: a request of 8,16 after some of 8,0: choose one with --device", 0, 0, 0 },
	{ "\a\x74\x61\x65........................................",
	  ": what blktrace writes: make text of all its files with blkparse -i NAME -o FILE", 0, 0, 0 },

	/* fio */
	{ V2 "/f add\n/f open\n/f read 0 512\n/f write 1 512\n/f trim 0 4096\n/f sync 0 0\n/f close\n", NULL,
	  2, 3, 10000 },
	{ V2 "/f wait 100 0\n/f read 0 512\n/f wait 50 0\n/f read 0 512\n", NULL, 2, 2, 50 },
	{ V2 "/f wait 1152921504606846976 0\n/f wait 1 0\n", ":3: the times are too large", 0, 0, 0 },
	{ V2 "/f\n", ":2: the line ends before its action", 0, 0, 0 },
	{ V2 "/f jump 0 0\n", ":2: unknown action 'jump'", 0, 0, 0 },
	{ V2 "/f read 0\n", ":2: no length", 0, 0, 0 },
	{ V2 "/f read 0 0\n", ":2: a request of no length", 0, 0, 0 },
	{ V2 "/f read -512 512\n", ":2: offset '-512' is negative", 0, 0, 0 },
	{ V2 "/f read 288230376151711232 1024\n", ":2: sector 562949953421311 is beyond 256 PiB", 0, 0, 0 },
	{ V2 "/f read 288230376151711232 512\n", NULL, 1, 1, 0 },
	{ V2 "/f read 0 512\n/g read 0 512\n", ":3: a request of /g after some of /f: choose one with --device",
	  0, 0, 0 },
	{ V3 "0 /f add\n7 /f read 0 512\n9 /f read 0 512\n", NULL, 2, 2, 2 },
	{ V3 "7\n", ":2: the line ends behind the time", 0, 0, 0 },
	{ V3 "-7 /f read 0 512\n", ":2: time '-7' is negative", 0, 0, 0 },
	{ V3 "/f read 0 512\n", ":2: time '/f' is no number", 0, 0, 0 },

	/* CSV */
	{ "1,R,2,3\n", COLUMNS, 0, 0, 0 },
	{ "time_us,op,sector,bytes\n", COLUMNS, 0, 0, 0 },
	{ CSV "5,R,8,8\n6,write,0,1", NULL, 2, 9, 1 },
	{ "op , bytes,offset,TIME_US\r\n\r\nr,1024,511,5\r\n", NULL, 1, 3, 0 },
	{ CSV "5,R,8\n", ":2: no length", 0, 0, 0 },
	{ CSV "5,R,,8\n", ":2: no sector", 0, 0, 0 },
	{ CSV "5,D,8,8\n", ":2: op 'D' is neither R nor W", 0, 0, 0 },
	{ CSV "1.5,R,8,8\n", ":2: time '1.5' is no number", 0, 0, 0 },
	{ CSV "5,R,0x8,8\n", ":2: sector '0x8' is no number", 0, 0, 0 },
	{ CSV "5,R,8,18446744073709551616\n", ":2: length '18446744073709551616' is too large", 0, 0, 0 },
	{ CSV "9,R,8,8\n3,R,8,8\n9,R,8,8\n10,R,8,8\n", NULL, 4, 32, 1 },
	{ BOM CSV "5,R,8,8\n", NULL, 1, 8, 0 },
	{ BOM V3 "7 /f read 0 512\n", NULL, 1, 1, 0 },
	{ BOM, ": no read or write in it", 0, 0, 0 },
	{ "time_us;op;what, if any;sector;sectors\n", COLUMNS, 0, 0, 0 },
	{ BOM "time_us;op;sector;sectors\r\n5;R;8;8\r\n7;W;16;8\r\n", NULL, 2, 16, 2 },
	{ "time_us;op;sector;sectors\n5,R,8,8\n", ":2: time '5,R,8,8' is no number", 0, 0, 0 },
};

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

static void test_texts(void)
{
	const struct text_case *c;
	struct sim_trace t;
	char why[TEXT_LEN];
	unsigned int i;
	int r;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		c = &texts[i];
		put(c->text, strlen(c->text));
		r = get(&t, NULL, why);
		if (c->why)
			ok(r && !t.nr && !strncmp(why, path, strlen(path)) && ends_with(why, c->why), "%s", c->why);
		else
			ok(!r && t.nr == c->nr && t.sectors == c->sectors && t.request[t.nr - 1].time_us == c->last_us,
			   "case %u is read", i);
		if (!r == !!c->why)
			diag("%s", r ? why : "it was read");
		sim_trace_clear(&t);
	}
}

static void test_devices(void)
{
	static const char text[] = V3 "0 /f read 0 512\n1 /g read 0 1024\n2 /f read 0 512\n";
	struct sim_trace t;
	char why[TEXT_LEN];

	put(text, strlen(text));
	is(get(&t, "/f", why), 0, "one device of two");
	is(t.nr, 2, "its requests only");
	sim_trace_clear(&t);
	is(get(&t, "/h", why), -ENODATA, "a device that is not there");
	ok(ends_with(why, ": no read or write of /h in it"), "is named");
	put(CSV "5,R,8,8\n", strlen(CSV "5,R,8,8\n"));
	is(get(&t, "8,0", why), -EINVAL, "none can be chosen of CSV");
	ok(ends_with(why, ": --device 8,0 cannot be had: a trace as CSV names no devices, only blkparse's and fio's do"),
	   "which is said");
	put("DMT1", 4);
	is(get(&t, "8,0", why), -EINVAL, "nor of DMT1");
	ok(strstr(why, " a trace as DMT1 names no devices"), "which is said");
}

/* What is taken of a device does not depend on what there is of others. */
static void test_actions(void)
{
	static const char text[] = BLK("0.1", "C", "R 8 + 8") "8,16 1 2 0.2 3 Q R 8 + 4 [x]\n" BLK("0.3", "C", "R 8 + 8")
		"8,16 1 2 0.4 3 C R 8 + 4 [0]\n";
	struct sim_trace t;
	char why[TEXT_LEN];

	put(text, strlen(text));
	is(get(&t, "8,0", why), 0, "a device with completions only, beside another");
	is(t.sectors, 16, "its own are taken");
	sim_trace_clear(&t);
	is(get(&t, "8,16", why), 0, "the other");
	is(t.sectors, 4, "by what was queued");
	sim_trace_clear(&t);
}

static void test_skipped(void)
{
	static const char text[] = BLK("0.1", "C", "R 8 + 8") BLK("0.1", "J", "R 8 + 8") BLK("0.1", "m", "N cfq")
		BLK("0.1", "UT", "N [x] 1") BLK("0.1", "Q", "R? 8 + 8") BLK("0.2", "Q", "RA 8 + 4")
		"CPU0 (sda):\n Reads Queued: 1, 4KiB\n\n rubbish\nTotal (sda):\n Skips: 0 forward (0 -   0.0%)\n"
		"Input file sda.blktrace.0 added\n8,0\n";
	struct sim_trace t;
	char why[TEXT_LEN];

	put(text, strlen(text));
	is(get(&t, NULL, why), 0, "lines that make no sense");
	is(t.nr, 1, "are left out");
	is(t.skipped, 4, "and counted");
	is(t.first_skipped, 2, "with the first of them");
	sim_trace_clear(&t);
}

static void test_backwards(void)
{
	static const char text[] = CSV "9,R,8,8\n3,R,8,8\n9,R,8,8\n10,R,8,8\n9,R,8,8\n";
	struct sim_trace t;
	char why[TEXT_LEN];

	put(text, strlen(text));
	is(get(&t, NULL, why), 0, "times that run backwards");
	is(t.backwards, 2, "are counted");
	is(t.first_backwards, 3, "with the line of the first");
	sim_trace_clear(&t);
}

static void test_lines(void)
{
	static const char nul[] = CSV "5,R,\0008,8\n";
	size_t len = 70000;
	char *line = malloc(len), why[TEXT_LEN];
	struct sim_trace t;

	put(nul, sizeof(nul) - 1);
	is(get(&t, NULL, why), -EINVAL, "a line with a NUL");
	ok(ends_with(why, ":2: this is no line of text"), "is named");
	memset(line, '7', len);
	memcpy(line, CSV, strlen(CSV));
	put(line, len);
	is(get(&t, NULL, why), -EINVAL, "a line without an end");
	ok(ends_with(why, ":2: this is no line of text"), "is named");
	/* many lines, over several buffers */
	memset(line, ' ', len);
	memcpy(line, CSV, strlen(CSV));
	line[40000] = '\n';
	memcpy(line + 60000, "5,R,8,8\n", 8);
	line[65535] = '\n';
	memcpy(line + 65536, "6,R,8,8", 7);
	put(line, 65543);
	is(get(&t, NULL, why), 0, "a line at the end of a buffer");
	is(t.nr, 2, "and one behind it");
	sim_trace_clear(&t);
	free(line);
}

/* DMT1: each word of the head, and records */
static void test_dmt(void)
{
	struct sim_trace t = { 0 }, u;
	unsigned char buf[200];
	char why[TEXT_LEN];
	size_t len, i;
	int bad = 0;
	FILE *out;

	sim_trace_add(&t, 0, false, 100, 8);
	sim_trace_add(&t, 5, true, 50, 8);
	out = fmemopen(buf, sizeof(buf), "w");
	trace_write(&t, "dmt", out);
	len = ftell(out);
	fclose(out);
	sim_trace_clear(&t);

	for (i = 4; i < len; i++) {
		put(buf, i);
		bad += !get(&u, NULL, why) || u.nr;
	}
	is(bad, 0, "cut off anywhere it is refused");
	ok(ends_with(why, ": it ends in record 2 of 2"), "and it is said where it ends");
	put(buf, 63);
	get(&u, NULL, why);
	ok(ends_with(why, ": it ends in its head"), "also in the head");
	put(buf, len + 1);
	is(get(&u, NULL, why), -EINVAL, "a byte too many is refused");
	buf[8] = 2;
	put(buf, len);
	get(&u, NULL, why);
	ok(ends_with(why, ": a DMT file of another version"), "another version is");
	buf[8] = 1;
	buf[24] = 107;
	put(buf, len);
	get(&u, NULL, why);
	ok(ends_with(why, ":1: sector 100 is beyond the end that the head tells"), "a record out of bounds is");
	buf[24] = 108;
	memset(buf + 64 + 4, 0, 4);
	put(buf, len);
	get(&u, NULL, why);
	ok(ends_with(why, ":1: a request of no length"), "one of no length is");
	memset(buf + 16, 0xff, 16);
	buf[64 + 4] = 8;
	memset(buf + 64 + 8, 0xff, 7);
	put(buf, len);
	get(&u, NULL, why);
	ok(strstr(why, ":1: sector") && ends_with(why, "is beyond 256 PiB"), "one too far out is");
}

static void test_files(void)
{
	struct sim_trace t = { 0 };
	char why[TEXT_LEN];

	is(sim_trace_read(&t, "/nonexistent", NULL, why), -ENOENT, "a file that is not there");
	is_str(why, "/nonexistent: No such file or directory", "is named");
	is(sim_trace_read(&t, "/", NULL, why), -EISDIR, "a directory");
	is_str(why, "/: Is a directory", "is named");
}

static void test_footprint(void)
{
	struct sim_trace t = { 0 };
	u64 sectors;

	sim_trace_footprint(&t, 8, &sectors);
	is(sectors, 0, "nothing touched");
	sim_trace_add(&t, 0, false, 7, 2);
	sim_trace_add(&t, 0, false, 1000, 8);
	sim_trace_add(&t, 0, false, 0, 9);
	sim_trace_add(&t, 0, true, SIM_MAX_END - SIM_MAX_SECTORS, SIM_MAX_SECTORS);
	sim_trace_footprint(&t, 8, &sectors);
	is(sectors, 16 + 8 + SIM_MAX_SECTORS, "pages count once, also of huge requests far out");
	sim_trace_footprint(&t, 2048, &sectors);
	is(sectors, 2048 + SIM_MAX_SECTORS, "in larger units");
	sim_trace_clear(&t);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return tap_skip_all("no place for a file");
	close(fd);
	test_formats();
	test_texts();
	test_devices();
	test_actions();
	test_skipped();
	test_backwards();
	test_lines();
	test_dmt();
	test_files();
	test_footprint();
	remove(path);
	return tap_done();
}
