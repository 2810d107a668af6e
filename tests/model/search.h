/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exhaustive search through the states of a model, breadth first: what it finds it reaches by the
 * fewest steps.
 *
 * A model packs its states into keys, equal ones for states that behave alike.  It is asked for the
 * successors of each key, and calls search_add() for each.  search_fail() ends the search and prints
 * how the state came about.
 */
#ifndef TIER_MODEL_SEARCH_H
#define TIER_MODEL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define KEY_WORDS	5U

struct key {
	u64 w[KEY_WORDS];
};

/* a step, as text: a format and up to four numbers */
struct step {
	const char *fmt;
	int n[4];
};

#define STEP(fmt, ...)	((struct step) { fmt, { __VA_ARGS__ } })

struct search;

/**
 * struct search_model - what is to be searched
 * @expand: add all successors of a state
 * @show: print a state in a line
 */
struct search_model {
	void (*expand)(struct search *s, const struct key *key);
	void (*show)(const struct key *key);
};

/**
 * struct search_result - what came of it
 * @states: different ones seen
 * @steps: between them
 * @depth: most steps that are needed to reach one
 * @violated: why the search ended, or NULL
 * @full: it ended because @max_states were seen
 */
struct search_result {
	u64 states;
	u64 steps;
	u32 depth;
	const char *violated;
	bool full;
};

/* a step leads to this state */
void search_add(struct search *s, const struct key *key, struct step step);

/* a step leads to this state, which must not be */
void search_fail(struct search *s, const struct key *key, struct step step, const char *why);

/* search all that can be reached from @start; @trace: print how a violation came about */
struct search_result search_run(const struct search_model *m, const struct key *start, u64 max_states,
				bool trace);

/* ---- packing ---- */

struct packer {
	struct key *key;
	u32 bit;
};

static inline void pack_bits(struct packer *p, u32 bits, u32 value)
{
	u32 word = p->bit / 64, at = p->bit % 64;

	if (value >> bits || p->bit + bits > 64 * KEY_WORDS)
		__builtin_trap();	/* the configuration is too big */
	p->key->w[word] |= (u64)value << at;
	if (at + bits > 64)
		p->key->w[word + 1] |= (u64)value >> (64 - at);
	p->bit += bits;
}

static inline u32 unpack_bits(struct packer *p, u32 bits)
{
	u32 word = p->bit / 64, at = p->bit % 64;
	u64 v = p->key->w[word] >> at;

	if (at + bits > 64)
		v |= p->key->w[word + 1] << (64 - at);
	p->bit += bits;
	return v & ((1ULL << bits) - 1);
}

/* one function of a model packs and unpacks its state, field by field: CODE(bits, field), with a codec "c" */
struct codec {
	struct packer p;
	bool reading;
};

static inline u32 code(struct codec *c, u32 bits, u32 value)
{
	if (c->reading)
		return unpack_bits(&c->p, bits);
	pack_bits(&c->p, bits, value);
	return value;
}

#define CODE(bits, field)	((field) = code(c, bits, field))

#endif /* TIER_MODEL_SEARCH_H */
