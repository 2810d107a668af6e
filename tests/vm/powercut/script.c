// SPDX-License-Identifier: GPL-2.0
/*
 * Short scenarios, one for each kind of transition.  The power is cut after every request of the devices
 * and every acknowledgement, each time in several ways.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "powercut.h"

/*
 * A step: a letter, and for requests BLOCK SECTOR SECTORS
 *	w write, f write with FUA, r read, d discard, o zeros (tiered), F flush, M message, S wait until status KEY is VALUE, z sleep ms
 *	b request or flush: in the background; j wait for these
 *	P first blocks on: pin these blocks, or unpin them
 *	L device ms: from now on its writes are answered so much later than they take effect
 *	R device ms: the same of its reads, which take effect late
 *	E device 1: from now on its requests fail; E device 2: its writes do; E device 3: its flushes; E device 0: no more
 *	O order: load a table with these devices as tiers, suspend and resume
 *	V wait until all moves are done and committed
 *	T tier blocks: so many blocks must be on the tier
 *	N suspend, a blank fast device takes the place of the one that is there, and resume with the table anew
 * Blocks below 0 count from the end.  Sectors from 1000 on count in blocks: 1002 is two whole blocks.  In a
 * message, "all" is the range of the whole device, "blocks FIRST COUNT" that of these blocks.
 *
 * The first tier has room for 4 blocks, the second for 6, the third for 5, and each for two more that are moved
 * there.
 */
enum new_fast {
	FAST_SAME,
	FAST_BLANK,		/* at the start of the life that is judged, a blank device is in its place */
	FAST_STALE,		/* or itself, as it was a life before */
	FAST_LIVE,		/* or a blank one, in the middle, by the step N */
};

struct script {
	const char *name, *covers, *mode, *features;
	const char *const *steps;
	u32 times;
	bool slow_meta;		/* what goes on while a commit is written */
	bool shred;		/* the metadata device tears what it was writing */
	/* an earlier life, which is not judged itself */
	const char *const *before;
	u32 crashes;		/* it ends with a power cut, so many different ones; 0: it is stopped */
	/* other sizes in that life, and the sizes then: the fast device in so many times the usual slots */
	u32 fast_before, fast_then;
	u32 less_blocks, less_sectors;	/* so much shorter is the tier device before */
	enum new_fast new_fast;
	bool slow_changed;	/* between the two, by others */
	u32 tiers;		/* so many; 0: it is a cache */
	/* which devices they are, by number, in that life and then; NULL: the first ones */
	const char *order_before, *order;
	bool grows;		/* the length does, to what there is room for; else it is the smaller one */
	u32 smaller;		/* the second device has so many slots less in that life */
	bool live;		/* the tiers change in the life that is judged; that has room on those before, too */
	bool taken;		/* of two tiers: the second one is a disk that was taken over, and has 8 blocks and 11 sectors */
};

#define STEPS(...)	(const char *const []){ __VA_ARGS__, NULL }

/* blocks 0, 1 and 2 in each other's places on the second tier, its slot 5 free, and a gap in block 6 */
#define SCRAMBLE \
	"w 0 0 1008", "w 8 0 8", "F", "M move 0 blocks 0 3", "V", "M move 1 blocks 0 1", "V", "M move 1 blocks 2 1", "V", \
	"M move 1 blocks 1 1", "V", "d 5 0 1001", "d 6 8 16", "F"

