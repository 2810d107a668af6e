// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "json.h"

/* length of the UTF-8 sequence at @s, 0 if it is none */
static unsigned int utf8_length(const unsigned char *s)
{
	unsigned int n, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void put_string(struct json *j, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	unsigned int n;

	fputc('"', j->out);
	for (; *s; s += n) {
		n = utf8_length(s);
		if (!n) {
			fputs("\\ufffd", j->out);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(j->out, "\\%c", *s);
		} else if (*s < 0x20) {
			fprintf(j->out, "\\u%04x", *s);
		} else {
			fwrite(s, 1, n, j->out);
		}
	}
	fputc('"', j->out);
}

static void new_line(struct json *j)
{
	unsigned int i;

	fputc('\n', j->out);
	for (i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

static void put_key(struct json *j, const char *key)
{
	if (!j->first)
		fputc(',', j->out);
	j->first = false;
	new_line(j);
	if (key) {
		put_string(j, key);
		fputs(": ", j->out);
	}
}

static void open_level(struct json *j, char bracket)
{
	fputc(bracket, j->out);
	j->depth++;
	j->first = true;
}

static void close_level(struct json *j, char bracket)
{
	bool empty = j->first;

	j->depth--;
	if (!empty)
		new_line(j);
	fputc(bracket, j->out);
	j->first = false;
}

void json_begin(struct json *j, FILE *out)
{
	j->out = out;
	j->depth = 0;
	open_level(j, '{');
}

void json_end(struct json *j)
{
	close_level(j, '}');
	fputc('\n', j->out);
}

void json_object(struct json *j, const char *key)
{
	put_key(j, key);
	open_level(j, '{');
}

void json_object_end(struct json *j)
{
	close_level(j, '}');
}

void json_array(struct json *j, const char *key)
{
	put_key(j, key);
	open_level(j, '[');
}

void json_array_end(struct json *j)
{
	close_level(j, ']');
}

void json_string(struct json *j, const char *key, const char *value)
{
	put_key(j, key);
	if (value)
		put_string(j, value);
	else
		fputs("null", j->out);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_real(struct json *j, const char *key, double value, int digits)
{
	put_key(j, key);
	fprintf(j->out, "%.*f", digits, value);
}

void json_word(struct json *j, const char *key, const char *value)
{
	size_t n = strspn(value, "0123456789");

	if (n && n < 19 && !value[n] && (value[0] != '0' || n == 1)) {
		put_key(j, key);
		fputs(value, j->out);
	} else {
		json_string(j, key, value);
	}
}
