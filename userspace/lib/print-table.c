// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "print-table.h"

int print_table(const struct table_column *columns, unsigned int nr_columns, const void *rows, unsigned int nr_rows,
		size_t size, void (*fill)(struct libscols_line *line, const void *row))
{
	struct libscols_table *table;
	struct libscols_line *line;
	unsigned int i;

	scols_init_debug(0);
	table = scols_new_table();
	if (!table)
		return -ENOMEM;
	for (i = 0; i < nr_columns; i++)
		scols_table_new_column(table, columns[i].title, 0, columns[i].flags);
	for (i = 0; i < nr_rows; i++) {
		line = scols_table_new_line(table, NULL);
		if (line)
			fill(line, (const char *)rows + i * size);
	}
	scols_print_table(table);
	scols_unref_table(table);
	return 0;
}
