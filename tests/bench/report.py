#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What tests/bench/run measured: tables, and what is to be reached, on stdout.

usage: report.py DIRECTORY            of a run: writes bench.json, performance.md and a plot for each workload there, too
       report.py --docs DIRECTORY FILE   performance.md of a run's bench.json, with plots in DIRECTORY/performance
       report.py FILE                 of a run's bench.json: nothing is written
"""
import json
import os
import re
import statistics
import sys
from xml.sax.saxutils import escape

HOT = "a quarter of the SSD's size"
ZIPF = "4 KiB, 90 % reads, zipf 1.2, 4 jobs with 8 requests each"
IO = "iops read_p99_ms write_p99_ms hdd_per_1000 ssd_written ssd_per_read"
ALL_TRACES = "all traces"

# Of each workload: what it is, and its figures.  The first that was measured is the one that is compared.
WORKLOADS = {
    "A": (ZIPF + ", over three quarters of the SSD's size", IO),
    "A5": (ZIPF + ", over five times the SSD's size", IO),
    "B": (f"one job over {HOT}, once there; random 4 KiB, sequential 128 KiB", "iops mib_s hdd_per_1000 ssd_written"),
    "C": (f"4 KiB random writes with fdatasync behind each, over {HOT}; warm: all of it was written before",
          "iops write_p99_ms meta_per_1000 commits_per_1000"),
    "D": ("A on an empty cache: time to 80 % of what it has in the last quarter of {cold} s", "to_80_s final_iops"),
    "E": (f"random 4 KiB reads, depth 8, over {HOT} (hot), and sequential 1 MiB reads elsewhere (scan)",
          "kept_percent iops mib_s scan_mib_s read_p99_ms"),
    "F": ("random 4 KiB writes, depth 32, over four times the SSD's size, on a full cache",
          "least_iops iops write_p99_ms write_max_ms"),
    "G": ("block traces of at most {requests} requests, depth 8, as fast as they can be served; the SSD has a tenth of "
          "what they touch and 1 MiB, the disk is five times as fast as elsewhere", "hdd_ios_all hdd_ios total_s ssd_per_read"),
    "H1": (f"random 4 KiB, depth 32, over {HOT}, all devices in memory, one processor", "iops cpu_us hdd_per_1000"),
    "H2": ("the same with two processors and two jobs", "iops cpu_us hdd_per_1000"),
    "I": ("ext4: mkfs; SQLite, 200 transactions; tar, three trees of sources; make, some of them; rm, two of them; fsck; "
          "mounted anew in between", "total_s hdd_ios hdd_ios_all ssd_per_read"),
    "J": ("start after a crash with dirty data, up to the first read; then all is written back",
          "usable_s dirty_before_mib dirty_after_mib hdd_written_mib"),
    "K": (f"writing back all: nothing dirty, and half of the pages in {HOT}; hdd: every second page written in order",
          "clean_mib_s clean_s dirty_mib hdd_written_mib"),
}
FIGURES = {
    "iops": "requests a second",
    "mib_s": "MiB a second", "scan_mib_s": "MiB a second of the scan",
    "read_p99_ms": "99 of 100 reads were faster", "write_p99_ms": "the same of writes",
    "write_max_ms": "the slowest write",
    "hdd_per_1000": "requests of the hard disk for 1000 requests",
    "hdd_ios": "requests of the hard disk", "hdd_ios_all": "the same, with those of writing back all afterwards",
    "hdd_written_mib": "MiB written to the hard disk",
    "meta_per_1000": "writes to the metadata device for 1000 requests",
    "commits_per_1000": "of dm-tier, for 1000 requests",
    "ssd_written": "bytes written to the SSD for each byte of the load",
    "ssd_per_read": "bytes written to the SSD for each byte that was read from the stack",
    "cpu_us": "processor time for a request, with that of fio",
    "kept_percent": "of what hot had alone", "least_iops": "in the slowest second",
    "to_80_s": "seconds", "final_iops": "requests a second in the last quarter",
    "total_s": "seconds", "usable_s": "seconds", "clean_s": "seconds", "clean_mib_s": "MiB a second",
    "dirty_before_mib": "MiB that the hard disk lacks before the crash", "dirty_after_mib": "and after it",
    "dirty_mib": "MiB that the hard disk lacks",
}
LESS_IS_BETTER = {"to_80_s", "usable_s", "clean_s", "total_s", "hdd_ios", "hdd_ios_all"}
PEER = re.compile(r"(cache|bcache|writecache|writeboost)\d*(-\w\w)?")
DM_CACHE = re.compile(r"cache\d*-wb")
FILLS = ("tier-wb-fill0", "tier-wb-fill64", "tier-wb-fill256")
RUNS_WANTED = 5


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def mode(stack):
    """Peers are those that promise the same of a write; what has no name for it writes back."""
    return (stack.split("-") + ["wb"])[1]


def best_of(figure):
    return min if figure in LESS_IS_BETTER else max


# --- What was measured -----------------------------------------------------------------------

class Bench:
    """A run: its settings, and values by workload, case, stack and figure."""

    def __init__(self, settings, runs):
        self.settings, self.runs = settings, runs
        self.failed = [r for r in runs if "failed" in r]
        self.values = {}
        for run in runs:
            for case, figures in self.cases(run).items():
                for figure, value in figures.items():
                    key = run["workload"], case, run["stack"], figure
                    self.values.setdefault(key, []).append(value)

    @staticmethod
    def cases(run):
        cases = dict(run.get("cases", {}))
        if run["workload"] == "G" and cases:
            sums = {}
            for figures in cases.values():
                for figure, value in figures.items():
                    sums[figure] = sums.get(figure, 0) + value
            sums["ssd_per_read"] = sums["ssd_written"] / sums["read"] if sums["read"] else 0
            cases[ALL_TRACES] = sums
        return cases

    def cases_of(self, workload):
        return list(dict.fromkeys(c for w, c, _, _ in self.values if w == workload))

    def stacks_of(self, workload, case):
        return list(dict.fromkeys(s for w, c, s, _ in self.values if (w, c) == (workload, case)))

    def median(self, workload, case, stack, figure):
        values = self.values.get((workload, case, stack, figure))
        return statistics.median(values) if values else None

    def rows(self, workload, case):
        """The figure that is compared, the others, and a row for each stack that has it, the best first."""
        columns = [f for f in WORKLOADS[workload][1].split()
                   if any((workload, case, s, f) in self.values for s in self.stacks_of(workload, case))]
        if not columns:
            return None, [], []
        main, rows = columns[0], []
        medians = {s: m for s in self.stacks_of(workload, case)
                   if (m := self.median(workload, case, s, main)) is not None}
        best = best_of(main)
        for stack, value in medians.items():
            values = self.values[workload, case, stack, main]
            against = {"peer": best((m for s, m in medians.items() if PEER.fullmatch(s) and mode(s) == mode(stack)),
                                    default=None),
                       "hdd": medians.get("hdd"), "limit": medians.get("ssd", medians.get("linear"))}
            rows.append({"stack": stack, "runs": len(values), "median": value, "least": min(values),
                         "most": max(values), "x": {n: value / v for n, v in against.items() if v},
                         "rest": {c: self.median(workload, case, stack, c) for c in columns[1:]}})
        rows.sort(key=lambda r: r["median"], reverse=best is max)
        return main, columns[1:], rows


# --- What is to be reached -------------------------------------------------------------------

class Bars:
    """Each check is (what was reached, whether that is enough, of how many runs it is), or None: not measured."""

    def __init__(self, bench):
        self.bench = bench

    def value(self, workload, case, stack, figure):
        values = self.bench.values.get((workload, case, stack, figure))
        return (statistics.median(values), len(values)) if values else None

    def best(self, workload, case, figure, peers, of_mode="wb"):
        """The best of the peers, by the figure."""
        found = [v for s in self.bench.stacks_of(workload, case) if peers.fullmatch(s) and mode(s) == of_mode
                 and (v := self.value(workload, case, s, figure))]
        return best_of(figure)(found, default=None)

    @staticmethod
    def ratio(ours, theirs, enough):
        """enough: what the ratio must fulfil"""
        if not ours or not theirs:
            return None
        if theirs[0] == 0:
            return ("0 of 0", True, min(ours[1], theirs[1])) if ours[0] == 0 else (
                f"{number(ours[0])} of 0", enough(float("inf")), min(ours[1], theirs[1]))
        x = ours[0] / theirs[0]
        return f"{x:.2f}", enough(x), min(ours[1], theirs[1])

    @staticmethod
    def absolute(ours, enough):
        return ours and (number(ours[0]), enough(ours[0]), ours[1])

    @staticmethod
    def every(checks):
        """All of them, by name: what is not enough is named first."""
        if not all(checks.values()):
            return None
        shown = sorted(checks.items(), key=lambda c: c[1][1])
        return (", ".join(f"{name}: {c[0]}" for name, c in shown), all(c[1] for c in checks.values()),
                min(c[2] for c in checks.values()))

    def iops(self, workload, case, factor, peers=PEER, of_mode="wb"):
        return self.ratio(self.value(workload, case, f"tier-{of_mode}", "iops"),
                          self.best(workload, case, "iops", peers, of_mode), lambda x: x >= factor)

    def against(self, workload, case, figure, other, enough):
        return self.ratio(self.value(workload, case, "tier-wb", figure), self.value(workload, case, other, figure), enough)

    def p99(self, of_mode):
        """Of reads, against that of the peer with the most requests a second."""
        stacks = [s for s in self.bench.stacks_of("A", "warm") if PEER.fullmatch(s) and mode(s) == of_mode]
        peer = max(stacks, key=lambda s: self.bench.median("A", "warm", s, "iops"), default=None)
        return self.ratio(self.value("A", "warm", f"tier-{of_mode}", "read_p99_ms"),
                          self.value("A", "warm", peer, "read_p99_ms"), lambda x: x <= 1)

    def traces(self):
        return {c: self.ratio(self.value("G", c, "tier-wb", "hdd_ios_all"),
                              self.best("G", c, "hdd_ios_all", DM_CACHE), lambda x: x <= 1)
                for c in self.bench.cases_of("G") if c != ALL_TRACES} or {"": None}

    def scaling(self, rw):
        """The gain of a second processor, against dm-linear's."""
        ours, theirs = ([self.value(w, rw, stack, "iops") for w in ("H1", "H2")] for stack in ("tier-wb", "linear"))
        if not all(ours + theirs):
            return None
        x = ours[1][0] / ours[0][0] / (theirs[1][0] / theirs[0][0])
        return f"{x:.2f}", x >= 1, min(n for _, n in ours + theirs)

    def fill(self, workload, case, figure):
        """The adaptive extent against the best fixed one, within 5 %."""
        fixed = [v for s in FILLS if (v := self.value(workload, case, s, figure))]
        return self.ratio(self.value(workload, case, "tier-wb", figure), min(fixed, default=None), lambda x: x <= 1.05)

    def memory(self, kib, most):
        value = self.bench.settings.get("bytes_a_slot", {}).get(str(kib))
        return value and (number(value), value <= most, RUNS_WANTED)

    def all(self):
        """(workload, what is to be reached, check)"""
        flushes = [f"{t}, jobs: {j}" for t in ("cold", "warm") for j in (1, 4)]
        four = [f"{rw}, depth {d}" for rw in ("randread", "randwrite", "read", "write") for d in (4, 32)]
        both = "randread", "randwrite"
        dirty = [self.value("J", "crash", "tier-wb", f"dirty_{x}_mib") for x in ("before", "after")]
        least = self.value("F", "slowest second", "tier-wb", "least_iops")
        kept = self.value("E", "what hot keeps", "tier-wb", "kept_percent")
        return [
            ("A", "writeback: IOPS at least 1.15 of the best peer's", self.iops("A", "warm", 1.15)),
            ("A", "writethrough: the same", self.iops("A", "warm", 1.15, of_mode="wt")),
            ("A", "writeback: p99 of reads at most that of this peer", self.p99("wb")),
            ("A", "writethrough: the same", self.p99("wt")),
            ("A5", "IOPS at least 1.5 of dm-cache's", self.iops("A5", "warm", 1.5, DM_CACHE)),
            ("A5", "IOPS at least 1.2 of the best peer's", self.iops("A5", "warm", 1.2)),
            ("B", "IOPS at least the best peer's in each", self.every({c: self.iops("B", c, 1) for c in four})),
            ("B", "random IOPS at least 0.9 of the bare SSD's", self.every({
                c: self.against("B", c, "iops", "ssd", lambda x: x >= 0.9) for c in four if c.startswith("rand")})),
            ("C", "IOPS at least twice dm-cache's in each",
             self.every({c: self.iops("C", c, 2, DM_CACHE) for c in flushes})),
            ("C", "IOPS at least the best peer's in each", self.every({c: self.iops("C", c, 1) for c in flushes})),
            ("C", "cold: metadata writes for 1000 flushes at most 1010", self.every({
                c: self.absolute(self.value("C", c, "tier-wb", "meta_per_1000"), lambda x: x <= 1010)
                for c in flushes[:2]})),
            ("C", "cold: of these at most 1010 commits, the rest are checkpoints", self.every({
                c: self.absolute(self.value("C", c, "tier-wb", "commits_per_1000"), lambda x: x <= 1010)
                for c in flushes[:2]})),
            ("C", "warm, no change of the mapping: at most 10", self.every({
                c: self.absolute(self.value("C", c, "tier-wb", "meta_per_1000"), lambda x: x <= 10)
                for c in flushes[2:]})),
            ("D", "time at most half of dm-cache's", self.ratio(
                self.value("D", "cold", "tier-wb", "to_80_s"), self.best("D", "cold", "to_80_s", DM_CACHE),
                lambda x: x <= 0.5)),
            ("E", "the hot set keeps at least 90 % of its IOPS", self.absolute(kept, lambda x: x >= 90)),
            ("E", "the scan has at least 0.9 of the bare disk's speed", self.ratio(
                self.value("E", "hot and scan", "tier-wb", "scan_mib_s"),
                self.value("E", "scan alone", "hdd", "mib_s"), lambda x: x >= 0.9)),
            ("F", "no second without progress (IOPS of the slowest)", self.absolute(least, lambda x: x > 0)),
            ("F", "slowest second at least 1.5 of the bare disk's IOPS", self.ratio(
                least, self.value("F", "burst", "hdd", "iops"), lambda x: x >= 1.5)),
            ("G", "requests of the disk, all traces: at most 0.72 of dm-cache's", self.ratio(
                self.value("G", ALL_TRACES, "tier-wb", "hdd_ios_all"),
                self.best("G", ALL_TRACES, "hdd_ios_all", DM_CACHE), lambda x: x <= 0.72)),
            ("G", "on no trace more than dm-cache", self.every(self.traces())),
            ("H", "IOPS at least 0.92 of dm-linear's", self.every({
                c: self.against("H1", c, "iops", "linear", lambda x: x >= 0.92) for c in both})),
            ("H", "IOPS at least 1.1 of dm-cache's", self.every({c: self.iops("H1", c, 1.1, DM_CACHE) for c in both})),
            ("H", "from 1 to 2 processors: gains at least what dm-linear does",
             self.every({c: self.scaling(c) for c in both})),
            ("J", "usable after at most dm-cache's time", self.ratio(
                self.value("J", "crash", "tier-wb", "usable_s"), self.best("J", "crash", "usable_s", DM_CACHE),
                lambda x: x <= 1)),
            ("J", "dirty afterwards: at most what was before", self.ratio(dirty[1], dirty[0], lambda x: x <= 1)),
            ("J", "written to the disk afterwards: at most what was dirty", self.ratio(
                self.value("J", "crash", "tier-wb", "hdd_written_mib"), dirty[1], lambda x: x <= 1)),
            ("K", "nothing dirty: less than a second", self.absolute(
                self.value("K", "0 dirty", "tier-wb", "clean_s"), lambda x: x < 1)),
            ("K", "dirty: at least 0.8 of what the disk does in address order",
             self.against("K", "N dirty", "clean_mib_s", "hdd", lambda x: x >= 0.8)),
            ("A", "adaptive fill: IOPS at least 0.95 of those without fill",
             self.against("A", "warm", "iops", FILLS[0], lambda x: x >= 0.95)),
            ("A5", "the same", self.against("A5", "warm", "iops", FILLS[0], lambda x: x >= 0.95)),
            ("G", "adaptive fill: time at most 1.05 of the best fixed extent's", self.fill("G", ALL_TRACES, "total_s")),
            ("I", "the same", self.fill("I", "all", "total_s")),
            ("memory", "at most 32 bytes a slot, blocks of 64 KiB", self.memory(64, 32)),
            ("memory", "at most 24 bytes a slot, blocks of 4 KiB", self.memory(4, 24)),
        ]

    def table(self):
        head = ["workload", "to be reached by tier-wb (tier-wt)", "reached", ""]
        rows = []
        for workload, text, check in self.all():
            if not check:
                rows.append([workload, text, "-", "not measured"])
            else:
                reached, enough, runs = check
                verdict = "met" if enough else "not met"
                rows.append([workload, text, reached,
                             verdict if runs >= RUNS_WANTED else f"{verdict}, but on {runs} of {RUNS_WANTED} runs"])
        return head, rows


