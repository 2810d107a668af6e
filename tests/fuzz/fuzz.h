/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the harnesses here.  Each has LLVMFuzzerTestOneInput(), for libFuzzer and AFL++, and a main()
 * of its own that runs the files it is given; -DFUZZ_NO_MAIN leaves that out.
 */
#ifndef TIER_FUZZ_H
#define TIER_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_MAX_SIZE	65536U

#define fuzz_assert(cond) do {							\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond);	\
		abort();							\
	}									\
} while (0)

#ifndef FUZZ_NO_MAIN
int main(int argc, char **argv)
{
	static uint8_t data[FUZZ_MAX_SIZE];
	size_t size;
	FILE *f;
	int i;

	for (i = 1; i < argc; i++) {
		f = fopen(argv[i], "rb");
		if (!f) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%d files\n", argc - 1);
	return 0;
}
#endif

#endif /* TIER_FUZZ_H */
