/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Power cuts: some block devices in memory that remember every request, a workload that knows what each
 * sector may hold, and a judge.  README says how it works.
 *
 *	dev.c		the devices, served to the kernel by nbd; their log; "power fails now"
 *	dm.c		the device under test: create, remove, message, status
 *	oracle.c	what was written, acknowledged and flushed; which values a sector may have
 *	work.c		random requests and messages
 *	paper.c		what a state would read as, from the format alone
 *	judge.c		recovery of one state, and everything that is asked of it
 *	script.c	short scenarios, cut after every step
 *	figures.c	what a power cut costs
 *	damage.c	metadata that are damaged
 *	powercut.c	main
 */
#ifndef POWERCUT_H
#define POWERCUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef POWERCUT_TYPES		/* paper.c has the kernel's */
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define SECTOR	512U

/* ---- random numbers, the same for a seed ---- */

struct rng {
	u64 state;
};

static inline u64 rng_next(struct rng *r)
{
	u64 z = (r->state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline u32 rng_below(struct rng *r, u32 n)
{
	return n ? rng_next(r) % n : 0;
}

static inline bool rng_percent(struct rng *r, u32 percent)
{
	return rng_below(r, 100) < percent;
}

/* ---- dev.c ---- */

/*
 * A cache has the first three.  The tiers of a tiered device are FAST, SLOW, and what comes behind the metadata
 * device, as a rule in this order.
 */
enum { FAST, SLOW, META, THIRD, FOURTH, MAX_DEVS };

#define MAX_TIERS	(MAX_DEVS - 1)


enum req_kind { REQ_READ, REQ_WRITE, REQ_FLUSH, REQ_TRIM };

/**
 * struct req - a request as the device saw it
 * @begin: time at which it took effect (a flush: began)
 * @done: time just before it was answered; 0: never
 * @failed: a flush that was answered with an error
 */
struct req {
	u8 dev;
	u8 kind;
	bool fua;
	bool failed;
	u32 len;
	u64 off;
	u64 begin;
	u64 done;
	u8 *data;
};

struct log {
	struct req **reqs;
	size_t nr, room;
};

/* how devices behave; times in microseconds */
struct delays {
	u32 percent;		/* of the requests that are delayed */
	u32 max[MAX_DEVS];
	u32 flush;		/* more for a flush */
	u32 held[MAX_DEVS];	/* writes take effect at once, and are answered so much later */
	u32 late[MAX_DEVS];	/* reads take effect so much later */
};

/**
 * struct image - what the media hold
 * @serial: of the contents, never given twice
 * @parent: serial of the image that this one was made from
 * @changed: chunks in which it differs from that
 */
struct image {
	u8 *mem[MAX_DEVS];
	u64 serial, parent;
	bool *changed[MAX_DEVS];
};

#define IMAGE_CHUNK	4096U

/* how a power cut treats what is in the volatile caches */
enum fate { FATE_LOST, FATE_KEPT, FATE_MIXED, FATE_RARE, FATE_TORN, FATE_SHREDDED, NR_FATES };

extern int nr_devs;		/* that are served */
extern u32 nr_tiers;		/* of the device under test; 0: it is a cache */
extern u8 tier_dev[MAX_TIERS];	/* the device that each tier is, fastest first */
extern bool other_tiers;	/* the superblock may have other tiers, until the next start */
extern bool own_tiers;		/* each start is with those that the superblock has */
extern bool taken;		/* the last tier was taken over with its data, zeros, and has no header */
extern const char * const dev_names[MAX_DEVS];
extern const char * const dev_paths[MAX_DEVS];
extern u64 dev_size[MAX_DEVS];	/* what the kernel sees */
extern u64 dev_room[MAX_DEVS];	/* what there is */
extern u8 *dev_mem[MAX_DEVS];

u64 tick(void);			/* one clock for everything that is recorded */
u64 now(void);
void dev_start(void);
void dev_stop(void);
void dev_delays(const struct delays *d, u64 seed);
struct log *dev_log_take(void);	/* what was recorded since the last call */
void log_free(struct log *l);
void image_new(struct image *i);
void image_free(struct image *i);
void dev_save(struct image *i);
void dev_load(const struct image *i);
void dev_resize(int dev, u64 size);
enum { FAIL_NONE, FAIL_ALL, FAIL_WRITES, FAIL_FLUSHES };

void dev_fail(int dev, int what);
void dev_replace(int dev, const u8 *mem);
void dev_crash(struct image *to, const struct image *base, const u8 fates[MAX_DEVS], struct rng *r);
bool req_durable(const struct log *l, const struct req *q, u64 cut);
void crash_image(struct image *to, const struct image *base, const struct log *l, u64 cut, const u8 fates[MAX_DEVS],
		 struct rng *r);

/* ---- dm.c ---- */

extern u32 block_sectors;
extern bool other_fast;		/* the fast device may be another one, which is to be taken in */

int dm_create(const char *mode, const char *policy, const char *features);
void dm_fua_open(void);
int dm_reload(void (*between)(void));
void set_tiers(const char *order);
int dm_remove(void);
int dm_open(void);
extern int dm_fua_fd;	/* no flush gets through here, see dm_fua_open(); -1: can't be had */
int dm_message(const char *text);
bool dm_status(char *text, size_t size);
bool dm_status_word(const char *key, char *value, size_t size);
bool dm_wait(const char *key, const char *value, u32 ms);
bool dm_tier_word(u32 tier, u32 i, u64 *value);
bool dm_wait_moves(u32 ms);
u64 dm_moves(void);
int dmtier_run(const char *verb, const char *option);
void sleep_us(u32 us);

/* ---- oracle.c ---- */

extern u64 nr_sectors;		/* of the tier device */
extern u64 max_sectors;		/* that it may ever have */

enum { EV_WRITE, EV_WRITE_ACK, EV_FLUSH, EV_FLUSH_ACK, EV_DISCARD, EV_DISCARD_ACK, EV_PIN, EV_PIN_ACK, EV_FLUSH_FAILED,
       NR_EVS };

#define VALUE_BAD	(~0ULL)

/* what a sector may be found to hold */
struct permit {
	u64 floor;	/* last durable version */
	u64 last;	/* last submitted one */
	u64 discard;	/* last submitted discard, 0: none */
};

void oracle_init(void);
void oracle_fill(u8 *buf, u64 sector, u32 n, u64 version);
u64 oracle_value(const u8 *data, u64 sector);
void oracle_begin_life(const u64 *values);
void oracle_current(u64 *values);
bool oracle_take(u64 start, u32 n);	/* nobody else writes there */
void oracle_drop(u64 start, u32 n);
u64 oracle_event(int kind, u64 id, u64 start, u32 n, bool fua);
u64 oracle_new_id(void);
size_t oracle_nr_events(void);
u64 oracle_event_time(size_t i);
void oracle_read_begin(u64 start, u32 n, struct permit *p);
void oracle_read_end(u64 start, u32 n, struct permit *p);
bool permitted(const struct permit *p, u64 value);
void oracle_permits(u64 cut, struct permit *p);	/* of all sectors */

#define MAY_BE_LOOSE	1
#define MAY_BE_PINNED	2
void oracle_pins(u64 cut, u8 *may, u64 nr_blocks);
void oracle_history(u64 sector, u64 cut);

/* ---- work.c ---- */

struct run {
	u64 seed;
	u32 ms;
	u32 threads;
	bool messages;
	const char *mode;
};

void work_run(const struct run *run);
const char *random_mode(struct rng *r);
const char *random_policy(struct rng *r);
int do_write(int fd, u64 start, u32 n, bool fua);
int do_read(int fd, u64 start, u32 n);
int do_flush(int fd);
extern bool flushes_may_fail;	/* a device's may */
int do_discard(int fd, u64 start, u32 n);
int do_zero(int fd, u64 start, u32 n);

/* ---- paper.c ---- */

int paper_values(const struct image *state, unsigned long *values, char *why, size_t size, unsigned long *where);

#ifndef POWERCUT_TYPES
extern u64 paper_differing, paper_dirty, paper_used, paper_pinned;
extern u8 *paper_pins;
extern bool paper_shrunk, paper_new_fast, paper_changed, paper_other_tiers;
extern char paper_tiers[MAX_TIERS + 1];
extern u64 paper_generation, changed_generation;
#endif

/* ---- judge.c ---- */

/* a run that was recorded */
struct life {
	struct image base;
	struct log *log;
	u64 begin, end;
	char what[400];
};

struct plan {
	u64 cut;
	u8 fates[MAX_DEVS];
	const u8 *fast;		/* this is in the fast device's place then; NULL: the fast device */
	u64 seed;
	bool thorough;		/* evictions, flush, mode switch, second cut */
	u32 second;		/* power cuts in the recovery itself */
	u32 second_started;	/* of these, not only judged on paper */
	u32 recovery;		/* so many after each request of the loading */
};

extern u64 nr_states, nr_paper, nr_failures, nr_recovery;
extern u32 check_percent, max_failures;

/**
 * read_sectors() - the versions of all sectors of the device that is there
 * @values: nr_sectors of them
 *
 * Return: the first sector that could not be read, errno says why; nr_sectors: all have been.
 */
u64 read_sectors(u64 *values);

bool judge(const struct life *l, const struct plan *p, u64 *values);
bool judge_paper(const struct life *l, const struct plan *p);
void history(const struct life *l, u64 sector, u64 cut);
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- script.c ---- */

extern const size_t nr_scripts;
const char *script_name(size_t i);
const char *script_covers(size_t i);
u32 script_tiers(size_t i);
void script_run(size_t i, u64 seed, u32 step, u32 states, u32 recovery);

void run_steps(const char *const *steps, u32 times);

/* ---- figures.c ---- */

void figures_run(void);

/* ---- damage.c ---- */

void damage_run(u64 seed, u64 nr);

/* ---- powercut.c ---- */

extern bool verbose;
bool time_left(void);
u32 slowness(void);
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void begin_life(struct life *l, const char *mode, const char *policy, const char *features);
void end_life(struct life *l);
void format_devices(void);
u64 full_slots(void);
u64 tiered_sectors(void);
void first_values(u64 *values);

#endif /* POWERCUT_H */
