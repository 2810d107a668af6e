// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

int sim_trace_add(struct sim_trace *t, u64 time_us, bool write, u64 sector, u32 sectors)
{
	if (t->nr == t->room) {
		u64 room = t->room ? 2 * t->room : 1024;
		struct sim_request *more = reallocarray(t->request, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->request = more;
		t->room = room;
	}
	t->request[t->nr++] = (struct sim_request){
		.sector = sector, .time_us = time_us, .sectors = sectors, .write = write,
	};
	t->nr_writes += write;
	t->sectors += sectors;
	if (sector + sectors > t->end)
		t->end = sector + sectors;
	return 0;
}

void sim_trace_clear(struct sim_trace *t)
{
	free(t->request);
	memset(t, 0, sizeof(*t));
}

/* Units that a request touches: @first to before @end */
struct span {
	u64 first;
	u64 end;
};

static int by_first(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

int sim_trace_footprint(const struct sim_trace *t, u32 unit_sectors, u64 *sectors)
{
	struct span *span = reallocarray(NULL, t->nr + 1, sizeof(*span));
	u64 i, units = 0, seen = 0;

	if (!span)
		return -ENOMEM;
	for (i = 0; i < t->nr; i++) {
		span[i].first = t->request[i].sector / unit_sectors;
		span[i].end = (t->request[i].sector + t->request[i].sectors - 1) / unit_sectors + 1;
	}
	qsort(span, t->nr, sizeof(*span), by_first);
	for (i = 0; i < t->nr; i++) {
		if (span[i].end <= seen)
			continue;
		units += span[i].end - (span[i].first > seen ? span[i].first : seen);
		seen = span[i].end;
	}
	free(span);
	*sectors = units * unit_sectors;
	return 0;
}