# --- Output ----------------------------------------------------------------------------------

def case_table(main, rest, rows):
    head = ["stack", main, "least - most", "runs", "x peer", "x hdd", "x limit"] + rest
    return head, [[r["stack"], number(r["median"]), f"{number(r['least'])} - {number(r['most'])}", str(r["runs"])] +
                  [number(r["x"].get(x)) for x in ("peer", "hdd", "limit")] + [number(r["rest"][c]) for c in rest]
                  for r in rows]


def as_text(head, rows, left):
    """left: how many columns are words"""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    for row in [head] + rows:
        print("  " + "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())


def as_markdown(head, rows, left):
    bars = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, bars] + rows) + "\n"


def settings_table(settings):
    names = {"warm": "warming up, s", "seconds": "measurement, s", "cold": "workload D, s", "requests": "requests of a trace",
             "ssd": "SSD, MiB", "bytes_a_slot": "memory, bytes a slot by KiB of a block", "accel": "QEMU's accelerator",
             "cpu": "processors of the host", "source": "checksum of the sources"}
    return ["setting", "value"], [[names.get(k, k), ", ".join(f"{a}: {b}" for a, b in v.items())
                                   if isinstance(v, dict) else str(v)] for k, v in settings.items()]


def stack_table(bench):
    """How each stack was set up: most of them in the same way for all workloads."""
    seen = {}
    for run in bench.runs:
        if run.get("settings"):
            text = re.sub(r"(?<= )\d+:\d+(?= )", "DEV", run["settings"])
            seen.setdefault((run["stack"], text), set()).add(run["workload"])
    return ["stack", "set up as", "in"], [[s, t, " ".join(w for w in WORKLOADS if w in where)]
                                          for (s, t), where in sorted(seen.items())]


