// SPDX-License-Identifier: GPL-2.0
/*
 * The judge of one crash state: check, start, read all.  Every sector must have a permitted value, and keep
 * it whatever happens next short of a write.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "powercut.h"

#define CHUNK	256U	/* sectors */

u64 nr_states, nr_paper, nr_failures, nr_recovery;
u32 check_percent = 100, max_failures = 5;

static const char * const fate_names[NR_FATES] = { "lost", "kept", "mixed", "rare", "torn", "shredded" };

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	flockfile(stdout);
	printf("# FAILURE: ");
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	funlockfile(stdout);
	va_end(ap);
	__atomic_add_fetch(&nr_failures, 1, __ATOMIC_SEQ_CST);
}

/* ---- what happened to a sector ---- */

static const char *durable(const struct log *l, const struct req *q, u64 cut)
{
	if (q->begin > cut)
		return "after the cut";
	if (!q->done || q->done > cut)
		return "in flight";
	return q->fua ? "durable, FUA" : req_durable(l, q, cut) ? "durable" : "volatile";
}

static u64 le(const u8 *p, u32 n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* entries of journal sectors that name the block, and intents; see docs/format.md */
static void show_journal(const struct log *l, const struct req *q, u64 block, u64 cut)
{
	u32 granules = block_sectors / 8 > 64 ? 64 : block_sectors / 8;
	u32 size = granules > 16 ? 40 : 24, rec = size - 8, off, i;

	for (off = 0; off + SECTOR <= q->len; off += SECTOR) {
		const u8 *s = q->data + off;

		if (le(s + 4, 4) != 0x31534a54)		/* TJS1 */
			continue;
		for (i = 0; i < le(s + 24, 2) && 32 + (i + 1) * size <= SECTOR; i++) {
			const u8 *e = s + 32 + i * size, *r = e + 8;
			u64 b = le(r, 8);

			if (le(e + 4, 2) == 2) {
				if (le(e, 4) == block / 64)
					printf("#   %8llu-%llu meta: txn %llu intent word %llu: %016llx (%s)\n",
					       (unsigned long long)q->begin, (unsigned long long)q->done,
					       (unsigned long long)le(s + 8, 8), (unsigned long long)le(e, 4),
					       (unsigned long long)b, durable(l, q, cut));
				continue;
			}
			if (b >> 48 && (b & 0xffffffffffffULL) != block)
				continue;
			printf("#   %8llu-%llu meta: txn %llu slot %llu: ", (unsigned long long)q->begin,
			       (unsigned long long)q->done, (unsigned long long)le(s + 8, 8),
			       (unsigned long long)le(e, 4));
			if (b >> 48)
				printf("block %llu valid %llx dirty %llx", (unsigned long long)block,
				       (unsigned long long)le(r + 8, rec == 16 ? 2 : 8),
				       (unsigned long long)le(r + (rec == 16 ? 10 : 16), rec == 16 ? 2 : 8));
			else
				printf("free");
			printf(" (%s)\n", durable(l, q, cut));
		}
	}
}

void history(const struct life *l, u64 sector, u64 cut)
{
	const struct log *log = l->log;
	size_t i;
	u32 off;

	printf("# sector %llu is sector %llu of block %llu; history up to the cut at %llu:\n", (unsigned long long)sector,
	       (unsigned long long)sector % block_sectors, (unsigned long long)sector / block_sectors,
	       (unsigned long long)cut);
	oracle_history(sector, cut);
	for (i = 0; i < log->nr; i++) {
		const struct req *q = log->reqs[i];

		if (q->begin > cut + 200)
			break;
		if (q->kind == REQ_FLUSH) {
			printf("#   %8llu-%llu %s: flush%s\n", (unsigned long long)q->begin, (unsigned long long)q->done,
			       dev_names[q->dev], q->failed ? ", failed" : "");
		} else if (q->dev == META && q->kind == REQ_WRITE) {
			show_journal(log, q, sector / block_sectors, cut);
		} else if (!nr_tiers && q->dev == SLOW && sector * SECTOR >= q->off && sector * SECTOR < q->off + q->len) {
			printf("#   %8llu-%llu slow: %s version %lld%s (%s)\n", (unsigned long long)q->begin,
			       (unsigned long long)q->done, q->kind == REQ_WRITE ? "write" : "trim",
			       q->kind == REQ_WRITE ?
			       (long long)oracle_value(q->data + sector * SECTOR - q->off, sector) : 0LL,
			       q->fua ? " FUA" : "", durable(log, q, cut));
		} else if (q->kind == REQ_TRIM) {
			printf("#   %8llu-%llu %s: trim of %u sectors at sector %llu (%s)\n", (unsigned long long)q->begin,
			       (unsigned long long)q->done, dev_names[q->dev], q->len / SECTOR,
			       (unsigned long long)q->off / SECTOR, durable(log, q, cut));
		} else if (q->dev != META && (nr_tiers || q->dev == FAST)) {
			for (off = 0; off < q->len; off += SECTOR) {
				u64 v = oracle_value(q->data + off, sector);

				if (v && v != VALUE_BAD)
					printf("#   %8llu-%llu %s: write version %llu%s at sector %llu (%s)\n",
					       (unsigned long long)q->begin, (unsigned long long)q->done,
					       dev_names[q->dev], (unsigned long long)v, q->fua ? " FUA" : "",
					       (unsigned long long)(q->off + off) / SECTOR, durable(log, q, cut));
			}
		}
	}
	fflush(stdout);
}

/* ---- judging ---- */

struct trial {
	const struct life *life;
	const struct plan *plan;
	u64 cut;		/* in the life, for the history */
	char step[200];
	bool failed;
	bool refuse;		/* another fast device under dirty data: it must not start */
};

/* "fast lost, slow kept, ..." */
static const char *fates_text(const u8 fates[MAX_DEVS])
{
	static char text[100];
	size_t n = 0;
	int d;

	for (d = 0; d < nr_devs; d++)
		n += snprintf(text + n, sizeof(text) - n, "%s%s %s", d ? ", " : "", dev_names[d], fate_names[fates[d]]);
	return text;
}

__attribute__((format(printf, 2, 3)))
static void fail(struct trial *t, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	complain("%s; %s; cut at %llu of %llu-%llu, %s, seed %llu; life: %s", text, t->step, (unsigned long long)t->cut,
		 (unsigned long long)t->life->begin, (unsigned long long)t->life->end, fates_text(t->plan->fates),
		 (unsigned long long)t->plan->seed, t->life->what);
	t->failed = true;
}

u64 read_sectors(u64 *values)
{
	static u8 *buf;
	int fd = dm_open(), e;
	u64 s;
	u32 i, n;

	if (!buf && posix_memalign((void **)&buf, 4096, CHUNK * SECTOR))
		die("out of memory");
	for (s = 0; s < nr_sectors; s += n) {
		n = nr_sectors - s < CHUNK ? nr_sectors - s : CHUNK;
		if (pread(fd, buf, n * SECTOR, s * SECTOR) != (ssize_t)(n * SECTOR))
			break;
		for (i = 0; i < n; i++)
			values[s + i] = oracle_value(buf + i * SECTOR, s + i);
	}
	e = errno;
	close(fd);
	errno = e;
	return s;
}

static bool read_values(struct trial *t, u64 *values)
{
	u64 s = read_sectors(values);

	if (s < nr_sectors)
		fail(t, "read of sectors from %llu on: %s", (unsigned long long)s, strerror(errno));
	return s >= nr_sectors;
}

static void compare(struct trial *t, const u64 *was, const u64 *is)
{
	u64 s, n = 0, first = 0;

	for (s = 0; s < nr_sectors; s++)
		if (was[s] != is[s] && !n++)
			first = s;
	if (!n)
		return;
	fail(t, "%llu sectors changed without a write; sector %llu was version %lld, is %lld", (unsigned long long)n,
	     (unsigned long long)first, (long long)was[first], (long long)is[first]);
	history(t->life, first, t->cut);
}

static void step(struct trial *t, const char *text)
{
	size_t n = strlen(t->step);

	snprintf(t->step + n, sizeof(t->step) - n, "%s%s", n ? ", " : "", text);
}

static void read_again(struct trial *t, const char *when, const u64 *values, u64 *again)
{
	if (t->failed)
		return;
	step(t, when);
	if (read_values(t, again))
		compare(t, values, again);
}

static bool check(struct trial *t)
{
	char line[300];
	FILE *f;
	int r = dmtier_run("check", "");

	if (!r)
		return true;
	fail(t, "dmtier check: exit %d", r);
	f = fopen("/tmp/dmtier.out", "r");
	while (f && fgets(line, sizeof(line), f))
		printf("#   %s", line);
	if (f)
		fclose(f);
	return false;
}

static bool start(struct trial *t, struct rng *r, const char *mode)
{
	char text[100];
	const char *policy = random_policy(r);
	int e;

	if (own_tiers)
		set_tiers(paper_tiers);
	/* to the tool, a device that has become smaller, or is another one, or was written to, is the wrong one */
	if (rng_percent(r, check_percent) && !paper_shrunk && !paper_new_fast && !paper_changed &&
	    (own_tiers || !paper_other_tiers) && !check(t))
		return false;
	e = dm_create(mode, policy, rng_percent(r, 50) ? "commit_ms 10" : "idle_ms 20 commit_ms 30");
	if (e) {
		fail(t, "create: %s", strerror(-e));
		return false;
	}
	snprintf(text, sizeof(text), "start %s", mode);
	step(t, text);
	return true;
}

static void stop(struct trial *t)
{
	int e = dm_remove();

	if (e)
		die("remove: %s", strerror(-e));
	step(t, "remove");
}

static bool flush_all(struct trial *t)
{
	char got[64] = "";

	if (dm_message("flush") || !dm_wait("flush", "idle", 30000) || !dm_status_word("dirty", got, sizeof(got)) ||
	    strcmp(got, "0")) {
		fail(t, "flush does not end, or leaves %s granules dirty", got);
		return false;
	}
	step(t, "flush");
	return true;
}

/* the slow device alone has all of it */
static void slow_has(struct trial *t, const u64 *values, u64 *again)
{
	u64 s;

	if (t->failed)
		return;
	step(t, "the slow device alone");
	for (s = 0; s < nr_sectors; s++)
		again[s] = oracle_value(dev_mem[SLOW] + s * SECTOR, s);
	compare(t, values, again);
}

/* and it would still have all of it if the power failed now and the others were lost */
static void slow_keeps(struct trial *t, const struct image *base, const u64 *values, u64 *again)
{
	static const u8 lost[MAX_DEVS] = { FATE_LOST, FATE_LOST, FATE_LOST };
	static struct image state;
	struct rng r = { 1 };
	u64 s;

	if (t->failed)
		return;
	if (!state.mem[0])
		image_new(&state);
	dev_crash(&state, base, lost, &r);
	step(t, "the slow device alone after a power cut");
	for (s = 0; s < nr_sectors; s++)
		again[s] = oracle_value(state.mem[SLOW] + s * SECTOR, s);
	compare(t, values, again);
}

static void shake(struct trial *t, struct rng *r, const struct image *base, const u64 *values, u64 *again)
{
	bool flushed = false;
	char text[100];

	if (rng_percent(r, 30))
		read_again(t, "second read", values, again);
	if (!t->failed && rng_percent(r, 50)) {
		const char *mode = random_mode(r);

		snprintf(text, sizeof(text), "mode %s", mode);
		if (dm_message(text))
			fail(t, "message %s", text);
		step(t, text);
		if (strcmp(mode, "writeback") && rng_percent(r, 50)) {
			if (!dm_wait("settled", mode, 30000))
				fail(t, "mode %s does not settle", mode);
			slow_has(t, values, again);
		}
		if (rng_percent(r, 50))
			read_again(t, "read", values, again);
	}
	if (!t->failed && rng_percent(r, 50))
		flushed = flush_all(t);
	if (flushed) {
		slow_has(t, values, again);
		slow_keeps(t, base, values, again);
	}
	if (!t->failed && rng_percent(r, 60)) {
		snprintf(text, sizeof(text), "demote 0 %llu", (unsigned long long)nr_sectors);
		if (dm_message(text) || !dm_wait("jobs", "0", 30000))
			fail(t, "message demote");
		step(t, "demote");
		read_again(t, "read", values, again);
	}
	if (flushed)
		slow_has(t, values, again);
}

/* moves, which change nothing that can be read */
static void shake_tiers(struct trial *t, struct rng *r, const u64 *values, u64 *again)
{
	char text[100];
	u32 n;
	int e;

	if (rng_percent(r, 30))
		read_again(t, "second read", values, again);
	for (n = rng_below(r, 4); n && !t->failed; n--) {
		u64 first = rng_below(r, nr_sectors), len = 1 + rng_below(r, 3 * block_sectors);

		if (len > nr_sectors - first)
			len = nr_sectors - first;
		snprintf(text, sizeof(text), "move %u %llu %llu", rng_below(r, nr_tiers), (unsigned long long)first,
			 (unsigned long long)len);
		e = dm_message(text);
		/* nothing moves to a tier that is to be emptied */
		if ((e && e != -EPERM) || (rng_percent(r, 60) && !dm_wait_moves(30000)))
			fail(t, "message %s", text);
		step(t, text);
		if (rng_percent(r, 70))
			read_again(t, "read", values, again);
	}
}

static bool on_paper(struct trial *t, const struct image *state, u64 *values)
{
	char why[300];
	u64 where = 0;
	int r = paper_values(state, values, why, sizeof(why), &where);

	if (!r)
		return true;
	if (r == 2 && t->plan->fast) {
		t->refuse = true;
		return false;
	}
	step(t, "on paper");
	fail(t, "%s", why);
	if (r > 0)
		history(t->life, where, t->cut);
	return false;
}

/* the power fails again, in the recovery or soon after */
static void cut_again(struct trial *t, struct rng *r, const struct image *base, const struct log *log, u64 begin, u64 end,
		      u64 cut, const u8 fates[MAX_DEVS], const u64 *values, u64 *again, bool kernel)
{
	static struct image state;
	char text[200];
	size_t len = strlen(t->step);

	if (!state.mem[0])
		image_new(&state);
	crash_image(&state, base, log, cut, fates, r);
	if (kernel)
		dev_load(&state);
	snprintf(text, sizeof(text), "second cut at %llu of %llu-%llu, %s", (unsigned long long)cut,
		 (unsigned long long)begin, (unsigned long long)end, fates_text(fates));
	step(t, text);
	if (on_paper(t, &state, again)) {
		nr_paper++;
		compare(t, values, again);
	}
	if (!t->failed && kernel) {
		nr_states++;
		if (!start(t, r, random_mode(r)))
			return;
		read_again(t, "read", values, again);
		stop(t);
	}
	if (t->failed) {
		struct life l = { .log = (struct log *)log, .begin = begin, .end = end };
		u64 s;

		for (s = 0; s < nr_sectors && values[s] == again[s]; s++)
			;
		if (s < nr_sectors) {
			printf("# and after the first cut:\n");
			history(&l, s, cut);
		}
	}
	if (!t->failed)
		t->step[len] = 0;	/* the steps of the cuts before do not matter */
}

static void random_fates(struct rng *r, u8 fates[MAX_DEVS])
{
	int d;

	for (d = 0; d < nr_devs; d++)
		fates[d] = rng_below(r, NR_FATES);
}

/* the power fails after each request of the loading, and after each answer to one */
static void cut_loading(struct trial *t, struct rng *r, const struct image *base, const struct log *log, u64 begin,
			u64 loaded, const u64 *values, u64 *again)
{
	size_t i;
	u32 k;

	for (i = 0; i < log->nr && log->reqs[i]->begin <= loaded; i++)
		for (k = 0; k < 2 * t->plan->recovery && !t->failed; k++) {
			const struct req *q = log->reqs[i];
			u8 fates[MAX_DEVS] = { FATE_LOST, FATE_LOST, FATE_LOST };

			if (k >= 2)
				random_fates(r, fates);
			nr_recovery++;
			cut_again(t, r, base, log, begin, loaded, k % 2 && q->done ? q->done : q->begin, fates, values,
				  again, rng_percent(r, 2));
		}
}

/* is each value one that the oracle permits? */
static bool judge_values(struct trial *t, const u64 *values)
{
	static struct permit *permits;
	u64 s;
	u32 n = 0;

	if (!permits)
		permits = calloc(max_sectors, sizeof(*permits));
	oracle_permits(t->cut, permits);
	for (s = 0; s < nr_sectors; s++) {
		if (permitted(&permits[s], values[s]))
			continue;
		if (!n++) {
			fail(t, "sector %llu has version %lld, not %llu to %llu%s", (unsigned long long)s,
			     (long long)values[s], (unsigned long long)permits[s].floor,
			     (unsigned long long)permits[s].last, permits[s].discard ? " or older" : "");
			history(t->life, s, t->cut);
		}
	}
	if (n > 1)
		printf("# and %u other sectors\n", n - 1);
	return !n;
}

/* is each block's pin, on paper, one that the oracle permits? */
static bool judge_pins(struct trial *t)
{
	static u8 *may;
	u64 b, nr = nr_sectors / block_sectors;

	if (!nr_tiers)
		return true;
	if (!may)
		may = malloc(max_sectors);
	oracle_pins(t->cut, may, nr);
	for (b = 0; b < nr; b++)
		if (!(may[b] & paper_pins[b])) {
			fail(t, "block %llu is %s", (unsigned long long)b, may[b] == MAY_BE_PINNED ? "not pinned" : "pinned");
			return false;
		}
	return true;
}

/* the blocks have the slots that they have on paper; a move that has begun takes another */
static void tiered_counts(struct trial *t, u64 used)
{
	char pinned[32] = "", jobs[32] = "";

	if (!dm_status_word("pinned", pinned, sizeof(pinned)) || !dm_status_word("jobs", jobs, sizeof(jobs)))
		return;
	if (used < paper_used)
		fail(t, "%llu slots are in use after the start, %llu are on paper", (unsigned long long)used,
		     (unsigned long long)paper_used);
	else if (strtoull(pinned, NULL, 10) != paper_pinned)
		fail(t, "%s slots are pinned after the start, %llu are on paper", pinned,
		     (unsigned long long)paper_pinned);
}

/*
 * Nothing becomes dirty by a power cut, and nothing that recovery may keep is lost.  The paper was the last
 * state looked at; write back may have begun, and the reserve of free slots be refilled.
 */
static void judge_counts(struct trial *t)
{
	char dirty[32] = "", used[32] = "";
	u64 slots, n;

	if (t->failed || !dm_status_word("dirty", dirty, sizeof(dirty)) || !dm_status_word("used", used, sizeof(used)))
		return;
	n = strtoull(used, NULL, 10);
	if (nr_tiers) {
		tiered_counts(t, n);
		return;
	}
	slots = (dev_size[FAST] / SECTOR - 2048) / block_sectors;
	if (strtoull(dirty, NULL, 10) > paper_dirty)
		fail(t, "%s granules are dirty after the start, %llu are on paper", dirty, (unsigned long long)paper_dirty);
	else if (n > paper_used || (n < paper_used && n < slots - (slots / 4 ? slots / 4 : 1)))
		fail(t, "%s slots are in use after the start, %llu are on paper", used, (unsigned long long)paper_used);
}

/* another device is in the fast device's place */
static void put_fast(struct image *state, const struct plan *p)
{
	if (!p->fast)
		return;
	memcpy(state->mem[FAST], p->fast, dev_room[FAST]);
	memset(state->changed[FAST], true, dev_room[FAST] / IMAGE_CHUNK + 1);
}

/**
 * judge_paper() - judge one state without starting it
 * @l: life
 * @p: state
 *
 * Return: false if something was wrong.
 */
bool judge_paper(const struct life *l, const struct plan *p)
{
	static struct image state;
	static u64 *values;
	struct trial t = { .life = l, .plan = p, .cut = p->cut };
	struct rng r = { p->seed };

	if (!values) {
		image_new(&state);
		values = calloc(max_sectors, sizeof(*values));
	}
	crash_image(&state, &l->base, l->log, p->cut, p->fates, &r);
	put_fast(&state, p);
	nr_paper++;
	if (!on_paper(&t, &state, values))
		return t.refuse;
	step(&t, "on paper");
	return judge_values(&t, values) && judge_pins(&t);
}

/**
 * judge() - judge one state of a life
 * @l: life
 * @p: state
 * @values: what the sectors hold in the end
 *
 * Leaves the devices as after a clean stop.
 * Return: false if something was wrong.
 */
bool judge(const struct life *l, const struct plan *p, u64 *values)
{
	static struct image state;
	static u64 *again;
	struct trial t = { .life = l, .plan = p, .cut = p->cut };
	struct rng r = { p->seed };
	struct log *log;
	u64 begin, loaded, end;
	u8 fates[MAX_DEVS];
	u32 i;

	if (!again) {
		image_new(&state);
		again = calloc(max_sectors, sizeof(*again));
	}
	crash_image(&state, &l->base, l->log, p->cut, p->fates, &r);
	put_fast(&state, p);
	log_free(dev_log_take());
	begin = tick();
	dev_load(&state);
	nr_states++;
	if (!on_paper(&t, &state, again)) {
		if (t.refuse && !dm_create(random_mode(&r), random_policy(&r), "commit_ms 10")) {
			fail(&t, "dirty data are on another fast device, and it starts");
			stop(&t);
		}
		return t.refuse && !t.failed;
	}
	if (!start(&t, &r, random_mode(&r)))
		return false;
	loaded = now();
	judge_counts(&t);
	if (read_values(&t, values) && judge_values(&t, values)) {
		step(&t, "against paper");
		compare(&t, again, values);
	}
	if (!t.failed && p->thorough && nr_tiers)
		shake_tiers(&t, &r, values, again);
	else if (!t.failed && p->thorough)
		shake(&t, &r, &state, values, again);
	stop(&t);
	if (!t.failed && p->thorough && rng_percent(&r, 30)) {
		if (start(&t, &r, random_mode(&r))) {
			read_again(&t, "read", values, again);
			stop(&t);
		}
	}
	end = now();
	log = dev_log_take();
	cut_loading(&t, &r, &state, log, begin, loaded, values, again);
	for (i = 0; i < p->second && !t.failed; i++) {
		random_fates(&r, fates);
		cut_again(&t, &r, &state, log, begin, end, begin + rng_next(&r) % (end - begin + 1), fates, values, again,
			  i + p->second_started >= p->second);
	}
	log_free(log);
	log_free(dev_log_take());
	return !t.failed;
}
