/* SPDX-License-Identifier: GPL-2.0 */
/* Sorting. */
#ifndef SHIM_LINUX_SORT_H
#define SHIM_LINUX_SORT_H

#include <stdlib.h>
#include <linux/bug.h>
#include <linux/types.h>

typedef int (*cmp_func_t)(const void *a, const void *b);
typedef void (*swap_func_t)(void *a, void *b, int size);

static inline void sort(void *base, size_t num, size_t size, cmp_func_t cmp, swap_func_t swap_func)
{
	(void)swap_func;
	qsort(base, num, size, cmp);
}

#endif /* SHIM_LINUX_SORT_H */