def plot(path, title, cases):
    """A bar for the median and a line from the least to the most for each stack, each case on a scale of its own."""
    y, parts = 40, []
    for case, main, rows in cases:
        scale = 560 / (max(r["most"] for r in rows) or 1)
        y += 28
        parts.append(f'<text x="10" y="{y - 8}" font-weight="bold">{escape(case)}: {main}'
                     f'{" (less is better)" if main in LESS_IS_BETTER else ""}</text>')
        for r in rows:
            colour = "#c60" if r["stack"].startswith("tier") else "#789"
            least, most = (120 + scale * r[x] for x in ("least", "most"))
            parts.append(f'<text x="115" y="{y + 11}" text-anchor="end">{escape(r["stack"])}</text>'
                         f'<rect x="120" y="{y}" width="{scale * r["median"]:.1f}" height="14" fill="{colour}"/>'
                         f'<path d="M{least:.1f} {y + 7}H{most:.1f}" stroke="#000"/>'
                         f'<text x="{most + 6:.1f}" y="{y + 11}">{number(r["median"])}</text>')
            y += 18
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="780" height="{y + 10}" font-family="sans-serif" '
                f'font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
                f'<text x="10" y="20">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n")


def write_docs(bench, path, plots, source):
    """performance.md, with a plot for each workload in the directory `plots`"""
    s = bench.settings
    os.makedirs(plots, exist_ok=True)
    link = os.path.relpath(plots, os.path.dirname(path))
    text = [f"""# Performance

Made by `tests/bench/report.py` of {source}; what is to be said about it stands elsewhere. `make bench` measures
anew; `tests/bench/run` says what the workloads and stacks are.

dm-tier beside what else there is, on the same emulated devices in a virtual machine, {s.get('date', '')}. The hard disk is a
model of one arm: a request costs by distance, one at a time, sequential ones are fast. The figures compare stacks
with one another; on real devices and processors others come out. Where there are several runs, figures are medians.

## What is to be reached

Ratios are to what is named. A bar counts on medians of at least {RUNS_WANTED} runs. Peers are dm-cache (smq), bcache,
dm-writecache and dm-writeboost in the same mode.

""", as_markdown(*Bars(bench).table(), 4), "\n## What it ran with\n\n", as_markdown(*settings_table(s), 2),
            "\n`DEV` stands for a device's number.\n\n", as_markdown(*stack_table(bench), 3)]
    if bench.failed:
        text.append("\nWhat failed:\n\n" + "".join(f"* {failure(r)}\n" for r in bench.failed))
    text.append("\n## Results\n\n`x peer`, `x hdd`, `x limit`: the figure divided by that of the best peer, of the bare disk, "
                "and of the bare SSD (H: dm-linear).\n\n")
    text.append(as_markdown(["figure", "meaning"], [[f"`{k}`", v] for k, v in FIGURES.items()], 2))
    for name, title, cases in results(bench):
        plot(os.path.join(plots, f"{name}.svg"), f"{name}: {title}", [(c, m, r) for c, m, _, r in cases])
        text.append(f"\n### {name}\n\n{title[0].upper()}{title[1:]}.\n\n![{name}]({link}/{name}.svg)\n")
        for case, main, rest, rows in cases:
            text.append(f"\n**{case}**\n\n" + as_markdown(*case_table(main, rest, rows), 1))
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(text))


