/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TIER_POLICY_BUILTIN_H
#define TIER_POLICY_BUILTIN_H

#include "tier-policy.h"

extern struct tier_policy_type tier_policy_builtin;

#endif /* TIER_POLICY_BUILTIN_H */
