/* SPDX-License-Identifier: GPL-2.0 */
/* Write back everything that is dirty, and see it through. */
#ifndef TIER_TOOLS_FLUSH_H
#define TIER_TOOLS_FLUSH_H

/**
 * flush_device() - tell a target to write back, show progress, wait for the end
 * @name: of the device
 * @cancel: polled; non-zero ends the wait, the target goes on
 * @why: TEXT_LEN bytes
 *
 * Return: 0: all that was dirty at the start is on the slow device; -EIO: some of it is not;
 * -EINTR; errors of mapper_status() and mapper_message().
 */
int flush_device(const char *name, const volatile int *cancel, char *why);

#endif /* TIER_TOOLS_FLUSH_H */
