# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# One mode with one policy and one block size: I/O that is many times larger than the fast device, then
# what the slow device holds, alone.

FIO_SIZE=3M
[ -z "${TIER_LONG:-}" ] || FIO_SIZE=10M

# fio_verify [OPTION...]	random I/O of mixed sizes, verified as it goes and once more at the end
fio_verify()
{
	fio --name=v --thread --filename="$T0" --offset=64M --direct=1 --ioengine=libaio --iodepth=16 --numjobs=3 \
		--size="$FIO_SIZE" --offset_increment=10M --rw=randrw --rwmixread=30 --bssplit=512/10:2k/15:4k/30:12k/20:64k/15:256k/10 \
		--blockalign=512 --verify=crc32c --verify_backlog=64 --verify_fatal=1 --random_generator=lfsr \
		--randrepeat=0 --group_reporting --eta=never "$@"
}

# the first 64 MiB are iostress's
stress()
{
	"$IOSTRESS" run --seed $RANDOM --sectors 131072 --seconds "$@" "$T0" "$WORK/state"
}

verify() { "$IOSTRESS" verify --sectors 131072 "$1" "$WORK/state"; }

# combination MODE POLICY BLOCK-SIZE [SECONDS]
combination()
{
	local what="$1, $2, $3" granule seconds=${4:-2}

	ok "$what: create" new_tier 12 96 8 "$3" "$1" "$2" || return
	granule=$(st granule)
	ok "$what: stress" stress "$seconds" --granule "$granule"
	ok "$what: flush" flush_all
	ok "$what: the slow device alone" verify "$HDD"
	ok "$what: fio" fio_verify
	ok "$what: stress again" stress "$seconds" --granule "$granule"
	if [ "$1" = writeback ]; then
		ok "$what: removed with dirty data" dmsetup remove t0
		ok "$what: metadata" check_meta
		ok "$what: created again" tier_up "$1" "$2"
		ok "$what: nothing is lost" verify "$T0"
		ok "$what: flush" flush_all
		ok "$what: slow and tier device are the same" same "$HDD" "$T0"
		ok "$what: remove" dmsetup remove t0
	else
		is "$(st dirty)" 0 "$what: nothing is dirty"
		ok "$what: remove" dmsetup remove t0
		ok "$what: metadata" check_meta
	fi
	ok "$what: the slow device alone, removed" verify "$HDD"
}
