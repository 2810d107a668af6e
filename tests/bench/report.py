#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What tests/bench/run measured: a table on stdout, PREFIX.json, and a plot PREFIX-WORKLOAD.svg for each workload.

usage: report.py SETTINGS RUNS PREFIX
"""
import json
import re
import statistics
import sys
from xml.sax.saxutils import escape

HOT = "a quarter of the SSD's size"
ZIPF = "4 KiB, 90 % reads, zipf 1.2, 4 jobs with 8 requests each"
IO = "iops read_p99_ms write_p99_ms hdd_per_1000 ssd_written"

# Of each workload: what it is, and its figures.  The first that was measured is the one that is compared.
WORKLOADS = {
    "A": (ZIPF + ", over three quarters of the SSD's size", IO),
    "A5": (ZIPF + ", over five times the SSD's size", IO),
    "D": ("A on an empty cache: time to 80 % of what it has in the last quarter of {cold_s} s", "to_80_s final_iops"),
    "E": (f"random 4 KiB reads, depth 8, over {HOT} (hot), and sequential 1 MiB reads elsewhere (scan)",
          "kept_percent iops scan_mib_s read_p99_ms"),
    "F": ("random 4 KiB writes, depth 32, over four times the SSD's size, on a full cache",
          "least_iops iops write_p99_ms write_max_ms"),
    "H1": (f"random 4 KiB, depth 32, over {HOT}, all devices in memory, one processor", "iops cpu_us hdd_per_1000"),
    "H2": ("the same with two processors and two jobs", "iops cpu_us hdd_per_1000"),
    "J": ("start after a crash with dirty data, up to the first read; then all is written back",
          "usable_s dirty_before_mib dirty_after_mib hdd_written_mib"),
    "K": (f"writing back all: nothing dirty, and half of the pages in {HOT}; hdd: every second page written in order",
          "clean_mib_s clean_s dirty_mib hdd_written_mib"),
}
LEGEND = """\
figures: iops requests a second; mib_s, scan_mib_s MiB a second (of the scan); p99 99 of 100 requests were faster;
  x peer, x hdd, x ssd the figure divided by that of the best other cache in the same mode and of the bare devices;
  for 1000 requests: hdd_per_1000 requests of the hard disk, meta_per_1000 writes to the metadata device,
  commits_per_1000 of dm-tier; ssd_written bytes written to the SSD for each byte of the load; cpu_us processor time
  for a request, with that of fio; kept_percent of what hot had alone; least_iops in the slowest second"""
LESS_IS_BETTER = {"to_80_s", "usable_s", "clean_s"}
PEER = re.compile(r"(cache|bcache|writecache|writeboost)\d*(-\w\w)?")


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def mode(stack):
    """Peers are those that promise the same of a write; what has no name for it writes back."""
    return stack.partition("-")[2] or "wb"


def summaries(runs, columns):
    """Of the runs of a case: the figure to compare and a row for each stack, the best first."""
    by_stack = {}
    for run in runs:
        by_stack.setdefault(run["stack"], []).append(run["figures"])
    main = next(c for c in columns if any(c in f for figures in by_stack.values() for f in figures))
    rows = []
    for stack, figures in by_stack.items():
        values = {c: [f[c] for f in figures if c in f] for c in columns}
        if values[main]:
            rows.append({"stack": stack, "runs": len(figures), "least": min(values[main]), "most": max(values[main]),
                         "medians": {c: statistics.median(v) for c, v in values.items() if v}})
    best = min if main in LESS_IS_BETTER else max
    medians = {r["stack"]: r["medians"][main] for r in rows}
    for row in rows:
        peers = [m for s, m in medians.items() if PEER.fullmatch(s) and mode(s) == mode(row["stack"])]
        against = {"peer": best(peers, default=None), "hdd": medians.get("hdd"), "ssd": medians.get("ssd")}
        row["ratios"] = {name: medians[row["stack"]] / value for name, value in against.items() if value}
    rows.sort(key=lambda r: r["medians"][main], reverse=main not in LESS_IS_BETTER)
    return main, rows


def show(case, main, rows, columns):
    rest = [c for c in columns if c != main and any(c in r["medians"] for r in rows)]
    print(f"\n  {case}")
    print(f"  {'stack':<13}{main:>13}  {'least - most':<19}{'x peer':>7}{'x hdd':>7}{'x ssd':>7}",
          *(f"{c:>18}" for c in rest), sep="")
    for r in rows:
        spread = f"{number(r['least'])} - {number(r['most'])}"
        print(f"  {r['stack']:<13}{number(r['medians'][main]):>13}  {spread:<19}",
              *(f"{number(r['ratios'].get(x)):>7}" for x in ("peer", "hdd", "ssd")),
              *(f"{number(r['medians'].get(c)):>18}" for c in rest), sep="")


def plot(path, title, cases):
    """A bar for the median and a line from the least to the most for each stack, each case on a scale of its own."""
    y, parts = 40, []
    for case, main, rows in cases:
        scale = 560 / (max(r["most"] for r in rows) or 1)
        y += 28
        parts.append(f'<text x="10" y="{y - 8}" font-weight="bold">{escape(case)}: {main}</text>')
        for r in rows:
            value, colour = r["medians"][main], "#c60" if r["stack"].startswith("tier") else "#789"
            least, most = (100 + scale * r[x] for x in ("least", "most"))
            parts.append(f'<text x="95" y="{y + 11}" text-anchor="end">{escape(r["stack"])}</text>'
                         f'<rect x="100" y="{y}" width="{scale * value:.1f}" height="14" fill="{colour}"/>'
                         f'<path d="M{least:.1f} {y + 7}H{most:.1f}" stroke="#000"/>'
                         f'<text x="{most + 6:.1f}" y="{y + 11}">{number(value)}</text>')
            y += 18
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{y + 10}" font-family="sans-serif" '
                f'font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
                f'<text x="10" y="20">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    settings_file, runs_file, prefix = sys.argv[1:]
    with open(settings_file, encoding="utf-8") as f:
        settings = json.load(f)
    with open(runs_file, encoding="utf-8") as f:
        runs = [json.loads(line) for line in f]
    failed = [r for r in runs if "failed" in r]
    tables = {r["stack"]: r["table"] for r in runs if "table" in r}
    runs = [r for r in runs if "figures" in r]
    results = []
    for name, (text, columns) in WORKLOADS.items():
        of_workload = [r for r in runs if r["workload"] == name]
        if not of_workload:
            continue
        title, columns = f"{name}: {text.format(**settings)}", columns.split()
        print(f"\n{title}")
        cases = []
        for case in dict.fromkeys(r["case"] for r in of_workload):
            figure, rows = summaries([r for r in of_workload if r["case"] == case], columns)
            show(case, figure, rows, columns)
            cases.append((case, figure, rows))
            results.append({"workload": name, "case": case, "figure": figure, "stacks": rows})
        plot(f"{prefix}-{name}.svg", title, cases)
    print(f"\n{LEGEND}")
    for r in failed:
        print(f"{r['workload']}, repetition {r['rep']}: {r['stack']} failed")
    for key, value in settings.items():
        print(f"{key + ':':<13}{value}")
    for stack, table in tables.items():
        print(f"{stack + ':':<13}{table}")
    with open(f"{prefix}.json", "w", encoding="utf-8") as f:
        json.dump({"settings": settings, "tables": tables, "failed": failed, "results": results, "runs": runs}, f,
                  indent=1)
    print(f"\nAll runs are in {prefix}.json, plots in {prefix}-*.svg.")


if __name__ == "__main__":
    main()
