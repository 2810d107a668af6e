/* SPDX-License-Identifier: GPL-2.0 */
/* Tables on stdout, for people: libsmartcols with columns and rows from arrays. */
#ifndef TIER_PRINT_TABLE_H
#define TIER_PRINT_TABLE_H

#include <libsmartcols.h>

/**
 * struct table_column - a column
 * @title: its head
 * @flags: SCOLS_FL_*
 */
struct table_column {
	const char *title;
	int flags;
};

/**
 * print_table() - print a table on stdout
 * @columns: its columns
 * @nr_columns: how many
 * @rows: an array of any kind
 * @nr_rows: how many
 * @size: bytes of one
 * @fill: sets a line's cells, numbered as @columns are, from a row
 *
 * Return: 0 or -ENOMEM.
 */
int print_table(const struct table_column *columns, unsigned int nr_columns, const void *rows, unsigned int nr_rows,
		size_t size, void (*fill)(struct libscols_line *line, const void *row));

#endif /* TIER_PRINT_TABLE_H */
