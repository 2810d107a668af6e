/* SPDX-License-Identifier: GPL-2.0 */
/* Lock assertions are checked. */
#ifndef SHIM_LINUX_LOCKDEP_H
#define SHIM_LINUX_LOCKDEP_H

#define lockdep_assert_held(lock)	BUG_ON(!__shim_is_owner((spinlock_t *)(lock)))
#define lockdep_assert_not_held(lock)	BUG_ON(__shim_is_owner((spinlock_t *)(lock)))

#endif /* SHIM_LINUX_LOCKDEP_H */
