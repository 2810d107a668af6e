/* SPDX-License-Identifier: GPL-2.0 */
/* Mutexes are spin locks that yield. */
#ifndef SHIM_LINUX_MUTEX_H
#define SHIM_LINUX_MUTEX_H

#include <linux/spinlock.h>

struct mutex {
	spinlock_t lock;
};

#define __MUTEX_INITIALIZER(name)	{ __SPIN_LOCK_UNLOCKED(name) }
#define DEFINE_MUTEX(name)	struct mutex name = __MUTEX_INITIALIZER(name)
#define mutex_init(m)		spin_lock_init(&(m)->lock)
#define mutex_destroy(m)	((void)(m))
#define mutex_lock(m)		spin_lock(&(m)->lock)
#define mutex_trylock(m)	spin_trylock(&(m)->lock)
#define mutex_unlock(m)		spin_unlock(&(m)->lock)
#define mutex_is_locked(m)	spin_is_locked(&(m)->lock)

#endif /* SHIM_LINUX_MUTEX_H */
