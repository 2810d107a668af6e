// SPDX-License-Identifier: GPL-2.0
/*
 * Writes, reads, discards, zeroes and flushes a block device from many threads, and knows what every
 * sector has to read as.
 *
 *	iostress run [OPTION]... DEVICE STATE	I/O for a while, then read all; STATE is what it must hold
 *	iostress verify [OPTION]... DEVICE STATE	read all of DEVICE and compare with STATE
 *	iostress compare [OPTION]... DEVICE FILE	what can be read of DEVICE is the same as in FILE
 *
 * SIGTERM ends the I/O before its time.
 *
 * Each sector belongs to one thread.  The pieces that belong to a thread have odd lengths and lie in
 * between those of the others, so that threads share granules and blocks, but never a sector.
 *
 * What a sector held is gone for good once it was overwritten: a copy that comes back later is found,
 * however old.  After a discard, or a write that failed, a sector may read as anything it once held, or as
 * zeros; but what it is read as then, it has to stay.  Granules and contents are counted from --first on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define ANY		UINT32_MAX	/* nobody knows before it is read */
#define MAX_THREADS	64
#define MAX_REPORTS	20
#define WORDS		64

struct piece {
	uint64_t first;
	uint32_t sectors;
};

struct thread {
	pthread_t id;
	uint32_t nr;
	uint64_t random;
	uint32_t counter;
	struct piece *pieces;
	uint32_t nr_pieces;
	uint64_t *buf;
	uint64_t ops, errors;
};

static struct {
	uint32_t seconds, threads, lbs, max, granule, reads, discards, zeroes, syncs, hot;
	uint64_t seed, first, sectors;
	bool errors_ok;
} opt = {
	.seconds = 10, .threads = 16, .lbs = 1, .max = 512, .granule = 8, .reads = 40, .discards = 2,
	.zeroes = 1, .syncs = 3, .hot = 80, .seed = 1,
};

