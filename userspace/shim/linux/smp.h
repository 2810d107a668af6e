/* SPDX-License-Identifier: GPL-2.0 */
/* Processors: each thread has one to itself as long as it lives. */
#ifndef SHIM_LINUX_SMP_H
#define SHIM_LINUX_SMP_H

#include <pthread.h>
#include <linux/bug.h>
#include <linux/types.h>

#define NR_CPUS		8
#define nr_cpu_ids	((unsigned int)NR_CPUS)
#define num_possible_cpus()	((unsigned int)NR_CPUS)
#define num_online_cpus()	((unsigned int)NR_CPUS)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)
#define for_each_online_cpu(cpu)	for_each_possible_cpu(cpu)

unsigned int shim_cpus_used __attribute__((weak));
pthread_key_t shim_cpu_key __attribute__((weak));
pthread_once_t shim_cpu_once __attribute__((weak)) = PTHREAD_ONCE_INIT;
__thread unsigned int shim_cpu __attribute__((weak));	/* number + 1, 0: none yet */

static inline void __shim_cpu_put(void *cpu)
{
	__atomic_fetch_and(&shim_cpus_used, ~(1U << ((unsigned long)cpu - 1)), __ATOMIC_SEQ_CST);
}

static inline void __shim_cpu_key(void)
{
	pthread_key_create(&shim_cpu_key, __shim_cpu_put);
}

static inline void __shim_cpu_get(void)
{
	unsigned int used = __atomic_load_n(&shim_cpus_used, __ATOMIC_SEQ_CST), cpu;

	pthread_once(&shim_cpu_once, __shim_cpu_key);
	do {
		cpu = __builtin_ctz(~used);
		BUG_ON(cpu >= NR_CPUS);
	} while (!__atomic_compare_exchange_n(&shim_cpus_used, &used, used | 1U << cpu, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	shim_cpu = cpu + 1;
	pthread_setspecific(shim_cpu_key, (void *)(unsigned long)shim_cpu);
}

static inline unsigned int smp_processor_id(void)
{
	if (!shim_cpu)
		__shim_cpu_get();
	return shim_cpu - 1;
}

#define raw_smp_processor_id()	smp_processor_id()
#define get_cpu()	smp_processor_id()
#define put_cpu()	((void)0)
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)

#endif /* SHIM_LINUX_SMP_H */
