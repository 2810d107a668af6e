// SPDX-License-Identifier: GPL-2.0
/* Status lines from anybody's hand: the input is the line. */
#include "fuzz.h"
#include <errno.h>
#include "status-parse.h"
#include "text.h"

static void fuzz_section(const struct status *s, enum status_section_name name)
{
	const struct status_section *section = &s->sections[name];
	unsigned int i;

	for (i = 0; i < section->nr; i++) {
		fuzz_assert(section->pairs[i].key && section->pairs[i].value);
		fuzz_assert(status_value(s, name, section->pairs[i].key));
		status_number(s, name, section->pairs[i].key, 7);
	}
	fuzz_assert(!status_value(s, name, "no such key\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1), why[TEXT_LEN] = "";
	struct status s;
	unsigned int i;
	int r;

	fuzz_assert(line);
	memcpy(line, data, size);
	line[size] = '\0';
	r = status_parse(&s, line, why);
	fuzz_assert(r == 0 || r == -EINVAL);
	fuzz_assert(!r == !*why && strnlen(why, sizeof(why)) < sizeof(why));
	if (!r) {
		fuzz_assert(s.health && s.mode && s.wanted_mode && s.policy);
		fuzz_assert(strlen(s.health) <= size && strlen(s.policy) <= size);
		for (i = 0; i < STATUS_NR_SECTIONS; i++)
			fuzz_section(&s, i);
		for (i = 0; i < s.nr_tiers; i++)
			fuzz_assert(s.tiers[i].state && strlen(s.tiers[i].state) <= size);
	}
	status_free(&s);
	free(line);
	return 0;
}
