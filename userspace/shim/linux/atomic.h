/* SPDX-License-Identifier: GPL-2.0 */
/* Atomic counters. */
#ifndef SHIM_LINUX_ATOMIC_H
#define SHIM_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ATOMIC_INIT(i)		{ (i) }
#define ATOMIC64_INIT(i)	{ (i) }

#define __SHIM_ATOMIC(p, t, v)						\
static inline t p##_read(const p##_t *a)				\
{									\
	return __atomic_load_n(&a->counter, __ATOMIC_RELAXED);		\
}									\
static inline void p##_set(p##_t *a, t i)				\
{									\
	__atomic_store_n(&a->counter, i, __ATOMIC_RELAXED);		\
}									\
static inline void p##_add(t i, p##_t *a)				\
{									\
	__atomic_fetch_add(&a->counter, i, __ATOMIC_RELAXED);		\
}									\
static inline void p##_sub(t i, p##_t *a)				\
{									\
	__atomic_fetch_sub(&a->counter, i, __ATOMIC_RELAXED);		\
}									\
static inline t p##_add_return(t i, p##_t *a)				\
{									\
	return __atomic_add_fetch(&a->counter, i, __ATOMIC_SEQ_CST);	\
}									\
static inline t p##_sub_return(t i, p##_t *a)				\
{									\
	return __atomic_sub_fetch(&a->counter, i, __ATOMIC_SEQ_CST);	\
}									\
static inline t p##_fetch_add(t i, p##_t *a)				\
{									\
	return __atomic_fetch_add(&a->counter, i, __ATOMIC_SEQ_CST);	\
}									\
static inline t p##_xchg(p##_t *a, t i)					\
{									\
	return __atomic_exchange_n(&a->counter, i, __ATOMIC_SEQ_CST);	\
}									\
static inline t p##_cmpxchg(p##_t *a, t old, t new)			\
{									\
	__atomic_compare_exchange_n(&a->counter, &old, new, false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	return old;							\
}

__SHIM_ATOMIC(atomic, int, counter)
__SHIM_ATOMIC(atomic64, s64, counter)

#define atomic_inc(a)			atomic_add(1, a)
#define atomic_dec(a)			atomic_sub(1, a)
#define atomic_inc_return(a)		atomic_add_return(1, a)
#define atomic_dec_return(a)		atomic_sub_return(1, a)
#define atomic_dec_and_test(a)		(atomic_sub_return(1, a) == 0)
#define atomic_sub_and_test(i, a)	(atomic_sub_return(i, a) == 0)
#define atomic64_inc(a)			atomic64_add(1, a)
#define atomic64_dec(a)			atomic64_sub(1, a)
#define atomic64_inc_return(a)		atomic64_add_return(1, a)
#define atomic64_dec_return(a)		atomic64_sub_return(1, a)
#define atomic64_dec_and_test(a)	(atomic64_sub_return(1, a) == 0)

#endif /* SHIM_LINUX_ATOMIC_H */
