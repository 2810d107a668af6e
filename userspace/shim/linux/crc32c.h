/* SPDX-License-Identifier: GPL-2.0 */
/* CRC32C (Castagnoli), as in the kernel: no inversion before or after. */
#ifndef SHIM_LINUX_CRC32C_H
#define SHIM_LINUX_CRC32C_H

#include <linux/types.h>

u32 crc32c(u32 crc, const void *address, unsigned int length);

#endif /* SHIM_LINUX_CRC32C_H */
