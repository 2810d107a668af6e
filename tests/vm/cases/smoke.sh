# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The shortest way through: format, create, write, read back, remove, create again.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
DMTIER=${TIER_BUILD%/build/*}/userspace/dmtier
# shellcheck disable=SC2119 # all of them
load_modules
setup_devs 64 256 8
ok "format" "$DMTIER" format --force "$SSD" "$HDD" "$META"
LINE=$("$DMTIER" table "$SSD" "$HDD" "$META")
diag "$LINE"
ok "create" dmsetup create t0 --table "$LINE"
diag "$(klog | tail -5)"
ok "write" fio --name=w --thread --filename=/dev/mapper/t0 --rw=randwrite --bs=4k --ioengine=libaio --iodepth=16 --direct=1 --size=32M --verify=crc32c --verify_fatal=1
diag "$(dmsetup status t0)"
ok "remove" dmsetup remove t0
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"
ok "create again" dmsetup create t0 --table "$LINE"
ok "verify" fio --name=w --thread --filename=/dev/mapper/t0 --rw=randwrite --bs=4k --ioengine=libaio --iodepth=16 --direct=1 --size=32M --verify=crc32c --verify_only
diag "$(dmsetup status t0)"
ok "remove" dmsetup remove t0
diag "$(klog | tail -15)"
done_testing
