// SPDX-License-Identifier: GPL-2.0
/*
 * Short scenarios, one for each kind of transition.  The power is cut after every request of the devices
 * and every acknowledgement, each time in several ways.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "powercut.h"

/*
 * A step: a letter, and for requests BLOCK SECTOR SECTORS
 *	w write, f write with FUA, r read, d discard, F flush, M message, S wait until status KEY is VALUE, z sleep ms
 * Sectors from 1000 on count in blocks: 1002 is two whole blocks.
 */
struct script {
	const char *name, *mode, *features;
	const char *const *steps;
	u32 times;
	bool slow_meta;		/* what goes on while a commit is written */
};

#define STEPS(...)	(const char *const []){ __VA_ARGS__, NULL }

static const struct script scripts[] = {
	{ "write-miss", "writeback", "commit_ms 30", STEPS("w 0 0 8", "w 0 8 8", "F", "w 0 0 8", "w 1 3 2", "w 0 3 2", "F") },
	{ "write-hit", "writeback", "commit_ms 2000", STEPS("r 1 0 1001", "F", "r 1 0 8", "w 1 0 8", "w 1 8 3", "F", "w 1 0 8",
		"f 1 8 8", "f 1 0 8", "w 1 24 8", "f 1 24 8", "z 60", "f 1 0 8") },
	{ "fill-write", "writeback", "commit_ms 10", STEPS("r 2 0 8", "w 2 0 8", "r 3 0 8", "w 3 2 3", "z 30", "r 4 0 8", "z 30",
		"w 4 0 8", "F"), 3 },
	{ "write-back", "writeback", "commit_ms 10", STEPS("w 0 0 1003", "F", "M flush", "S flush idle", "w 1 0 8", "F",
		"M mode writearound", "S settled writearound", "w 0 0 8", "f 1 0 8", "M demote 0 4096", "S jobs 0", "w 1 0 8",
		"w 2 0 8", "r 2 0 8", "F") },
	{ "evict-write", "writeback", "commit_ms 1000", STEPS("r 0 0 1002", "F", "M demote 0 4096", "S jobs 0", "w 0 0 3", "w 1 0 8",
		"z 5", "r 0 0 8", "w 0 0 8", "F", "M mode writearound", "r 3 0 8", "M demote 0 4096", "w 3 0 8", "f 3 0 3") },
	{ "discard", "writeback", "commit_ms 30", STEPS("w 0 0 1002", "F", "d 0 0 1001", "w 0 0 8", "F", "r 2 0 1001", "F", "d 2 0 1001",
		"f 2 0 8", "d 1 0 8", "F", "r 1 0 8", "w 1 0 8", "F") },
	{ "mode-switch", "writeback", "commit_ms 2000", STEPS("w 0 0 1002", "F", "w 3 0 8", "M mode writearound", "f 3 0 8", "M mode writeback", "M mode writethrough", "w 0 0 8", "f 1 0 8",
		"S settled writethrough", "w 0 8 8", "M mode writeback", "w 0 8 8", "M mode passthrough", "w 0 8 8", "w 1 0 3",
		"S settled passthrough", "w 0 0 8", "M mode writeback", "w 0 0 8", "F") },
	{ "writethrough", "writethrough", "commit_ms 30", STEPS("r 0 0 1001", "w 0 0 8", "F", "w 0 0 8", "f 0 0 8", "w 0 2 1",
		"w 1 0 1001", "F", "M demote 0 4096", "S jobs 0", "w 0 0 8", "r 0 0 8", "w 0 0 8", "F") },
	{ "writearound", "writearound", "commit_ms 10", STEPS("r 0 0 1002", "F", "w 0 0 8", "f 1 0 8", "r 0 0 8", "w 0 2 1", "F",
		"r 0 0 1002", "w 1 0 8", "r 1 0 8", "f 1 0 8") },
	{ "reuse", "writeback", "commit_ms 10", STEPS("w 0 0 1002", "w 2 0 1002", "M flush", "S flush idle", "M demote 0 8192",
		"z 15", "w 4 0 1002", "w 6 0 1002", "r 8 0 1002", "F", "M flush", "S flush idle", "M demote 0 65536",
		"S jobs 0", "r 0 0 1002", "w 10 0 1002", "F"), 2, true },
	{ "journal", "writeback", "commit_ms 1000", STEPS("f 0 0 8", "f 1 0 8", "M flush", "S flush idle", "f 0 0 8", "f 1 8 8"), 30 },
	{ "unmark", "writeback", "commit_ms 10", STEPS("r 0 0 1002", "F", "w 0 0 8", "w 1 0 3", "M flush", "S flush idle", "z 4500",
		"F", "S intent 0", "w 0 0 8", "F", "M mode writethrough", "S settled writethrough", "w 1 0 8", "w 0 0 8", "F") },
};

const size_t nr_scripts = sizeof(scripts) / sizeof(scripts[0]);

const char *script_name(size_t i)
{
	return scripts[i].name;
}

