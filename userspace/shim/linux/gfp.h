/* SPDX-License-Identifier: GPL-2.0 */
/* Allocation flags: none matters here. */
#ifndef SHIM_LINUX_GFP_H
#define SHIM_LINUX_GFP_H

#include <linux/types.h>

#define GFP_KERNEL	0U
#define GFP_NOIO	0U
#define GFP_NOFS	0U
#define GFP_NOWAIT	0U
#define GFP_ATOMIC	0U
#define __GFP_ZERO	0x100U
#define __GFP_NOWARN	0U
#define __GFP_NORETRY	0U
#define __GFP_RETRY_MAYFAIL 0U

#endif /* SHIM_LINUX_GFP_H */
