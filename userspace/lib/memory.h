/* SPDX-License-Identifier: GPL-2.0 */
/* What an active target will take of the kernel's memory. */
#ifndef TIER_TOOLS_MEMORY_H
#define TIER_TOOLS_MEMORY_H

#include "core/geometry.h"

/**
 * memory_core() - kernel memory of a target without its policy, in bytes
 * @g: geometry
 */
u64 memory_core(const struct tier_geometry *g);

/**
 * memory_policy() - kernel memory of a policy, in bytes
 * @policy: words as in the table line: NAME [KEY VALUE]... [next NAME ...]
 * @g: geometry
 * @exact: set if all policies named are known here; else an estimate takes the place of the unknown
 * ones
 */
u64 memory_policy(const char *policy, const struct tier_geometry *g, bool *exact);

#endif /* TIER_TOOLS_MEMORY_H */
