/* SPDX-License-Identifier: GPL-2.0 */
/* Memory per processor. */
#ifndef SHIM_LINUX_PERCPU_H
#define SHIM_LINUX_PERCPU_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/slab.h>
#include <linux/smp.h>

/* One array; the distance between two processors' parts is the type's size. */
#define alloc_percpu(type)	((type *)kcalloc(NR_CPUS, sizeof(type), GFP_KERNEL))
#define alloc_percpu_gfp(type, gfp)	alloc_percpu(type)
#define free_percpu(ptr)	kfree(ptr)
#define per_cpu_ptr(ptr, cpu)	(&(ptr)[cpu])
#define this_cpu_ptr(ptr)	per_cpu_ptr(ptr, smp_processor_id())
#define raw_cpu_ptr(ptr)	this_cpu_ptr(ptr)
#define get_cpu_ptr(ptr)	this_cpu_ptr(ptr)
#define put_cpu_ptr(ptr)	((void)(ptr))

/* All counts go to processor 0's part: sums over all come out right. */
#define this_cpu_add(pcp, val)	((void)__atomic_fetch_add(&(pcp), (val), __ATOMIC_RELAXED))
#define this_cpu_inc(pcp)	this_cpu_add(pcp, 1)
#define this_cpu_dec(pcp)	this_cpu_add(pcp, -1)

#endif /* SHIM_LINUX_PERCPU_H */
