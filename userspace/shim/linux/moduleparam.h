/* SPDX-License-Identifier: GPL-2.0 */
/* Parameters keep their defaults. */
#ifndef SHIM_LINUX_MODULEPARAM_H
#define SHIM_LINUX_MODULEPARAM_H

#define module_param(name, type, perm)			struct __shim_semicolon
#define module_param_named(name, value, type, perm)	struct __shim_semicolon
#define MODULE_PARM_DESC(name, desc)			struct __shim_semicolon

#endif /* SHIM_LINUX_MODULEPARAM_H */
