#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dmtier lost: what only the SSD has.
. "$(dirname "$0")/common.sh"

images 20M 64M 4M
"$DMTIER" format --block-size 64k ssd hdd meta >/dev/null
cp meta good

dmtier_is 0 "nothing is dirty" lost meta
is "$OUT" "" "no range"
is "$ERR" "nothing would be lost" "and says so"

# two slots of neighbouring blocks, not in order; clean and dirty ones; the last block of the device
meta_edit meta slot 7 4 ffff 3
meta_edit meta slot 3 3 ffff f000
meta_edit meta slot 5 100 ffff 0
meta_edit meta slot 9 9 ff0 90
meta_edit meta slot 250 1023 8000 8000
before=$(sums meta)
dmtier_is 0 "some are dirty" lost meta
is "$OUT" "480 48
1184 8
1208 8
131064 8" "ranges in ascending order, neighbours as one"
like "$ERR" "^4 ranges, 36 KiB" "their sum"
unlike() { if [[ $1 =~ $2 ]]; then ok 1 "$3"; else ok 0 "$3"; fi; }
unlike "$ERR" "not clean" "a clean stop"
is "$(sums meta)" "$before" "it writes nothing"
dmtier_is 0 "for programs" lost --json meta
json_ok "is JSON"
is "$(field '[.ranges, .sectors, .clean, .lost[1].first, .lost[1].sectors] | join(" ")')" "4 72 true 1184 8" \
	"the same figures"

# the journal's records count, not those of the pages
meta_edit meta sb flags 0
meta_edit meta txn 1 0 7:4:ffff:0 20:5:3:1
dmtier_is 0 "records in the journal" lost meta
is "$OUT" "480 32
640 8
1184 8
1208 8
131064 8" "are newer than those of the pages"
like "$ERR" "last stop was not clean" "and the stop was not clean"

# damage
cp good meta
meta_edit meta slot 7 4 ffff 3
flip meta $(($(offset_of meta slot 1 0) + 100))
flip meta $(($(offset_of meta slot 1 1) + 100))
dmtier_is 4 "a damaged page" lost meta
is "$OUT" "512 16" "the rest is listed"
like "$ERR" "may lack something" "with a warning"
cp good meta
dd if=/dev/zero of=meta bs=1M count=1 conv=notrunc status=none
dmtier_is 8 "no metadata" lost meta
like "$ERR" "holds no tier metadata" "says so"
dmtier_is 16 "no argument" lost
dmtier_is 8 "no file" lost nosuch
dmtier_is 0 "help" lost --help
done_testing
