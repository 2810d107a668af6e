#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dmtier table: its line is what the kernel's parser takes, and says what was asked for.
. "$(dirname "$0")/common.sh"

images 300M 1G 4M
"$DMTIER" format --mode writethrough ssd hdd meta >/dev/null

run "$DMTIER" table ssd hdd meta
is "$RC" 0 "table"
read -r start len target ssd hdd meta block nr_features mode rest <<<"$OUT"
is "$start $len $target" "0 2097152 tier" "the device has the HDD's length"
is "$ssd $hdd $meta" "ssd hdd meta" "the devices come in order"
is "$block" 128 "the block size is in sectors"
is "$nr_features $mode" "1 writethrough" "the mode is that of format"
like "$rest" "^[a-z0-9]+ 0$" "a policy without words"

run "$DMTIER" table --mode passthrough ssd hdd meta
like "$OUT" " 128 1 passthrough " "--mode"
run "$DMTIER" table --policy "lru" ssd hdd meta
like "$OUT" " lru 0$" "--policy with a name only"
run "$DMTIER" table --policy "seqbypass read_cutoff_sectors 1024 next clock2q" ssd hdd meta
like "$OUT" " seqbypass 4 read_cutoff_sectors 1024 next clock2q$" "--policy with words"
run "$DMTIER" table --feature no_discard_passdown --feature "dirty_high 60" ssd hdd meta
like "$OUT" " 128 4 writethrough no_discard_passdown dirty_high 60 " "--feature"

# what the parser doesn't like comes with its own sentence
dmtier_is 16 "unknown mode" table --mode fast ssd hdd meta
like "$ERR" "unknown mode 'fast': it is writeback, writethrough, writearound, passthrough or tiered$" "... says which there are"
dmtier_is 16 "nickname of a mode" table --mode WB ssd hdd meta
like "$ERR" "unknown mode 'WB': it is .*tiered; maybe you mean writeback$" "... says what is meant"
dmtier_is 16 "another spelling" table --mode write-through ssd hdd meta
like "$ERR" "maybe you mean writethrough" "... says what is meant"
dmtier_is 16 "mode of another kind" table --mode tiered ssd hdd meta
dmtier_is 16 "unknown feature" table --feature nonsense ssd hdd meta
like "$ERR" "nonsense" "... names it"
dmtier_is 16 "feature without its value" table --feature dirty_high ssd hdd meta
dmtier_is 16 "value out of range" table --feature "dirty_high 200" ssd hdd meta
like "$ERR" "200.*1 to 99" "... says what would be right"
dmtier_is 16 "mode given twice" table --feature writeback ssd hdd meta
dmtier_is 16 "policy with half a pair" table --policy "lru key" ssd hdd meta
like "$ERR" 'policy lru: "key" has no value' "... says why"
dmtier_is 16 "policy with an unknown tunable" table --policy "clock2q nonsense 1" ssd hdd meta
like "$ERR" 'policy clock2q has no tunable "nonsense"' "... names it"
like "$ERR" "tunables of clock2q" "... lists those it has"
dmtier_is 16 "policy with a bad value" table --policy "clock2q small_percent 200" ssd hdd meta
like "$ERR" 'bad value "200" of "small_percent".*1-90' "... names both, and what would be right"
dmtier_is 16 "filter before nothing" table --policy "seqbypass next" ssd hdd meta
dmtier_is 16 "next behind what is no filter" table --policy "lru next clock2q" ssd hdd meta
like "$ERR" "lru is no filter" "... says why"
dmtier_is 0 "filter of the default policy" table --policy "seqbypass" ssd hdd meta
dmtier_is 0 "a policy that only the kernel knows" table --policy "other key 1" ssd hdd meta
like "$OUT" " other 2 key 1$" "... is printed"
like "$ERR" "warning: unknown policy 'other': kernel $(uname -r) has no module dm-tier-other .*known are default, .*clock2q" "... with a warning"
for p in default builtin "seqbypass next lru" "hotspot hysteresis 3"; do
	dmtier_is 0 "policy $p" table --policy "$p" ssd hdd meta
	is "$ERR" "" "... no warning"
