/* SPDX-License-Identifier: GPL-2.0 */
/* Exit codes: those of fsck, and one for metadata of a newer version.  Documented in dmtier(8). */
#ifndef TIER_TOOLS_EXIT_H
#define TIER_TOOLS_EXIT_H

enum tool_exit {
	TOOL_OK = 0,
	TOOL_CORRECTED = 1,	/* something was wrong and has been put right */
	TOOL_UNCORRECTED = 4,	/* damage was found and is still there */
	TOOL_OPERATIONAL = 8,	/* the work could not be done */
	TOOL_USAGE = 16,	/* the command line makes no sense */
	TOOL_CANCELLED = 32,	/* by the user */
	TOOL_NEWER = 64,	/* the metadata were written by a newer version; not damage */
};

#endif /* TIER_TOOLS_EXIT_H */
