// SPDX-License-Identifier: GPL-2.0
/*
 * A short, repeatable run of the fuzzers in ../fuzz: their corpus, then mutations of it.  Anything
 * that goes wrong aborts or is caught by the sanitizers; TIER_FUZZ_RUNS sets the number of
 * mutations.
 */
#include "tap.h"
#include "core-fixture.h"
#include <dirent.h>
#include <libgen.h>
#include <unistd.h>

#define FUZZ_NO_MAIN
#include "../fuzz/fuzz.h"

#define LLVMFuzzerTestOneInput	fuzz_sb
#include "../fuzz/fuzz-sb.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput	fuzz_replay
#include "../fuzz/fuzz-replay.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput	fuzz_args
#include "../fuzz/fuzz-args.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput	fuzz_status
#include "../fuzz/fuzz-status.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput	fuzz_image_
#include "../fuzz/fuzz-image.c"
#undef LLVMFuzzerTestOneInput

#define MAX_SEEDS	64U

struct fuzzer {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
	unsigned int share;	/* of the mutations, in percent */
};

static const struct fuzzer fuzzers[] = {
	{ "sb", fuzz_sb, 35 },
	{ "replay", fuzz_replay, 20 },
	{ "args", fuzz_args, 25 },
	{ "status", fuzz_status, 10 },
	{ "image", fuzz_image_, 10 },
};

static struct {
	uint8_t *data;
	size_t size;
} seeds[MAX_SEEDS];
static unsigned int nr_seeds;

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_seeds(const char *dir, const char *name)
{
	struct dirent **list;
	char path[4096];
	int i, n;
	FILE *f;

	nr_seeds = 0;
	snprintf(path, sizeof(path), "%s/../fuzz/corpus/%s", dir, name);
	n = scandir(path, &list, NULL, by_name);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/../fuzz/corpus/%s/%s", dir, name, list[i]->d_name);
		f = list[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
		if (f && nr_seeds < MAX_SEEDS) {
			seeds[nr_seeds].data = malloc(FUZZ_MAX_SIZE);
			seeds[nr_seeds].size = fread(seeds[nr_seeds].data, 1, FUZZ_MAX_SIZE, f);
			nr_seeds++;
		}
		if (f)
			fclose(f);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* One change: a bit, a byte, a number, a cut, a piece moved or taken from another seed */
static size_t mutate(uint8_t *data, size_t size, u64 *state)
{
	static const u64 numbers[] = {
		0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 48,
		S64_MAX, U64_MAX
	};
	u64 r = fx_random(state), number = numbers[fx_random(state) % ARRAY_SIZE(numbers)];
	size_t at = size ? fx_random(state) % size : 0;
	size_t len = 1 + fx_random(state) % 16;
	u32 other = fx_random(state) % nr_seeds;

	switch (r % 8) {
	case 0:
	case 1:
		if (size)
			data[at] ^= 1 << (r >> 8) % 8;
		break;
	case 2:
		if (size)
			data[at] = r >> 8;
		break;
	case 3:
		len = 1 << (r >> 8) % 4;
		if (at + len <= size)
			memcpy(data + at, &number, len);
		break;
	case 4:
		size = at;
		break;
	case 5:
		if (size + len <= FUZZ_MAX_SIZE) {
			memmove(data + at + len, data + at, size - at);
			size += len;
		}
		break;
	case 6:
		if (at + len <= size) {
			memmove(data + at, data + at + len, size - at - len);
			size -= len;
		}
		break;
	case 7:
		if (seeds[other].size) {
			size_t from = (r >> 8) % seeds[other].size;

			len = min(min(seeds[other].size - from, FUZZ_MAX_SIZE - at),
				  (size_t)(r >> 32) % 64);
			memcpy(data + at, seeds[other].data + from, len);
			size = max(size, at + len);
		}
		break;
	}
	return size;
}

static void run_fuzzer(const struct fuzzer *fuzzer, const char *dir, unsigned int runs)
{
	uint8_t *data = malloc(FUZZ_MAX_SIZE);
	u64 state = 0x9e3779b97f4a7c15ULL;
	unsigned int i, k;
	size_t size;

	load_seeds(dir, fuzzer->name);
	if (!ok(nr_seeds > 3, "%s: %u seeds", fuzzer->name, nr_seeds))
		return;
	for (i = 0; i < nr_seeds; i++)
		fuzzer->run(seeds[i].data, seeds[i].size);
	ok(true, "%s: the corpus", fuzzer->name);

	for (i = 0; i < runs; i++) {
		u32 seed = fx_random(&state) % nr_seeds;

		size = seeds[seed].size;
		memcpy(data, seeds[seed].data, size);
		for (k = 1 + fx_random(&state) % 6; k; k--)
			size = mutate(data, size, &state);
		fuzzer->run(data, size);
	}
	ok(true, "%s: %u mutations", fuzzer->name, runs);
	for (i = 0; i < nr_seeds; i++)
		free(seeds[i].data);
	free(data);
}

int main(void)
{
	const char *runs = getenv("TIER_FUZZ_RUNS"), *dir = getenv("TIER_UNIT_DIR");
	unsigned int nr = runs ? atoi(runs) : 20000;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	u32 i;

	self[n < 0 ? 0 : n] = '\0';
	if (!dir)
		dir = dirname(self);
	for (i = 0; i < ARRAY_SIZE(fuzzers); i++)
		run_fuzzer(&fuzzers[i], dir, nr / 100 * fuzzers[i].share);
	return tap_done();
}