done
dmtier_is 0 "a policy that only the kernel knows, behind a filter" table --policy "seqbypass read_cutoff_sectors 8 next other" ssd hdd meta
like "$ERR" "unknown policy 'other'" "... with a warning"
# modules of others, by file and by alias
mkdir -p "modules/$(uname -r)"
echo "updates/dm-tier-my-own.ko.xz: updates/dm-tier/dm-tier.ko" >"modules/$(uname -r)/modules.dep"
echo "alias dm-tier-third third_party" >"modules/$(uname -r)/modules.alias"
with_modules()	# POLICY
{
	# shellcheck disable=SC2016
	run unshare -rm sh -c 'mount --bind modules /lib/modules && exec "$0" table --policy "$1" ssd hdd meta' "$DMTIER" "$1"
}
if unshare -rm mount --bind modules /lib/modules 2>/dev/null; then
	for p in my-own my_own third; do
		with_modules "$p"
		is "$RC $ERR" "0 " "policy $p, of which there is a module"
	done
	with_modules own
	like "$ERR" "no module dm-tier-own" "part of a module's name is none"
else
	skip "no mount namespaces"
fi
dmtier_is 16 "empty policy" table --policy "" ssd hdd meta

# names with blanks and backslashes are quoted as device-mapper wants it
mkdir "a b"
mv ssd "a b/s s d"
mv meta 'me\ta'
run "$DMTIER" table "a b/s s d" hdd 'me\ta'
is "$RC" 0 "names with blanks"
like "$OUT" ' tier a\\ b/s\\ s\\ d hdd me\\\\ta 128 ' "... are quoted"
mv "a b/s s d" ssd
mv 'me\ta' meta

# devices that don't belong together
cp ssd ssd2
cp meta meta2
image hdd2 512M
"$DMTIER" format --force ssd hdd meta >/dev/null
dmtier_is 8 "another tier device's SSD" table ssd2 hdd meta
like "$ERR" "ssd2 belongs to another tier device" "... says why"
dmtier_is 0 "... with accept_new_fast the kernel judges it" table --feature accept_new_fast ssd2 hdd meta
dmtier_is 8 "another tier device's METADATA" table ssd hdd meta2
dmtier_is 8 "HDD too small" table ssd hdd2 meta
like "$ERR" "not its slow device" "... says why"
dmtier_is 8 "SSD and HDD in the wrong order" table hdd ssd meta
like "$ERR" "wrong order: it is SSD HDD METADATA, so ssd hdd meta [(]ssd is the SSD of the metadata on meta[)]" "... says what is right"
dmtier_is 8 "SSD and METADATA in the wrong order" table meta hdd ssd
like "$ERR" "so ssd hdd meta" "... says what is right"
dmtier_is 8 "all in the wrong order" table meta ssd hdd
like "$ERR" "so ssd hdd meta" "... says what is right"
dmtier_is 8 "wrong order, and another's SSD" table ssd2 meta hdd
like "$ERR" "wrong order: it is SSD HDD METADATA, but meta holds the metadata" "... says what it knows"
dmtier_is 8 "create in the wrong order" create x hdd ssd meta
like "$ERR" "so ssd hdd meta" "... says what is right"
truncate -s 299M ssd
dmtier_is 0 "an SSD that was made smaller" table ssd hdd meta
truncate -s 300M ssd
dmtier_is 8 "the same device twice" table ssd ssd meta
image blank 300M
dmtier_is 0 "a blank SSD with accept_new_fast" table --feature accept_new_fast blank hdd meta
mke2fs -q -F -t ext4 blank
before=$(sums blank)
dmtier_is 8 "one with a file system on it" table --feature accept_new_fast blank hdd meta
like "$ERR" "SSD blank holds ext4 file system" "... says which"
is "$(sums blank)" "$before" "... which is still there"
run "$DMTIER" table ssd hdd meta
length=$(cut -d" " -f2 <<<"$OUT")
run "$DMTIER" table --grow ssd hdd meta
is "$(cut -d" " -f2 <<<"$OUT")" "$length" "--grow without anything to grow into"
truncate -s +5M hdd
run "$DMTIER" table ssd hdd meta
is "$(cut -d" " -f2 <<<"$OUT")" "$length" "the HDD has grown, the tier device has not"
run "$DMTIER" table --grow ssd hdd meta
is "$(cut -d" " -f2 <<<"$OUT")" "$((length + 10240))" "... with --grow it does"
truncate -s -5M hdd
dmtier_is 8 "blank METADATA" table ssd hdd hdd2
meta_edit meta sb version 2
dmtier_is 64 "newer METADATA" table ssd hdd meta
dmtier_is 16 "a device too few" table ssd hdd

done_testing
