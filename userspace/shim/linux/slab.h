/* SPDX-License-Identifier: GPL-2.0 */
/* Memory.  Counts what is allocated and can fail on demand, for tests. */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/types.h>

#ifndef PAGE_SIZE
#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#endif

/* Weak, so that headers alone make the shim. */
u64 shim_allocated __attribute__((weak));	/* bytes allocated and not freed */
int shim_alloc_fail __attribute__((weak));	/* n > 0: the n-th allocation from now on fails, once */

#define __SHIM_ALLOC_HEAD	64	/* keeps the alignment of a cache line */

static inline void *__shim_alloc(size_t size)
{
	size_t bytes;
	size_t *p;

	if (shim_alloc_fail > 0 && --shim_alloc_fail == 0)
		return NULL;
	if (__builtin_add_overflow(size, __SHIM_ALLOC_HEAD + 63, &bytes))
		return NULL;
	p = aligned_alloc(64, bytes & ~(size_t)63);
	if (!p)
		return NULL;
	*p = size;
	__atomic_fetch_add(&shim_allocated, size, __ATOMIC_RELAXED);
	return (char *)p + __SHIM_ALLOC_HEAD;
}

static inline void kfree(const void *ptr)
{
	size_t *p;

	if (!ptr)
		return;
	p = (size_t *)((uintptr_t)ptr - __SHIM_ALLOC_HEAD);
	__atomic_fetch_sub(&shim_allocated, *p, __ATOMIC_RELAXED);
	free(p);
}

static inline void *kmalloc(size_t size, gfp_t flags)
{
	void *p = __shim_alloc(size);

	if (p && (flags & __GFP_ZERO))
		memset(p, 0, size);
	return p;
}

static inline void *kzalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags | __GFP_ZERO);
}

static inline void *kmalloc_array(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? NULL : kmalloc(bytes, flags);
}

static inline void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	return kmalloc_array(n, size, flags | __GFP_ZERO);
}

static inline char *kstrdup(const char *s, gfp_t flags)
{
	char *p = s ? kmalloc(strlen(s) + 1, flags) : NULL;

	return p ? strcpy(p, s) : NULL;
}

static inline char *kstrndup(const char *s, size_t max, gfp_t flags)
{
	size_t len = s ? strnlen(s, max) : 0;
	char *p = s ? kmalloc(len + 1, flags) : NULL;

	if (p) {
		memcpy(p, s, len);
		p[len] = '\0';
	}
	return p;
}

static inline void *kmemdup(const void *src, size_t len, gfp_t flags)
{
	void *p = kmalloc(len, flags);

	return p ? memcpy(p, src, len) : NULL;
}

#endif /* SHIM_LINUX_SLAB_H */
