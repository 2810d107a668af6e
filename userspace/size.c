// SPDX-License-Identifier: GPL-2.0
/* dmtier size: what a tier device of given sizes takes. */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "dmtier.h"
#include "lib/bdev.h"
#include "lib/block-size.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/table-line.h"
#include "lib/text.h"
#include "lib/units.h"

static unsigned long long ull(u64 v)
{
	return v;
}

static double per_slot(const struct tier_geometry *g, u64 bytes)
{
	return (double)bytes / (double)g->nr_slots;
}

static void print_json(const struct tier_geometry *g, u64 core, u64 policy, bool exact)
{
	struct json j;

	json_begin(&j, stdout);
	json_u64(&j, "block_bytes", (u64)g->block_sectors * 512);
	json_u64(&j, "granule_bytes", (u64)g->granule_sectors * 512);
	json_u64(&j, "slots", g->nr_slots);
	if (g->exclusive)
		json_u64(&j, "sectors", g->nr_sectors);
	json_u64(&j, "metadata_bytes", g->meta_blocks * TIER_META_BLOCK_SIZE);
	json_u64(&j, "memory_core_bytes", core);
	json_u64(&j, "memory_policy_bytes", policy);
	json_bool(&j, "memory_policy_exact", exact);
	json_real(&j, "memory_bytes_per_slot", per_slot(g, core + policy), 1);
	json_end(&j);
}

static void print_text(const struct tier_geometry *g, u64 core, u64 policy, bool exact)
{
	u64 meta = g->meta_blocks * TIER_META_BLOCK_SIZE;
	char a[TEXT_SIZE_LEN], b[TEXT_SIZE_LEN];

	printf("block size       %s, %llu slots\n", text_size((u64)g->block_sectors * 512, a),
	       ull(g->nr_slots));
	if (g->exclusive)
		printf("size             %llu bytes (%s)\n", ull(g->nr_sectors * 512), text_size(g->nr_sectors * 512, a));
	printf("metadata         %llu bytes (%s)\n", ull(meta), text_size(meta, a));
	printf("kernel memory    %s, and %s%s for the policy: %.1f bytes a slot in all\n", text_size(core, a),
	       exact ? "" : "about ", text_size(policy, b), per_slot(g, core + policy));
}

/* a size, or what has one */
static int parse_size(const char *what, const char *text, u64 *sectors)
{
	struct bdev b = { .fd = -1 };
	char why[TEXT_LEN];
	u64 bytes;

	if (!units_parse(text, 1, &bytes)) {
		*sectors = bytes / 512;
		return TOOL_CONTINUE;
	}
	if (access(text, F_OK)) {
		text_error("%s '%s' is neither a size such as 120g nor a device", what, text);
		return TOOL_USAGE;
	}
	if (bdev_identify(&b, text, why) || bdev_open(&b, 0, why)) {
		text_error("%s: %s", what, why);
		return TOOL_OPERATIONAL;
	}
	*sectors = b.bytes / 512;
	bdev_close(&b);
	return TOOL_CONTINUE;
}

static int print_sizes(u32 block_sectors, bool tiered, u32 nr, const u64 *sizes, bool json)
{
	struct tier_geometry g;
	const char *wrong;
	u64 core, policy;
	bool exact;

	if (!block_sectors)
		block_sectors = tiered ? block_size_choose_tiered(nr, sizes) : block_size_choose(sizes[0], sizes[1]);
	if (tiered)
		wrong = tier_geometry_tiered(&g, block_sectors, nr, sizes, 0);
	else
		wrong = tier_geometry_cache(&g, block_sectors, sizes[0], sizes[1]);
	if (wrong) {
		text_error("%s", wrong);
		return TOOL_OPERATIONAL;
	}
	core = memory_core(&g);
	policy = memory_policy(tiered ? TABLE_TIERED_POLICY : TABLE_DEFAULT_POLICY, &g, &exact);
	if (json)
		print_json(&g, core, policy, exact);
	else
		print_text(&g, core, policy, exact);
	return TOOL_OK;
}

static int run_size(int argc, char **argv)
{
	enum { BLOCK_SIZE = OPT_OWN, TIERED, JSON };
	static const struct option options[] = {
		{ "block-size", required_argument, NULL, BLOCK_SIZE },
		{ "tiered", no_argument, NULL, TIERED },
		{ "json", no_argument, NULL, JSON },
		TOOL_OPTIONS
	};
	int o, code = TOOL_CONTINUE;
	u32 block_sectors = 0;
	bool json = false, tiered = false;
	u64 sizes[TIER_MAX_DEVS] = { 0 };
	int i, nr;

	while (code == TOOL_CONTINUE && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == BLOCK_SIZE)
			code = block_size_parse(optarg, &block_sectors) ? TOOL_USAGE :
									  TOOL_CONTINUE;
		else if (o == TIERED)
			tiered = true;
		else if (o == JSON)
			json = true;
		else
			tool_common_option(&verb_size, o, &code);
	}
	if (code == TOOL_CONTINUE && tiered && block_size_check_tiered(block_sectors))
		code = TOOL_USAGE;
	nr = argc - optind;
	if (code == TOOL_CONTINUE && !tiered && nr != 2) {
		text_error("it takes two sizes, or devices that have them: SSD_SIZE HDD_SIZE");
		code = tool_usage(&verb_size);
	}
	if (code == TOOL_CONTINUE && (nr < 2 || nr > (int)TIER_MAX_DEVS)) {
		text_error("it takes the sizes of 2 to %u tiers, or devices that have them", TIER_MAX_DEVS);
		code = tool_usage(&verb_size);
	}
	for (i = 0; code == TOOL_CONTINUE && i < nr; i++)
		code = parse_size(!i ? "SSD_SIZE" : i == 1 ? "HDD_SIZE" : "TIER_SIZE", argv[optind + i], &sizes[i]);
	return code == TOOL_CONTINUE ? print_sizes(block_sectors, tiered, (u32)nr, sizes, json) : code;
}

const struct verb verb_size = {
	.name = "size",
	.synopsis = "[--block-size SIZE] [--json] SSD_SIZE HDD_SIZE\n"
		    "--tiered [--block-size SIZE] [--json] SSD_SIZE HDD_SIZE [TIER_SIZE...]",
	.summary = "tell the size of the metadata and the kernel memory for devices of given sizes",
	.help =
"  --block-size SIZE  power of two from 4k (tiered: 64k) to 1m; default: what format would choose\n"
"  --tiered           of a tiered device\n"
"  --json             output for programs\n"
"\n"
"Sizes are numbers with b, s (sectors), k, m, g, t, p; bytes without.  In place of a size, a block device or a\n"
"file stands for its own.\n",
	.run = run_size,
};
