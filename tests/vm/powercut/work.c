// SPDX-License-Identifier: GPL-2.0
/* Random requests from several threads, and random messages. */
#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "powercut.h"

#define MAX_SECTORS	128

struct worker {
	pthread_t thread;
	struct rng rng;
	const struct run *run;
	u64 hot, hot_len;
	int fd;
};

static atomic_bool stop;

const char *random_mode(struct rng *r)
{
	static const char * const modes[] = {
		"writeback", "writeback", "writeback", "writethrough", "writearound", "passthrough",
	};

	return nr_tiers ? "tiered" : modes[rng_below(r, sizeof(modes) / sizeof(modes[0]))];
}

const char *random_policy(struct rng *r)
{
	static const char * const policies[] = {
		"lru 0", "clock2q 0", "hotspot 0", "seqbypass 2 next lru", "builtin 0",
	};

	return policies[rng_below(r, sizeof(policies) / sizeof(policies[0]))];
}

static void *buffer(void)
{
	static __thread void *buf;

	if (!buf && posix_memalign(&buf, 4096, MAX_SECTORS * SECTOR))
		die("out of memory");
	return buf;
}

int do_write(int fd, u64 start, u32 n, bool fua)
{
	struct iovec iov = { buffer(), n * SECTOR };
	u64 id = oracle_new_id();

	if (!oracle_take(start, n))
		return 0;
	oracle_fill(iov.iov_base, start, n, id);
	oracle_event(EV_WRITE, id, start, n, fua);
	if (pwritev2(fua && dm_fua_fd >= 0 ? dm_fua_fd : fd, &iov, 1, start * SECTOR, fua ? RWF_DSYNC : 0) != (ssize_t)iov.iov_len) {
		complain("write of %u sectors at %llu: %s", n, (unsigned long long)start, strerror(errno));
		return -1;	/* the sectors stay taken */
	}
	oracle_event(EV_WRITE_ACK, id, start, n, fua);
	oracle_drop(start, n);
	return 0;
}

int do_read(int fd, u64 start, u32 n)
{
	struct permit p[MAX_SECTORS];
	u8 *buf = buffer();
	u32 i;

	oracle_read_begin(start, n, p);
	if (pread(fd, buf, n * SECTOR, start * SECTOR) != (ssize_t)(n * SECTOR)) {
		complain("read of %u sectors at %llu: %s", n, (unsigned long long)start, strerror(errno));
		return -1;
	}
	oracle_read_end(start, n, p);
	for (i = 0; i < n; i++) {
		u64 v = oracle_value(buf + i * SECTOR, start + i);

		if (!permitted(&p[i], v)) {
			complain("sector %llu reads as version %lld, not %llu to %llu, in the life in which it was written",
				 (unsigned long long)start + i, (long long)v, (unsigned long long)p[i].floor,
				 (unsigned long long)p[i].last);
			oracle_history(start + i, now());
			return -1;
		}
	}
	return 0;
}

bool flushes_may_fail;

int do_flush(int fd)
{
	u64 id = oracle_new_id();

	oracle_event(EV_FLUSH, id, 0, 0, false);
	if (fdatasync(fd)) {
		oracle_event(EV_FLUSH_FAILED, id, 0, 0, false);
		if (flushes_may_fail)
			return 0;
		complain("flush: %s", strerror(errno));
		return -1;
	}
	oracle_event(EV_FLUSH_ACK, id, 0, 0, false);
	return 0;
}

/* on a tiered device the whole granules in it become zeros, durably, and nothing else changes */
int do_discard(int fd, u64 start, u32 n)
{
	u64 range[2] = { start * SECTOR, (u64)n * SECTOR }, id = oracle_new_id(), end = start + n;
	u32 granule = block_sectors > 512 ? block_sectors / 64 : 8;

	if (nr_tiers) {
		start = (start + granule - 1) / granule * granule;
		end -= end % granule;
		n = start < end ? end - start : 0;
	}
	if (!oracle_take(start, n))
		return 0;
	oracle_event(EV_DISCARD, id, start, n, false);
	if (ioctl(fd, BLKDISCARD, range)) {
		complain("discard of %u sectors at %llu: %s", n, (unsigned long long)start, strerror(errno));
		return -1;
	}
	oracle_event(EV_DISCARD_ACK, id, start, n, nr_tiers);
	oracle_drop(start, n);
	return 0;
}

/* on a tiered device: zeros are a version like another, but not durable before a flush, as a discard is */
int do_zero(int fd, u64 start, u32 n)
{
	u64 range[2] = { start * SECTOR, (u64)n * SECTOR }, id = oracle_new_id();

	if (!oracle_take(start, n))
		return 0;
	oracle_event(EV_DISCARD, id, start, n, false);
	if (ioctl(fd, BLKZEROOUT, range)) {
		complain("zeros on %u sectors at %llu: %s", n, (unsigned long long)start, strerror(errno));
		return -1;
	}
	oracle_event(EV_DISCARD_ACK, id, start, n, false);
	oracle_drop(start, n);
	return 0;
}

static u32 length(struct rng *r)
{
	switch (rng_below(r, 4)) {
	case 0:
		return 1 + rng_below(r, 16);
	case 1:
		return 8 << rng_below(r, 5);
	case 2:
		return 8;
	default:
		return 1 + rng_below(r, MAX_SECTORS);
	}
}

static void place(struct worker *w, u64 *start, u32 *n)
{
	struct rng *r = &w->rng;

	*n = length(r);
	if (rng_percent(r, 75))
		*start = w->hot + rng_below(r, w->hot_len);
	else
		*start = rng_below(r, nr_sectors);
	if (rng_percent(r, 60))
		*start &= ~7ULL;
	if (*start >= nr_sectors)
		*start = nr_sectors - 1;
	if (*start + *n > nr_sectors)
		*n = nr_sectors - *start;
}

