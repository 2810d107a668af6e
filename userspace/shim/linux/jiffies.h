/* SPDX-License-Identifier: GPL-2.0 */
/* Coarse time. */
#ifndef SHIM_LINUX_JIFFIES_H
#define SHIM_LINUX_JIFFIES_H

#include <time.h>
#include <linux/types.h>

#define HZ	1000

static inline unsigned long __shim_jiffies(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * HZ + ts.tv_nsec / (1000000000 / HZ);
}

#define jiffies			__shim_jiffies()
#define msecs_to_jiffies(m)	((unsigned long)(m))
#define jiffies_to_msecs(j)	((unsigned int)(j))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)

#endif /* SHIM_LINUX_JIFFIES_H */
