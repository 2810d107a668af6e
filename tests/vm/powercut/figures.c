// SPDX-License-Identifier: GPL-2.0
/*
 * What a power cut costs: a cache with clean and dirty data in known places loses power, starts again, and is
 * measured.  Of the dirty granules it has to find those not written back; of the clean ones all but those in
 * marked regions; writethrough leaves none dirty.  With blocks of 64 KiB, of which eight and a reserve fit.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "powercut.h"

static u64 number(const char *key)
{
	char text[64] = "";

	if (!dm_status_word(key, text, sizeof(text)))
		die("status has no %s", key);
	return strtoull(text, NULL, 10);
}

/* granules of the first blocks that a read finds on the fast device, by the target's own count */
static u64 warm_granules(u32 block, u32 nr_granules)
{
	u64 before = number("read_hits");
	int fd = dm_open();
	u32 i;

	for (i = 0; i < nr_granules; i++)
		do_read(fd, block * block_sectors + i * 8, 8);
	close(fd);
	return number("read_hits") - before;
}

static void expect(const char *mode, const char *what, u64 got, u64 want)
{
	if (got != want)
		complain("figures, %s: %s: %llu, not %llu", mode, what, (unsigned long long)got, (unsigned long long)want);
}

#define WARM	8U	/* blocks */

static void measure(const char *mode, const char *const *steps, u32 marked_first, u32 marked, u64 want_dirty)
{
	static const u8 lost[MAX_DEVS] = { FATE_LOST, FATE_LOST, FATE_LOST };
	u64 *values = calloc(max_sectors, sizeof(*values)), dirty_before, marks, dirty, warm = 0, dropped = 0, sector;
	u32 granules = block_sectors / 8, b;
	struct rng r = { 1 };
	struct life l = { 0 };
	struct image state;

	image_new(&l.base);
	image_new(&state);
	format_devices();
	for (sector = 0; sector < nr_sectors; sector++)
		values[sector] = oracle_value(dev_mem[SLOW] + sector * SECTOR, sector);
	oracle_begin_life(values);
	begin_life(&l, mode, "lru 0", "commit_ms 2000 idle_ms 60000 dirty_high 99 dirty_low 98");
	run_steps(steps, 1);
	dev_crash(&state, &l.base, lost, &r);
	dirty_before = number("dirty");
	marks = number("intent");
	end_life(&l);
	dev_load(&state);
	/* passthrough would drop nothing, but bypass: only a mode that reads copies shows what is there */
	if (dm_create(mode, "lru 0", "commit_ms 2000 idle_ms 60000 dirty_high 99 dirty_low 98"))
		die("figures: create");
	dirty = number("dirty");
	/* the others first: what a read misses is filled, and may evict */
	for (b = 0; b < WARM; b++) {
		u64 n;

		if (b >= marked_first && b < marked_first + marked)
			continue;
		n = warm_granules(b, granules);
		warm += n;
		dropped += granules - n;
	}
	dm_remove();
	log_free(l.log);
	printf("# powercut: figures, %s: before the cut %llu granules dirty, %llu regions marked; after it %llu dirty; of %u clean granules outside of the marks %llu still warm\n",
	       mode, (unsigned long long)dirty_before, (unsigned long long)marks, (unsigned long long)dirty,
	       (WARM - marked) * granules, (unsigned long long)warm);
	expect(mode, "dirty granules after the cut", dirty, want_dirty);
	expect(mode, "marked regions", marks, marked);
	expect(mode, "clean granules lost outside of the marks", dropped, 0);
	image_free(&l.base);
	image_free(&state);
	free(values);
	fflush(stdout);
}

void figures_run(void)
{
	/* written back; marks taken off; then four dirty granules, durable, and one that is not */
	static const char * const writeback[] = { "r 0 0 1008", "w 0 0 24", "w 1 0 24", "F", "M flush", "S flush idle",
		"S intent 0", "w 4 0 16", "w 5 0 16", "F", "w 6 0 8", NULL };
	static const char * const writethrough[] = { "r 0 0 1008", "w 0 0 24", "w 1 0 24", "F",
		"S intent 0", "w 4 0 16", "F", "w 5 0 8", "w 6 0 8", NULL };

	measure("writeback", writeback, 4, 3, 4);
	measure("writethrough", writethrough, 4, 3, 0);
}
