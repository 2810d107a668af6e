/* SPDX-License-Identifier: GPL-2.0 */
/* Messages go to stderr. */
#ifndef SHIM_LINUX_PRINTK_H
#define SHIM_LINUX_PRINTK_H

#include <stdio.h>

#ifndef pr_fmt
#define pr_fmt(fmt)	fmt
#endif
#define KERN_ERR
#define KERN_WARNING
#define KERN_INFO
#define KERN_DEBUG
#define printk(fmt, ...)	fprintf(stderr, fmt, ##__VA_ARGS__)
#define pr_err(fmt, ...)	printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)	printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...)	printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_debug(fmt, ...)	((void)0)
#define pr_err_ratelimited	pr_err
#define pr_warn_ratelimited	pr_warn

#endif /* SHIM_LINUX_PRINTK_H */