def failure(run):
    return f"{run['workload']}, repetition {run['rep']}: {run['stack']}: {run['failed']}"


def results(bench):
    """(workload, title, [(case, figure, other figures, rows)])"""
    for name, (text, _) in WORKLOADS.items():
        cases = [(case, *bench.rows(name, case)) for case in bench.cases_of(name)]
        cases = [c for c in cases if c[3]]
        if cases:
            yield name, text.format_map({"cold": "?", "requests": "?", **bench.settings}), cases


def show(bench):
    for name, title, cases in results(bench):
        print(f"\n{name}: {title}")
        for case, main, rest, rows in cases:
            print(f"\n  {case}")
            as_text(*case_table(main, rest, rows), 1)
    print("\nx peer, x hdd, x limit: divided by that of the best other cache in the same mode, of the bare disk, of the bare "
          "SSD.\nAll figures are medians.")
    used = {f for _, _, cases in results(bench) for _, main, rest, _ in cases for f in [main] + rest}
    for figure, text in FIGURES.items():
        if figure in used:
            print(f"{figure + ':':<18}{text}")
    print()
    as_text(*settings_table(bench.settings), 2)
    print()
    as_text(*stack_table(bench), 3)
    print("\nwhat is to be reached")
    as_text(*Bars(bench).table(), 4)
    for r in bench.failed:
        print(f"failed: {failure(r)}")