/* most of it, or all: then its slot goes to another block */
static int discard_block(int fd, u64 start)
{
	return do_discard(fd, start - start % block_sectors, block_sectors);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rng *r = &w->rng;
	u32 reads = 10 + rng_below(r, 40);

	while (!stop) {
		u64 start;
		u32 n, what = rng_below(r, 100);
		int e;

		place(w, &start, &n);
		if (what < 8)
			e = do_flush(w->fd);
		else if (what < 11)
			e = do_discard(w->fd, start, n);
		else if (nr_tiers && what < 14)
			e = discard_block(w->fd, start);
		else if (nr_tiers && what < 16)
			e = do_zero(w->fd, start, n);
		else if (what < 11 + reads)
			e = do_read(w->fd, start, n);
		else if (what < 24 + reads) {
			/* a copy that was just made */
			e = do_read(w->fd, start, n);
			if (!e && rng_percent(r, 30)) {
				start += rng_below(r, n);
				n = 1;
			}
			if (!e)
				e = do_write(w->fd, start, n, rng_percent(r, 30));
		}
		else
			e = do_write(w->fd, start, n, rng_percent(r, 15));
		if (e)
			break;
		if (rng_percent(r, 10))
			sleep_us(rng_below(r, 5000));
	}
	return NULL;
}

static void tiered_message(struct worker *w)
{
	static const char * const names[] = { "lru", "hotspot", "clock2q" };
	static const char * const when[] = { "continuous", "idle", "off" };
	struct rng *r = &w->rng;
	char text[100];
	u64 start;
	u32 n;

	place(w, &start, &n);
	if (rng_percent(r, 30))
		n = 1 + rng_below(r, 4 * block_sectors);
	if (n > nr_sectors - start)
		n = nr_sectors - start;
	switch (rng_below(r, 12)) {
	case 0:
		snprintf(text, sizeof(text), "policy %s", names[rng_below(r, 3)]);
		break;
	case 1:
		snprintf(text, sizeof(text), rng_percent(r, 50) ? "pin %llu %u" : "unpin %llu %u",
			 (unsigned long long)start, n);
		break;
	case 2:
		snprintf(text, sizeof(text), "set commit_ms %u", 10 + rng_below(r, 4) * 30);
		break;
	case 3:
		snprintf(text, sizeof(text), "set migration %s", when[rng_below(r, 3)]);
		break;
	default:
		snprintf(text, sizeof(text), "move %u %llu %u", rng_below(r, nr_tiers), (unsigned long long)start, n);
	}
	if (verbose)
		printf("#   %llu message %s\n", (unsigned long long)now(), text);
	dm_message(text);
}

static void random_message(struct worker *w)
{
	struct rng *r = &w->rng;
	u64 start;
	u32 n;
	char text[100];

	place(w, &start, &n);
	n = 1 + rng_below(r, nr_sectors - start);
	if (n > 16 * block_sectors)
		n = 16 * block_sectors;
	switch (rng_below(r, 12)) {
	case 0:
	case 1:
		snprintf(text, sizeof(text), "mode %s", random_mode(r));
		break;
	case 2:
		snprintf(text, sizeof(text), "policy %s", "lru");
		if (rng_percent(r, 60))
			snprintf(text, sizeof(text), "policy %s", rng_percent(r, 50) ? "hotspot" : "clock2q");
		break;
	case 3:
	case 4:
		snprintf(text, sizeof(text), "flush");
		break;
	case 5:
	case 6:
		snprintf(text, sizeof(text), "promote %llu %u", (unsigned long long)start, n);
		break;
	case 7:
	case 8:
	case 9:
		snprintf(text, sizeof(text), "demote %llu %u", (unsigned long long)start, n);
		break;
	case 10:
		snprintf(text, sizeof(text), rng_percent(r, 30) ? "pin %llu %u" : "unpin %llu %u",
			 (unsigned long long)start, n);
		break;
	default:
		snprintf(text, sizeof(text), "set commit_ms %u", 10 + rng_below(r, 4) * 30);
	}
	if (verbose)
		printf("#   %llu message %s\n", (unsigned long long)now(), text);
	dm_message(text);
}

static void *messenger(void *arg)
{
	struct worker *w = arg;

	while (!stop) {
		sleep_us(5000 + rng_below(&w->rng, 80000));
		if (nr_tiers)
			tiered_message(w);
		else
			random_message(w);
	}
	return NULL;
}

/* as long as @run says, on the device that is there */
void work_run(const struct run *run)
{
	struct rng r = { run->seed };
	u64 hot_len = rng_percent(&r, 40) ? 8 + rng_below(&r, 100) : 64 + rng_below(&r, block_sectors * 8);
	u64 hot;
	u32 n = run->threads + run->messages, i;
	struct worker *w = calloc(n, sizeof(*w));

	if (hot_len > nr_sectors / 2)
		hot_len = nr_sectors / 2;
	hot = rng_below(&r, nr_sectors - hot_len);
	stop = false;
	for (i = 0; i < n; i++) {
		w[i].rng.state = rng_next(&r);
		w[i].run = run;
		w[i].hot = hot;
		w[i].hot_len = hot_len;
		w[i].fd = dm_open();
		pthread_create(&w[i].thread, NULL, i < run->threads ? work : messenger, &w[i]);
	}
	sleep_us(run->ms * 1000);
	stop = true;
	for (i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		close(w[i].fd);
	}
	free(w);
}
