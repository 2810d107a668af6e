# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Flushes and FUA: what needs a commit, and what does not.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

fio_sync()	# OPTION...
{
	fio --name=s --thread --filename="$T0" --direct=1 --bs=4k --rw=randwrite --size=1M --verify=crc32c \
		--verify_fatal=1 --eta=never "$@"
}

quiet() { [ "$(st commits)" = "$1" ] || { local c; c=$(st commits); sleep 2.5; [ "$(st commits)" = "$c" ]; }; }

ok "create" new_tier 16 64 8 64k writeback lru "dirty_high 99" "idle_ms 3600000"

# --- writeback ---
ok "fsync after each write" fio_sync --ioengine=psync --fdatasync=1
c=$(st commits)
isnt "$c" 0 "mapping new blocks takes commits"
is "$(st dirty)" 256 "all of it is dirty"
wait_until 10 quiet -1
c=$(st commits)
ok "the same again" fio_sync --ioengine=psync --fdatasync=1 --randseed=7
is "$(st commits)" "$c" "overwriting what is durably dirty takes none"
ok "and with FUA" fio_sync --ioengine=psync --sync=dsync --randseed=8
is "$(st commits)" "$c" "takes none either"
ok "flushes with nothing written" bash -c "for i in 1 2 3 4 5 6 7 8; do blockdev --flushbufs $T0; sync $T0; done"
is "$(st commits)" "$c" "take none"
ok "many jobs" fio_sync --ioengine=libaio --iodepth=8 --numjobs=4 --offset_increment=2M --fdatasync=1 --group_reporting
diag "4 x 256 writes with fsync: $(($(st commits) - c)) commits"
[ $(($(st commits) - c)) -lt 768 ]
is $? 0 "flushes share commits"
c=$(st commits)
ok "new blocks with FUA" fio_sync --ioengine=psync --sync=dsync --offset=12M --size=256k
isnt "$(st commits)" "$c" "take commits"

# --- writethrough ---
ok "writethrough" set_mode writethrough
ok "written through" fio_sync --ioengine=psync --fdatasync=1
c=$(st commits)
ok "again, with fsync" fio_sync --ioengine=psync --fdatasync=1 --randseed=9
n=$(($(st commits) - c))
diag "writethrough: 256 overwrites with fsync: $n commits"
[ $n -lt 40 ]
is $? 0 "hardly any commits: the copies stay what they are"
ok "the slow device is the same" same "$HDD" "$T0"

# --- writearound, passthrough ---
for mode in writearound passthrough; do
	ok "$mode" set_mode $mode
	ok "$mode: fsync" fio_sync --ioengine=psync --fdatasync=1
	# reading brings copies again in writearound
	ok "$mode: without reading" fio_sync --ioengine=psync --fdatasync=1 --do_verify=0
	c=$(st commits)
	ok "$mode: again" fio_sync --ioengine=psync --fdatasync=1 --do_verify=0
	n=$(($(st commits) - c))
	[ $n -lt 40 ]
	is $? 0 "$mode: hardly any commits ($n)"
	ok "$mode: the slow device is the same" same "$HDD" "$T0"
done
ok "remove" dmsetup remove t0
ok "metadata" check_meta
done_testing
