/* SPDX-License-Identifier: GPL-2.0 */
/* Annotations and single accesses to racy memory. */
#ifndef SHIM_LINUX_COMPILER_H
#define SHIM_LINUX_COMPILER_H

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define __user
#define __kernel
#define __iomem
#define __percpu
#define __must_hold(x)
#define __acquires(x)
#define __releases(x)
#define __acquire(x)	((void)0)
#define __release(x)	((void)0)
#define __init
#define __exit
#define __read_mostly
#define __cold		__attribute__((cold))
#define __must_check	__attribute__((warn_unused_result))
#define __maybe_unused	__attribute__((unused))
#define __always_unused	__attribute__((unused))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#undef __packed
#define __packed	__attribute__((packed))
#undef __aligned
#define __aligned(x)	__attribute__((aligned(x)))
#undef noinline
#define noinline	__attribute__((noinline))
#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#ifndef fallthrough
#define fallthrough	__attribute__((fallthrough))
#endif
#define uninitialized_var(x)	x

#define barrier()	__asm__ __volatile__("" : : : "memory")

/* Relaxed atomics rather than volatile, so that thread sanitizers know these for what they are. */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define data_race(x)		(x)

#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define xchg(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new) ({						\
	__typeof__(*(p)) __cx_old = (old);				\
	__atomic_compare_exchange_n((p), &__cx_old, (new), false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	__cx_old;							\
})

#endif /* SHIM_LINUX_COMPILER_H */
