/* SPDX-License-Identifier: GPL-2.0 */
/* Offsets and sizes of members.  System headers that come here get what they need too. */
#ifndef SHIM_LINUX_STDDEF_H
#define SHIM_LINUX_STDDEF_H

#include_next <linux/stddef.h>
#include <stddef.h>

#ifndef sizeof_field
#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#endif
#ifndef offsetofend
#define offsetofend(type, member)	(offsetof(type, member) + sizeof_field(type, member))
#endif

#endif /* SHIM_LINUX_STDDEF_H */
