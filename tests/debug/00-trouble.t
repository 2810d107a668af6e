#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The debug kernel finds bugs: each kind that dm-tier-trouble.ko can make becomes a failing point.
. "$(dirname "$0")/../vm/self.sh"

trouble_cases use-after-free out-of-bounds sleep-in-atomic list shift free-active lock-order leak
# lockdep gives up after its first report, so those two have machines of their own
sed -i '1i # vmtap: alone' "$dir"/{lock-order,leak,list}.sh
case_file good <<<'pass fine; done_testing'

run ./vmtap "$dir"/{use-after-free,out-of-bounds,sleep-in-atomic,shift,free-active,good,list,lock-order,leak}.sh
has '^not ok [0-9]+ - use-after-free: no kernel trouble' "a use after free"
has '^# .*KASAN: .*use-after-free in use_after_free' "is shown"
has '^not ok [0-9]+ - out-of-bounds: no kernel trouble' "an access behind an allocation"
has '^# .*KASAN: .*out-of-bounds in out_of_bounds' "is shown"
has '^not ok [0-9]+ - sleep-in-atomic: no kernel trouble' "sleeping with a spinlock held"
has '^# .*BUG: .*(scheduling while atomic|sleeping function)' "is shown"
has '^not ok [0-9]+ - list: (no kernel trouble|the machine died)' "a list that is corrupted"
has '^# .*list_add (corruption|double add)' "is shown"
has '^not ok [0-9]+ - shift: no kernel trouble' "a shift that is too large"
has '^# .*UBSAN: shift-out-of-bounds' "is shown"
has '^not ok [0-9]+ - free-active: no kernel trouble' "freeing an active timer"
has '^# .*ODEBUG: free active' "is shown"
has '^not ok [0-9]+ - lock-order: no kernel trouble' "locks taken in two orders"
has '^# .*possible (circular|recursive) locking' "is shown"
has '^not ok [0-9]+ - lockdep has looked to the end' "a lockdep that looks no more"
has '^not ok [0-9]+ - no memory leaks$' "a leak"
has '^# unreferenced object' "is shown"
has '^ok [0-9]+ - good: fine' "a good case"
has '^ok [0-9]+ - no memory leaks$' "no leak where there is none"
has '^ok [0-9]+ - lockdep has looked to the end$' "and a lockdep that looked on"
finish
