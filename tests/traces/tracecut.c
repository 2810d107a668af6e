// SPDX-License-Identifier: GPL-2.0
/* tracecut - print the beginning of a trace as an iolog of fio, moved together so that it fits a small device */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/text.h"
#include "sim/trace-file.h"
#include "trace-write.h"

#define PIECE		2048U	/* sectors: what lies in a piece of the device stays together */
#define PAGE		8U	/* sectors */

/* Pieces of the device that are in use, each with its new number. */
struct pieces {
	u64 *used;
	u64 nr_used;
	u64 nr;
};

static u64 last_piece(const struct sim_request *q)
{
	return (q->sector + q->sectors - 1) / PIECE;
}

/* Marks the pieces of the first requests.  Return: how many requests that are, as long as @max pieces are enough. */
static u64 mark(struct pieces *p, const struct sim_trace *t, u64 nr, u64 max)
{
	u64 i, k, new;

	for (i = 0; i < nr; i++) {
		for (new = 0, k = t->request[i].sector / PIECE; k <= last_piece(&t->request[i]); k++)
			new += !p->used[k];
		if (p->nr_used + new > max)
			break;
		for (k = t->request[i].sector / PIECE; k <= last_piece(&t->request[i]); k++)
			p->used[k] = 1;
		p->nr_used += new;
	}
	return i;
}

static void number(struct pieces *p)
{
	u64 k, n = 0;

	for (k = 0; k < p->nr; k++)
		if (p->used[k])
			p->used[k] = n++;
}

static int cut(struct sim_trace *out, const struct sim_trace *t, u64 requests, u64 mib)
{
	struct pieces p = { .nr = (t->end + PIECE - 1) / PIECE };
	const struct sim_request *q;
	u64 i, nr;
	int r = 0;

	p.used = calloc(p.nr, sizeof(*p.used));
	if (!p.used)
		return -ENOMEM;
	nr = mark(&p, t, requests < t->nr ? requests : t->nr, mib * 2048 / PIECE);
	number(&p);
	for (i = 0; i < nr && !r; i++) {
		q = &t->request[i];
		r = sim_trace_add(out, 0, q->write, p.used[q->sector / PIECE] * PIECE + q->sector % PIECE, q->sectors);
	}
	free(p.used);
	return r ? r : nr ? 0 : -ENOSPC;
}

int main(int argc, char **argv)
{
	struct sim_trace t = { 0 }, out = { 0 };
	char why[TEXT_LEN];
	u64 requests = argc == 4 ? strtoull(argv[2], NULL, 0) : 0, mib = argc == 4 ? strtoull(argv[3], NULL, 0) : 0;
	u64 touched;
	int r;

	text_program = "tracecut";
	if (!requests || !mib) {
		fprintf(stderr, "usage: tracecut TRACE REQUESTS MIB >IOLOG\n"
			"On stderr: requests, and sectors of the 4 KiB pages that they touch.\n");
		return 2;
	}
	if (sim_trace_read(&t, argv[1], NULL, why)) {
		text_error("%s", why);
		return 1;
	}
	r = cut(&out, &t, requests, mib);
	if (!r)
		r = sim_trace_footprint(&out, PAGE, &touched);
	if (!r)
		r = trace_write(&out, "iolog2", stdout);
	if (!r && fflush(stdout))
		r = -EIO;
	if (r)
		text_error("%s: %s", argv[1], strerror(-r));
	else
		fprintf(stderr, "%llu %llu\n", (unsigned long long)out.nr, (unsigned long long)touched);
	sim_trace_clear(&t);
	sim_trace_clear(&out);
	return r ? 1 : 0;
}
