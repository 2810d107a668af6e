// SPDX-License-Identifier: GPL-2.0
/* CRC32C: eight bytes a step by tables, or by the processor's own instruction. */
#include <string.h>
#include <linux/crc32c.h>
#include <asm/byteorder.h>

#define POLYNOMIAL	0x82f63b78U	/* Castagnoli's, bits reversed */

static u32 table[8][256];

static __attribute__((constructor)) void make_tables(void)
{
	unsigned int i, k;

	for (i = 0; i < 256; i++) {
		u32 crc = i;

		for (k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[0][i] = crc;
	}
	for (k = 1; k < 8; k++)
		for (i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

static u32 by_tables(u32 crc, const u8 *p, size_t length)
{
	for (; length >= 8; p += 8, length -= 8) {
		__le64 word;
		u64 v;

		memcpy(&word, p, 8);
		v = le64_to_cpu(word) ^ crc;
		crc = table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^
		      table[5][v >> 16 & 0xff] ^ table[4][v >> 24 & 0xff] ^
		      table[3][v >> 32 & 0xff] ^ table[2][v >> 40 & 0xff] ^
		      table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
	}
	while (length--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef __x86_64__
static __attribute__((target("sse4.2"))) u32 by_instruction(u32 crc, const u8 *p, size_t length)
{
	u64 wide = crc;

	for (; length >= 8; p += 8, length -= 8) {
		unsigned long long word;

		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (u32)wide;
	while (length--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

u32 crc32c(u32 crc, const void *address, unsigned int length)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(crc, address, length);
#endif
	return by_tables(crc, address, length);
}
