/* SPDX-License-Identifier: GPL-2.0 */
/* Large memory. */
#ifndef SHIM_LINUX_VMALLOC_H
#define SHIM_LINUX_VMALLOC_H

#include <linux/slab.h>

#define vmalloc(size)	kmalloc(size, GFP_KERNEL)
#define vzalloc(size)	kzalloc(size, GFP_KERNEL)
#define vcalloc(n, size)	kcalloc(n, size, GFP_KERNEL)
#define vmalloc_array(n, size)	kmalloc_array(n, size, GFP_KERNEL)
#define vfree(ptr)	kfree(ptr)

#endif /* SHIM_LINUX_VMALLOC_H */
