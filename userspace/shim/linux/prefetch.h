/* SPDX-License-Identifier: GPL-2.0 */
/* Prefetching. */
#ifndef SHIM_LINUX_PREFETCH_H
#define SHIM_LINUX_PREFETCH_H

#define prefetch(x)	__builtin_prefetch(x)
#define prefetchw(x)	__builtin_prefetch(x, 1)

#endif /* SHIM_LINUX_PREFETCH_H */
