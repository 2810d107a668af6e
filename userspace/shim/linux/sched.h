/* SPDX-License-Identifier: GPL-2.0 */
/* The scheduler. */
#ifndef SHIM_LINUX_SCHED_H
#define SHIM_LINUX_SCHED_H

#include <sched.h>

#define cond_resched()	((void)0)
#define schedule()	sched_yield()

#endif /* SHIM_LINUX_SCHED_H */