static const struct script scripts[] = {
	{ "write-miss", "write miss", "writeback", "commit_ms 30", STEPS("w 0 0 8", "w 0 8 8", "F", "w 0 0 8", "w 1 3 2", "w 0 3 2", "F") },
	{ "write-hit", "write hit", "writeback", "commit_ms 2000", STEPS("r 1 0 1001", "F", "r 1 0 8", "w 1 0 8", "w 1 8 3", "F", "w 1 0 8",
		"f 1 8 8", "f 1 0 8", "w 1 24 8", "f 1 24 8", "z 60", "f 1 0 8") },
	{ "fill-write", "read fill", "writeback", "commit_ms 10", STEPS("r 2 0 8", "w 2 0 8", "r 3 0 8", "w 3 2 3", "z 30", "r 4 0 8", "z 30",
		"w 4 0 8", "F"), 3 },
	{ "write-back", "write back", "writeback", "commit_ms 10", STEPS("w 0 0 1003", "F", "M flush", "S flush idle", "w 1 0 8", "F",
		"M mode writearound", "S settled writearound", "w 0 0 8", "f 1 0 8", "M demote all", "S jobs 0", "w 1 0 8",
		"w 2 0 8", "r 2 0 8", "F") },
	{ "evict-write", "demote", "writeback", "commit_ms 1000", STEPS("r 0 0 1002", "F", "M demote all", "S jobs 0", "w 0 0 3", "w 1 0 8",
		"z 5", "r 0 0 8", "w 0 0 8", "F", "M mode writearound", "r 3 0 8", "M demote all", "w 3 0 8", "f 3 0 3") },
	{ "discard", "discard", "writeback", "commit_ms 30", STEPS("w 0 0 1002", "F", "d 0 0 1001", "w 0 0 8", "F", "r 2 0 1001", "F", "d 2 0 1001",
		"f 2 0 8", "d 1 0 8", "F", "r 1 0 8", "w 1 0 8", "F") },
	{ "mode-switch", "mode switch", "writeback", "commit_ms 2000", STEPS("w 0 0 1002", "F", "w 3 0 8", "M mode writearound", "f 3 0 8", "M mode writeback", "M mode writethrough", "w 0 0 8", "f 1 0 8",
		"S settled writethrough", "w 0 8 8", "M mode writeback", "w 0 8 8", "M mode passthrough", "w 0 8 8", "w 1 0 3",
		"S settled passthrough", "w 0 0 8", "M mode writeback", "w 0 0 8", "F") },
	{ "writethrough", "write hit, write miss; writethrough", "writethrough", "commit_ms 30", STEPS("r 0 0 1001", "w 0 0 8", "F", "w 0 0 8", "f 0 0 8", "w 0 2 1",
		"w 1 0 1001", "F", "M demote all", "S jobs 0", "w 0 0 8", "r 0 0 8", "w 0 0 8", "F") },
	{ "writearound", "write hit, read fill; writearound", "writearound", "commit_ms 10", STEPS("r 0 0 1002", "F", "w 0 0 8", "f 1 0 8", "r 0 0 8", "w 0 2 1", "F",
		"r 0 0 1002", "w 1 0 8", "r 1 0 8", "f 1 0 8") },
	{ "reuse", "demote", "writeback", "commit_ms 10", STEPS("w 0 0 1002", "w 2 0 1002", "M flush", "S flush idle", "M demote all",
		"z 15", "w 4 0 1002", "w 6 0 1002", "r 8 0 1002", "F", "M flush", "S flush idle", "M demote all",
		"S jobs 0", "r 0 0 1002", "w 10 0 1002", "F"), 2, true },
	{ "journal", "journal wrap", "writeback", "commit_ms 1000", STEPS("f 0 0 8", "f 1 0 8", "M flush", "S flush idle", "f 0 0 8", "f 1 8 8"), 30 },
	{ "unmark", "marks taken off", "writeback", "commit_ms 10", STEPS("r 0 0 1002", "F", "w 0 0 8", "w 1 0 3", "M flush", "S flush idle", "z 4500",
		"F", "S intent 0", "w 0 0 8", "F", "M mode writethrough", "S settled writethrough", "w 1 0 8", "w 0 0 8", "F") },
	{ "promote", "promote", "writeback", "commit_ms 10", STEPS("M promote blocks 0 3", "S jobs 0", "w 0 0 8", "F",
		"w 1 0 3", "M promote blocks 1 4", "w 4 0 8", "w 3 8 8", "S jobs 0", "r 4 0 1001", "F", "w 3 0 8",
		"M demote all", "S jobs 0", "M promote blocks 3 1", "f 3 0 8", "S jobs 0", "F") },
	{ "policy-switch", "policy switch", "writeback", "commit_ms 30", STEPS("w 0 0 1002", "r 2 0 1002", "F", "w 2 0 8",
		"M policy hotspot", "w 3 0 8", "r 4 0 1001", "f 0 0 8", "M policy clock2q", "w 4 0 8", "F", "M policy lru",
		"w 5 0 1001", "r 2 0 8", "F") },
	{ "checkpoint", "checkpoint", "writeback", "commit_ms 1000 dirty_high 99 dirty_low 98 idle_ms 60000", STEPS(
		"f 0 0 1003", "f 3 0 1003", "f 6 0 1003", "f 9 0 1003", "f 12 0 1004", "f 16 0 1004", "f 20 0 1004",
		"f 24 0 1004", "f 28 0 1004", "f 32 0 1004", "f 36 0 1004", "f 40 0 1004", "f 44 0 1004", "f 48 0 1004",
		"M flush", "S flush idle", "r 0 0 1008", "F"), 2, .shred = true },
	{ "shutdown", "shutdown", "writeback", "commit_ms 60000 dirty_high 99 idle_ms 60000", STEPS("r 0 0 1002", "w 2 0 1001",
		"F", "w 0 0 8", "w 2 0 8", "w 3 0 8", "d 2 8 8", "r 4 0 8"), .shred = true },
	{ "shutdown-wt", "shutdown", "writethrough", "commit_ms 60000", STEPS("r 0 0 1002", "F", "w 0 0 8", "w 1 0 3", "w 2 0 8") },
	{ "held-write", "marks taken off", "writeback", "commit_ms 10 idle_ms 60000", STEPS("r 0 0 1002", "F", "w 0 0 8", "w 1 0 8",
		"F", "M flush", "S flush idle", "L fast 6000", "b w 0 0 8", "z 5000", "w 3 0 8", "j", "L fast 0", "F",
		"M flush", "S flush idle", "M mode writethrough", "S settled writethrough", "w 1 0 8", "L slow 6000", "b w 1 0 8",
		"z 5500", "j", "L slow 0", "F") },
	{ "flush-in-commit", "write hit, write miss; a flush and FUA while a commit is written", "writeback",
		"commit_ms 60000 idle_ms 60000", STEPS("w 0 0 8", "L meta 600", "b F", "z 200", "F", "j", "w 1 0 8", "b F", "z 200",
		"f 1 0 8", "j", "w 2 0 8", "b F", "z 200", "w 2 0 8", "f 2 0 8", "j", "L meta 0", "F") },
	{ "evict-in-commit", "demote, while the commit is written", "writearound", "commit_ms 10 idle_ms 60000", STEPS("r 0 0 1002",
		"F", "L meta 1200", "M demote all", "z 300", "b w 0 0 8", "b f 1 0 8", "z 300", "j", "L meta 0", "S jobs 0", "F",
		"r 0 0 1002", "F", "L meta 1200", "M demote all", "z 300", "b f 0 0 3", "j", "L meta 0", "S jobs 0", "F") },
	{ "write-in-write-back", "write back, with writes meanwhile", "writeback", "commit_ms 10 idle_ms 60000", STEPS("w 0 0 1001",
		"w 1 0 8", "F", "L slow 1500", "M flush", "z 300", "w 0 8 8", "f 1 0 8", "z 50", "L slow 0", "S flush idle", "F") },
	{ "fua-past-dirty", "mode switch; FUA past what is being written back", "writeback", "commit_ms 60000 idle_ms 60000", STEPS(
		"w 0 0 1002", "F", "L slow 300", "M mode writearound", "z 50", "L meta 600", "f 0 0 8", "f 1 0 8", "L meta 0",
		"S settled writearound", "F") },
	{ "discard-clean", "discard", "writeback", "commit_ms 60000 idle_ms 60000", STEPS("r 0 0 1003", "F", "z 50", "d 0 0 1001",
		"d 1 8 8", "z 20", "F", "d 2 0 1001", "F") },
	{ "recovery", "crash during recovery", "writeback", "commit_ms 30", STEPS("r 0 0 8", "w 0 0 8", "F"), .crashes = 12,
		.before = STEPS("r 0 0 1002", "F", "w 2 0 1002", "w 0 0 8", "w 1 0 3", "F", "f 3 0 8", "w 1 0 8", "M flush",
		"S flush idle", "w 2 0 8", "w 0 0 1001", "r 4 0 1001", "w 4 0 8", "d 3 0 1001", "w 2 8 8", "F") },
	{ "recovery-wt", "crash during recovery", "writethrough", "commit_ms 30", STEPS("r 0 0 8", "w 0 0 8", "F"), .crashes = 8,
		.before = STEPS("r 0 0 1002", "F", "w 0 0 8", "w 1 0 3", "f 0 8 8", "w 2 0 1001", "F", "w 0 0 8", "w 2 0 8") },
	{ "grow-slow", "resize: slow device grown", "writeback", "commit_ms 30", STEPS("r 0 0 8", "F"), .less_blocks = 2,
		.before = STEPS("w -3 0 1003", "F", "r 0 0 1002", "w 1 0 8") },
	{ "grow-slow-clean", "resize: slow device grown, within a granule", "writethrough", "commit_ms 30", STEPS("r 0 0 8", "F"),
		.less_sectors = 2, .before = STEPS("w -3 0 1003", "r -1 0 1001", "F") },
	{ "grow-slow-crash", "resize: slow device grown; crash during recovery", "writeback", "commit_ms 30", STEPS("r 0 0 8", "F"),
		.less_blocks = 1, .crashes = 6, .before = STEPS("w -3 0 1003", "F", "r 0 0 1002", "w 1 0 8", "f -1 0 1001") },
	{ "grow-fast", "resize: fast device grown", "writeback", "commit_ms 30", STEPS("w 1 0 8", "r 0 0 1020", "F"),
		.fast_before = 1, .fast_then = 3, .before = STEPS("w 0 0 1003", "F", "r 3 0 1005", "w 1 0 8") },
	{ "grow-fast-crash", "resize: fast device grown; crash during recovery", "writeback", "commit_ms 30", STEPS("w 1 0 8", "F"),
		.fast_before = 1, .fast_then = 3, .crashes = 6, .before = STEPS("w 0 0 1003", "F", "r 3 0 1005", "w 1 0 8", "w 4 0 8") },
	{ "shrink-fast", "resize: fast device shrunk", "writeback", "commit_ms 30", STEPS("w 1 0 8", "r 4 0 1003", "F"),
		.fast_before = 3, .fast_then = 1, .before = STEPS("w 0 0 1002", "F", "r 2 0 1030", "w 1 0 8", "r 32 0 1100") },
	{ "shrink-fast-crash", "resize: fast device shrunk; crash during recovery", "writeback", "commit_ms 30", STEPS("w 1 0 8", "F"),
		.fast_before = 3, .fast_then = 1, .crashes = 6,
		.before = STEPS("w 0 0 1002", "F", "r 2 0 1030", "w 1 0 8", "w 2 0 8", "r 32 0 1100") },
	{ "new-fast", "another fast device: a blank one, after a crash", "writethrough", "commit_ms 30", STEPS("r 0 0 1002", "w 0 0 8",
		"F", "w 1 0 3"), .new_fast = FAST_BLANK, .crashes = 3, .before = STEPS("r 0 0 1004", "F", "w 0 0 8", "w 1 0 3", "F", "w 2 0 8") },
	{ "new-fast-clean", "another fast device: a blank one, after a stop", "writeback", "commit_ms 30", STEPS("w 0 0 8", "F", "w 1 0 3"),
		.new_fast = FAST_BLANK, .before = STEPS("w 0 0 1003", "r 4 0 1002", "M flush", "S flush idle") },
	{ "new-fast-stale", "another fast device: an earlier state of it", "writethrough", "commit_ms 30", STEPS("r 0 0 1002", "w 0 0 8", "F"),
		.new_fast = FAST_STALE, .crashes = 2, .before = STEPS("r 0 0 1004", "w 0 0 8", "w 2 0 1001", "F", "w 1 0 8") },
	{ "new-fast-grown", "another fast device: a larger one, and the slow device grown", "writeback", "commit_ms 30", STEPS("r -3 0 1003",
		"w -1 0 8", "F"), .new_fast = FAST_BLANK, .fast_before = 1, .fast_then = 3, .less_sectors = 2,
		.before = STEPS("r -3 0 1003", "w 0 0 1002", "M flush", "S flush idle") },
	{ "slow-changed", "the slow device was written to by others", "writeback", "commit_ms 30", STEPS("r 0 0 1001", "w 0 0 8", "F"),
		.slow_changed = true, .before = STEPS("r 0 0 1004", "w 1 0 8", "M flush", "S flush idle") },
	{ "fast-dies", "another fast device: it dies and a blank one takes its place while the device lives", "writethrough",
		"commit_ms 30", STEPS("r 0 0 1003", "w 0 0 8", "F", "w 1 0 8", "E fast 1", "w 1 0 8", "w 0 8 8", "F", "r 0 0 1002",
		"f 2 0 8", "r 5 0 1001", "w 6 0 8", "F", "N", "r 1 0 1001", "w 0 0 8", "F", "w 1 3 2", "F"), .new_fast = FAST_LIVE },
	{ "fast-errors", "errors of the fast device", "writeback", "commit_ms 30 idle_ms 60000", STEPS("w 0 0 1002", "r 4 0 1001", "F",
		"E fast 1", "w 0 0 8", "w 1 8 8", "w 3 0 8", "w 4 0 8", "r 6 0 1001", "E fast 0", "z 50", "w 0 0 8", "F", "w 1 0 8", "F") },
	{ "slow-errors", "errors of the slow device, while data are written back", "writeback", "commit_ms 10 idle_ms 60000", STEPS(
		"w 0 0 1002", "F", "E slow 1", "M flush", "S flush failed", "w 0 0 8", "w 1 0 8", "E slow 0", "M flush", "S flush idle",
		"w 1 0 8", "F") },
	{ "flush-errors", "flushes of the slow device that fail, while data are written back", "writeback", "commit_ms 10 idle_ms 60000", STEPS(
		"w 0 0 1002", "w 2 8 8", "F", "E slow 3", "M flush", "S flush failed", "z 30", "w 1 0 8", "E slow 0", "F", "F", "M flush",
		"S flush idle", "F", "w 1 0 8", "F") },
	{ "flush-errors-evict", "the same, and then their slots are wanted", "writeback", "commit_ms 30000 idle_ms 60000", STEPS("w 0 0 1002",
		"w 2 0 1002", "F", "E slow 3", "M set idle_ms 1", "S dirty 0", "r 4 0 1006", "r 10 0 1006", "z 50", "E slow 0",
		"F", "F", "M demote all", "S jobs 0", "F", "w 4 0 1002", "r 0 0 1002", "F") },
	{ "flush-errors-wt", "flushes of the slow device that fail and that nobody asked for", "writethrough", "commit_ms 10", STEPS("w 0 0 1002",
		"F", "E slow 3", "w 0 0 8", "r 4 0 1001", "z 50", "E slow 0", "F", "F", "w 0 8 8", "F") },
	{ "flush-errors-fast", "flushes of the fast device that fail", "writeback", "commit_ms 10 idle_ms 60000", STEPS("r 4 0 1002", "w 0 0 8",
		"F", "E fast 3", "r 6 0 1002", "z 30", "E fast 0", "F", "F", "r 6 0 1002", "r 4 0 1002", "F", "M flush", "S flush idle") },
	/* tiered */
	{ "tier-land", "landing on the first tier", "tiered", "commit_ms 30", STEPS("w 0 0 8", "w 0 8 8", "F", "w 1 0 3", "f 2 0 8",
		"w 0 0 8", "r 9 0 8", "w 3 0 1001", "w -1 0 1001", "F"), .tiers = 2 },
	{ "tier-spill", "landing on the second tier, the first being full", "tiered", "commit_ms 30", STEPS("w 0 0 1004", "F", "w 4 0 8",
		"w 5 3 2", "F", "f 6 0 1001", "w 4 8 8", "w 7 0 1003", "F", "w 3 0 8", "w 9 8 8", "F"), .tiers = 2 },
	{ "tier-overwrite", "overwrite in place", "tiered", "commit_ms 2000", STEPS("w 0 0 1002", "F", "w 0 0 8", "w 1 3 2", "F",
		"f 0 0 8", "w 0 0 16", "f 1 3 1", "w 0 2 20", "F"), .tiers = 2 },
	{ "tier-pad", "a granule's first write is a part of it", "tiered", "commit_ms 10", STEPS("w 0 3 2", "w 1 15 2", "F", "w 0 13 3",
		"f 0 29 1", "w 0 0 1", "f 2 1 1", "w -1 0 1", "w -1 1 1001", "F", "d 0 0 1002", "f 3 7 2", "w 0 3 2", "b w 4 0 3",
		"b w 4 3 3", "j", "z 30", "w 1 15 2", "F", "d 1 8 8", "w 1 9 1", "F"), .tiers = 2 },
	{ "tier-pad-twice", "several parts of a granule at once", "tiered", "commit_ms 10", STEPS("L fast 100", "b w 0 0 3", "z 20",
		"b w 0 3 3", "b w 0 6 2", "j", "F", "b f 1 1 1", "z 20", "b w 1 4 9", "b w 1 12 2", "j", "d 0 0 8", "b w 0 7 1", "z 20",
		"b w 0 2 2", "j", "L fast 0", "F"), .tiers = 2 },
	{ "tier-fua", "FUA to settled slots and others", "tiered", "commit_ms 60000", STEPS("w 0 0 16", "F", "f 0 0 8", "w 0 8 8",
		"f 0 8 8", "f 0 16 8", "f 0 16 8", "f 1 0 8", "w 1 8 8", "f 1 8 8", "f 1 0 8", "d 1 0 8", "f 1 0 8", "f 0 2 20",
		"w 2 0 8", "f 2 0 8", "M move 1 blocks 0 1", "z 50", "f 0 0 8", "f 0 24 8"), .tiers = 2 },
	{ "tier-flush-in-commit", "a flush and FUA while a commit is written", "tiered", "commit_ms 60000", STEPS("w 0 0 8",
		"L meta 600", "b F", "z 200", "F", "j", "w 1 0 8", "b F", "z 200", "f 1 0 8", "j", "w 2 0 8", "b F", "z 200",
		"w 2 0 8", "f 2 0 8", "j", "w 0 8 8", "b F", "z 200", "w 0 0 3", "f 0 8 8", "j", "L meta 0", "F"), .tiers = 2 },
	{ "tier-discard", "discard of parts and of whole blocks", "tiered", "commit_ms 30", STEPS("w 0 0 1003", "F", "d 0 8 8", "F",
		"w 0 8 3", "d 1 0 1001", "F", "r 1 0 8", "w 1 0 8", "d 2 3 30", "f 2 8 8", "d 1 0 8", "F", "w 1 9 2", "f 1 0 8",
		"d 0 0 1003", "r 0 0 1003", "w 2 0 8", "F", "o 2 3 20", "o 3 0 1001", "F", "w 3 0 8", "o 2 0 8", "F"), .tiers = 2 },
	{ "tier-reuse", "discard, then the slots of other blocks", "tiered", "commit_ms 10", STEPS("w 0 0 1010", "F", "d 0 0 1002",
		"d 5 0 1002", "w 0 0 8", "w 5 0 8", "w 1 0 1001", "F", "w 6 0 1001", "f 0 8 8", "d 1 0 1004", "z 15", "w 3 3 2",
		"w 4 0 1001", "w 2 8 8", "F", "w 1 0 1001", "F"), 2, .tiers = 2 },
	{ "tier-reuse-slow", "the same, while the commits are written", "tiered", "commit_ms 10", STEPS("w 0 0 1006", "F", "d 0 0 1002",
		"w 7 0 1002", "d 5 0 1001", "w 0 0 8", "w 5 0 1001", "d 7 0 8", "d 7 0 1001", "w 1 0 1001", "F"), 2, true, .tiers = 2 },
	{ "tier-promote", "promotion", "tiered", "commit_ms 10", STEPS("w 0 0 1006", "F", "d 0 0 1002", "M move 0 blocks 4 2", "V",
		"F", "w 4 0 8", "w 5 0 8", "F", "M move 0 blocks 4 1", "V", "f 4 0 3", "F"), .tiers = 2 },
	{ "tier-demote", "demotion", "tiered", "commit_ms 10", STEPS("w 0 0 1002", "w 2 8 3", "F", "M move 1 blocks 0 3", "V",
		"w 0 0 8", "F", "M move 0 blocks 0 1", "V", "w 0 0 8", "w 3 0 8", "w 2 0 8", "F"), .tiers = 2 },
	{ "tier-move-holes", "moves of blocks of which parts are written", "tiered", "commit_ms 10", STEPS("w 0 8 8", "w 0 40 8", "w 1 0 8",
		"w -1 8 1001", "w 2 0 1001", "d 2 16 16", "F", "M move 1 all", "V", "F", "w 0 8 3", "w 0 24 2", "w 1 3 8",
		"w 2 17 2", "M move 0 all", "V", "F"), .tiers = 2 },
	{ "tier-flush-errors", "flushes of a tier that fail, while blocks are moved there", "tiered", "commit_ms 10", STEPS("w 0 0 1003", "F",
		"E slow 3", "M move 1 blocks 0 2", "z 60", "E slow 0", "F", "F", "r 0 0 1003", "M move 1 blocks 0 2", "V", "F", "w 0 0 8", "F",
		"E fast 3", "M move 0 blocks 0 1", "z 60", "E fast 0", "F", "F", "r 0 0 1003", "w 0 8 8", "F"), .tiers = 2 },
	{ "tier-flush-errors-written", "the same, and they are written to meanwhile", "tiered", "commit_ms 30000", STEPS("w 0 0 1003", "F",
		"w 3 0 8", "L meta 600", "b F", "z 100", "M move 1 blocks 0 3", "z 200", "w 0 0 8", "w 0 19 2", "w 1 3 40", "w 1 11 2",
		"E slow 3", "j", "z 100", "L meta 0", "E slow 0", "r 0 0 1003", "F", "F", "S health rw", "w 0 8 8", "F"), .tiers = 2 },
	{ "tier-flush-errors-settle", "flushes that fail while zeros are written", "tiered", "commit_ms 10", STEPS("w 5 0 1002", "F",
		"d 5 0 1001", "d 6 8 16", "F", "E slow 3", "M settle 1", "z 200", "E slow 0", "F", "F", "z 1500", "V", "w 5 3 2", "F"),
		.tiers = 2, .taken = true },
	{ "tier-flush-errors-pad", "a flush that fails behind a part of a granule's first write", "tiered",
		"commit_ms 30000 no_discard_passdown", STEPS("w 5 0 1001", "F", "d 5 0 1001", "F", "w 6 3 2", "w 6 17 1", "E fast 3", "F",
		"E fast 0", "r 6 0 1001", "F", "F", "w 6 8 3", "F"), .tiers = 2 },
	{ "tier-swap", "exchange of blocks, both tiers full", "tiered", "commit_ms 10", STEPS("w 0 0 1010", "F", "M move 1 blocks 0 1",
		"M move 0 blocks 4 1", "V", "F", "w 0 0 8", "w 4 0 8", "M move 0 blocks 5 2", "M move 1 blocks 2 2",
		"V", "F", "f 2 0 8", "f 6 0 8", "d 2 0 1001", "w 2 0 1001", "F"), .tiers = 2 },
	{ "tier-write-in-move", "move under writes", "tiered", "commit_ms 10", STEPS("w 0 0 1002", "F", "L slow 500",
		"M move 1 blocks 0 1", "z 100", "b w 0 0 8", "b f 0 8 8", "b w 0 19 2", "r 0 0 8", "j", "L slow 0", "V", "F",
		"w 2 8 8", "F", "L slow 500", "M move 1 blocks 2 1", "z 100", "b w 2 0 8", "b w 2 9 3", "b f 2 26 2", "b F", "j",
		"L slow 0", "V", "L fast 500", "M move 0 blocks 0 1", "z 100", "b w 0 0 8", "b f 1 0 8", "j", "L fast 0",
		"V", "F"), .tiers = 2 },
	{ "tier-write-after-switch", "a write after the switch, before its commit", "tiered", "commit_ms 60000", STEPS("w 0 0 1002", "F",
		"L meta 500", "M move 1 blocks 0 2", "z 100", "w 0 0 8", "w 0 13 2", "f 1 0 8", "w 1 8 8", "L meta 0", "V",
		"F", "M move 0 blocks 0 1", "z 60", "w 0 0 8", "z 60", "w 0 8 3", "M move 1 blocks 0 1", "z 60", "f 0 0 3",
		"V", "w 0 0 8", "F"), .tiers = 2 },
	{ "tier-move-again", "a block moves again while the commit of its move is written, or waits", "tiered", "commit_ms 60000", STEPS(
		"w 0 0 1002", "F", "L meta 500", "M move 1 blocks 0 1", "z 60", "M move 2 blocks 0 1", "z 60", "w 0 0 8", "L meta 0",
		"V", "F", "w 3 0 8", "L meta 500", "b F", "z 60", "M move 1 blocks 0 2", "z 60", "M move 0 blocks 0 1", "z 60",
		"w 0 8 8", "f 1 0 8", "j", "L meta 0", "V", "w 0 0 8", "F"), .tiers = 3 },
	{ "tier-read-in-move", "a read that began before a move, and what comes to its slot", "tiered", "commit_ms 10", STEPS("w 0 0 1004",
		"w 4 0 1001", "F", "R fast 700", "b r 0 0 128", "z 30", "R fast 0", "M move 1 blocks 0 1", "z 150",
		"M move 0 blocks 4 1", "z 50", "F", "w 5 0 1001", "r 4 0 8", "j", "V", "F", "R slow 700", "b r 0 0 128", "z 30",
		"R slow 0", "d 0 0 1001", "w 6 0 1001", "F", "j", "F"), .tiers = 2 },
	{ "tier-discard-in-move", "discard of a block whose move is not committed", "tiered", "commit_ms 60000", STEPS("w 0 0 1003", "F",
		"L meta 400", "M move 1 blocks 0 3", "z 100", "d 0 0 1001", "d 1 8 8", "L meta 0", "V", "w 0 0 8", "w 3 0 1002",
		"F", "M move 0 blocks 1 1", "z 60", "d 1 0 1001", "w 1 0 8", "F", "L fast 400", "M move 0 blocks 2 1", "z 100",
		"b d 2 0 8", "b w 2 8 8", "b d 2 16 1001", "j", "L fast 0", "V", "w 5 0 1001", "F"), .tiers = 2 },
	{ "tier-three", "three tiers", "tiered", "commit_ms 10", STEPS("w 0 0 1003", "F", "M move 2 blocks 0 2", "V", "w 0 0 8", "F",
		"M move 1 blocks 0 1", "M move 1 blocks 2 1", "V", "F", "w 0 8 8", "w 1 3 2", "M move 0 blocks 0 2", "V",
		"M move 2 blocks 2 1", "V", "f 2 0 8", "d 1 0 1001", "w 1 0 8", "F"), .tiers = 3 },
	{ "tier-three-full", "three tiers, landing on the last", "tiered", "commit_ms 10", STEPS("w 0 0 1010", "F", "w 10 0 1002", "w 12 3 2",
		"F", "w 13 0 1002", "F", "M move 0 blocks 10 2", "M move 2 blocks 0 2", "V", "F", "w 10 0 8", "w 0 0 8",
		"d 4 0 1001", "w 4 0 8", "F"), .tiers = 3 },
	{ "tier-evacuate", "evacuation of a tier", "tiered", "commit_ms 10", STEPS("w 0 0 1004", "w 4 0 8", "F", "M move 1 blocks 0 3",
		"M move 2 blocks 3 1", "w 1 0 8", "V", "w 0 0 8", "F", "M move 2 blocks 0 2", "M move 2 blocks 4 1",
		"V", "F"), .tiers = 3 },
	{ "tier-pin", "pinned blocks", "tiered", "commit_ms 10", STEPS("w 0 0 1003", "F", "P 0 1 1", "F", "S pinned 1", "M move 1 blocks 0 2",
		"V", "w 0 0 8", "F", "P 1 1 1", "P 0 1 0", "F", "M move 0 blocks 0 2", "V", "F", "M move 1 blocks 1 1", "P 2 1 1",
		"w 2 0 8", "V", "F", "d 1 8 8", "d 0 0 1001", "F", "w 1 0 8", "F"), .tiers = 2 },
	{ "tier-journal", "journal wrap", "tiered", "commit_ms 1000", STEPS("f 0 0 8", "f 1 0 8", "M move 1 blocks 0 1", "V", "f 0 8 8",
		"d 1 0 8", "M move 0 blocks 0 1", "V", "F", "d 0 8 8"), 30, .tiers = 2 },
	{ "tier-checkpoint", "checkpoint", "tiered", "commit_ms 1000", STEPS("w 0 0 1010", "F", "M move 1 blocks 0 2", "V",
		"M move 0 blocks 0 2", "M move 0 blocks 5 2", "V", "d 0 0 1001", "d 3 8 8", "w 0 0 8", "F", "d 5 0 1005",
		"w 3 8 3", "F"), 12, .shred = true, .tiers = 2 },
	{ "tier-shutdown", "shutdown", "tiered", "commit_ms 60000", STEPS("w 0 0 1003", "F", "w 0 0 8", "w 3 0 8", "d 1 8 8",
		"M move 1 blocks 0 3", "z 20", "w 2 0 8", "w 4 3 2"), .shred = true, .tiers = 3 },
	{ "tier-recovery", "crash during recovery", "tiered", "commit_ms 30", STEPS("r 0 0 8", "w 0 0 8", "M move 1 blocks 0 2", "V",
		"F"), .crashes = 12, .tiers = 2, .before = STEPS("w 0 0 1006", "F", "M move 1 blocks 0 2", "w 0 0 8", "V",
		"d 4 0 1001", "M move 0 blocks 5 1", "w 7 0 1001", "w 1 3 2", "F", "f 0 8 8", "d 2 8 8", "M move 0 blocks 0 1",
		"w 4 3 2", "V", "d 7 0 1001", "w 8 0 8", "F") },
	{ "tier-errors", "a tier fails under moves and landings", "tiered", "commit_ms 30", STEPS("w 0 0 1003", "F", "E slow 1",
		"M move 1 blocks 0 2", "V", "E slow 0", "w 0 0 8", "F", "M move 1 blocks 0 2", "V", "w 0 8 8", "F",
		"E slow 1", "M move 0 blocks 0 1", "V", "E slow 0", "w 0 0 3", "F", "M move 0 blocks 0 1", "V", "F"),
		.tiers = 2 },
	{ "tier-elsewhere", "a tier refuses writes, and they go to another", "tiered", "commit_ms 30", STEPS("w 0 0 1002", "F", "E fast 2",
		"w 3 0 1001", "w 4 3 2", "w 3 0 8", "E fast 0", "w 0 0 8", "F", "w 5 0 8", "E fast 2", "f 6 0 8", "w 7 0 1001", "E fast 0",
		"w 6 9 3", "M move 0 blocks 6 1", "V", "F"), .tiers = 2 },
	{ "tier-add", "a tier is added, and the device grows", "tiered", "commit_ms 30", STEPS("w 12 0 1002", "M move 2 blocks 0 2", "V",
		"w 0 0 8", "F"), .tiers = 3, .order_before = "01", .order = "012", .grows = true,
		.before = STEPS("w 0 0 1010", "F", "w 0 0 8") },
	{ "tier-add-crash", "a tier is added between two; crash during recovery", "tiered", "commit_ms 30", STEPS("w 0 0 8",
		"M move 1 blocks 0 2", "V", "w 0 8 8", "F"), .tiers = 3, .order_before = "01", .order = "021", .crashes = 5,
		.before = STEPS("w 0 0 1006", "F", "M move 1 blocks 0 2", "w 0 0 8", "V", "d 4 0 1001", "f 7 3 2", "w 8 0 8") },
	{ "tier-remove", "a tier is emptied and taken out", "tiered", "commit_ms 30", STEPS("w 0 0 8", "w 9 0 8", "F"), .tiers = 3,
		.order_before = "012", .order = "01", .before = STEPS("w 0 0 1003", "M move 2 blocks 0 2", "V", "w 4 0 8", "F",
		"M evacuate 2", "V", "w 1 0 8") },
	{ "tier-remove-first", "the fastest tier is emptied and taken out", "tiered", "commit_ms 30", STEPS("w 0 0 8", "w 9 0 8", "F"),
		.tiers = 3, .order_before = "012", .order = "12", .before = STEPS("w 0 0 1006", "F", "M evacuate 0", "V", "w 1 0 8") },
	{ "tier-reorder", "tiers in another order; crash during recovery", "tiered", "commit_ms 30", STEPS("w 0 0 8", "M move 0 blocks 0 1",
		"V", "w 9 0 8", "F"), .tiers = 2, .order_before = "01", .order = "10", .crashes = 4,
		.before = STEPS("w 0 0 1006", "F", "M move 1 blocks 0 2", "w 0 0 8", "V", "w 8 0 8") },
	{ "tier-grow", "a tier has grown, and so does the device; crash during recovery", "tiered", "commit_ms 30", STEPS("w 7 0 1003",
		"w 0 0 8", "F"), .tiers = 2, .smaller = 3, .grows = true, .crashes = 4, .before = STEPS("w 0 0 1007", "F",
		"M move 1 blocks 0 1", "w 0 0 8", "V", "w 5 0 8") },
	{ "tier-live", "tiers are emptied, taken out and taken in while the device lives", "tiered", "commit_ms 30", STEPS("w 0 0 1006", "F",
		"M move 2 blocks 0 2", "V", "w 0 0 8", "M evacuate 0", "w 3 0 8", "V", "w 2 0 8", "O 12", "w 0 8 8", "f 4 0 8",
		"M move 0 blocks 0 2", "V", "O 21", "w 9 3 2", "M move 0 all", "V", "w 0 0 8", "F"), .tiers = 3, .order_before = "12", .live = true },
	{ "tier-settle", "a tier becomes a plain disk: a cycle of blocks, a landing and writes meanwhile", "tiered", "commit_ms 10 migration_rate 512",
		STEPS(SCRAMBLE, "M settle 1", "w 5 3 2", "w 0 0 8", "V", "w 8 3 2", "w 2 0 8", "F", "w 8 8 1"), .tiers = 2, .taken = true },
	{ "tier-settle-crash", "a tier becomes a plain disk; crash meanwhile, and during recovery", "tiered", "commit_ms 10",
		STEPS("w 1 0 8", "M settle 1", "w 5 8 8", "V", "w 0 0 8", "w 8 3 2"), .tiers = 2, .taken = true, .crashes = 4,
		.before = STEPS(SCRAMBLE, "M settle 1", "w 3 0 8", "z 30", "w 5 0 8", "w 2 3 2", "V", "F") },
};

