/* SPDX-License-Identifier: GPL-2.0 */
/* Cache lines. */
#ifndef SHIM_LINUX_CACHE_H
#define SHIM_LINUX_CACHE_H

#define L1_CACHE_BYTES	64
#define SMP_CACHE_BYTES	64
#define ____cacheline_aligned	__attribute__((aligned(64)))
#define ____cacheline_aligned_in_smp ____cacheline_aligned

#endif /* SHIM_LINUX_CACHE_H */
