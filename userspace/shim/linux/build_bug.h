/* SPDX-License-Identifier: GPL-2.0 */
/* Checks at compile time. */
#ifndef SHIM_LINUX_BUILD_BUG_H
#define SHIM_LINUX_BUILD_BUG_H

#ifndef __cplusplus
#define __shim_static_assert(expr, msg, ...)	_Static_assert(expr, msg)
#undef static_assert
#define static_assert(expr, ...)	__shim_static_assert(expr, ##__VA_ARGS__, #expr)
#endif

#define BUILD_BUG_ON(cond)		((void)sizeof(char[1 - 2 * !!(cond)]))
#define BUILD_BUG_ON_MSG(cond, msg)	BUILD_BUG_ON(cond)
#define BUILD_BUG_ON_ZERO(e)		((int)sizeof(char[1 - 2 * !!(e)]) - 1)
#define BUILD_BUG_ON_NOT_POWER_OF_2(n)	BUILD_BUG_ON((n) == 0 || ((n) & ((n) - 1)) != 0)

#endif /* SHIM_LINUX_BUILD_BUG_H */