const size_t nr_scripts = sizeof(scripts) / sizeof(scripts[0]);

const char *script_name(size_t i)
{
	return scripts[i].name;
}

const char *script_covers(size_t i)
{
	return scripts[i].covers;
}

u32 script_tiers(size_t i)
{
	return scripts[i].tiers;
}

/* ---- steps ---- */

static void run_request(int fd, const char *s)
{
	unsigned long long start;
	long long block;
	unsigned int off, n;

	if (sscanf(s + 1, "%lld %u %u", &block, &off, &n) != 3)
		die("script: %s?", s);
	if (block < 0)
		block += (nr_sectors + block_sectors - 1) / block_sectors;
	start = block * block_sectors + off;
	if (n > 1000)
		n = (n - 1000) * block_sectors;
	if (block_sectors <= 8 && off >= 8)
		start = block * block_sectors + off % 8;
	while (n && start < nr_sectors) {
		u32 len = n < 128 ? n : 128;

		if (start + len > nr_sectors)
			len = nr_sectors - start;
		if (*s == 'w' || *s == 'f')
			do_write(fd, start, len, *s == 'f');
		else if (*s == 'r')
			do_read(fd, start, len);
		else if (*s == 'o')
			do_zero(fd, start, len);
		else
			do_discard(fd, start, len);
		start += len;
		n -= len;
	}
}

