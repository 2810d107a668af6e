#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# vmtap and vmrun notice what they are there to notice: cases that fail, hang or die, warnings and
# panics of the kernel, power cuts.
. "$(dirname "$0")/../vm/self.sh"

# --- vmtap ---
case_file good <<<'pass fine; done_testing'
case_file bad <<<'fail "is wrong"; pass fine; done_testing'
case_file short <<<'pass fine; exit 0'
case_file empty <<<'done_testing'
case_file status <<<'pass fine; echo 1..1; LIB_DONE=1; exit 3'
case_file hangs <<<'pass fine; sleep 1000; done_testing'
case_file warns <<<'echo "WARNING: CPU: 0 PID: 1 at self-test" >/dev/kmsg; pass fine; done_testing'
case_file allowed <<<'# vmtap: ignore=at self-test
echo "WARNING: CPU: 0 PID: 1 at self-test" >/dev/kmsg; pass fine; done_testing'
case_file panics <<<'pass before; echo c >/proc/sysrq-trigger; done_testing'
case_file after <<<'pass fine; done_testing'

run ./vmtap --timeout 5 "$dir"/{good,bad,short,empty,status,hangs,warns,allowed,panics,after}.sh
point $(($? == 0)) "exit status is not 0"
has '^ok [0-9]+ - good: fine$' "a point that passes"
has '^not ok [0-9]+ - bad: is wrong$' "a point that fails"
has '^not ok [0-9]+ - short: ends with done_testing' "a case that stops early"
has '^not ok [0-9]+ - empty: prints a test point' "a case that tests nothing"
has '^not ok [0-9]+ - status: ends with status 0' "a case with a bad exit status"
has '^not ok [0-9]+ - hangs: ends within 5 s' "a case that hangs"
has '^not ok [0-9]+ - warns: no kernel trouble' "a kernel warning"
has '^# .*WARNING: CPU: 0 PID: 1 at self-test' "the warning is shown"
hasnt '^not ok [0-9]+ - allowed' "a kernel warning that is allowed"
has '^not ok [0-9]+ - panics: the machine died' "a panic"
has '^# .*sysrq triggered crash' "the panic is shown"
has '^ok [0-9]+ - after: fine$' "the case after a panic runs"
has '^ok [0-9]+ - the modules unload$' "the modules unload"
has "^1\\.\\.$(grep -cE '^(not )?ok' "$dir/log")\$" "the plan is right"
# bad, short, empty, status, hangs, warns, panics
[ "$(grep -c '^not ok' "$dir/log")" = 7 ]
point $? "nothing else fails"

# --- vmrun ---
printf '%s\n' 'exit 7' >"$dir/exit.sh"
run ./vmrun "$dir/exit.sh"
point $(($? != 7)) "vmrun returns the script's exit status"

# Two boots with the same disk, the first cut short.
cat >"$dir/cut.sh" <<'END'
dd if=/dev/zero bs=4k count=1 2>/dev/null | tr '\0' x | dd of=/dev/data oflag=direct bs=4k 2>/dev/null
echo written
echo VMRUN-KILL
sleep 100
echo still alive
END
run ./vmrun --out "$dir/out" --disk data:size=8M "$dir/cut.sh"
point $? "VMRUN-KILL: status 0"
has '^written' "what came before it is printed"
hasnt 'still alive' "nothing runs after it"
printf '%s\n' 'head -c 3 /dev/data; echo; echo "WARNING: CPU: 0 at self-test" >/dev/kmsg' >"$dir/again.sh"
run ./vmrun --out "$dir/out" --disk data:size=8M "$dir/again.sh"
point $(($? != 125)) "the disk boots again; status 125 for kernel trouble"
has '^xxx' "with what was written before"
has 'WARNING: CPU: 0 at self-test' "the trouble is shown"
printf '%s\n' 'sleep 100' >"$dir/sleep.sh"
run ./vmrun --kill-after 1 "$dir/sleep.sh"
point $? "--kill-after: status 0"
run ./vmrun --timeout 20 "$dir/sleep.sh"
point $(($? != 124)) "--timeout: status 124"
has '^vmrun: it took too long; where everything waits' "the kernel is asked"
has 'task:sleep ' "which tasks there are"
has 'do_nanosleep' "and where they wait"
hasnt 'kernel trouble' "which is no trouble"

finish
