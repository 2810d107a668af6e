/* SPDX-License-Identifier: GPL-2.0 */
/* Writes JSON: commas, indentation and escapes are its business.  Keys are NULL inside arrays. */
#ifndef TIER_TOOLS_JSON_H
#define TIER_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct json - a document being written
 * @out: where to
 * @depth: objects and arrays open
 * @first: nothing written in the innermost one yet
 */
struct json {
	FILE *out;
	unsigned int depth;
	bool first;
};

/* start a document: one object */
void json_begin(struct json *j, FILE *out);
/* end it */
void json_end(struct json *j);

void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);

/* any bytes; what is not UTF-8 is replaced; NULL writes null */
void json_string(struct json *j, const char *key, const char *value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
/* a number with @digits behind the point */
void json_real(struct json *j, const char *key, double value, int digits);
/* a number if the text is a plain decimal one, else a string */
void json_word(struct json *j, const char *key, const char *value);

#endif /* TIER_TOOLS_JSON_H */
