// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <linux/byteorder.h>
#include "trace-write.h"

#define ull(v)	((unsigned long long)(v))

const char * const trace_formats[] = { "dmt", "csv", "csv-bytes", "blkparse", "iolog2", "iolog3", NULL };

struct dmt_head {
	char magic[8];
	__le32 version;
	__le32 record_bytes;
	__le64 nr;
	__le64 end;
	__le32 flags;
	char name[28];
};

struct dmt_record {
	__le32 gap_us;
	__le32 sectors;
	__le64 sector;
};

static void write_dmt(const struct sim_trace *t, FILE *out)
{
	struct dmt_head head = {
		.magic = "DMT1", .version = cpu_to_le32(1), .record_bytes = cpu_to_le32(16), .nr = cpu_to_le64(t->nr),
		.end = cpu_to_le64(t->end), .flags = cpu_to_le32(3), .name = "made up",
	};
	const struct sim_request *q;
	struct dmt_record record;
	u64 i, last = 0;

	fwrite(&head, sizeof(head), 1, out);
	for (i = 0; i < t->nr; i++) {
		q = &t->request[i];
		record = (struct dmt_record){
			.gap_us = cpu_to_le32(q->time_us - last), .sector = cpu_to_le64(q->sector),
			.sectors = cpu_to_le32(q->sectors | (q->write ? 1U << 31 : 0)),
		};
		last = q->time_us;
		fwrite(&record, sizeof(record), 1, out);
	}
}

/* blkparse tells each request three times, and sums at the end. */
static void write_blkparse(const struct sim_request *q, u64 i, FILE *out)
{
	static const char actions[] = "QDC";
	const char *a;

	for (a = actions; *a; a++)
		fprintf(out, "  8,16   %llu %8llu %5llu.%06llu000  4711  %c  %s %llu + %u [fio]\n", ull(i % 4), ull(i),
			ull(q->time_us / 1000000), ull(q->time_us % 1000000), *a, q->write ? "WS" : "R", ull(q->sector),
			q->sectors);
}

int trace_write(const struct sim_trace *t, const char *format, FILE *out)
{
	const struct sim_request *q;
	u64 i, last = 0;
	int f;

	for (f = 0; trace_formats[f] && strcmp(trace_formats[f], format); f++)
		;
	switch (f) {
	case 0:
		write_dmt(t, out);
		return ferror(out) ? -EIO : 0;
	case 1:
		fprintf(out, "time_us,op,sector,sectors\n");
		break;
	case 2:
		fprintf(out, "host, Bytes, OFFSET, op, time_us\r\n");
		break;
	case 3:
		fprintf(out, "Input file sdb.blktrace.0 added\n\n");
		break;
	case 4:
	case 5:
		fprintf(out, "fio version %d iolog\n%s/dev/sdb add\n%s/dev/sdb open\n", f - 2, f == 5 ? "0 " : "",
			f == 5 ? "0 " : "");
		break;
	default:
		return -ENOENT;
	}
	for (i = 0; i < t->nr; i++) {
		q = &t->request[i];
		if (f == 1)
			fprintf(out, "%llu,%c,%llu,%u\n", ull(q->time_us), q->write ? 'W' : 'R', ull(q->sector),
				q->sectors);
		else if (f == 2)
			fprintf(out, "a, %llu, %llu, %s, %llu\r\n", ull(q->sectors) * 512, ull(q->sector) * 512,
				q->write ? "write" : "read", ull(q->time_us));
		else if (f == 3)
			write_blkparse(q, i, out);
		else if (f == 4 && q->time_us != last)
			fprintf(out, "/dev/sdb wait %llu 0\n", ull(q->time_us - last));
		if (f == 5)
			fprintf(out, "%llu ", ull(q->time_us));
		if (f >= 4)
			fprintf(out, "/dev/sdb %s %llu %llu\n", q->write ? "write" : "read", ull(q->sector) * 512,
				ull(q->sectors) * 512);
		last = q->time_us;
	}
	if (f == 3)
		fprintf(out, "CPU0 (sdb):\n Reads Queued:  1, 4KiB\t Writes Queued:  2, 8KiB\n\n"
			"Total (sdb):\n Read Merges:  0, 0KiB\n");
	return ferror(out) ? -EIO : 0;
}
