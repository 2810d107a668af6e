#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Two applications that commit, and say so, until the power is cut; and the look at what is left.

usage: committer.py run DIR SEED            prints "ACK j N" and "ACK s N" when a commit has come back
       committer.py verify DIR NR_J NR_S    these have been acknowledged; exits 1 if one is missing

j is a file of records with checksums, appended and fsynced one by one; s is an SQLite database, a row a
transaction.  Beside them other data are written without any sync.
"""
import os
import random
import sqlite3
import struct
import sys
import threading
import zlib

HEAD = struct.Struct("<IIII")   # magic, number, length, checksum of all but this
MAGIC = 0x636d7431


def payload(number):
    r = random.Random(number)
    return r.randbytes(r.choice((100, 1000, 4080, 20000)))


def record(number):
    data = payload(number)
    return HEAD.pack(MAGIC, number, len(data), zlib.crc32(data, number)) + data


def read_journal(path):
    """The number of the last good record, and the offset behind it."""
    number = end = 0
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return 0, 0
    while len(data) >= end + HEAD.size:
        magic, n, length, csum = HEAD.unpack_from(data, end)
        body = data[end + HEAD.size:end + HEAD.size + length]
        if magic != MAGIC or n != number + 1 or len(body) != length or zlib.crc32(body, n) != csum:
            break
        number, end = n, end + HEAD.size + length
    return number, end


def open_database(directory):
    db = sqlite3.connect(os.path.join(directory, "database"), isolation_level=None)
    # with "full", a rollback journal that was deleted may be there again after a power cut and undo a commit
    db.execute("pragma synchronous=extra")
    db.execute("create table if not exists t (n integer primary key, data blob)")
    return db


def acknowledge(kind, number):
    os.write(1, b"ACK %s %d\n" % (kind, number))


def run_journal(directory):
    path = os.path.join(directory, "journal")
    number, end = read_journal(path)
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, end)
    os.lseek(fd, end, os.SEEK_SET)
    os.fsync(fd)
    d = os.open(directory, os.O_RDONLY)
    os.fsync(d)
    while True:
        number += 1
        os.write(fd, record(number))
        os.fsync(fd)
        acknowledge(b"j", number)


def run_database(directory, seed):
    db = open_database(directory)
    db.execute("pragma journal_mode=" + ("wal" if seed % 2 else "delete"))
    number = db.execute("select max(n) from t").fetchone()[0] or 0
    while True:
        number += 1
        db.execute("insert into t values (?, ?)", (number, payload(number)))
        acknowledge(b"s", number)


def run_noise(directory, seed):
    r = random.Random(seed)
    fd = os.open(os.path.join(directory, "noise"), os.O_RDWR | os.O_CREAT)
    while True:
        os.pwrite(fd, r.randbytes(r.choice((512, 4096, 65536))), r.randrange(64 << 20) & ~511)
        if not r.randrange(200):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def run(directory, seed):
    threads = [threading.Thread(target=run_journal, args=(directory,)),
               threading.Thread(target=run_database, args=(directory, seed)),
               threading.Thread(target=run_noise, args=(directory, seed))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def verify(directory, nr_journal, nr_rows):
    bad = []
    last, _ = read_journal(os.path.join(directory, "journal"))
    if last < nr_journal:
        bad.append(f"journal: record {last + 1} is not good, {nr_journal} were acknowledged")
    db = open_database(directory)
    check = db.execute("pragma integrity_check").fetchone()[0]
    if check != "ok":
        bad.append(f"database: {check}")
    rows = 0
    for number, data in db.execute("select n, data from t order by n"):
        if number != rows + 1 or data != payload(number):
            break
        rows = number
    if rows < nr_rows:
        bad.append(f"database: row {rows + 1} is missing or wrong, {nr_rows} were acknowledged")
    db.close()
    print(f"# found {last} records and {rows} rows; acknowledged {nr_journal} and {nr_rows}")
    for line in bad:
        print("# " + line)
    return 1 if bad else 0


def main():
    if sys.argv[1] == "run":
        run(sys.argv[2], int(sys.argv[3]))
    return verify(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))


if __name__ == "__main__":
    sys.exit(main())
