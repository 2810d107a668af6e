/* SPDX-License-Identifier: GPL-2.0 */
/* Error numbers.  glibc's errno.h comes here too. */
#ifndef SHIM_LINUX_ERRNO_H
#define SHIM_LINUX_ERRNO_H

#include <asm/errno.h>

#define ERESTARTSYS	512
#define ENOTSUPP	524

#endif /* SHIM_LINUX_ERRNO_H */
