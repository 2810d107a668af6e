/* SPDX-License-Identifier: GPL-2.0 */
/* Between the machine's byte order and that of the disk. */
#ifndef SHIM_ASM_BYTEORDER_H
#define SHIM_ASM_BYTEORDER_H

#include_next <asm/byteorder.h>
#include <linux/types.h>

#define cpu_to_le16(x)	__cpu_to_le16(x)
#define cpu_to_le32(x)	__cpu_to_le32(x)
#define cpu_to_le64(x)	__cpu_to_le64(x)
#define le16_to_cpu(x)	__le16_to_cpu(x)
#define le32_to_cpu(x)	__le32_to_cpu(x)
#define le64_to_cpu(x)	__le64_to_cpu(x)
#define cpu_to_be16(x)	__cpu_to_be16(x)
#define cpu_to_be32(x)	__cpu_to_be32(x)
#define cpu_to_be64(x)	__cpu_to_be64(x)
#define be16_to_cpu(x)	__be16_to_cpu(x)
#define be32_to_cpu(x)	__be32_to_cpu(x)
#define be64_to_cpu(x)	__be64_to_cpu(x)

#endif /* SHIM_ASM_BYTEORDER_H */
