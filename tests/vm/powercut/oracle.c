// SPDX-License-Identifier: GPL-2.0
/*
 * What a sector may hold.
 *
 * Every sector written carries its own number and the version, the number of the request that wrote it,
 * sixteen times over.  No two requests that write are under way in the same sector, so its versions are in
 * order.  At a cut, a sector may hold any version from the last durable one on (acknowledged with FUA, or
 * acknowledged before a flush that was acknowledged) to the last one submitted.  A flush that failed leaves what was
 * acknowledged since the last good one in doubt for ever: a later one says nothing of it.  If a discard was submitted
 * since, it may as well hold zeros or anything older of its own.
 *
 * Not so on a tiered device.  There a discard is a version like any other, zeros, and durable once it is
 * acknowledged.  Zeros are also what a sector holds that was never written.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "powercut.h"

#define MAGIC	0x7469657263757421ULL

struct stamp {
	u64 magic, sector, version, check;
};

struct event {
	u64 time, id, start;
	u32 n;
	u8 kind;
	bool fua;
};

u64 nr_sectors, max_sectors;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event *events;
static size_t nr_events, room;
static u64 next_id = 1;
static bool flush_failed;	/* up to the cut that is looked at */
static u64 *acked, *submitted, *discarded, *base;
static bool *busy;

void oracle_init(void)
{
	acked = calloc(max_sectors, sizeof(u64));
	submitted = calloc(max_sectors, sizeof(u64));
	discarded = calloc(max_sectors, sizeof(u64));
	base = calloc(max_sectors, sizeof(u64));
	busy = calloc(max_sectors, sizeof(bool));
}

void oracle_fill(u8 *buf, u64 sector, u32 n, u64 version)
{
	u32 i;

	for (; n--; sector++) {
		struct stamp s = { MAGIC, sector, version, MAGIC ^ sector * 0x9e3779b97f4a7c15ULL ^ version };

		for (i = 0; i < SECTOR / sizeof(s); i++, buf += sizeof(s))
			memcpy(buf, &s, sizeof(s));
	}
}

/* the version that a sector holds, 0 for zeros, or VALUE_BAD */
u64 oracle_value(const u8 *data, u64 sector)
{
	struct stamp s;
	const u64 *word = (const u64 *)data;
	u64 differ = 0;
	u32 i;

	/* a loop: the C library's memcmp() is slow on an emulated processor */
	memcpy(&s, data, sizeof(s));
	for (i = sizeof(s) / sizeof(*word); i < SECTOR / sizeof(*word); i++)
		differ |= word[i] ^ word[i - sizeof(s) / sizeof(*word)];
	if (differ)
		return VALUE_BAD;
	if (!s.magic && !s.sector && !s.version && !s.check)
		return 0;
	if (s.magic != MAGIC || s.sector != sector || !s.version ||
	    s.check != (MAGIC ^ sector * 0x9e3779b97f4a7c15ULL ^ s.version))
		return VALUE_BAD;
	return s.version;
}

/* from here on, these are the values, all of them durable */
void oracle_begin_life(const u64 *values)
{
	nr_events = 0;
	memcpy(base, values, nr_sectors * sizeof(u64));
	memcpy(acked, values, nr_sectors * sizeof(u64));
	memcpy(submitted, values, nr_sectors * sizeof(u64));
	memset(discarded, 0, nr_sectors * sizeof(u64));
}

u64 oracle_new_id(void)
{
	u64 id;

	pthread_mutex_lock(&lock);
	id = ++next_id;
	pthread_mutex_unlock(&lock);
	return id;
}

bool oracle_take(u64 start, u32 n)
{
	bool free;

	pthread_mutex_lock(&lock);
	free = !memchr(busy + start, true, n);
	if (free)
		memset(busy + start, true, n);
	pthread_mutex_unlock(&lock);
	return free;
}

void oracle_drop(u64 start, u32 n)
{
	pthread_mutex_lock(&lock);
	memset(busy + start, false, n);
	pthread_mutex_unlock(&lock);
}

u64 oracle_event(int kind, u64 id, u64 start, u32 n, bool fua)
{
	u64 time, s;

	pthread_mutex_lock(&lock);
	if (nr_events == room) {
		room = room * 2 + 1024;
		events = realloc(events, room * sizeof(*events));
		if (!events)
			die("out of memory");
	}
	time = tick();
	events[nr_events++] = (struct event){ time, id, start, n, kind, fua };
	if (kind == EV_PIN || kind == EV_PIN_ACK)
		n = 0;		/* that many blocks */
	for (s = start; s < start + n; s++) {
		if (kind == EV_WRITE || kind == EV_DISCARD)
			submitted[s] = id;
		else
			acked[s] = id;
		if (kind == EV_DISCARD)
			discarded[s] = id;
	}
	pthread_mutex_unlock(&lock);
	return time;
}

size_t oracle_nr_events(void)
{
	return nr_events;
}

u64 oracle_event_time(size_t i)
{
	return events[i].time;
}

void oracle_read_begin(u64 start, u32 n, struct permit *p)
{
	pthread_mutex_lock(&lock);
	for (; n--; start++, p++)
		p->floor = acked[start];
	pthread_mutex_unlock(&lock);
}

