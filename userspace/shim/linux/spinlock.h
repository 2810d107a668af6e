/* SPDX-License-Identifier: GPL-2.0 */
/* Spin locks that know their owner: recursion and foreign unlocks abort. */
#ifndef SHIM_LINUX_SPINLOCK_H
#define SHIM_LINUX_SPINLOCK_H

#include <sched.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/types.h>

typedef struct {
	unsigned int owner;	/* of __shim_self(), 0: free */
} spinlock_t;

unsigned int shim_last_thread __attribute__((weak));
__thread unsigned int shim_thread __attribute__((weak));

static inline unsigned int __shim_self(void)
{
	if (!shim_thread)
		shim_thread = __atomic_add_fetch(&shim_last_thread, 1, __ATOMIC_RELAXED);
	return shim_thread;
}

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }
#define DEFINE_SPINLOCK(name)	spinlock_t name = __SPIN_LOCK_UNLOCKED(name)

static inline void spin_lock_init(spinlock_t *lock)
{
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
}

static inline bool spin_is_locked(spinlock_t *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);
}

static inline bool __shim_is_owner(spinlock_t *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == __shim_self();
}

static inline int spin_trylock(spinlock_t *lock)
{
	unsigned int none = 0;

	return __atomic_compare_exchange_n(&lock->owner, &none, __shim_self(), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void spin_lock(spinlock_t *lock)
{
	BUG_ON(__shim_is_owner(lock));
	while (!spin_trylock(lock))
		sched_yield();
}

static inline void spin_unlock(spinlock_t *lock)
{
	BUG_ON(!__shim_is_owner(lock));
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELEASE);
}

#define spin_lock_irq(lock)	spin_lock(lock)
#define spin_unlock_irq(lock)	spin_unlock(lock)
#define spin_lock_bh(lock)	spin_lock(lock)
#define spin_unlock_bh(lock)	spin_unlock(lock)
#define spin_lock_irqsave(lock, flags)	((flags) = 0, spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), spin_unlock(lock))
#define spin_lock_nested(lock, subclass)	spin_lock(lock)
#define assert_spin_locked(lock)	BUG_ON(!__shim_is_owner(lock))
#define cpu_relax()	sched_yield()

#endif /* SHIM_LINUX_SPINLOCK_H */
