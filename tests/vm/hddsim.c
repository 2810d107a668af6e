// SPDX-License-Identifier: GPL-2.0
/*
 * hddsim: an nbdkit plugin that serves a file with the service times of a hard disk.
 *
 *	nbdkit -U SOCKET hddsim.so file=PATH size=BYTES [parameters]
 *
 * Model.  There is one arm, so requests are served one at a time and random IOPS do not grow with
 * the queue depth.  A request that does not begin where the arm stands costs
 *
 *	seek_min_us + (seek_max_us - seek_min_us) * sqrt(distance / size)
 *
 * and a uniform part of a revolution (rev_us); a short way forward is not a seek, the arm waits
 * until the sectors have passed.  Data passes at mbps.  Every request costs overhead_us on the bus.
 * Up to NR_STREAMS sequential readers have a look-ahead buffer of ra_kb each, as the segmented
 * cache of a drive gives them.
 *
 * There is no volatile write cache: an acknowledged write is in the file and a flush costs nothing.
 * What a power cut does to a volatile cache is not this plugin's business.
 *
 * With the defaults random 4 KiB reads all over the disk come at about 185 a second, sequential ones
 * at 125 MB/s.
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS

#define NR_STREAMS	16
#define SAME_TRACK	(256 * 1024)	/* bytes ahead that are waited for, not sought */

/* Parameters. */
static char *file;
static int64_t size = -1;
static int64_t seek_min_us = 500;
static int64_t seek_max_us = 4000;
static int64_t rev_us = 6000;
static int64_t mbps = 150;
static int64_t ra_kb = 512;
static int64_t overhead_us = 40;
static int64_t seed = 1;

static const struct {
	const char *name;
	int64_t *value;
	int64_t min;
} params[] = {
	{ "seek_min_us", &seek_min_us, 0 },
	{ "seek_max_us", &seek_max_us, 0 },
	{ "rev_us", &rev_us, 0 },
	{ "mbps", &mbps, 1 },
	{ "ra_kb", &ra_kb, 0 },
	{ "overhead_us", &overhead_us, 0 },
	{ "seed", &seed, 0 },
};

/* The disk; requests are serialized, so nothing here needs a lock. */
static int fd = -1;
static char *medium;
static uint64_t random_state;
static uint64_t arm;			/* byte the heads stand at */
static uint64_t free_at;		/* when the request before this one is done, ns */

/* A sequential reader: what it reads next, and up to where its buffer reaches. */
static struct stream {
	uint64_t next;
	uint64_t until;
	uint64_t last_used;		/* in requests; 0: never */
} streams[NR_STREAMS];

static uint64_t nr_requests, nr_seeks, nr_hits, busy_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Uniform in [0, 1), the same sequence for the same seed. */
static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) / 9007199254740992.0;
}

static double transfer_ns(uint64_t bytes)
{
	return bytes * 1000.0 / mbps;
}

/* Time until the heads are at a byte. */
static double move_ns(uint64_t to)
{
	uint64_t distance = to > arm ? to - arm : arm - to;

	if (!distance)
		return 0;
	if (to > arm && distance <= SAME_TRACK)
		return transfer_ns(distance);
	nr_seeks++;
	return 1000.0 * (seek_min_us + (seek_max_us - seek_min_us) * sqrt((double)distance / size) +
			 uniform() * rev_us);
}

static double access_ns(uint64_t offset, uint64_t len)
{
	double t = move_ns(offset) + transfer_ns(len);

	arm = offset + len;
	return t;
}

static double write_ns(uint64_t offset, uint32_t len)
{
	struct stream *s;

	for (s = streams; s < streams + NR_STREAMS; s++)
		if (offset < s->until && offset + len > s->next)
			s->until = s->next;	/* its buffer is stale */
	return access_ns(offset, len);
}

/* The stream that goes on at offset, else the one unused for longest. */
static struct stream *find_stream(uint64_t offset)
{
	struct stream *s, *oldest = streams;

	for (s = streams; s < streams + NR_STREAMS; s++) {
		if (s->last_used && s->next == offset)
			return s;
		if (s->last_used < oldest->last_used)
			oldest = s;
	}
	return oldest;
}

