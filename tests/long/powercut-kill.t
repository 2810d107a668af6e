#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""QEMU is killed under load, again and again, with a file system and committing applications on the tier device.

Every commit that was acknowledged outside of the machine before the kill has to be there afterwards.
From the environment: KILL_ROUNDS (4) kills of each file system, KILL_FS ("ext4 xfs"), KILL_SEED.
"""
import os
import random
import re
import shutil
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/vm"))
import machine  # noqa: E402  (found through the line above)

BOOT_LIMIT = 900        # seconds until the machine is ready to be killed, or is done
DISKS = {"ssd": "64M", "hdd": "1G", "meta": "8M"}
points = failed = 0


def point(passed, text):
    global points, failed
    points += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {points} - {text}", flush=True)


class Round:
    """One life of the machine, from boot to kill."""

    def __init__(self, out, fs, number, last, acked, after):
        self.acked, self.after = dict(acked), after
        self.fs, self.number, self.last = fs, number, last
        self.partial = b""
        self.ready = False
        self.killer = None      # from the first commit on
        self.vm = machine.Machine(out, cpus=2, disks=[f"{n}:size={s}" for n, s in DISKS.items()])

    def on_data(self, data):
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            self.line(line.decode(errors="replace").rstrip("\r"))

    def line(self, line):
        if m := re.fullmatch(r"ACK ([js]) (\d+)", line):
            self.acked[m[1]] = max(self.acked[m[1]], int(m[2]))
            if not self.killer:
                self.killer = threading.Timer(self.after, self.vm.kill)
                self.killer.start()
        elif m := re.fullmatch(r"(not )?ok - (.*)", line):
            point(not m[1], m[2])
        elif line == "@READY":
            self.ready = True
        elif line:
            print(line if line.startswith("#") else "# " + line, flush=True)

    def run(self):
        """The commits acknowledged by now."""
        self.vm.deadline = machine.time.time() + BOOT_LIMIT
        kver = self.vm.kernel.version
        env = {"TIER_TOP": TOP, "TIER_BUILD": os.environ.get("TIER_BUILD") or os.path.join(TOP, "build", kver)}
        args = [self.fs, self.number, int(self.last), self.acked["j"], self.acked["s"]]
        before, failed_before = dict(self.acked), failed
        result = self.vm.run(os.path.join(TOP, "tests/vm/powercut/kill-guest.sh"), [str(a) for a in args], env, self.on_data)
        name = f"{self.fs}, round {self.number}"
        point(not result.trouble, f"{name}: no kernel trouble")
        for text in result.trouble[:20]:
            print("# " + text)
        if self.last:
            point(result.rc == 0, f"{name}: ends")
        else:
            commits = sum(self.acked[k] - before[k] for k in "js")
            point(self.ready and result.rc is None and commits > 0,
                  f"{name}: killed {self.after:.1f} s after the first commit, {commits} commits acknowledged")
        if failed != failed_before:
            for text in result.console[-30:]:
                print("# " + text)
        return self.acked


def main():
    seed = int(os.environ.get("KILL_SEED") or random.randrange(1 << 30))
    rounds = int(os.environ.get("KILL_ROUNDS") or 4)
    rng = random.Random(seed)
    print(f"# KILL_SEED={seed}")
    kills = commits = 0
    for fs in (os.environ.get("KILL_FS") or "ext4 xfs").split():
        out = tempfile.mkdtemp(prefix="powercut-kill.")
        try:
            acked = {"j": 0, "s": 0}
            for number in range(rounds + 1):
                acked = Round(out, fs, number, number == rounds, acked, rng.uniform(3, 15)).run()
            kills += rounds
            commits += sum(acked.values())
        finally:
            shutil.rmtree(out, ignore_errors=True)
    point(not failed, f"{kills} kills, {commits} acknowledged commits, none lost")
    print(f"1..{points}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
