/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel integer types.  System headers that come here get what they need too. */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <asm/types.h>
#include <linux/posix_types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#ifdef __CHECKER__
#define __bitwise	__attribute__((bitwise))
#define __force		__attribute__((force))
#else
#define __bitwise
#define __force
#endif
#define __bitwise__	__bitwise

typedef __u16 __bitwise __le16;
typedef __u16 __bitwise __be16;
typedef __u32 __bitwise __le32;
typedef __u32 __bitwise __be32;
typedef __u64 __bitwise __le64;
typedef __u64 __bitwise __be64;
typedef __u16 __bitwise __sum16;
typedef __u32 __bitwise __wsum;

#define __aligned_u64	__u64 __attribute__((aligned(8)))
#define __aligned_be64	__be64 __attribute__((aligned(8)))
#define __aligned_le64	__le64 __attribute__((aligned(8)))
typedef unsigned int __bitwise __poll_t;

typedef unsigned int gfp_t;
typedef u64 sector_t;

#include <linux/compiler.h>

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

#endif /* SHIM_LINUX_TYPES_H */