static double read_ns(uint64_t offset, uint32_t len)
{
	struct stream *s = find_stream(offset);
	bool sequential = s->last_used && s->next == offset;
	uint64_t end = offset + len, from, to;

	s->last_used = nr_requests;
	s->next = end;
	if (!sequential) {
		s->until = end;
		return access_ns(offset, len);
	}
	if (end <= s->until) {
		nr_hits++;
		return 0;
	}
	from = s->until > offset ? s->until : offset;
	to = end + ra_kb * 1024;
	if (to > (uint64_t)size)
		to = size;
	s->until = to;
	return access_ns(from, to - from);
}

/* Let the time pass that a request takes, from the end of the one before. */
static void spend(double ns)
{
	uint64_t now = now_ns(), cost = (uint64_t)ns + overhead_us * 1000;
	struct timespec t;

	if (free_at < now)
		free_at = now;
	free_at += cost;
	busy_ns += cost;
	t.tv_sec = free_at / 1000000000ull;
	t.tv_nsec = free_at % 1000000000ull;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int hdd_config(const char *key, const char *value)
{
	char *end;
	size_t i;

	if (!strcmp(key, "file")) {
		free(file);
		file = nbdkit_absolute_path(value);
		return file ? 0 : -1;
	}
	if (!strcmp(key, "size")) {
		size = nbdkit_parse_size(value);
		return size < 0 ? -1 : 0;
	}
	for (i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		if (strcmp(key, params[i].name))
			continue;
		errno = 0;
		*params[i].value = strtoll(value, &end, 10);
		if (errno || end == value || *end || *params[i].value < params[i].min) {
			nbdkit_error("%s=%s: want a number of at least %" PRId64, key, value,
				     params[i].min);
			return -1;
		}
		return 0;
	}
	nbdkit_error("unknown parameter %s", key);
	return -1;
}

static int hdd_config_complete(void)
{
	if (file && size > 0 && seek_max_us >= seek_min_us)
		return 0;
	nbdkit_error("file= and size= must be given, and seek_max_us be no less than seek_min_us");
	return -1;
}

static int hdd_get_ready(void)
{
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, size)) {
		nbdkit_error("%s: %m", file);
		return -1;
	}
	medium = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (medium == MAP_FAILED) {
		nbdkit_error("%s: mmap: %m", file);
		return -1;
	}
	random_state = 88172645463325252ull ^ (seed * 0x9E3779B97F4A7C15ull);
	return 0;
}

static void *hdd_open(int readonly)
{
	(void)readonly;
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static void hdd_close(void *handle)
{
	(void)handle;
	nbdkit_debug("hddsim: %" PRIu64 " requests, %" PRIu64 " seeks, %" PRIu64
		     " look-ahead hits, busy for %.1f s", nr_requests, nr_seeks, nr_hits, busy_ns / 1e9);
}

static int64_t hdd_get_size(void *handle)
{
	(void)handle;
	return size;
}

/* Any number of connections sees the same bytes. */
static int hdd_can_multi_conn(void *handle)
{
	(void)handle;
	return 1;
}

static int hdd_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle;
	(void)flags;
	nr_requests++;
	spend(read_ns(offset, count));
	memcpy(buf, medium + offset, count);
	return 0;
}

static int hdd_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
		      uint32_t flags)
{
	(void)handle;
	(void)flags;
	nr_requests++;
	spend(write_ns(offset, count));
	memcpy(medium + offset, buf, count);
	return 0;
}

static int hdd_flush(void *handle, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name		 = "hddsim",
	.description	 = "a file with the service times of a hard disk",
	.config		 = hdd_config,
	.config_complete = hdd_config_complete,
	.config_help	 = "file=PATH size=BYTES [seek_min_us= seek_max_us= rev_us= mbps= ra_kb= "
			   "overhead_us= seed=]",
	.get_ready	 = hdd_get_ready,
	.open		 = hdd_open,
	.close		 = hdd_close,
	.get_size	 = hdd_get_size,
	.can_multi_conn	 = hdd_can_multi_conn,
	.pread		 = hdd_pread,
	.pwrite		 = hdd_pwrite,
	.flush		 = hdd_flush,
};

NBDKIT_REGISTER_PLUGIN(plugin)
