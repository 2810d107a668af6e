/* SPDX-License-Identifier: GPL-2.0 */
/* What the readers of traces share: bytes and lines of a file, numbers, and words for what is wrong. */
#ifndef TIER_SIM_INPUT_H
#define TIER_SIM_INPUT_H

#include <stddef.h>
#include <linux/types.h>
#include "trace.h"

#define INPUT_BYTES	65536	/* a line is shorter */
#define INPUT_NAME_LEN	256

/**
 * struct input - a trace being read
 * @name: of the file, for messages
 * @fd: where it comes from
 * @trace: what is filled
 * @device: take requests of this device only; NULL: there must be but one
 * @why: TEXT_LEN bytes for what is wrong
 * @line: lines read so far
 * @found: the device of the first request, as long as @device is NULL
 * @base_us: time of the first request
 * @buf: bytes read and not used yet, from @pos to before @len
 * @pos: see @buf
 * @len: see @buf
 * @end: there is no more in the file
 */
struct input {
	const char *name;
	int fd;
	struct sim_trace *trace;
	const char *device;
	char *why;
	u64 line;
	char found[INPUT_NAME_LEN];
	u64 base_us;
	size_t pos;
	size_t len;
	bool end;
	char buf[INPUT_BYTES];
};

/**
 * input_peek() - the next bytes of the file, which stay there
 * @in: input
 * @nr: how many are wanted, at most INPUT_BYTES
 * @bytes: set to where they are
 *
 * Return: how many there are, less than @nr only at the end of the file; or -errno, with a sentence in @in->why.
 */
int input_peek(struct input *in, size_t nr, const char **bytes);

/**
 * input_skip() - done with bytes that input_peek() has shown
 * @in: input
 * @nr: how many
 */
void input_skip(struct input *in, size_t nr);

/**
 * input_line() - the next line that is not blank
 * @in: input
 * @line: set to it, without blanks around it; good until the next call
 *
 * Return: 1, 0 at the end of the file, or -errno, with a sentence in @in->why.
 */
int input_line(struct input *in, char **line);

/**
 * input_wrong() - say what is wrong with the line read last
 * @in: input
 * @fmt: as printf()
 *
 * Return: -EINVAL.
 */
int input_wrong(struct input *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * input_number() - read an unsigned decimal number
 * @in: input
 * @what: its name, for the message
 * @word: text, may be NULL
 * @max: largest that makes sense
 * @value: result
 *
 * Return: 0 or -EINVAL, with a sentence in @in->why.
 */
int input_number(struct input *in, const char *what, const char *word, u64 max, u64 *value);

/**
 * input_device() - is a request of this device wanted?
 * @in: input
 * @device: its name in the trace
 *
 * Return: 1, 0, or -EINVAL if it is a second one and none was chosen, with a sentence in @in->why.
 */
int input_device(struct input *in, const char *device);

/**
 * input_request() - append a request, with times counted from the first one on
 * @in: input
 * @time_us: when, at most SIM_MAX_TIME_US; a time before that of the request before is taken for the same
 * @write: is it a write
 * @sector: first sector
 * @sectors: length
 *
 * Return: 0; -EINVAL, with a sentence in @in->why, if it is too long, of no length, or too far out; -ENOMEM.
 */
int input_request(struct input *in, u64 time_us, bool write, u64 sector, u64 sectors);

/**
 * input_bytes() - append a request that is given in bytes; what it touches in part counts as a whole sector
 * @in: input
 * @time_us: as for input_request()
 * @write: is it a write
 * @offset: first byte, below 2^63
 * @bytes: length, below 2^63
 *
 * Return: as input_request().
 */
int input_bytes(struct input *in, u64 time_us, bool write, u64 offset, u64 bytes);

/**
 * input_no_device() - refuse a choice of device for a format that names none
 * @in: input
 * @format: its name
 *
 * Return: 0 if none was chosen, else -EINVAL, with a sentence in @in->why.
 */
int input_no_device(struct input *in, const char *format);

/* The formats.  Each reads all of it: 0, or -errno with a sentence in @in->why. */
int read_dmt(struct input *in);
int read_blkparse(struct input *in);
int read_iolog(struct input *in);
int read_csv(struct input *in);

#endif /* TIER_SIM_INPUT_H */
