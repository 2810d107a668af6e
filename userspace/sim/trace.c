// SPDX-License-Identifier: GPL-2.0
/*
 * Block traces.
 *
 * A DMT1 file is little endian: a head of 64 bytes, and 16 bytes a request.
 *
 *	0	"DMT1" and 4 zero bytes
 *	8	u32 version, 1; u32 size of a record, 16
 *	16	u64 number of records
 *	24	u64 highest sector touched plus one
 *	32	u32 flags: bit 0 real timestamps, bit 1 real directions
 *	36	28 bytes name
 *	64	records: u32 time since the one before in us; u32 sectors (bits 0-23) and write
 *		(bit 31); u64 sector
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trace.h"

#define HEAD_BYTES	64
#define RECORD_BYTES	16

static u32 get32(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
}

static u64 get64(const unsigned char *p)
{
	return get32(p) | (u64)get32(p + 4) << 32;
}

static void put32(unsigned char *p, u32 v)
{
	p[0] = v;
	p[1] = v >> 8;
	p[2] = v >> 16;
	p[3] = v >> 24;
}

static void put64(unsigned char *p, u64 v)
{
	put32(p, v);
	put32(p + 4, v >> 32);
}

void sim_trace_init(struct sim_trace *t, const char *name)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s", name);
}

void sim_trace_free(struct sim_trace *t)
{
	free(t->request);
	t->request = NULL;
	t->nr = 0;
	t->room = 0;
}

int sim_trace_add(struct sim_trace *t, u64 gap_us, bool write, u64 sector, u32 sectors)
{
	struct sim_request *r;

	if (t->nr == t->room) {
		u64 room = t->room ? 2 * t->room : 1024;

		r = realloc(t->request, room * sizeof(*r));
		if (!r)
			return -ENOMEM;
		t->request = r;
		t->room = room;
	}
	r = &t->request[t->nr];
	r->time_us = gap_us + (t->nr ? r[-1].time_us : 0);
	r->sector = sector;
	r->sectors = sectors;
	r->write = write;
	t->nr++;
	if (sector + sectors > t->end)
		t->end = sector + sectors;
	return 0;
}

static int read_records(struct sim_trace *t, FILE *file, u64 nr)
{
	unsigned char record[RECORD_BYTES];
	u32 len;
	u64 sector;
	int r;

	while (nr--) {
		if (fread(record, RECORD_BYTES, 1, file) != 1)
			return -EINVAL;
		len = get32(record + 4);
		sector = get64(record + 8);
		if (!(len & 0xffffff) || sector >> 56)
			return -EINVAL;
		r = sim_trace_add(t, get32(record), len >> 31, sector, len & 0xffffff);
		if (r)
			return r;
	}
	return 0;
}

int sim_trace_load(struct sim_trace *t, const char *path)
{
	static const unsigned char magic[8] = "DMT1";
	unsigned char head[HEAD_BYTES];
	FILE *file = fopen(path, "rb");
	int r = -EINVAL;

	sim_trace_init(t, "");
	if (!file)
		return -errno;
	if (fread(head, HEAD_BYTES, 1, file) == 1 && !memcmp(head, magic, sizeof(magic)) &&
	    get32(head + 8) == 1 && get32(head + 12) == RECORD_BYTES) {
		memcpy(t->name, head + 36, sizeof(t->name) - 1);
		r = read_records(t, file, get64(head + 16));
	}
	fclose(file);
	if (r)
		sim_trace_free(t);
	return r;
}

int sim_trace_save(const struct sim_trace *t, const char *path)
{
	unsigned char buf[HEAD_BYTES] = "DMT1";
	const struct sim_request *q;
	FILE *file = fopen(path, "wb");
	u64 i, gap, last = 0;
	int r = 0;

	if (!file)
		return -errno;
	put32(buf + 8, 1);
	put32(buf + 12, RECORD_BYTES);
	put64(buf + 16, t->nr);
	put64(buf + 24, t->end);
	put32(buf + 32, 3);
	memcpy(buf + 36, t->name, sizeof(t->name));
	if (fwrite(buf, HEAD_BYTES, 1, file) != 1)
		r = -EIO;
	for (i = 0; i < t->nr && !r; i++) {
		q = &t->request[i];
		gap = q->time_us - last;
		last = q->time_us;
		put32(buf, gap > 0xffffffff ? 0xffffffff : gap);
		put32(buf + 4, q->sectors | (q->write ? 1U << 31 : 0));
		put64(buf + 8, q->sector);
		if (fwrite(buf, RECORD_BYTES, 1, file) != 1)
			r = -EIO;
	}
	if (fclose(file) && !r)
		r = -EIO;
	return r;
}

u64 sim_trace_footprint(const struct sim_trace *t, u32 block_sectors)
{
	u64 nr_blocks = t->end / block_sectors + 1, i, b, n = 0;
	const struct sim_request *q;
	unsigned char *seen = calloc(nr_blocks / 8 + 1, 1);

	if (!seen)
		return 0;
	for (i = 0; i < t->nr; i++) {
		q = &t->request[i];
		for (b = q->sector / block_sectors;
		     b <= (q->sector + q->sectors - 1) / block_sectors; b++) {
			n += !(seen[b / 8] >> b % 8 & 1);
			seen[b / 8] |= 1 << b % 8;
		}
	}
	free(seen);
	return n;
}
