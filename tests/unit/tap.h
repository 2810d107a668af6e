/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP output (Test Anything Protocol) for the unit tests, read by prove.
 *
 *	int main(void)
 *	{
 *		ok(1 + 1 == 2, "sum");
 *		is(f(3), 9, "f(%d)", 3);
 *		return tap_done();
 *	}
 */
#ifndef TIER_TAP_H
#define TIER_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

static inline __attribute__((format(printf, 4, 5))) bool tap_ok(bool good, const char *file, int line,
								const char *fmt, ...)
{
	va_list args;

	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	if (!good) {
		tap_failed++;
		printf("#   failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

/* ok(condition, name...): the condition holds */
#define ok(cond, ...)	tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

/* is(got, want, name...): two integers are equal */
#define is(got, want, ...) ({							\
	long long __got = (long long)(got), __want = (long long)(want);		\
	bool __good = tap_ok(__got == __want, __FILE__, __LINE__, __VA_ARGS__);	\
	if (!__good)								\
		printf("#   got %lld (%#llx), want %lld (%#llx)\n", __got, __got, __want, __want);	\
	__good;									\
})

/* is_str(got, want, name...): two strings are equal */
#define is_str(got, want, ...) ({						\
	const char *__got = (got), *__want = (want);				\
	bool __good = tap_ok(__got && __want && !strcmp(__got, __want), __FILE__, __LINE__, __VA_ARGS__);	\
	if (!__good)								\
		printf("#   got \"%s\", want \"%s\"\n", __got ? __got : "(null)", __want ? __want : "(null)");	\
	__good;									\
})

/* diag(format...): a comment line */
#define diag(fmt, ...)	printf("# " fmt "\n", ##__VA_ARGS__)

/* Prints the plan; gives main()'s return value. */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	if (tap_failed)
		printf("# %d of %d failed\n", tap_failed, tap_count);
	return tap_failed ? 1 : 0;
}

/* For a test that can't run here. */
static inline int tap_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return 0;
}

#endif /* TIER_TAP_H */
