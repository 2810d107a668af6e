// SPDX-License-Identifier: GPL-2.0-only
/*
 * One bug of each kind that the debug kernels are to find, chosen by the parameter `make`.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);
static LIST_HEAD(list);

static void leak(void)
{
	void *p = kmalloc(100, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
}

static void use_after_free(void)
{
	char *p = kmalloc(100, GFP_KERNEL);

	if (!p)
		return;
	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[10], 1);
}

static void out_of_bounds(void)
{
	char *p = kmalloc(100, GFP_KERNEL);

	if (!p)
		return;
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[100], 1);
	kfree(p);
}

static void lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_in_atomic(void)
{
	void *p;

	/* to sleep in earnest would leave this processor's preemption count wrong for good */
	spin_lock(&spin);
	p = kmalloc(100, GFP_KERNEL);
	spin_unlock(&spin);
	kfree(p);
}

static void list_corruption(void)
{
	static struct list_head a;

	list_add(&a, &list);
	list_add(&a, &list);
	INIT_LIST_HEAD(&list);
}

static void bad_shift(void)
{
	int n = 100;

	OPTIMIZER_HIDE_VAR(n);
	pr_info("1 << %d is %d\n", n, 1 << n);
}

static void free_active(void)
{
	struct delayed_work *w = kmalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return;
	INIT_DELAYED_WORK(w, NULL);
	w->timer.expires = jiffies + 10 * HZ;
	add_timer(&w->timer);
	kfree(w);
}

static unsigned int counter;

static void count(struct work_struct *unused)
{
	unsigned long end = jiffies + 2 * HZ;

	while (time_before(jiffies, end)) {
		counter++;
		barrier();
	}
}

static void count_at_once(unsigned int nr)
{
	struct work_struct other;

	INIT_WORK_ONSTACK(&other, count);
	if (nr > 1)
		queue_work(system_unbound_wq, &other);
	count(NULL);
	flush_work(&other);
	destroy_work_on_stack(&other);
}

static void race(void)
{
	count_at_once(2);
}

static void no_race(void)
{
	count_at_once(1);
}

static const struct {
	const char *name;
	void (*make)(void);
} troubles[] = {
	{ "leak", leak },
	{ "use-after-free", use_after_free },
	{ "out-of-bounds", out_of_bounds },
	{ "lock-order", lock_order },
	{ "sleep-in-atomic", sleep_in_atomic },
	{ "list", list_corruption },
	{ "shift", bad_shift },
	{ "free-active", free_active },
	{ "race", race },
	{ "no-race", no_race },
};

static int set_make(const char *value, const struct kernel_param *kp)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (sysfs_streq(value, troubles[i].name)) {
			troubles[i].make();
			return 0;
		}
	}
	return -EINVAL;
}

static const struct kernel_param_ops make_ops = { .set = set_make };

module_param_cb(make, &make_ops, NULL, 0200);
MODULE_PARM_DESC(make, "the bug to make");
MODULE_DESCRIPTION("bugs that the debug kernels are to find");
MODULE_LICENSE("GPL");