def read(path):
    """A run's directory, or its bench.json."""
    if not os.path.isdir(path):
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
        return Bench(found["settings"], found["runs"])
    with open(os.path.join(path, "settings.json"), encoding="utf-8") as f:
        settings = json.load(f)
    with open(os.path.join(path, "runs.json"), encoding="utf-8") as f:
        return Bench(settings, [json.loads(line) for line in f])


def write_json(bench, path):
    """A line for each stack and repetition, so that changes can be seen."""
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"settings": ' + json.dumps(bench.settings) + ',\n"runs": [\n' +
                ",\n".join(map(json.dumps, bench.runs)) + "\n]}\n")


def main():
    args = sys.argv[1:]
    docs = None
    if args[:1] == ["--docs"] and len(args) == 3:
        docs, args = args[1], args[2:]
    if len(args) != 1 or args[0].startswith("-") or (docs and os.path.isdir(args[0])):
        sys.exit(__doc__)
    try:
        bench = read(args[0])
    except (OSError, ValueError, KeyError, TypeError) as e:
        sys.exit(f"report.py: {args[0]}: no results of tests/bench/run: {e!r}")
    if docs:
        write_docs(bench, os.path.join(docs, "performance.md"), os.path.join(docs, "performance"),
                   f"`tests/bench/results/{os.path.basename(args[0])}`")
        return
    show(bench)
    if os.path.isdir(args[0]):
        write_json(bench, os.path.join(args[0], "bench.json"))
        write_docs(bench, os.path.join(args[0], "performance.md"), os.path.join(args[0], "plots"), "a run's bench.json")
        print(f"\nAll runs are in {args[0]}/bench.json, the tables also in performance.md there.")


if __name__ == "__main__":
    main()
