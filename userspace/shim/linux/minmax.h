/* SPDX-License-Identifier: GPL-2.0 */
/* Smaller, larger, swapped. */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

#define __shim_cmp(x, y, op) ({			\
	__typeof__(x) __mm_x = (x);		\
	__typeof__(y) __mm_y = (y);		\
	(void)(&__mm_x == &__mm_y);		\
	__mm_x op __mm_y ? __mm_x : __mm_y;	\
})
#define __shim_cmp_t(type, x, y, op) ({		\
	type __mt_x = (x);			\
	type __mt_y = (y);			\
	__mt_x op __mt_y ? __mt_x : __mt_y;	\
})

#undef min
#undef max
#define min(x, y)	__shim_cmp(x, y, <)
#define max(x, y)	__shim_cmp(x, y, >)
#define min3(x, y, z)	min((__typeof__(x))min(x, y), z)
#define max3(x, y, z)	max((__typeof__(x))max(x, y), z)
#define min_t(type, x, y)	__shim_cmp_t(type, x, y, <)
#define max_t(type, x, y)	__shim_cmp_t(type, x, y, >)
#define min_not_zero(x, y) ({				\
	__typeof__(x) __mz_x = (x);			\
	__typeof__(y) __mz_y = (y);			\
	!__mz_x ? __mz_y : !__mz_y ? __mz_x : min(__mz_x, __mz_y); \
})
#define clamp(val, lo, hi)	min((__typeof__(val))max(val, lo), hi)
#define clamp_t(type, val, lo, hi)	min_t(type, max_t(type, val, lo), hi)
#define clamp_val(val, lo, hi)	clamp_t(__typeof__(val), val, lo, hi)

#define swap(a, b) do {				\
	__typeof__(a) __sw_tmp = (a);		\
	(a) = (b);				\
	(b) = __sw_tmp;				\
} while (0)

#endif /* SHIM_LINUX_MINMAX_H */
