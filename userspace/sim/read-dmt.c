// SPDX-License-Identifier: GPL-2.0
/*
 * DMT1: requests in 16 bytes each.  Little endian; a head of 64 bytes, then records.
 *
 *	0	"DMT1" and 4 zero bytes
 *	8	u32 version, 1
 *	12	u32 size of a record, 16
 *	16	u64 number of records
 *	24	u64 highest sector touched plus one
 *	32	u32 flags and 28 bytes name, not needed here
 *	64	records: u32 time since the one before in us; u32 sectors (bits 0-23) and write (bit 31);
 *		u64 first sector
 */
#include <errno.h>
#include <string.h>
#include <linux/byteorder.h>

#include "input.h"
#include "lib/text.h"

#define HEAD_BYTES	64
#define VERSION		1
#define RECORD_BYTES	16
#define LEN_MASK	((1U << 24) - 1)
#define LEN_WRITE	(1U << 31)

static u32 get32(const char *p)
{
	__le32 v;

	memcpy(&v, p, sizeof(v));
	return le32_to_cpu(v);
}

static u64 get64(const char *p)
{
	__le64 v;

	memcpy(&v, p, sizeof(v));
	return le64_to_cpu(v);
}

static int ends_early(struct input *in, u64 nr)
{
	return text_why(in->why, -EINVAL, "%s: it ends in record %llu of %llu", in->name,
			(unsigned long long)in->line, (unsigned long long)nr);
}

static int read_head(struct input *in, u64 *nr, u64 *end)
{
	const char *p;
	int r = input_peek(in, HEAD_BYTES, &p);

	if (r < 0)
		return r;
	if (r < HEAD_BYTES)
		return text_why(in->why, -EINVAL, "%s: it ends in its head", in->name);
	if (memcmp(p, "DMT1\0\0\0", 8) || get32(p + 8) != VERSION || get32(p + 12) != RECORD_BYTES)
		return text_why(in->why, -EINVAL, "%s: a DMT file of another version", in->name);
	*nr = get64(p + 16);
	*end = get64(p + 24);
	input_skip(in, HEAD_BYTES);
	return 0;
}

/* in->line counts records here. */
int read_dmt(struct input *in)
{
	u64 nr = 0, end = 0, now = 0, sector, sectors;
	const char *p;
	u32 len;
	int r;

	r = input_no_device(in, "DMT1");
	if (r)
		return r;
	for (r = read_head(in, &nr, &end); !r && in->line < nr; input_skip(in, RECORD_BYTES)) {
		in->line++;
		r = input_peek(in, RECORD_BYTES, &p);
		if (r < RECORD_BYTES)
			return r < 0 ? r : ends_early(in, nr);
		now += get32(p);
		len = get32(p + 4);
		sectors = len & LEN_MASK;
		sector = get64(p + 8);
		if (sector >= end || sectors > end - sector)
			return input_wrong(in, "sector %llu is beyond the end that the head tells",
					   (unsigned long long)sector);
		r = input_request(in, now, len & LEN_WRITE, sector, sectors);
	}
	if (r)
		return r;
	r = input_peek(in, 1, &p);
	if (r > 0)
		return text_why(in->why, -EINVAL, "%s: there is more behind the last of its %llu records", in->name,
				(unsigned long long)nr);
	return r;
}