static void run_step(int fd, const char *s)
{
	unsigned long long block, start;
	unsigned int off, n;
	char key[32], value[32];

	if (sscanf(s + 1, "%llu %u %u", &block, &off, &n) == 3 && strchr("wfrd", *s)) {
		start = block * block_sectors + off;
		if (n > 1000)
			n = (n - 1000) * block_sectors;
		if (block_sectors <= 8 && off >= 8)
			start = block * block_sectors + off % 8;
		while (n && start < nr_sectors) {
			u32 len = n < 128 ? n : 128;

			if (*s == 'w' || *s == 'f')
				do_write(fd, start, len, *s == 'f');
			else if (*s == 'r')
				do_read(fd, start, len);
			else
				do_discard(fd, start, len);
			start += len;
			n -= len;
		}
	} else if (*s == 'F') {
		do_flush(fd);
	} else if (*s == 'M') {
		unsigned long long first, count;
		char text[64];

		snprintf(text, sizeof(text), "%s", s + 2);
		if (sscanf(s, "M demote %llu %llu", &first, &count) == 2)
			snprintf(text, sizeof(text), "demote 0 %llu", (unsigned long long)nr_sectors);
		if (dm_message(text))
			complain("message %s", text);
	} else if (*s == 'S' && sscanf(s + 2, "%31s %31s", key, value) == 2) {
		if (!dm_wait(key, value, 30000))
			complain("status: %s does not become %s", key, value);
	} else if (*s == 'z') {
		sleep_us(atoi(s + 2) * 1000);
	}
}

static int compare_times(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* every moment at which something changed, in order */
static u64 *all_cuts(const struct life *l, size_t *nr)
{
	u64 *times = calloc(l->log->nr * 2 + oracle_nr_events() + 1, sizeof(*times));
	size_t n = 0, i, k = 0;

	for (i = 0; i < l->log->nr; i++) {
		times[n++] = l->log->reqs[i]->begin;
		if (l->log->reqs[i]->done)
			times[n++] = l->log->reqs[i]->done;
	}
	for (i = 0; i < oracle_nr_events(); i++)
		times[n++] = oracle_event_time(i);
	qsort(times, n, sizeof(*times), compare_times);
	for (i = 0; i < n; i++)
		if (!i || times[i] != times[i - 1])
			times[k++] = times[i];
	*nr = k;
	return times;
}

/**
 * script_run() - run a script and cut everywhere
 * @i: which
 * @seed: of the states
 * @step: every so many states are started, the others judged on paper
 * @states: at each cut
 */
void script_run(size_t i, u64 seed, u32 step, u32 states)
{
	static const u8 first[3][NR_DEVS] = {
		{ FATE_LOST, FATE_LOST, FATE_LOST }, { FATE_KEPT, FATE_LOST, FATE_KEPT }, { FATE_LOST, FATE_KEPT, FATE_KEPT },
	};
	const struct script *s = &scripts[i];
	struct rng r = { seed + i };
	u64 *values = calloc(nr_sectors, sizeof(*values)), *times;
	u64 before = nr_states, before_paper = nr_paper, before_failures = nr_failures, n = 0, sector;
	struct life l = { 0 };
	size_t nr, c;
	u32 t, k;
	int fd;

	image_new(&l.base);
	format_devices();
	for (sector = 0; sector < nr_sectors; sector++)
		values[sector] = oracle_value(dev_mem[SLOW] + sector * SECTOR, sector);
	oracle_begin_life(values);
	if (s->slow_meta)
		dev_delays(&(struct delays){ 100, { 0, 0, 40000 }, 0 }, seed);
	begin_life(&l, s->mode, "lru 0", s->features);
	snprintf(l.what + strlen(l.what), sizeof(l.what) - strlen(l.what), ", script %s", s->name);
	fd = dm_open();
	for (t = 0; t < (s->times ? s->times : 1); t++)
		for (k = 0; s->steps[k]; k++)
			run_step(fd, s->steps[k]);
	close(fd);
	end_life(&l);
	dev_delays(&(struct delays){ 0 }, 0);
	times = all_cuts(&l, &nr);
	for (c = 0; c < nr && nr_failures < max_failures && time_left(); c++)
		for (k = 0; k < states && nr_failures < max_failures; k++, n++) {
			struct plan p = { .cut = times[c], .seed = rng_next(&r), .thorough = true, .second = 8,
					  .second_started = rng_percent(&r, 30) };
			int d;

			for (d = 0; d < NR_DEVS; d++)
				p.fates[d] = k < 3 ? first[k][d] : rng_below(&r, NR_FATES);
			if (step && n % step == step - 1) {
				if (!judge(&l, &p, values))
					format_devices();
			} else {
				judge_paper(&l, &p);
			}
		}
	printf("# powercut: script %s, block %uk: %zu cuts, %llu states judged, %llu of them started, %llu failures\n", s->name,
	       block_sectors / 2, nr, (unsigned long long)(nr_states - before + nr_paper - before_paper),
	       (unsigned long long)(nr_states - before), (unsigned long long)(nr_failures - before_failures));
	fflush(stdout);
	free(times);
	log_free(l.log);
	image_free(&l.base);
	free(values);
}
