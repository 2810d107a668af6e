/* SPDX-License-Identifier: GPL-2.0 */
/* Bits in words and in arrays of unsigned long. */
#ifndef SHIM_LINUX_BITOPS_H
#define SHIM_LINUX_BITOPS_H

#include <linux/bits.h>

#define BITS_TO_LONGS(nr)	(((nr) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BITS_PER_TYPE(type)	(sizeof(type) * BITS_PER_BYTE)

static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned int fls_long(unsigned long x)
{
	return fls64(x);
}

static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned long __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return BITS_PER_LONG - 1 - __builtin_clzl(x);
}

#define ffz(x)		__ffs(~(x))
#define hweight8(x)	((unsigned int)__builtin_popcount((u8)(x)))
#define hweight16(x)	((unsigned int)__builtin_popcount((u16)(x)))
#define hweight32(x)	((unsigned int)__builtin_popcount((u32)(x)))
#define hweight64(x)	((unsigned long)__builtin_popcountll(x))
#define hweight_long(x)	((unsigned long)__builtin_popcountl(x))

static inline u32 rol32(u32 word, unsigned int shift)
{
	return (word << (shift & 31)) | (word >> (-shift & 31));
}

static inline u32 ror32(u32 word, unsigned int shift)
{
	return (word >> (shift & 31)) | (word << (-shift & 31));
}

static inline u64 rol64(u64 word, unsigned int shift)
{
	return (word << (shift & 63)) | (word >> (-shift & 63));
}

static inline u64 ror64(u64 word, unsigned int shift)
{
	return (word >> (shift & 63)) | (word << (-shift & 63));
}

static inline bool test_bit(unsigned long nr, const volatile unsigned long *addr)
{
	return __atomic_load_n(&addr[BIT_WORD(nr)], __ATOMIC_RELAXED) & BIT_MASK(nr);
}

static inline void set_bit(unsigned long nr, volatile unsigned long *addr)
{
	__atomic_fetch_or(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_RELAXED);
}

static inline void clear_bit(unsigned long nr, volatile unsigned long *addr)
{
	__atomic_fetch_and(&addr[BIT_WORD(nr)], ~BIT_MASK(nr), __ATOMIC_RELAXED);
}

static inline void change_bit(unsigned long nr, volatile unsigned long *addr)
{
	__atomic_fetch_xor(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_RELAXED);
}

static inline bool test_and_set_bit(unsigned long nr, volatile unsigned long *addr)
{
	return __atomic_fetch_or(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_SEQ_CST) & BIT_MASK(nr);
}

static inline bool test_and_clear_bit(unsigned long nr, volatile unsigned long *addr)
{
	return __atomic_fetch_and(&addr[BIT_WORD(nr)], ~BIT_MASK(nr), __ATOMIC_SEQ_CST) & BIT_MASK(nr);
}

static inline void __set_bit(unsigned long nr, volatile unsigned long *addr)
{
	addr[BIT_WORD(nr)] |= BIT_MASK(nr);
}

static inline void __clear_bit(unsigned long nr, volatile unsigned long *addr)
{
	addr[BIT_WORD(nr)] &= ~BIT_MASK(nr);
}

static inline bool __test_and_set_bit(unsigned long nr, volatile unsigned long *addr)
{
	bool old = addr[BIT_WORD(nr)] & BIT_MASK(nr);

	addr[BIT_WORD(nr)] |= BIT_MASK(nr);
	return old;
}

static inline bool __test_and_clear_bit(unsigned long nr, volatile unsigned long *addr)
{
	bool old = addr[BIT_WORD(nr)] & BIT_MASK(nr);

	addr[BIT_WORD(nr)] &= ~BIT_MASK(nr);
	return old;
}

#define __assign_bit(nr, addr, value) ((value) ? __set_bit(nr, addr) : __clear_bit(nr, addr))
#define assign_bit(nr, addr, value) ((value) ? set_bit(nr, addr) : clear_bit(nr, addr))
#define smp_mb__before_atomic()	smp_mb()
#define smp_mb__after_atomic()	smp_mb()

static inline unsigned long __shim_find_bit(const unsigned long *addr, unsigned long size,
					    unsigned long start, unsigned long invert)
{
	while (start < size) {
		unsigned long word = (__atomic_load_n(&addr[BIT_WORD(start)], __ATOMIC_RELAXED) ^ invert) >>
			(start % BITS_PER_LONG);

		if (word) {
			start += __ffs(word);
			return start < size ? start : size;
		}
		start = (start | (BITS_PER_LONG - 1)) + 1;
	}
	return size;
}

#define find_first_bit(addr, size)		__shim_find_bit(addr, size, 0, 0)
#define find_next_bit(addr, size, start)	__shim_find_bit(addr, size, start, 0)
#define find_first_zero_bit(addr, size)		__shim_find_bit(addr, size, 0, ~0UL)
#define find_next_zero_bit(addr, size, start)	__shim_find_bit(addr, size, start, ~0UL)
#define for_each_set_bit(bit, addr, size) \
	for ((bit) = find_first_bit(addr, size); (bit) < (size); (bit) = find_next_bit(addr, size, (bit) + 1))
#define for_each_clear_bit(bit, addr, size) \
	for ((bit) = find_first_zero_bit(addr, size); (bit) < (size); \
	     (bit) = find_next_zero_bit(addr, size, (bit) + 1))

#endif /* SHIM_LINUX_BITOPS_H */
