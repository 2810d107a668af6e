// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of the time stamp counter in kHz, measured against the monotonic clock.
 *
 * A guest under TCG has the host's counter, but calibrates it against an emulated timer, and on a busy
 * host it gets that wrong by a factor: its clock runs too fast then.  So it is told (tsc_early_khz=).
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	uint64_t tsc;
	uint64_t ns;
};

/* the closest of some pairs of readings: what disturbs in between only makes others worse */
static struct sample take(void)
{
	struct sample best = { 0, 0 };
	uint64_t shortest = UINT64_MAX;
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t before = __rdtsc(), after;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		after = __rdtsc();
		if (after - before >= shortest)
			continue;
		shortest = after - before;
		best.tsc = before + (after - before) / 2;
		best.ns = t.tv_sec * 1000000000ULL + t.tv_nsec;
	}
	return best;
}

int main(void)
{
	struct timespec nap = { .tv_nsec = 100000000 };
	struct sample a = take(), b;

	nanosleep(&nap, NULL);
	b = take();
	printf("%.0f\n", (b.tsc - a.tsc) * 1e6 / (b.ns - a.ns));
	return 0;
}
