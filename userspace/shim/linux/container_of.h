/* SPDX-License-Identifier: GPL-2.0 */
/* From a member to the structure around it. */
#ifndef SHIM_LINUX_CONTAINER_OF_H
#define SHIM_LINUX_CONTAINER_OF_H

#include <stddef.h>

#ifdef __CPPCHECK__	/* takes the null pointer of the other for a real one */
#define container_of(ptr, type, member) ((type *)(ptr))
#else
#define container_of(ptr, type, member) ({					\
	const __typeof__(((type *)0)->member) *__co_ptr = (ptr);		\
	(type *)((char *)__co_ptr - offsetof(type, member));			\
})
#endif

#endif /* SHIM_LINUX_CONTAINER_OF_H */