void oracle_read_end(u64 start, u32 n, struct permit *p)
{
	pthread_mutex_lock(&lock);
	for (; n--; start++, p++) {
		p->last = submitted[start];
		p->discard = discarded[start];
	}
	pthread_mutex_unlock(&lock);
}

bool permitted(const struct permit *p, u64 value)
{
	if (value == VALUE_BAD)
		return false;
	if (nr_tiers && !value)
		return !p->floor || p->discard >= p->floor;
	if (!nr_tiers && p->discard && p->discard >= p->floor)
		return value <= p->last;
	return value >= p->floor && value <= p->last;
}

/* the same with flushes that failed: is what was acknowledged at @time? */
static bool durable_in_spite(u64 time, u64 cut)
{
	size_t i, j;

	for (i = 0; i < nr_events && events[i].time <= cut; i++) {
		if (events[i].kind == EV_FLUSH_FAILED && events[i].time > time)
			return false;
		if (events[i].kind != EV_FLUSH || events[i].time <= time)
			continue;
		for (j = i; j < nr_events && events[j].time <= cut; j++)
			if (events[j].kind == EV_FLUSH_ACK && events[j].id == events[i].id)
				return true;
	}
	return false;
}

/* what was acknowledged before this is durable: the last flush acknowledged was asked for then */
static u64 durable_until(u64 cut)
{
	u64 durable = 0;
	size_t i, j;

	flush_failed = false;
	for (i = 0; i < nr_events && events[i].time <= cut; i++) {
		flush_failed |= events[i].kind == EV_FLUSH_FAILED;
		if (events[i].kind != EV_FLUSH_ACK)
			continue;
		for (j = i; j--;)
			if (events[j].kind == EV_FLUSH && events[j].id == events[i].id)
				break;
		if (events[j].time > durable)
			durable = events[j].time;
	}
	return durable;
}

/* is what was acknowledged at @time?  @until: durable_until(@cut) */
static bool is_durable(u64 time, u64 cut, u64 until)
{
	return flush_failed ? durable_in_spite(time, cut) : time < until;
}

/* an acknowledged write or discard is durable */
static void settle(const struct event *e, struct permit *p)
{
	u64 s;

	for (s = e->start; s < e->start + e->n; s++)
		if (p[s].floor < e->id)
			p[s].floor = e->id;
}

void oracle_permits(u64 cut, struct permit *p)
{
	u64 s, durable = durable_until(cut);
	size_t i;

	for (s = 0; s < nr_sectors; s++)
		p[s] = (struct permit){ base[s], base[s], 0 };
	for (i = 0; i < nr_events && events[i].time <= cut; i++) {
		const struct event *e = &events[i];

		switch (e->kind) {
		case EV_DISCARD:
		case EV_WRITE:
			for (s = e->start; s < e->start + e->n; s++) {
				p[s].last = e->id;
				if (e->kind == EV_DISCARD)
					p[s].discard = e->id;
			}
			break;
		case EV_WRITE_ACK:
		case EV_DISCARD_ACK:
			if (e->fua || is_durable(e->time, cut, durable))
				settle(e, p);
			break;
		}
	}
}

/* what a block's pin may be at a cut, MAY_BE_*: of those that the script has pinned or unpinned something is known */
void oracle_pins(u64 cut, u8 *may, u64 nr_blocks)
{
	u64 durable = durable_until(cut);
	size_t i;

	memset(may, MAY_BE_LOOSE | MAY_BE_PINNED, nr_blocks);
	for (i = 0; i < nr_events && events[i].time <= cut; i++) {
		const struct event *e = &events[i];
		u8 is = e->fua ? MAY_BE_PINNED : MAY_BE_LOOSE;
		u64 b;

		for (b = e->start; b < e->start + e->n && b < nr_blocks; b++)
			if (e->kind == EV_PIN)
				may[b] |= is;
			else if (e->kind == EV_PIN_ACK && is_durable(e->time, cut, durable))
				may[b] = is;
	}
}

/* what was asked of a sector */
void oracle_history(u64 sector, u64 cut)
{
	static const char * const names[NR_EVS] = {
		"write", "write acknowledged", "flush", "flush acknowledged", "discard", "discard acknowledged",
		"pin", "pinned", "flush failed",
	};
	size_t i;

	printf("#   %8s  base: version %llu\n", "", (unsigned long long)base[sector]);
	for (i = 0; i < nr_events; i++) {
		const struct event *e = &events[i];

		if (e->kind == EV_PIN || e->kind == EV_PIN_ACK)
			continue;
		if (e->n && (sector < e->start || sector >= e->start + e->n))
			continue;
		printf("#   %8llu%s %s%s %llu: sectors %llu + %u\n", (unsigned long long)e->time,
		       e->time > cut ? " (after)" : "", names[e->kind], e->fua ? " FUA" : "",
		       (unsigned long long)e->id, (unsigned long long)e->start, e->n);
	}
}

/* the last acknowledged values; nothing is under way.  A discarded sector is not known */
void oracle_current(u64 *values)
{
	u64 s;

	for (s = 0; s < nr_sectors; s++)
		values[s] = discarded[s] && acked[s] == discarded[s] ? VALUE_BAD : acked[s];
}