struct background {
	pthread_t thread;
	int fd;
	const char *step;
};

static struct background background[4];
static u32 nr_background;

static void *run_background(void *arg)
{
	const struct background *b = arg;

	if (*b->step == 'F')
		do_flush(b->fd);
	else
		run_request(b->fd, b->step);
	return NULL;
}

static void wait_for_background(void)
{
	while (nr_background)
		pthread_join(background[--nr_background].thread, NULL);
}

static void run_message(const char *s)
{
	unsigned long long first, count, end;
	const char *blocks = strstr(s, " blocks "), *all = strstr(s, " all");
	char text[100];

	snprintf(text, sizeof(text), "%s", s);
	if (blocks && sscanf(blocks, " blocks %llu %llu", &first, &count) == 2) {
		first *= block_sectors;
		end = first + count * block_sectors;
		if (end > nr_sectors)
			end = nr_sectors;
		snprintf(text, sizeof(text), "%.*s %llu %llu", (int)(blocks - s), s, first, end - first);
	} else if (all) {
		snprintf(text, sizeof(text), "%.*s 0 %llu", (int)(all - s), s, (unsigned long long)nr_sectors);
	}
	if (dm_message(text))
		complain("message %s", text);
}

static void set_pin(const char *s)
{
	u64 id = oracle_new_id();
	unsigned int first, n, on;
	char text[100];

	if (sscanf(s, "%u %u %u", &first, &n, &on) != 3)
		die("script: P %s?", s);
	snprintf(text, sizeof(text), "%s %llu %u", on ? "pin" : "unpin", (unsigned long long)first * block_sectors,
		 n * block_sectors);
	oracle_event(EV_PIN, id, first, n, on);
	if (dm_message(text))
		complain("message %s", text);
	oracle_event(EV_PIN_ACK, id, first, n, on);
}

