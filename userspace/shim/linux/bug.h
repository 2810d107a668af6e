/* SPDX-License-Identifier: GPL-2.0 */
/* Assertions. */
#ifndef SHIM_LINUX_BUG_H
#define SHIM_LINUX_BUG_H

#include <stdio.h>
#include <stdlib.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>

/* A warning is a failure here: the tests must not pass over it. */
#define WARN_ON(cond) ({							\
	bool __wo_cond = !!(cond);						\
	if (unlikely(__wo_cond)) {						\
		fprintf(stderr, "%s:%d: WARN_ON(%s)\n", __FILE__, __LINE__, #cond);	\
		abort();							\
	}									\
	__wo_cond;								\
})
#define WARN_ON_ONCE(cond)	WARN_ON(cond)
#define WARN_ONCE(cond, ...)	WARN_ON(cond)
#define WARN(cond, ...)		WARN_ON(cond)
#define BUG_ON(cond)		((void)WARN_ON(cond))
#define BUG()			abort()

#endif /* SHIM_LINUX_BUG_H */
