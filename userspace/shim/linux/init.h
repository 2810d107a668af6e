/* SPDX-License-Identifier: GPL-2.0 */
/* Module start and end: a constructor and a destructor. */
#ifndef SHIM_LINUX_INIT_H
#define SHIM_LINUX_INIT_H

#define module_init(fn) \
	static __attribute__((constructor)) void __shim_init_##fn(void) \
	{ \
		fn(); \
	} \
	struct __shim_semicolon
#define module_exit(fn) \
	static __attribute__((destructor)) void __shim_exit_##fn(void) \
	{ \
		fn(); \
	} \
	struct __shim_semicolon

#endif /* SHIM_LINUX_INIT_H */
