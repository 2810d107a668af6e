/* SPDX-License-Identifier: GPL-2.0 */
/* For those who look for it here. */
#ifndef SHIM_LINUX_BYTEORDER_H
#define SHIM_LINUX_BYTEORDER_H

#include <asm/byteorder.h>

#endif /* SHIM_LINUX_BYTEORDER_H */
