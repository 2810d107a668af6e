/* SPDX-License-Identifier: GPL-2.0 */
/* Modules are linked in. */
#ifndef SHIM_LINUX_MODULE_H
#define SHIM_LINUX_MODULE_H

#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

struct module;

#define THIS_MODULE		((struct module *)NULL)
#define MODULE_DESCRIPTION(x)	struct __shim_semicolon
#define MODULE_AUTHOR(x)	struct __shim_semicolon
#define MODULE_LICENSE(x)	struct __shim_semicolon
#define MODULE_VERSION(x)	struct __shim_semicolon
#define MODULE_ALIAS(x)		struct __shim_semicolon
#define MODULE_SOFTDEP(x)	struct __shim_semicolon

static inline bool try_module_get(struct module *module)
{
	(void)module;
	return true;
}

static inline void module_put(struct module *module)
{
	(void)module;
}

#define __module_get(module)	((void)(module))
#define request_module(...)	(-ENOENT)

#endif /* SHIM_LINUX_MODULE_H */
