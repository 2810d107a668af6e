/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tools ask of device-mapper.  Functions that can fail return 0 or -errno and leave a
 * sentence in a buffer of TEXT_LEN; what the kernel's log says about it is part of that sentence
 * where it helps.
 */
#ifndef TIER_TOOLS_DM_H
#define TIER_TOOLS_DM_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct mapper_line - the first target of a device
 * @sectors: length of the device
 * @params: text behind the target's name, to be freed
 * @open_count: openers of the device
 * @read_only: the device is
 */
struct mapper_line {
	uint64_t sectors;
	char *params;
	unsigned int open_count;
	bool read_only;
};

/**
 * mapper_list() - names of all tier devices
 * @names: allocated array of allocated strings, to be freed with mapper_list_free()
 * @nr: how many
 * @why: TEXT_LEN bytes
 */
int mapper_list(char ***names, unsigned int *nr, char *why);
void mapper_list_free(char **names, unsigned int nr);

/**
 * mapper_status() - status of a tier device
 * @name: of the device
 * @line: result; @params is NULL on failure
 * @why: TEXT_LEN bytes
 *
 * Return: 0; -ENXIO: no such device; -EMEDIUMTYPE: not a tier device; others.
 */
int mapper_status(const char *name, struct mapper_line *line, char *why);

/* send a message to the first target */
int mapper_message(const char *name, const char *message, char *why);

/**
 * mapper_ask() - send a message that is answered with text
 * @name: of the device
 * @message: words
 * @answer: the text, to be freed; NULL on failure
 * @why: TEXT_LEN bytes
 */
int mapper_ask(const char *name, const char *message, char **answer, char *why);

/**
 * mapper_name_of() - name of a device-mapper device
 * @major: of its number
 * @minor: of its number
 * @why: TEXT_LEN bytes: "is not ..."
 *
 * Return: string, to be freed; NULL if it is none.
 */
char *mapper_name_of(unsigned int major, unsigned int minor, char *why);

/**
 * mapper_name() - can a device have this name?
 * @name: any text
 * @why: TEXT_LEN bytes
 *
 * Return: 0 or -EINVAL.
 */
int mapper_name(const char *name, char *why);

/**
 * mapper_check_free() - is there no device of this name or UUID?
 * @name: of a device to be
 * @uuid: of a device to be
 * @why: TEXT_LEN bytes
 *
 * mapper_create() is told no more than that it failed then.
 */
int mapper_check_free(const char *name, const char *uuid, char *why);

/**
 * mapper_create() - make a device of one tier target and start it
 * @name: of the device
 * @uuid: of the device; the kernel allows it once
 * @sectors: length
 * @params: behind the target's name
 * @read_only: so are the device and its table
 * @why: TEXT_LEN bytes
 */
int mapper_create(const char *name, const char *uuid, uint64_t sectors, const char *params, bool read_only,
		  char *why);

/**
 * mapper_remove() - remove a device
 * @name: of the device
 * @said: what the kernel's log has of it if it was removed, to be freed; NULL if nothing
 * @why: TEXT_LEN bytes
 */
int mapper_remove(const char *name, char **said, char *why);

#endif /* TIER_TOOLS_DM_H */
