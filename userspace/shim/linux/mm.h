/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of any size. */
#ifndef SHIM_LINUX_MM_H
#define SHIM_LINUX_MM_H

#include <linux/slab.h>
#include <linux/vmalloc.h>

#define kvmalloc(size, flags)		kmalloc(size, flags)
#define kvzalloc(size, flags)		kzalloc(size, flags)
#define kvmalloc_array(n, size, flags)	kmalloc_array(n, size, flags)
#define kvcalloc(n, size, flags)	kcalloc(n, size, flags)
#define kvfree(ptr)			kfree(ptr)

#endif /* SHIM_LINUX_MM_H */
