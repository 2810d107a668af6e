/* SPDX-License-Identifier: GPL-2.0 */
/* Kinds of characters. */
#ifndef SHIM_LINUX_CTYPE_H
#define SHIM_LINUX_CTYPE_H

#include <ctype.h>

#endif /* SHIM_LINUX_CTYPE_H */
