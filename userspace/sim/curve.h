/* SPDX-License-Identifier: GPL-2.0 */
/* Miss-ratio curves: what is left for the slow device by size of the fast one. */
#ifndef TIER_SIM_CURVE_H
#define TIER_SIM_CURVE_H

#include <stdio.h>
#include "trace.h"

#define SIM_CURVE_POINTS	21

/**
 * struct sim_ladder - the sizes of a curve
 * @bytes: ascending, half an octave apart; all data of the trace fit into the last
 * @nr: how many, at least 1
 */
struct sim_ladder {
	u64 bytes[SIM_CURVE_POINTS];
	unsigned int nr;
};

/**
 * struct sim_curve - one curve
 * @label: what it is of
 * @ladder: its sizes
 * @slow: for each of them, sim_slow_accesses()
 */
struct sim_curve {
	char *label;
	struct sim_ladder ladder;
	double slow[SIM_CURVE_POINTS];
};

/**
 * sim_ladder_make() - choose the sizes
 * @ladder: filled in
 * @most: bytes into which all data fit
 * @unit: all are multiples of this, in bytes; @most too
 */
void sim_ladder_make(struct sim_ladder *ladder, u64 most, u64 unit);

/**
 * sim_curve_worth() - the size that is worth buying
 * @curve: the curve
 *
 * The smallest that saves nine tenths of the accesses that can be saved by any size of the curve.
 * Return: its number, or -1: no size saves 10 of 100.
 */
int sim_curve_worth(const struct sim_curve *curve);

/**
 * sim_curve_svg() - draw curves
 * @out: where to
 * @title: of the picture
 * @curves: curves
 * @nr: how many, at least 1
 *
 * Errors are left in @out.
 */
void sim_curve_svg(FILE *out, const char *title, const struct sim_curve *curves, unsigned int nr);

#endif /* TIER_SIM_CURVE_H */