static void set_held(const char *s, bool reads)
{
	struct delays d = { 0 };
	char name[16];
	unsigned int ms;
	int i;

	if (sscanf(s, "%15s %u", name, &ms) != 2)
		die("script: L %s?", s);
	for (i = 0; i < nr_devs; i++)
		if (!strcmp(name, dev_names[i]))
			(reads ? d.late : d.held)[i] = ms * 1000;
	dev_delays(&d, 1);
}

static void set_failing(const char *s)
{
	char name[16];
	int i, on;

	if (sscanf(s, "%15s %d", name, &on) != 2)
		die("script: E %s?", s);
	for (i = 0; i < nr_devs; i++)
		if (!strcmp(name, dev_names[i]))
			dev_fail(i, on);
	flushes_may_fail |= on == FAIL_FLUSHES;
}

/* ---- other fast devices ---- */

static u8 *blank;		/* but for its header, where it holds anything */
static u64 replaced_at;		/* while the device lived; 0: not at all */

static void replace_fast(void)
{
	replaced_at = now();
	dev_fail(FAST, FAIL_NONE);
	dev_replace(FAST, blank);
}

static void run_step(int fd, const char *s)
{
	char key[32], value[32];
	u32 tier, blocks;
	u64 used = 0;

	switch (*s) {
	case 'w':
	case 'f':
	case 'r':
	case 'd':
	case 'o':
		run_request(fd, s);
		break;
	case 'b':
		background[nr_background].fd = fd;
		background[nr_background].step = s + 2;
		pthread_create(&background[nr_background].thread, NULL, run_background, &background[nr_background]);
		nr_background++;
		break;
	case 'j':
		wait_for_background();
		break;
	case 'L':
	case 'R':
		set_held(s + 2, *s == 'R');
		break;
	case 'P':
		set_pin(s + 2);
		break;
	case 'E':
		set_failing(s + 2);
		break;
	case 'N':
		if (dm_reload(replace_fast))
			complain("the table does not load with a new fast device");
		break;
	case 'F':
		do_flush(fd);
		break;
	case 'M':
		run_message(s + 2);
		break;
	case 'S':
		if (sscanf(s + 2, "%31s %31s", key, value) != 2)
			die("script: %s?", s);
		if (!dm_wait(key, value, 30000))
			complain("status: %s does not become %s", key, value);
		break;
	case 'O':
		set_tiers(s + 2);
		if (dm_reload(NULL))
			complain("the table does not load with the tiers %s", s + 2);
		break;
	case 'V':
		if (!dm_wait_moves(30000))
			complain("moves do not end");
		break;
	case 'T':
		if (sscanf(s + 1, "%u %u", &tier, &blocks) != 2)
			die("script: %s?", s);
		if (!dm_tier_word(tier, 1, &used) || used != blocks)
			complain("tier %u has %llu blocks, not %u", tier, (unsigned long long)used, blocks);
		break;
	case 'z':
		sleep_us(atoi(s + 2) * 1000);
		break;
	default:
		die("script: %s?", s);
	}
}

