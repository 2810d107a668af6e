// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include "fill.h"
struct tier_fill { int x; };
struct tier_fill *tier_fill_create(u64 n, u32 b, u32 g) { return kzalloc(sizeof(struct tier_fill), GFP_KERNEL); }
void tier_fill_destroy(struct tier_fill *f) { kfree(f); }
u32 tier_fill_extent(struct tier_fill *f, u64 sector) { return 0; }
bool tier_fill_done(struct tier_fill *f, u64 block, u64 spec_mask) { return false; }
bool tier_fill_hit(struct tier_fill *f, u64 block, u64 mask) { return false; }
void tier_fill_evicted(struct tier_fill *f, u64 block) { }
void tier_fill_stats(struct tier_fill *f, struct tier_fill_stats *stats) { *stats = (struct tier_fill_stats){ 0 }; }