static int fd;
static uint32_t *state;
static _Atomic int bad;
static uint64_t end_time;
static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static uint64_t next(uint64_t *r)
{
	uint64_t z = *r += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* ---- contents ---- */

static void stamp_sector(uint64_t *w, uint64_t at, uint32_t stamp)
{
	uint64_t sector = at - opt.first;
	uint64_t h = sector * 0x9e3779b97f4a7c15 ^ stamp * 0xc2b2ae3d27d4eb4f;
	int i;

	w[0] = sector;
	w[1] = stamp;
	for (i = 2; i < WORDS; i++)
		w[i] = h += 0x2545f4914f6cdd1d;
}

static bool is_zero(const uint64_t *w)
{
	int i;

	for (i = 0; i < WORDS; i++)
		if (w[i])
			return false;
	return true;
}

/* what a sector says it is; false: nothing that we have ever written there */
static bool read_stamp(const uint64_t *w, uint64_t sector, uint32_t *stamp)
{
	uint64_t want[WORDS];

	if (is_zero(w)) {
		*stamp = 0;
		return true;
	}
	*stamp = w[1];
	stamp_sector(want, sector, w[1]);
	return !memcmp(w, want, sizeof(want));
}

static void check_sector(const uint64_t *w, uint64_t sector, bool pin, const char *when)
{
	uint32_t *s = &state[sector - opt.first], stamp;

	if (!read_stamp(w, sector, &stamp)) {
		if (bad++ < MAX_REPORTS)
			printf("%s: sector %llu: garbage (says sector %llu stamp %llu), should be %u\n", when,
			       (unsigned long long)sector, (unsigned long long)w[0], (unsigned long long)w[1], *s);
		return;
	}
	if (*s == ANY) {
		if (pin)
			*s = stamp;
		return;
	}
	if (stamp != *s && bad++ < MAX_REPORTS)
		printf("%s: sector %llu: stamp %u, should be %u\n", when, (unsigned long long)sector, stamp, *s);
}

/* ---- requests ---- */

static void request_failed(struct thread *t, const char *what, uint64_t sector, uint32_t n)
{
	t->errors++;
	if (opt.errors_ok)
		return;
	if (bad++ < MAX_REPORTS)
		printf("%s of sector %llu, %u sectors: %s\n", what, (unsigned long long)sector, n, strerror(errno));
}

static void set_state(uint64_t sector, uint32_t n, uint32_t stamp)
{
	while (n--)
		state[sector++ - opt.first] = stamp;
}

static void do_write(struct thread *t, uint64_t sector, uint32_t n)
{
	bool sync = next(&t->random) % 100 < opt.syncs;
	uint32_t stamp = ++t->counter, i;
	struct iovec v = { t->buf, n * 512UL };

	for (i = 0; i < n; i++)
		stamp_sector(t->buf + i * WORDS, sector + i, stamp);
	if (pwritev2(fd, &v, 1, sector * 512, sync ? RWF_DSYNC : 0) == (ssize_t)v.iov_len) {
		set_state(sector, n, stamp);
	} else {
		request_failed(t, "write", sector, n);
		set_state(sector, n, ANY);
	}
}

static void do_read(struct thread *t, uint64_t sector, uint32_t n)
{
	uint32_t i;

	if (pread(fd, t->buf, n * 512UL, sector * 512) != (ssize_t)(n * 512UL)) {
		request_failed(t, "read", sector, n);
		return;
	}
	for (i = 0; i < n; i++)
		check_sector(t->buf + i * WORDS, sector + i, true, "read");
}

static void do_discard(struct thread *t, uint64_t sector, uint32_t n)
{
	uint64_t range[2] = { sector * 512, n * 512ULL };
	uint64_t rel = sector - opt.first;
	uint64_t first = (rel + opt.granule - 1) / opt.granule * opt.granule;
	uint64_t end = rel + n;

	if (end != opt.sectors)
		end = end / opt.granule * opt.granule;
	if (ioctl(fd, BLKDISCARD, range) && errno != EOPNOTSUPP)
		request_failed(t, "discard", sector, n);
	if (first < end)
		set_state(opt.first + first, end - first, ANY);
}

static void do_zero(struct thread *t, uint64_t sector, uint32_t n)
{
	uint64_t range[2] = { sector * 512, n * 512ULL };

	if (ioctl(fd, BLKZEROOUT, range)) {
		request_failed(t, "zeroout", sector, n);
		set_state(sector, n, ANY);
		return;
	}
	set_state(sector, n, 0);
}

static void one_request(struct thread *t)
{
	uint32_t pieces = t->nr_pieces, kind = next(&t->random) % 100, n, at;
	struct piece *p;

	/* most of it in the first eighth of what is there */
	if (next(&t->random) % 100 < opt.hot && pieces >= 8)
		pieces /= 8;
	p = &t->pieces[next(&t->random) % pieces];
	n = p->sectors / opt.lbs;
	if (n > 1 && next(&t->random) % 3)
		n = 1 + next(&t->random) % n;
	at = next(&t->random) % (p->sectors / opt.lbs - n + 1);
	n *= opt.lbs;
	at *= opt.lbs;
	t->ops++;
	if (kind < opt.reads)
		do_read(t, p->first + at, n);
	else if (kind < opt.reads + opt.discards)
		do_discard(t, p->first + at, n);
	else if (kind < opt.reads + opt.discards + opt.zeroes)
		do_zero(t, p->first + at, n);
	else if (kind < opt.reads + opt.discards + opt.zeroes + 1 && fdatasync(fd))
		request_failed(t, "flush", 0, 0);
	else
		do_write(t, p->first + at, n);
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	while (!ended && now_ms() < end_time && (opt.errors_ok || !bad))
		one_request(t);
	return NULL;
}

/* ---- all of it ---- */

static void verify_all(bool pin, const char *when)
{
	uint32_t chunk = 2048;
	uint64_t *buf, pos, end = opt.first + opt.sectors;
	uint32_t i;

	if (posix_memalign((void **)&buf, 4096, chunk * 512UL))
		die("memory");
	for (pos = opt.first; pos < end; pos += chunk) {
		uint32_t n = end - pos < chunk ? end - pos : chunk;

		if (pread(fd, buf, n * 512UL, pos * 512) != (ssize_t)(n * 512UL)) {
			if (bad++ < MAX_REPORTS)
				printf("%s: read of sector %llu, %u sectors: %s\n", when, (unsigned long long)pos,
				       n, strerror(errno));
			continue;
		}
		for (i = 0; i < n; i++)
			check_sector(buf + i * WORDS, pos + i, pin, when);
	}
	free(buf);
}

/* odd lengths, dealt out in turn */
static void deal_pieces(struct thread *threads)
{
	uint64_t pos = opt.first, end = opt.first + opt.sectors, random = opt.seed;
	uint32_t i = 0;

	while (pos < end) {
		struct thread *t = &threads[i++ % opt.threads];
		uint32_t n = 1 + next(&random) % (next(&random) % 4 ? opt.max / 8 : opt.max);

		n = (n + opt.lbs - 1) / opt.lbs * opt.lbs;
		if (n > opt.max)
			n = opt.max;
		if (n > end - pos)
			n = end - pos;
		if (!(t->nr_pieces & (t->nr_pieces - 1))) {
			t->pieces = realloc(t->pieces, (t->nr_pieces * 2 + 1) * sizeof(*t->pieces));
			if (!t->pieces)
				die("memory");
		}
		t->pieces[t->nr_pieces++] = (struct piece){ pos, n };
		pos += n;
	}
	while (opt.threads > 1 && !threads[opt.threads - 1].nr_pieces)
		opt.threads--;
}

static void run(void)
{
	static struct thread threads[MAX_THREADS];
	uint64_t ops = 0, errors = 0;
	uint32_t i, first = 1;

	/* stamps go on where those of an earlier run ended */
	for (uint64_t s = 0; s < opt.sectors; s++)
		if (state[s] != ANY && state[s] >= first)
			first = state[s] + 1;
	deal_pieces(threads);
	signal(SIGTERM, on_signal);
	end_time = now_ms() + opt.seconds * 1000ULL;
	for (i = 0; i < opt.threads; i++) {
		threads[i].nr = i;
		threads[i].random = opt.seed * 1000 + i;
		threads[i].counter = first;
		if (posix_memalign((void **)&threads[i].buf, 4096, opt.max * 512UL) ||
		    pthread_create(&threads[i].id, NULL, run_thread, &threads[i]))
			die("thread");
	}
	for (i = 0; i < opt.threads; i++) {
		pthread_join(threads[i].id, NULL);
		ops += threads[i].ops;
		errors += threads[i].errors;
	}
	printf("%llu requests, %llu failed\n", (unsigned long long)ops, (unsigned long long)errors);
	if (!bad && !opt.errors_ok)
		verify_all(true, "final read");
}

static void load_state(const char *path, bool must)
{
	int f = open(path, O_RDONLY);

	if (f < 0) {
		if (must)
			die(path);
		return;
	}
	if (read(f, state, opt.sectors * sizeof(*state)) != (ssize_t)(opt.sectors * sizeof(*state)))
		die(path);
	close(f);
}

static void save_state(const char *path)
{
	int f = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (f < 0 || write(f, state, opt.sectors * sizeof(*state)) != (ssize_t)(opt.sectors * sizeof(*state)))
		die(path);
	close(f);
}

/* by pages; with --errors-ok those that can't be read are only counted */
static void compare(const char *path)
{
	enum { PAGE = 4096 };
	uint64_t pos, unread = 0;
	char *a, b[PAGE];
	int f = open(path, O_RDONLY);

	if (f < 0 || posix_memalign((void **)&a, PAGE, PAGE))
		die(path);
	for (pos = 0; pos < opt.sectors * 512; pos += PAGE) {
		if (pread(f, b, PAGE, pos) != PAGE)
			die(path);
		if (pread(fd, a, PAGE, opt.first * 512 + pos) != PAGE)
			unread++;
		else if (memcmp(a, b, PAGE) && bad++ < MAX_REPORTS)
			printf("sector %llu differs\n", (unsigned long long)(opt.first + pos / 512));
	}
	printf("%llu of %llu pages can't be read\n", (unsigned long long)unread,
	       (unsigned long long)(opt.sectors * 512 / PAGE));
	if (unread && (!opt.errors_ok || unread * PAGE == opt.sectors * 512))
		bad++;
	free(a);
	close(f);
}

static void usage(void)
{
	fprintf(stderr, "usage: iostress run|verify|compare [--seconds N] [--threads N] [--seed N] [--lbs BYTES]\n"
		"	[--max SECTORS] [--granule SECTORS] [--reads %%] [--discards %%] [--zeroes %%]\n"
		"	[--syncs %%] [--hot %%] [--first SECTOR] [--sectors N] [--errors-ok] DEVICE FILE\n");
	exit(2);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", 1, NULL, 't' }, { "threads", 1, NULL, 'j' }, { "seed", 1, NULL, 's' },
		{ "lbs", 1, NULL, 'l' }, { "max", 1, NULL, 'm' }, { "granule", 1, NULL, 'g' },
		{ "reads", 1, NULL, 'r' }, { "discards", 1, NULL, 'd' }, { "zeroes", 1, NULL, 'z' },
		{ "syncs", 1, NULL, 'y' }, { "hot", 1, NULL, 'h' }, { "first", 1, NULL, 'f' },
		{ "sectors", 1, NULL, 'n' }, { "errors-ok", 0, NULL, 'e' }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t v = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 't': opt.seconds = v; break;
		case 'j': opt.threads = v; break;
		case 's': opt.seed = v; break;
		case 'l': opt.lbs = v / 512; break;
		case 'm': opt.max = v; break;
		case 'g': opt.granule = v; break;
		case 'r': opt.reads = v; break;
		case 'd': opt.discards = v; break;
		case 'z': opt.zeroes = v; break;
		case 'y': opt.syncs = v; break;
		case 'h': opt.hot = v; break;
		case 'f': opt.first = v; break;
		case 'n': opt.sectors = v; break;
		case 'e': opt.errors_ok = true; break;
		default: usage();
		}
	}
	if (argc - optind != 3 || !opt.threads || opt.threads > MAX_THREADS || opt.max < 8 || !opt.lbs || !opt.granule)
		usage();
}

int main(int argc, char **argv)
{
	bool verify, comp;
	uint64_t bytes;

	parse(argc, argv);
	verify = !strcmp(argv[optind], "verify");
	comp = !strcmp(argv[optind], "compare");
	if (!verify && !comp && strcmp(argv[optind], "run"))
		usage();
	fd = open(argv[optind + 1], (verify || comp ? O_RDONLY : O_RDWR) | O_DIRECT);
	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes))
		die(argv[optind + 1]);
	if (!opt.sectors)
		opt.sectors = bytes / 512 - opt.first;
	if (comp) {
		compare(argv[optind + 2]);
		return bad ? 1 : 0;
	}
	state = calloc(opt.sectors, sizeof(*state));
	if (!state)
		die("memory");
	load_state(argv[optind + 2], verify);
	if (verify) {
		verify_all(false, "verify");
	} else {
		run();
		save_state(argv[optind + 2]);
	}
	if (bad)
		printf("%d sectors or requests are wrong\n", bad);
	return bad ? 1 : 0;
}