/* the steps, up to NULL, so many times over */
void run_steps(const char *const *steps, u32 times)
{
	int fd = dm_open();
	u32 t, k;

	for (t = 0; t < times; t++)
		for (k = 0; steps[k]; k++)
			run_step(fd, steps[k]);
	wait_for_background();
	close(fd);
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

/* ---- the life before ---- */

static void choose_tiers(const struct script *s, bool before)
{
	char first[MAX_TIERS + 1] = "0123";
	const char *order = before ? s->order_before : s->order;

	first[s->tiers] = 0;
	set_tiers(order ? order : first);
}

static void tiered_sizes(const struct script *s, bool before)
{
	u64 other;

	taken = s->taken;
	if (taken)
		dev_resize(SLOW, (8 * block_sectors + 11) * SECTOR);
	else
		dev_resize(SLOW, dev_room[SLOW] - (before ? s->smaller * block_sectors * SECTOR : 0));
	choose_tiers(s, s->live || !before);
	other = tiered_sectors();
	choose_tiers(s, before && !s->live);
	nr_sectors = tiered_sectors();
	if (!s->grows && other < nr_sectors)
		nr_sectors = other;
}

static void sizes(const struct script *s, bool before)
{
	u32 scale = before ? s->fast_before : s->fast_then;

	if (s->tiers) {
		tiered_sizes(s, before);
		return;
	}
	nr_sectors = max_sectors;
	if (before)
		nr_sectors -= s->less_blocks * block_sectors + s->less_sectors;
	dev_resize(SLOW, nr_sectors * SECTOR);
	dev_resize(FAST, dev_room[FAST] - (3 - (scale ? scale : 1)) * full_slots() * block_sectors * SECTOR);
}

/* what is there now, on paper, is what the next life begins with */
static bool read_on_paper(const struct script *s, struct image *state, u64 *values)
{
	char why[300];
	u64 where = 0;
	int bad;

	dev_save(state);
	bad = paper_values(state, values, why, sizeof(why), &where);
	if (bad)
		complain("script %s: after the life before: %s", s->name, why);
	oracle_begin_life(values);
	return !bad;
}

/* on a tiered device nothing moves but what the script moves */
static void begin_script(const struct script *s, struct life *l)
{
	char features[200];

	snprintf(features, sizeof(features), "%s%s", s->features, s->tiers ? " migration off sequential_landing 0" : "");
	begin_life(l, s->mode, "lru 0", features);
}

/* those that are to be taken in are blank */
static void new_tiers(const struct script *s, struct image *state)
{
	u32 i;

	other_tiers = true;
	dev_save(state);
	for (i = 0; i < nr_tiers; i++)
		if (s->order_before && !strchr(s->order_before, '0' + tier_dev[i] - (tier_dev[i] > META)))
			memset(state->mem[tier_dev[i]], 0, IMAGE_CHUNK);
	dev_load(state);
}

static void live_before(const struct script *s, struct life *l)
{
	begin_script(s, l);
	run_steps(s->before, 1);
	l->end = now();
	end_life(l);
}

/*
 * What the judged life begins with: new metadata, or what is left after an earlier life.  The values are what
 * the format says that the sectors read as then.  @fast becomes what the fast device held that is replaced.
 */
static bool prepare(const struct script *s, u64 *values, u8 *fast, struct rng *r)
{
	struct life l = { 0 };
	struct image state;
	char why[300];
	u64 where = 0;
	u8 *next = blank;
	bool good;
	int bad;

	other_fast = other_tiers = false;
	own_tiers = s->live;
	replaced_at = changed_generation = 0;
	sizes(s, true);
	format_devices();
	first_values(values);
	oracle_begin_life(values);
	if (!s->before) {
		other_fast = s->new_fast == FAST_LIVE;
		sizes(s, false);
		return true;
	}
	image_new(&l.base);
	image_new(&state);
	live_before(s, &l);
	if (s->new_fast == FAST_STALE) {
		next = malloc(dev_room[FAST]);
		memcpy(next, dev_mem[FAST], dev_room[FAST]);
		log_free(l.log);
		if (read_on_paper(s, &state, values))
			live_before(s, &l);
		else
			l.log = NULL;
	}
	if (s->crashes && l.log) {
		/* rather one in which recovery has copies to drop that are not the slow device's any more */
		u32 tries = rng_percent(r, 70) && !s->tiers ? 60 : 1;

		do {
			u64 cut = l.begin + rng_next(r) % (l.end - l.begin);
			u8 fates[MAX_DEVS];
			int d;

			for (d = 0; d < nr_devs; d++)
				fates[d] = rng_below(r, NR_FATES);
			crash_image(&state, &l.base, l.log, cut, fates, r);
			bad = paper_values(&state, values, why, sizeof(why), &where);
		} while (!bad && !paper_differing && --tries);
		dev_load(&state);
	}
	log_free(l.log);
	sizes(s, false);
	if (s->order || s->smaller)
		new_tiers(s, &state);
	if (s->new_fast) {
		other_fast = true;
		memcpy(fast, dev_mem[FAST], dev_room[FAST]);
		dev_replace(FAST, next);
		if (next != blank)
			free(next);
	}
	good = read_on_paper(s, &state, values);
	if (good && s->slow_changed) {
		/* the head of the device is part of the fingerprint */
		oracle_fill(state.mem[SLOW], 0, 16, oracle_new_id());
		dev_replace(SLOW, state.mem[SLOW]);
		changed_generation = paper_generation;
		good = read_on_paper(s, &state, values);
	}
	image_free(&state);
	image_free(&l.base);
	return good;
}

/* ---- a tier that became a plain disk ---- */

/* but perhaps for the end of the disk, which the stop brings up to date */
static bool says_settled(void)
{
	char text[4096], left[32];

	return dm_status(text, sizeof(text)) && strstr(text, " settl") &&
	       dm_status_word("settle_left", left, sizeof(left)) && !strcmp(left, "0");
}

/* the device was stopped: the disk alone has all that the tiered device had on it, also if the power fails now */
static void disk_alone(const struct script *s, const struct life *l)
{
	static const u8 lost[MAX_DEVS] = { FATE_LOST };
	u64 *values = calloc(max_sectors, sizeof(*values)), where = 0, i;
	struct rng r = { 1 };
	struct image state;
	char why[300];

	image_new(&state);
	crash_image(&state, &l->base, l->log, l->end, lost, &r);
	if (paper_values(&state, values, why, sizeof(why), &where))
		complain("script %s: settled, and stopped: %s", s->name, why);
	for (i = 0; i < dev_size[SLOW] / SECTOR; i++)
		if (oracle_value(state.mem[SLOW] + i * SECTOR, i) != values[i]) {
			complain("script %s: settled, but sector %llu of the disk has version %lld, of the tiered device %lld",
				 s->name, (unsigned long long)i, (long long)oracle_value(state.mem[SLOW] + i * SECTOR, i),
				 (long long)values[i]);
			break;
		}
	image_free(&state);
	free(values);
}

/* ---- judging ---- */

struct counts {
	u64 cuts, states, paper, recovery, failures, moves;
};

static void count(struct counts *c)
{
	c->states += nr_states;
	c->paper += nr_paper;
	c->recovery += nr_recovery;
	c->failures += nr_failures;
}

/*
 * Which fast device is there after the cut: the last one, the one before it (@fast; in what state is left to
 * chance if it was taken out of a device that lived), or another blank one.
 */
static const u8 *choose_fast(const struct life *l, u64 cut, const u8 *fast, struct rng *r)
{
	static const u8 fates[MAX_DEVS] = { FATE_MIXED, FATE_LOST, FATE_LOST };
	static struct image before;
	u32 n = rng_below(r, 5);

	if (!other_fast || n < 2)
		return NULL;
	if (n == 2 || (replaced_at && cut <= replaced_at))
		return blank;
	if (!replaced_at)
		return fast;
	if (!before.mem[FAST])
		image_new(&before);
	crash_image(&before, &l->base, l->log, replaced_at, fates, r);
	return before.mem[FAST];
}

static void judge_all(const struct script *s, const struct life *l, u64 *values, const u8 *fast, struct rng *r, u32 step,
		      u32 states, u32 recovery, struct counts *counts)
{
	static const u8 first[3][MAX_DEVS] = {
		{ FATE_LOST, FATE_LOST, FATE_LOST }, { FATE_KEPT, FATE_LOST, FATE_KEPT },
		{ FATE_LOST, FATE_KEPT, FATE_KEPT, FATE_KEPT, FATE_KEPT },
	};
	u64 n = rng_below(r, step + 1);
	size_t nr, c;
	u64 *times = all_cuts(l, &nr);
	u32 k;

	for (c = 0; c < nr && nr_failures < max_failures && time_left(); c++)
		for (k = 0; k < states && nr_failures < max_failures; k++, n++) {
			struct plan p = { .cut = times[c], .seed = rng_next(r), .thorough = true, .second = 8,
					  .second_started = rng_percent(r, 30), .recovery = recovery };
			int d;

			for (d = 0; d < nr_devs; d++)
				p.fates[d] = k < 3 ? first[k][d] : rng_below(r, NR_FATES);
			if (s->shred && k)
				p.fates[META] = FATE_SHREDDED;
			p.fast = choose_fast(l, p.cut, fast, r);
			if (!step || n % step != step - 1) {
				judge_paper(l, &p);
			} else if (!judge(l, &p, values)) {
				sizes(s, true);
				format_devices();
				sizes(s, false);
			}
		}
	counts->cuts += nr;
	free(times);
}

/**
 * script_run() - run a script and cut everywhere
 * @i: which
 * @seed: of the states
 * @step: every so many states are started, the others judged on paper
 * @states: at each cut
 * @recovery: second cuts after each request of the loading of a state that is started
 */
void script_run(size_t i, u64 seed, u32 step, u32 states, u32 recovery)
{
	const struct script *s = &scripts[i];
	struct rng r = { seed + i };
	u64 *values = calloc(max_sectors, sizeof(*values));
	struct counts before = { 0 }, after = { 0 };
	u8 *fast = calloc(1, dev_room[FAST]);
	char moves[32] = "";
	u32 round;

	if (!blank) {
		blank = malloc(dev_room[FAST]);
		memset(blank, 0xa5, dev_room[FAST]);
		memset(blank, 0, IMAGE_CHUNK);
	}
	count(&before);
	for (round = 0; round < (s->crashes ? s->crashes : 1) && nr_failures < max_failures && time_left(); round++) {
		struct life l = { 0 };
		bool settled;
		size_t n;
		int d;

		image_new(&l.base);
		if (prepare(s, values, fast, &r)) {
			if (s->slow_meta)
				dev_delays(&(struct delays){ 100, { 0, 0, 40000 }, 0 }, seed);
			begin_script(s, &l);
			n = strlen(l.what);
			snprintf(l.what + n, sizeof(l.what) - n, ", script %s", s->name);
			run_steps(s->steps, s->times ? s->times : 1);
			after.moves += dm_moves();
			settled = says_settled();
			end_life(&l);
			if (s->taken && !settled)
				complain("script %s: not settled at the end", s->name);
			else if (s->taken)
				disk_alone(s, &l);
			dev_delays(&(struct delays){ 0 }, 0);
			for (d = 0; d < nr_devs; d++)
				dev_fail(d, FAIL_NONE);
			flushes_may_fail = false;
			judge_all(s, &l, values, fast, &r, step, states, recovery, &after);
			log_free(l.log);
		}
		image_free(&l.base);
	}
	count(&after);
	if (s->tiers)
		snprintf(moves, sizeof(moves), "%llu moves, ", (unsigned long long)after.moves);
	printf("# powercut: script %s, block %uk, seed %llu: %s%llu cuts, %llu states judged, %llu of them started, %llu of them cuts while loading, %llu failures (%s)\n",
	       s->name, block_sectors / 2, (unsigned long long)seed, moves, (unsigned long long)after.cuts,
	       (unsigned long long)(after.states - before.states + after.paper - before.paper),
	       (unsigned long long)(after.states - before.states), (unsigned long long)(after.recovery - before.recovery),
	       (unsigned long long)(after.failures - before.failures), s->covers);
	fflush(stdout);
	other_fast = other_tiers = own_tiers = taken = false;
	changed_generation = 0;
	if (!s->tiers)
		sizes(&(struct script){ 0 }, false);
	free(values);
	free(fast);
}
