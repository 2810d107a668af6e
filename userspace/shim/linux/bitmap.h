/* SPDX-License-Identifier: GPL-2.0 */
/* Arrays of bits. */
#ifndef SHIM_LINUX_BITMAP_H
#define SHIM_LINUX_BITMAP_H

#include <string.h>
#include <linux/bitops.h>
#include <linux/slab.h>

#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]

static inline void bitmap_zero(unsigned long *dst, unsigned int nbits)
{
	memset(dst, 0, BITS_TO_LONGS(nbits) * sizeof(long));
}

static inline void bitmap_fill(unsigned long *dst, unsigned int nbits)
{
	memset(dst, 0xff, BITS_TO_LONGS(nbits) * sizeof(long));
}

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int nr)
{
	while (nr--)
		__set_bit(start++, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start, unsigned int nr)
{
	while (nr--)
		__clear_bit(start++, map);
}

static inline bool bitmap_empty(const unsigned long *src, unsigned int nbits)
{
	return find_first_bit(src, nbits) == nbits;
}

static inline bool bitmap_full(const unsigned long *src, unsigned int nbits)
{
	return find_first_zero_bit(src, nbits) == nbits;
}

static inline unsigned int bitmap_weight(const unsigned long *src, unsigned int nbits)
{
	unsigned int bit, n = 0;

	for_each_set_bit(bit, src, nbits)
		n++;
	return n;
}

static inline unsigned long *bitmap_alloc(unsigned int nbits, gfp_t flags)
{
	return kmalloc_array(BITS_TO_LONGS(nbits), sizeof(long), flags);
}

static inline unsigned long *bitmap_zalloc(unsigned int nbits, gfp_t flags)
{
	return kcalloc(BITS_TO_LONGS(nbits), sizeof(long), flags);
}

static inline void bitmap_free(const unsigned long *bitmap)
{
	kfree(bitmap);
}

#endif /* SHIM_LINUX_BITMAP_H */
