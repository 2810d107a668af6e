// SPDX-License-Identifier: GPL-2.0
/*
 * Block devices in memory, served to the kernel by nbd, with volatile write caches.
 *
 * What a device has been sent is in its memory at once, and in the log.  What of it survives a power cut is
 * decided afterwards, by crash_image(): a write is durable once a flush of its device that began after the
 * write was answered has been answered, or once it was answered itself if it has FUA.  Of all others any
 * subset may have reached the medium, sector by sector.  So it is with every other write of a device that
 * fails; the rest of them never reach it.  And so it is for ever with the writes that a flush was for which
 * failed: a flush that succeeds later says nothing of them, though the device still reads as if it had them.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nbd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "powercut.h"

#define WORKERS	4

struct pending {
	struct pending *next;
	struct req *req;
	u8 handle[8];
};

struct dev {
	int index, fd, sock;
	pthread_mutex_t lock;		/* memory, queue */
	pthread_mutex_t send;
	pthread_cond_t more;
	struct pending *queue;
	u32 queued;
	bool stopping;
	pthread_t do_it, reader, workers[WORKERS];
};

const char * const dev_names[MAX_DEVS] = { "fast", "slow", "meta", "third", "fourth" };
const char * const dev_paths[MAX_DEVS] = { "/dev/nbd0", "/dev/nbd1", "/dev/nbd2", "/dev/nbd3", "/dev/nbd4" };
int nr_devs = META + 1;
u64 dev_size[MAX_DEVS], dev_room[MAX_DEVS];
u8 *dev_mem[MAX_DEVS];

static struct dev devs[MAX_DEVS];
static _Atomic u64 clock_now = 1;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log *current;
static struct delays delays;
static atomic_int failing[MAX_DEVS];
static _Atomic u64 nr_failed;
static _Atomic u64 delay_seed;

u64 tick(void)
{
	return atomic_fetch_add(&clock_now, 1) + 1;
}

u64 now(void)
{
	return atomic_load(&clock_now);
}

/* ---- log ---- */

static void log_add(struct req *r)
{
	pthread_mutex_lock(&log_lock);
	r->begin = tick();
	if (r->kind != REQ_READ) {
		if (current->nr == current->room) {
			current->room = current->room * 2 + 1024;
			current->reqs = realloc(current->reqs, current->room * sizeof(*current->reqs));
			if (!current->reqs)
				die("out of memory");
		}
		current->reqs[current->nr++] = r;
	}
	pthread_mutex_unlock(&log_lock);
}

struct log *dev_log_take(void)
{
	struct log *old = current;

	pthread_mutex_lock(&log_lock);
	current = calloc(1, sizeof(*current));
	pthread_mutex_unlock(&log_lock);
	return old;
}

void log_free(struct log *l)
{
	size_t i;

	if (!l)
		return;
	for (i = 0; i < l->nr; i++) {
		free(l->reqs[i]->data);
		free(l->reqs[i]);
	}
	free(l->reqs);
	free(l);
}

/* ---- serving ---- */

static bool read_all(int fd, void *buf, size_t len)
{
	u8 *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			return false;
		}
		p += n;
		len -= n;
	}
	return true;
}

