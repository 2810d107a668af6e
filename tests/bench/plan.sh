# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What there is to measure, for run and guest.sh: stacks, workloads, how long they take.  BENCH_* are as in run.

# shellcheck disable=SC2034	# for those who read this file
ALL_WORKLOADS="A A5 B C D E F G H1 H2 I J K"
HIT_WARM=$(((BENCH_WARM + 1) / 2))	# seconds of warming up twice in workload H, on memory
POINT=$(((BENCH_SECONDS + 1) / 2))	# seconds of each of the many measurements of workload B
CLEAN_LIMIT=300				# seconds to wait for dirty data to be written back
REPLAY_LIMIT=300			# seconds that a trace may take

# parse STACK		sets KIND, KIB (of a block), MODE, FILL (KiB)
parse()
{
	local kinds='hdd|ssd|linear|tier|tiered|cache|bcache|writecache|writeboost'
	local -A modes=([wb]=writeback [wt]=writethrough [wa]=writearound [pt]=passthrough)

	[[ $1 =~ ^($kinds)([0-9]*)(-(wb|wt|wa|pt))?(-fill([0-9]+))?$ ]] || return
	KIND=${BASH_REMATCH[1]} KIB=${BASH_REMATCH[2]} MODE=${modes[${BASH_REMATCH[4]:-wb}]} FILL=${BASH_REMATCH[6]}
	case $KIND in
	tier | cache | tiered) ;;
	*) [ -z "$KIB" ] || return ;;
	esac
	case $KIND in
	tier | cache) ;;
	bcache) [ "$MODE" != passthrough ] || return ;;
	*) [ -z "${BASH_REMATCH[4]}" ] || return ;;
	esac
	[ "$KIND" = tier ] || [ -z "$FILL" ]
}

# fits WORKLOAD STACK	whether the one means anything on the other
fits()
{
	parse "$2"
	case $1:$KIND in
	A5:ssd | A5:linear | [DEFGIJ]:ssd | [DEFGIJ]:linear | K:ssd | K:linear) return 1 ;;
	[DJ]:hdd | H?:hdd) return 1 ;;
	[JK]:tiered | H?:tiered) return 1 ;;
	G:tiered | G:bcache) return 1 ;;	# the SSD is too small for them
	[JK]:*) [ "$MODE" = writeback ] ;;
	esac
}

# stacks_of WORKLOAD	what it is measured on if nothing else is asked for
stacks_of()
{
	local tier="tier-wb tier-wt" peers="cache64-wb cache256-wb bcache-wb writecache writeboost"
	local peers_wt="cache64-wt cache256-wt bcache-wt" fills="tier-wb-fill0 tier-wb-fill64 tier-wb-fill256"

	case $1 in
	A | A5) echo "hdd ssd linear $tier tier16-wb tier256-wb $fills tiered $peers $peers_wt" ;;
	B) echo "hdd ssd $tier tiered $peers cache64-wt bcache-wt" ;;
	C) echo "hdd ssd $tier tiered $peers" ;;
	D) echo "$tier tiered $peers" ;;
	E) echo "hdd $tier tiered cache64-wb cache256-wb bcache-wb writeboost" ;;
	F) echo "hdd tier-wb tier256-wb tiered $peers" ;;
	G) echo "hdd tier-wb $fills cache64-wb cache256-wb" ;;
	H?) echo "linear $tier $peers" ;;
	I) echo "hdd tier-wb tier256-wb $fills tiered $peers" ;;
	J) echo "tier-wb tier256-wb $peers" ;;
	K) echo "hdd tier-wb tier256-wb $peers" ;;
	esac | xargs -n 1 | while read -r stack; do
		! fits "$1" "$stack" || echo "$stack"
	done
}

# seconds_of WORKLOAD	about how long it takes on a stack
seconds_of()
{
	local warm=$BENCH_WARM run=$BENCH_SECONDS

	case $1 in
	A | A5 | F) echo $((warm + run + 10)) ;;
	B) echo $((2 * warm + 8 * POINT + 15)) ;;
	C) echo $((2 * (warm + 2 * run + 15))) ;;
	D) echo $((BENCH_COLD + 10)) ;;
	E) echo $((3 * warm + 4 * run + 10)) ;;
	G) echo $((NR_TRACES * (BENCH_REQUESTS / 830 + 6) + 10)) ;;
	H?) echo $((2 * HIT_WARM + 2 * (HIT_WARM + run) + 10)) ;;
	I) echo 70 ;;
	J) echo $((warm + run + 60)) ;;
	K) echo $((2 * warm + run + 60)) ;;
	esac
}

# limit_of WORKLOAD	seconds after which a stack hangs
limit_of()
{
	echo $((5 * $(seconds_of "$1") + 2 * CLEAN_LIMIT + NR_TRACES * REPLAY_LIMIT))
}
