// SPDX-License-Identifier: GPL-2.0
/* Traces from anybody's hand: the input is the file. */
#include "fuzz.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sim/trace-file.h"
#include "text.h"

static void check_requests(const struct sim_trace *t)
{
	u64 i, footprint, sum = 0;

	for (i = 0; i < t->nr; i++) {
		fuzz_assert(t->request[i].sectors && t->request[i].sectors <= SIM_MAX_SECTORS);
		fuzz_assert(t->request[i].sector <= SIM_MAX_END - t->request[i].sectors);
		fuzz_assert(t->request[i].sector + t->request[i].sectors <= t->end);
		fuzz_assert(!i || t->request[i].time_us >= t->request[i - 1].time_us);
		sum += t->request[i].sectors;
	}
	fuzz_assert(sum == t->sectors && t->nr_writes <= t->nr && !t->request[0].time_us);
	fuzz_assert(!sim_trace_footprint(t, 1, &footprint) && footprint && footprint <= t->sectors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], why[TEXT_LEN];
	struct sim_trace t = { 0 };
	int fd, r;

	/* that would be for zstd */
	if (size && data[0] == 0x28)
		return 0;
	fd = memfd_create("trace", MFD_CLOEXEC);
	fuzz_assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = sim_trace_read(&t, path, NULL, why);
	fuzz_assert(r == 0 || r == -EINVAL || r == -ENODATA);
	fuzz_assert(!r == !*why && strnlen(why, sizeof(why)) < sizeof(why));
	if (!r)
		check_requests(&t);
	else
		fuzz_assert(!t.nr && !t.request);
	sim_trace_clear(&t);
	close(fd);
	return 0;
}
