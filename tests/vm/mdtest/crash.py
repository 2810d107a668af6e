#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Power cuts and damage, tried out on copies of a metadata device.

usage: crash.py cuts LOG COPY TARGET SEED NR    power cuts in what dm-log-writes has recorded
       crash.py damage IMAGE COPY TARGET        each block of IMAGE damaged in turn

COPY is the device that the tier-mdtest target TARGET takes for its metadata.  Prints what is wrong,
and at the end how much was tried; exits 1 if anything was wrong.

A power cut keeps every write up to the last flush, every finished FUA write, and of the rest any
sectors.  dm-log-writes logs a write when it is durable: a FUA write when it is finished, others with
the flush after them.  What the metadata should come back with is read off the journal sectors in the
log alone: the last transaction of which all sectors are there.
"""
import fcntl
import os
import random
import re
import struct
import sys

BLOCK, SECTOR = 4096, 512
LOG_MAGIC = 0x6a736677736872
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
DM_HEAD, DM_BUFFER = 312, 16384         # struct dm_ioctl, and all that is passed
DM_TARGET_MSG = 3 << 30 | DM_HEAD << 16 | 0xfd << 8 | 14
DM_DATA_OUT = 1 << 16
SB_JOURNAL = 120        # offset of journal_start, journal_blocks, slot_start in the superblock


class Trouble(Exception):
    pass


def message(target, *words):
    """What the target answers, or 'error: ...'.  As dmsetup message, but without a process for each."""
    text = struct.pack("<Q", 0) + " ".join(map(str, words)).encode() + b"\0"
    head = struct.pack("<3I7IQ128s129s7x", 4, 0, 0, DM_BUFFER, DM_HEAD, 0, 0, 0, 0, 0, 0, target.encode(), b"")
    buf = bytearray((head + text).ljust(DM_BUFFER, b"\0"))
    with open("/dev/mapper/control", "rb") as control:
        try:
            fcntl.ioctl(control, DM_TARGET_MSG, buf)
        except OSError as e:
            return "error: " + os.strerror(e.errno)
    flags, = struct.unpack_from("<I", buf, 28)
    return buf[DM_HEAD:].split(b"\0")[0].decode() if flags & DM_DATA_OUT else ""


def read_log(path):
    """[(flags, sector, data)] of a dm-log-writes log device."""
    entries = []
    with open(path, "rb") as f:
        magic, _version, nr, size = struct.unpack("<QQQI", f.read(28))
        if magic != LOG_MAGIC:
            raise Trouble(f"{path}: no log")
        at = size
        for _ in range(nr):
            f.seek(at)
            head = f.read(size)
            sector, nr_sectors, flags, data_len = struct.unpack("<QQQQ", head[:32])
            at += size
            if flags & MARK:
                entries.append((flags, 0, head[32:32 + data_len].rstrip(b"\0")))
                continue
            data = b""
            if not flags & DISCARD and nr_sectors:
                data = f.read(nr_sectors * size)
                at += len(data)
            entries.append((flags, sector * size // SECTOR, data))
    return entries


class Journal:
    """Which transactions are complete, from the sectors written so far."""

    def __init__(self, start, blocks, txn=0, part=()):
        self.start, self.end = start * 8, (start + blocks) * 8
        self.txn, self.part = txn, set(part)

    def copy(self):
        j = Journal(0, 0, self.txn, self.part)
        j.start, j.end = self.start, self.end
        return j

    def write(self, sector, data):
        if not self.start <= sector < self.end:
            return
        txn, _block, index, total = struct.unpack("<QIHH", data[8:24])
        if txn == self.txn + 1:
            self.part.add(index)
            if len(self.part) == total:
                self.txn, self.part = txn, set()


class Disk:
    """The content of the metadata device, and what the journal on it says."""

    def __init__(self, size):
        self.data, self.journal = bytearray(size), None

    def find_journal(self):
        start, blocks = struct.unpack_from("<QQ", self.data, SB_JOURNAL)
        self.journal = Journal(start, blocks)

    def copy(self):
        d = Disk(0)
        d.data, d.journal = bytearray(self.data), self.journal.copy()
        return d

    def write(self, sector, data, keep=lambda: True):
        """Those sectors of a write for which `keep` says so."""
        for i in range(0, len(data), SECTOR):
            if keep():
                at = sector * SECTOR + i
                self.data[at:at + SECTOR] = data[i:i + SECTOR]
                if self.journal:
                    self.journal.write(at // SECTOR, data[i:i + SECTOR])


class Tester:
    def __init__(self, device, target):
        self.device, self.target = device, target
        self.tried = self.wrong = 0

    def put(self, data, at=0):
        with open(self.device, "r+b") as f:
            f.seek(at)
            f.write(data)
            f.flush()
            os.fsync(f.fileno())

    def expect(self, what, got, want):
        self.tried += 1
        if not re.fullmatch(want, got):
            self.wrong += 1
            print(f"{what}: got '{got}', want '{want}'", flush=True)

    def check(self, what, disk):
        """Load a disk: everything is as after the last complete transaction."""
        self.put(disk.data)
        self.expect(what, message(self.target, "verify"), f"txn {disk.journal.txn}")

    def recover(self, what, disk):
        """Go on from a disk, stop, and load again."""
        self.check(what, disk)
        for words, want in (("open",), f"txn {disk.journal.txn}"), (("activate",), ""), \
                (("run", 3), f"txn {disk.journal.txn + 3}"), (("close",), ""), \
                (("verify",), f"txn {disk.journal.txn + 3}"):
            self.expect(f"{what}, then {words[0]}", message(self.target, *words), want)

    def done(self, what):
        print(f"{self.tried} checks of {what}, {self.wrong} wrong")
        return 1 if self.wrong else 0


def group_at(entries, i):
    """Writes from entry i on that one flush makes durable: a power cut before it keeps any of them."""
    group = []
    while i < len(entries) and not entries[i][0] and entries[i][2]:
        group.append(entries[i])
        i += 1
    return group


def cut(t, disk, entries, i, rng):
    """Power cuts just before entry i is durable."""
    group = group_at(entries, i)
    flags, sector, data = entries[i]
    if group:
        for _ in range(2):
            d, some = disk.copy(), rng.choice((0.1, 0.5, 0.9))
            for _flags, sector, data in group:
                chance = rng.choice((0, some, 1))
                d.write(sector, data, lambda c=chance: rng.random() < c)
            t.check(f"entry {i}, part of {len(group)} writes", d)
    elif data and not flags & MARK:
        d, some = disk.copy(), rng.choice((0.1, 0.5, 0.9))
        d.write(sector, data, lambda: rng.random() < some)
        t.recover(f"entry {i}, part of a FUA write", d)
    else:
        t.check(f"entry {i}", disk)


def cuts(log, device, target, seed, nr):
    rng = random.Random(int(seed))
    entries = read_log(log)
    disk = Disk(max(sector * SECTOR + len(data) for _flags, sector, data in entries))
    t = Tester(device, target)
    formatted = next(i for i, e in enumerate(entries) if e[0] & MARK and e[2] == b"formatted")
    at = set(rng.sample(range(formatted, len(entries)), min(int(nr), len(entries) - formatted)))
    acknowledged = 0
    for i, (flags, sector, data) in enumerate(entries):
        if i == formatted:
            disk.find_journal()
        if i in at:
            cut(t, disk, entries, i, rng)
        if flags & MARK:
            if data.startswith(b"txn-"):
                acknowledged = int(data[4:])
                t.expect(f"entry {i}, acknowledged", str(disk.journal.txn >= acknowledged), "True")
        elif not flags & DISCARD:
            disk.write(sector, data)
    t.check("the end of the log", disk)
    t.expect("transactions", str(acknowledged > 100), "True")
    return t.done(f"{len(entries)} log entries")


def damage(image, device, target, step="1"):
    """Any one block, but for the journal's, can be damaged; the journal's are noticed.  Every step-th is tried."""
    t = Tester(device, target)
    with open(image, "rb") as f:
        good = f.read()
    start, blocks = struct.unpack_from("<QQ", good, SB_JOURNAL)
    meta_blocks = struct.unpack_from("<Q", good, 152)[0]
    t.put(good)
    want = message(target, "verify")
    t.expect("as it is", want, r"txn \d+")
    for block in list(range(0, meta_blocks, int(step))) + [16, 17, 18]:
        content = good[block * BLOCK:(block + 1) * BLOCK]
        flipped = bytearray(content)
        flipped[2000] ^= 4
        for kind, damaged in ("a bit", flipped), ("zeroes", bytes(BLOCK)):
            t.put(damaged, block * BLOCK)
            in_journal = start <= block < start + blocks
            t.expect(f"block {block}, {kind}", message(target, "verify"),
                     "error: Invalid or incomplete.*" if in_journal else want)
        t.put(content, block * BLOCK)
    return t.done(f"{meta_blocks} blocks")


def main():
    try:
        return {"cuts": cuts, "damage": damage}[sys.argv[1]](*sys.argv[2:])
    except Trouble as e:
        print(e)
        return 2


if __name__ == "__main__":
    sys.exit(main())
