/* SPDX-License-Identifier: GPL-2.0 */
/* What a person reads: messages, sizes, progress; and strings made on the way there. */
#ifndef TIER_TOOLS_TEXT_H
#define TIER_TOOLS_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_LEN	1024	/* room for a sentence */
#define TEXT_SIZE_LEN	32	/* room for a size */

/* set by main(): "dmtier format" or the like, stands before every message */
extern const char *text_program;

/* "program: message" on stderr */
void text_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "program: warning: message" on stderr */
void text_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * text_why() - put a sentence into a buffer of TEXT_LEN bytes
 * @why: buffer
 * @r: returned, so that a failing function can end with it
 * @fmt: as printf()
 */
int text_why(char *why, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/**
 * text_format() - like asprintf(), but never fails: out of memory ends the program
 * @fmt: as printf()
 *
 * Return: string, to be freed.
 */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* the same from a va_list */
char *text_vformat(const char *fmt, va_list ap);

/**
 * text_alloc() - zeroed memory; out of memory ends the program
 * @nr: elements
 * @size: of each
 */
void *text_alloc(size_t nr, size_t size);

/* copy a string into a buffer, cut off where it ends */
void text_copy(char *to, size_t size, const char *from);

/**
 * text_append() - add to an allocated string
 * @s: string, may be NULL; freed
 * @fmt: as printf()
 *
 * Return: the longer string.
 */
char *text_append(char *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * text_size() - a size for people: "64 KiB", "1.5 GiB"
 * @bytes: size
 * @buf: TEXT_SIZE_LEN bytes
 *
 * Return: @buf.
 */
const char *text_size(uint64_t bytes, char *buf);

/**
 * text_uuid() - a UUID in its usual form
 * @uuid: 16 bytes
 * @buf: 37 bytes
 *
 * Return: @buf.
 */
const char *text_uuid(const uint8_t *uuid, char *buf);

/**
 * text_progress() - show how far something is, on stderr if that is a terminal, a few times a
 * second
 * @what: "writing metadata"
 * @done: of @total; @done == @total ends the line
 * @total: all
 */
void text_progress(const char *what, uint64_t done, uint64_t total);

/* end a line of progress that will not get to its end */
void text_progress_stop(void);

#endif /* TIER_TOOLS_TEXT_H */