static void write_all(int fd, struct iovec *iov, int n)
{
	while (n) {
		ssize_t r = writev(fd, iov, n);

		if (r < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		while (n && (size_t)r >= iov->iov_len) {
			r -= iov->iov_len;
			iov++;
			n--;
		}
		if (n) {
			iov->iov_base = (u8 *)iov->iov_base + r;
			iov->iov_len -= r;
		}
	}
}

static void delay(struct dev *d, const struct req *r)
{
	struct rng rng = { atomic_fetch_add(&delay_seed, 1) * 0x2545f4914f6cdd1dULL };
	u32 us = 0;

	if (!delays.percent || !rng_percent(&rng, delays.percent))
		return;
	if (delays.max[d->index])
		us = rng_below(&rng, delays.max[d->index]);
	if (r->kind == REQ_FLUSH && delays.flush)
		us += rng_below(&rng, delays.flush);
	if (us)
		sleep_us(us);
}

/* What a trimmed sector reads as: a cache passes it on, a tiered device must know better than the device below. */
static int trimmed(void)
{
	return nr_tiers ? 0xdb : 0;
}

static void hold(struct dev *d, const struct req *r)
{
	if (r->kind == REQ_WRITE && delays.held[d->index])
		sleep_us(delays.held[d->index]);
}

static void serve(struct dev *d, struct pending *p)
{
	struct req *r = p->req;
	struct nbd_reply reply = { .magic = htobe32(NBD_REPLY_MAGIC) };
	struct iovec iov[2] = { { &reply, sizeof(reply) } };
	bool error = failing[d->index] == FAIL_ALL || (failing[d->index] == FAIL_WRITES && r->kind == REQ_WRITE);
	bool took, keep;
	u8 *out = NULL;

	r->failed = failing[d->index] == FAIL_FLUSHES && r->kind == REQ_FLUSH;
	took = !error;

	memcpy(&reply.handle, p->handle, 8);
	delay(d, r);
	if (r->kind == REQ_READ && delays.late[d->index])
		sleep_us(delays.late[d->index]);
	if (error && r->kind == REQ_WRITE)
		took = atomic_fetch_add(&nr_failed, 1) & 1;
	keep = took && r->kind != REQ_READ;
	pthread_mutex_lock(&d->lock);
	if (took)
		log_add(r);
	if (took && r->kind == REQ_WRITE)
		memcpy(dev_mem[d->index] + r->off, r->data, r->len);
	else if (took && r->kind == REQ_TRIM)
		memset(dev_mem[d->index] + r->off, trimmed(), r->len);
	else if (took && r->kind == REQ_READ) {
		out = malloc(r->len);
		memcpy(out, dev_mem[d->index] + r->off, r->len);
	}
	pthread_mutex_unlock(&d->lock);
	delay(d, r);
	hold(d, r);
	if (error || r->failed)
		reply.error = htobe32(EIO);
	if (!error)
		r->done = tick();
	iov[1].iov_base = out;
	iov[1].iov_len = out ? r->len : 0;
	pthread_mutex_lock(&d->send);
	write_all(d->sock, iov, iov[1].iov_len ? 2 : 1);
	pthread_mutex_unlock(&d->send);
	free(out);
	if (!keep) {
		free(r->data);
		free(r);
	}
	free(p);
}

static void *worker(void *arg)
{
	struct dev *d = arg;

	for (;;) {
		struct pending *p, **at = &d->queue;
		struct rng rng;
		u32 n;

		pthread_mutex_lock(&d->lock);
		while (!d->queue && !d->stopping)
			pthread_cond_wait(&d->more, &d->lock);
		if (!d->queue) {
			pthread_mutex_unlock(&d->lock);
			return NULL;
		}
		rng.state = atomic_fetch_add(&delay_seed, 1) * 0x2545f4914f6cdd1dULL;
		n = delays.percent ? rng_below(&rng, d->queued) : d->queued - 1;
		while (n--)
			at = &(*at)->next;
		p = *at;
		*at = p->next;
		d->queued--;
		pthread_mutex_unlock(&d->lock);
		serve(d, p);
	}
}

static void *reader(void *arg)
{
	struct dev *d = arg;
	struct nbd_request nr;

	while (read_all(d->sock, &nr, sizeof(nr))) {
		u32 type = be32toh(nr.type);
		struct pending *p;
		struct req *r;

		if (be32toh(nr.magic) != NBD_REQUEST_MAGIC)
			die("%s: nbd request without its magic", dev_names[d->index]);
		if ((type & 0xffff) == NBD_CMD_DISC)
			break;
		p = calloc(1, sizeof(*p));
		r = calloc(1, sizeof(*r));
		p->req = r;
		memcpy(p->handle, &nr.handle, 8);
		r->dev = d->index;
		r->fua = type & NBD_CMD_FLAG_FUA;
		r->off = be64toh(nr.from);
		r->len = be32toh(nr.len);
		switch (type & 0xffff) {
		case NBD_CMD_READ:
			r->kind = REQ_READ;
			break;
		case NBD_CMD_WRITE:
			r->kind = REQ_WRITE;
			r->data = malloc(r->len);
			if (!r->data || !read_all(d->sock, r->data, r->len))
				die("%s: nbd write without its data", dev_names[d->index]);
			break;
		case NBD_CMD_FLUSH:
			r->kind = REQ_FLUSH;
			r->len = 0;
			break;
		case NBD_CMD_TRIM:
			r->kind = REQ_TRIM;
			break;
		default:
			die("%s: nbd request of type %x", dev_names[d->index], type);
		}
		if (r->off + r->len > dev_size[d->index])
			die("%s: request beyond the end", dev_names[d->index]);
		pthread_mutex_lock(&d->lock);
		p->next = d->queue;
		d->queue = p;
		d->queued++;
		pthread_cond_signal(&d->more);
		pthread_mutex_unlock(&d->lock);
	}
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	pthread_cond_broadcast(&d->more);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static void *do_it(void *arg)
{
	struct dev *d = arg;

	ioctl(d->fd, NBD_DO_IT);
	return NULL;
}

static void start_one(int i)
{
	struct dev *d = &devs[i];
	int sv[2], n, size = 1 << 20;
	u64 got = 0;

	d->index = i;
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->send, NULL);
	pthread_cond_init(&d->more, NULL);
	dev_mem[i] = calloc(1, dev_room[i]);
	d->fd = open(dev_paths[i], O_RDWR | O_CLOEXEC);
	if (d->fd < 0)
		die("%s: %s: it needs nbd, and runs in the virtual machine, by tests/vm/vmtap: see README", dev_paths[i],
		    strerror(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die("socketpair: %s", strerror(errno));
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	d->sock = sv[0];
	if (ioctl(d->fd, NBD_SET_BLKSIZE, 512UL) || ioctl(d->fd, NBD_SET_SIZE_BLOCKS, dev_size[i] / 512) ||
	    ioctl(d->fd, NBD_SET_FLAGS, NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA | NBD_FLAG_SEND_TRIM) ||
	    ioctl(d->fd, NBD_SET_SOCK, sv[1]))
		die("%s: nbd: %s", dev_paths[i], strerror(errno));
	for (n = 0; n < WORKERS; n++)
		pthread_create(&d->workers[n], NULL, worker, d);
	pthread_create(&d->reader, NULL, reader, d);
	pthread_create(&d->do_it, NULL, do_it, d);
	for (n = 0; n < 1000 && got != dev_size[i]; n++) {
		sleep_us(5000);
		if (ioctl(d->fd, BLKGETSIZE64, &got))
			got = 0;
	}
	if (got != dev_size[i])
		die("%s does not come up", dev_paths[i]);
}

void dev_start(void)
{
	int i;

	current = calloc(1, sizeof(*current));
	for (i = 0; i < nr_devs; i++)
		start_one(i);
}

void dev_stop(void)
{
	int i;

	for (i = 0; i < nr_devs; i++) {
		ioctl(devs[i].fd, NBD_DISCONNECT);
		shutdown(devs[i].sock, SHUT_RDWR);
		pthread_join(devs[i].do_it, NULL);
		ioctl(devs[i].fd, NBD_CLEAR_SOCK);
		close(devs[i].fd);
	}
}

/* nothing is on the device now */
void dev_resize(int i, u64 size)
{
	u64 got = 0;
	int n;

	dev_size[i] = size;
	if (ioctl(devs[i].fd, NBD_SET_SIZE_BLOCKS, size / 512))
		die("%s: size: %s", dev_paths[i], strerror(errno));
	for (n = 0; n < 1000 && got != size; n++)
		if (ioctl(devs[i].fd, BLKGETSIZE64, &got) || got != size)
			sleep_us(5000);
	if (got != size)
		die("%s does not get its new size", dev_paths[i]);
}

/* from now on these requests fail: FAIL_* */
void dev_fail(int i, int what)
{
	failing[i] = what;
}

/* another device takes its place, with this on it; no request is under way */
void dev_replace(int i, const u8 *mem)
{
	struct req *r = calloc(1, sizeof(*r));

	r->dev = i;
	r->kind = REQ_WRITE;
	r->fua = true;
	r->len = dev_room[i];
	r->data = malloc(r->len);
	memcpy(r->data, mem, r->len);
	pthread_mutex_lock(&devs[i].lock);
	log_add(r);
	memcpy(dev_mem[i], mem, r->len);
	r->done = r->begin;	/* at no moment there is a part of it */
	pthread_mutex_unlock(&devs[i].lock);
	ioctl(devs[i].fd, BLKFLSBUF);
}

void dev_delays(const struct delays *d, u64 seed)
{
	delays = *d;
	atomic_store(&delay_seed, seed);
}

/* ---- images ---- */

void image_new(struct image *i)
{
	int d;

	for (d = 0; d < nr_devs; d++) {
		i->mem[d] = malloc(dev_room[d]);
		i->changed[d] = calloc(dev_room[d] / IMAGE_CHUNK + 1, sizeof(bool));
		if (!i->mem[d] || !i->changed[d])
			die("out of memory");
	}
	i->serial = i->parent = 0;
}

void image_free(struct image *i)
{
	int d;

	for (d = 0; d < nr_devs; d++) {
		free(i->mem[d]);
		free(i->changed[d]);
	}
}

/* only what differs is copied, if @to was made from the same contents before */
static void image_copy(struct image *to, const struct image *from)
{
	u64 c;
	int d;

	for (d = 0; d < nr_devs; d++) {
		if (to->parent != from->serial)
			memcpy(to->mem[d], from->mem[d], dev_room[d]);
		for (c = 0; c * IMAGE_CHUNK < dev_room[d]; c++) {
			u64 off = c * IMAGE_CHUNK, left = dev_room[d] - off;

			if (to->changed[d][c] && to->parent == from->serial)
				memcpy(to->mem[d] + off, from->mem[d] + off, left < IMAGE_CHUNK ? left : IMAGE_CHUNK);
			to->changed[d][c] = false;
		}
	}
	to->parent = from->serial;
	to->serial = tick();
}

/* no request is under way */
void dev_save(struct image *i)
{
	int d;

	for (d = 0; d < nr_devs; d++) {
		pthread_mutex_lock(&devs[d].lock);
		memcpy(i->mem[d], dev_mem[d], dev_room[d]);
		pthread_mutex_unlock(&devs[d].lock);
		memset(i->changed[d], 0, dev_room[d] / IMAGE_CHUNK + 1);
	}
	i->serial = tick();
	i->parent = 0;
}

void dev_load(const struct image *i)
{
	int d;

	for (d = 0; d < nr_devs; d++) {
		pthread_mutex_lock(&devs[d].lock);
		memcpy(dev_mem[d], i->mem[d], dev_room[d]);
		pthread_mutex_unlock(&devs[d].lock);
		ioctl(devs[d].fd, BLKFLSBUF);
	}
}

/* ---- power cut ---- */

static void put(struct image *to, const struct req *r, u32 off, u32 len)
{
	u64 c;

	for (c = (r->off + off) / IMAGE_CHUNK; c <= (r->off + off + len - 1) / IMAGE_CHUNK; c++)
		to->changed[r->dev][c] = true;
	if (r->kind == REQ_WRITE)
		memcpy(to->mem[r->dev] + r->off + off, r->data + off, len);
	else
		memset(to->mem[r->dev] + r->off + off, trimmed(), len);
}

/* how likely a sector of a volatile write has reached the medium, in percent */
static u32 chance(u8 fate, struct rng *r)
{
	switch (fate) {
	case FATE_LOST:
		return 0;
	case FATE_KEPT:
		return 100;
	case FATE_MIXED:
		return rng_percent(r, 50) ? 100 : 0;
	case FATE_SHREDDED:
		return 50;
	case FATE_RARE:
		return rng_percent(r, 15) ? 100 : 0;
	default:
		return rng_below(r, 3) * 50;
	}
}

/* an answered write that survives a power cut at @cut in any case */
bool req_durable(const struct log *l, const struct req *q, u64 cut)
{
	size_t i;

	if (q->fua)
		return true;
	for (i = 0; i < l->nr; i++) {
		const struct req *f = l->reqs[i];

		if (f->dev == q->dev && f->kind == REQ_FLUSH && f->begin > q->done && f->begin <= cut &&
		    (f->failed || (f->done && f->done <= cut)))
			return !f->failed;	/* they are in the order in which they began */
	}
	return false;
}

/*
 * Power fails at @cut: what the media hold.  Writes reach a sector in the order in which the device was
 * sent them, or not at all.
 */
void crash_image(struct image *to, const struct image *base, const struct log *l, u64 cut, const u8 fates[MAX_DEVS],
		 struct rng *r)
{
	u64 flushed[MAX_DEVS] = { 0 };
	bool failed[MAX_DEVS] = { false };
	size_t i;

	image_copy(to, base);
	for (i = 0; i < l->nr; i++) {
		const struct req *q = l->reqs[i];

		if (q->kind == REQ_FLUSH && q->failed && q->begin <= cut)
			failed[q->dev] = true;
		else if (q->kind == REQ_FLUSH && q->done && q->done <= cut && q->begin > flushed[q->dev])
			flushed[q->dev] = q->begin;
	}
	for (i = 0; i < l->nr; i++) {
		const struct req *q = l->reqs[i];
		bool answered = q->done && q->done <= cut;
		u32 c, off;

		if (q->begin > cut || q->kind == REQ_FLUSH)
			continue;
		if (answered && (failed[q->dev] ? req_durable(l, q, cut) : q->fua || q->done < flushed[q->dev])) {
			put(to, q, 0, q->len);
			continue;
		}
		c = chance(fates[q->dev], r);
		if (c == 100)
			put(to, q, 0, q->len);
		else if (c)
			for (off = 0; off < q->len; off += SECTOR)
				if (rng_percent(r, c))
					put(to, q, off, SECTOR);
	}
}

/* power fails now, in the record that is being made since @base was what the media held */
void dev_crash(struct image *to, const struct image *base, const u8 fates[MAX_DEVS], struct rng *r)
{
	pthread_mutex_lock(&log_lock);
	crash_image(to, base, current, now(), fates, r);
	pthread_mutex_unlock(&log_lock);
}
