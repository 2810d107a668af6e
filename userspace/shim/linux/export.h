/* SPDX-License-Identifier: GPL-2.0 */
/* Nothing to export to. */
#ifndef SHIM_LINUX_EXPORT_H
#define SHIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL(x)	struct __shim_semicolon
#define EXPORT_SYMBOL_GPL(x)	struct __shim_semicolon

#endif /* SHIM_LINUX_EXPORT_H */
