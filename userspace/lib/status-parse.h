/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The status line of the kernel's target, read: the only place that knows its order.
 *
 *	<health> <needs_check|-> <mode> <wanted mode> <block sectors> <granule sectors>
 *	<used>/<slots> <ready slots> <dirty slots> <dirty granules> <journal used>/<journal blocks>
 *	<#words> <key value>*		counters
 *	<#words> <key value>*		state
 *	<#words> <key value>*		tunables of the core
 *	<policy> <#words> <key value>*
 *	<#words> tiers <count> <11 words for each>	in tiered mode
 *
 * Lines grow at the ends of the sections and behind the last one only.  Keys are not interpreted
 *here; what is missing at the end is taken for an older kernel's or a failed target's.
 */
#ifndef TIER_TOOLS_STATUS_PARSE_H
#define TIER_TOOLS_STATUS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

struct status_pair {
	const char *key;
	const char *value;
};

struct status_section {
	struct status_pair *pairs;
	unsigned int nr;
};

/**
 * struct status_tier - a tier of a tiered device
 * @slots: all
 * @used: in use
 * @reads: requests answered from it
 * @writes: requests written to it
 * @landings: blocks that got their first slot there
 * @moves_in: blocks moved to it
 * @moves_out: blocks moved away
 * @pinned: slots
 * @errors: of the device
 * @state: "ok", "evacuating", "empty", "settling", "settled", "failing"
 * @stuck: blocks that could not be moved, while it is emptied or settled and nothing else could be done; 0 of an older kernel
 */
struct status_tier {
	uint64_t slots;
	uint64_t used;
	uint64_t reads;
	uint64_t writes;
	uint64_t landings;
	uint64_t moves_in;
	uint64_t moves_out;
	uint64_t pinned;
	uint64_t errors;
	const char *state;
	uint64_t stuck;
};

enum status_section_name {
	STATUS_COUNTERS,
	STATUS_STATE,
	STATUS_TUNABLES,
	STATUS_POLICY,
	STATUS_NR_SECTIONS,
};

/**
 * struct status - a status line, read; all strings are valid until status_free()
 * @health: "rw", "ro", "degraded", "fail"
 * @needs_check: the metadata are marked so
 * @mode: in force, "" if the line ends before it
 * @wanted_mode: asked for
 * @block_sectors: block size
 * @granule_sectors: granule size
 * @used_slots: mapped
 * @nr_slots: all
 * @ready_slots: free slots kept ready
 * @dirty_slots: slots with dirty granules
 * @dirty_granules: all of them
 * @journal_used: blocks
 * @journal_blocks: blocks
 * @sections: key value pairs
 * @policy: its name, "" if the line ends before it
 * @tiers: of a tiered device, fast to slow
 * @nr_tiers: their number
 * @complete: nothing was missing
 * @text: the words, changed
 */
struct status {
	const char *health;
	bool needs_check;
	const char *mode;
	const char *wanted_mode;
	uint64_t block_sectors;
	uint64_t granule_sectors;
	uint64_t used_slots;
	uint64_t nr_slots;
	uint64_t ready_slots;
	uint64_t dirty_slots;
	uint64_t dirty_granules;
	uint64_t journal_used;
	uint64_t journal_blocks;
	struct status_section sections[STATUS_NR_SECTIONS];
	const char *policy;
	struct status_tier *tiers;
	unsigned int nr_tiers;
	bool complete;
	char *text;
};

/**
 * status_parse() - read a status line
 * @s: result, to be freed with status_free() in any case
 * @params: what stands behind the target's name; any text
 * @why: TEXT_LEN bytes
 *
 * Return: 0, also if the line ends early or has words behind the known ones; -EINVAL if a word is
 * not what should stand there.
 */
int status_parse(struct status *s, const char *params, char *why);
void status_free(struct status *s);

/* value of a key, NULL if it isn't there */
const char *status_value(const struct status *s, enum status_section_name section, const char *key);

/* the same as a number; @missing if it isn't there or is none */
uint64_t status_number(const struct status *s, enum status_section_name section, const char *key,
		       uint64_t missing);

#endif /* TIER_TOOLS_STATUS_PARSE_H */
