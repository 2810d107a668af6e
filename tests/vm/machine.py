# SPDX-License-Identifier: GPL-2.0
"""One throw-away QEMU machine: what vmrun and vmtap are made of.

The guest boots a stock Debian kernel from a tiny initramfs; its root is an overlay, the host's /
read-only over 9p below, a tmpfs on top, so whatever the guest writes is gone afterwards.  One
directory is shared read-write, on /out in the guest: everything that outlives the guest is there.

    OUT/console.log     the kernel's console
    OUT/NAME.img        the disk NAME, unless its file is given
    OUT/.vm/            the scripts that run in the guest, QEMU's command line and messages

The script in the guest has its output on the second serial port, which is handed to `on_data` as
it comes.  A line that is just VMRUN-KILL kills QEMU at once, as a power cut would.

What makes it fast under TCG: the ELF kernel taken out of vmlinuz (PVH boot, nothing to unpack in
the guest), a handful of modules in the initramfs, tsc=reliable and no_timer_check.
"""
import contextlib
import dataclasses
import fcntl
import glob
import hashlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dm-tier")
KERNELS = os.path.join(CACHE, "kernels")

KILL_LINE = b"VMRUN-KILL"
SHUTDOWN_LIMIT = 60     # seconds from the script's end to QEMU's
ASK_LIMIT = 20          # seconds for one answer of a kernel that is asked where it is stuck

# Exit statuses of vmrun that are not the script's own.
STATUS_TIMEOUT, STATUS_TROUBLE, STATUS_DIED = 124, 125, 126

GUEST_MODULES = ("virtio_pci virtio_blk virtio_scsi sd_mod virtio_rng "
                 "9p 9pnet_virtio overlay dm-mod").split()

# What the cases start again and again.  The guest has it in memory: over 9p each of the files that a program
# opens costs several turns of the host.  Large libraries are rarely of use to what links them.
HOT_PROGRAMS = ("awk bash basename blkdiscard blkid blockdev cat chmod cksum cmp cp cut date dd diff dirname dmesg dmsetup "
                "e2fsck env fio find fsck grep head insmod kill ln losetup ls lsblk md5sum mkdir mkfs.ext4 mkfs.xfs mktemp "
                "modinfo modprobe mount mv od readlink rm rmdir rmmod sed seq sh sha256sum sleep sort stat sync tail tee "
                "timeout touch tr true truncate umount uname wc xfs_repair").split()
HOT_SIZE = 8 << 20

# Console lines that make a run fail whatever the script thinks of it.
TROUBLE = re.compile(
    r"Kernel panic|\bOops\b|\bBUG\b|\bWARNING: (?!.*taint)|KASAN|UBSAN|KCSAN: |KFENCE: |"
    r"general protection fault|[Uu]nable to handle|divide error|stack segment:|"
    r"INFO: task .* blocked for more|BUG: workqueue lockup|INFO: trying to register non-static key|rcu.* stall|rcu: INFO:|soft lockup|hard LOCKUP|"
    r"possible (circular|recursive) locking|possible irq lock inversion|inconsistent lock state|"
    r"possible deadlock|bad unlock balance|held lock freed|lock held when returning|"
    r"suspicious RCU usage|sleeping function called from|scheduling while atomic|refcount_t: |"
    r"list_(add|del) corruption|kmemleak: (?!Kernel memory leak detector initialized|Automatic|\d+ new suspected)|ODEBUG: |Call Trace|Object .* not freed|"
    r"[Oo]bjects remaining in|kmem_cache_destroy")


class Error(Exception):
    """The machine can't be had as asked for; the text is for the user."""


def trouble_in(lines, ignore=()):
    """The lines that TROUBLE matches and none of the regular expressions `ignore` does."""
    ignore = [re.compile(i) for i in ignore]
    return [l for l in lines if TROUBLE.search(l) and not any(i.search(l) for i in ignore)]


# ---------------------------------------------------------------------------------------------
# Kernels

def version_key(version):
    return [int(n) for n in re.findall(r"\d+", version)]


def default_kernel():
    """$KVER, or the newest installed 6.1 kernel of Debian, rather one with headers than without."""
    if os.environ.get("KVER"):
        return os.environ["KVER"]
    found = [p.split("vmlinuz-")[1] for p in glob.glob("/boot/vmlinuz-6.1.*-amd64")]
    found = [v for v in found if re.fullmatch(r"[\d.]+-\d+-amd64", v) and os.path.isdir("/lib/modules/" + v)]
    with_headers = [v for v in found if os.path.exists(f"/lib/modules/{v}/build/Makefile")]
    if not found:
        raise Error("no Debian 6.1 kernel in /boot: run `make deps`, or name one (--kernel, KVER)")
    return max(with_headers or found, key=version_key)


@dataclasses.dataclass
class Kernel:
    version: str
    image: str          # bzImage
    modules: str        # .../lib/modules/VERSION on the host


def find_kernel(version):
    """An installed kernel, or one unpacked under KERNELS/VERSION with its modules under its own root."""
    for root in (os.path.join(KERNELS, version), "/"):
        for lib in ("lib", "usr/lib"):
            modules = os.path.join(root, lib, "modules", version)
            for image in (os.path.join(root, "boot/vmlinuz-" + version), os.path.join(root, "boot/bzImage"),
                          os.path.join(modules, "vmlinuz")):
                if os.path.isdir(os.path.join(modules, "kernel")) and os.path.exists(image):
                    if not os.path.exists(os.path.join(modules, "modules.dep")):
                        subprocess.run(["depmod", "-b", os.path.join(root, lib).removesuffix("/lib"), version],
                                       check=True)
                    return Kernel(version, image, modules)
    raise Error(f"no kernel {version} installed or in {KERNELS} (tests/kernels.sh fetches newer ones)")


def has_option(kernel, *options):
    """Whether one of these configuration options is built in."""
    try:
        with open(os.path.join(os.path.dirname(kernel.image), "config-" + kernel.version)) as f:
            lines = f.read().splitlines()
            return any(f"CONFIG_{o}=y" in lines for o in options)
    except OSError:
        return False


def slowness():
    """$TIER_SLOW: how many times longer than usual everything may take."""
    try:
        return max(1.0, float(os.environ.get("TIER_SLOW") or 1))
    except ValueError as e:
        raise Error("TIER_SLOW is not a number") from e


def boot_image(kernel):
    """The uncompressed ELF inside a bzImage, cached; the bzImage itself where that can't be booted."""
    if has_option(kernel, "KASAN", "KCSAN"):    # instrumented code would run in the PVH entry, too early
        return kernel.image
    elf = os.path.join(CACHE, f"vmlinux-{kernel.version}-{int(os.stat(kernel.image).st_mtime)}")
    if os.path.exists(elf):
        return elf
    with open(kernel.image, "rb") as f:
        data = f.read()
    for magic, unpack in ((b"\xfd7zXZ\x00", ["xz", "-dc", "--single-stream"]),
                          (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]),
                          (b"\x1f\x8b\x08", ["gzip", "-dcq"]), (b"\x02\x21\x4c\x18", ["lz4", "-dc"])):
        at = data.find(magic)
        while at >= 0:
            try:
                out = subprocess.run(unpack, input=data[at:], capture_output=True, check=False).stdout
            except FileNotFoundError:
                break
            if out[:4] == b"\x7fELF":
                with replacing(elf) as f:
                    f.write(out)
                return elf
            at = data.find(magic, at + 1)
    return kernel.image


class replacing:
    """A file that appears under its name only when it is complete."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.path, self.tmp = path, f"{path}.{os.getpid()}"

    def __enter__(self):
        self.file = open(self.tmp, "wb")
        return self.file

    def __exit__(self, kind, value, traceback):
        self.file.close()
        if kind:
            os.unlink(self.tmp)
        else:
            os.rename(self.tmp, self.path)


# ---------------------------------------------------------------------------------------------
# Initramfs

INIT = r"""#!/bin/sh
/bin/busybox mkdir -p /proc /sys /dev /r /l /u
/bin/busybox --install -s /bin 2>/dev/null
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
while read -r m; do insmod /mods/$m 2>/dev/null || echo "vmrun: insmod $m failed" >/dev/kmsg; done </mods/order
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /dev/shm
for f in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -s /proc/self/${f#*:} /dev/${f%:*}; done
set -e
o=trans=virtio,version=9p2000.L,msize=524288,access=any
mount -t 9p -o ro,$o,cache=loose root /l
mount -t tmpfs -o size=50% tmpfs /u; mkdir /u/upper /u/work
mount -t overlay -o lowerdir=/hot:/l,upperdir=/u/upper,workdir=/u/work overlay /r
mkdir -p /r/out /r/proc /r/sys /r/dev /r/run
mount -t tmpfs tmpfs /r/run
mount -t 9p -o rw,$o,cache=none out /r/out
mount --move /proc /r/proc; mount --move /sys /r/sys; mount --move /dev /r/dev
cd /r; mount --move . /; exec chroot . /bin/bash /out/.vm/stage2	# no switch_root: it would delete /hot
"""

# Instead of INIT (rdinit=/probe) to learn whether an accelerator boots this kernel at all.
PROBE = r"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc
/bin/busybox mount -t proc proc /proc
echo probe-works
echo o >/proc/sysrq-trigger
/bin/busybox sleep 60
"""


def modules_with_dependencies(kernel):
    """The .ko files of GUEST_MODULES in the order to load them."""
    root = tempfile.mkdtemp(prefix="vm-modules.")   # modprobe wants ROOT/lib/modules/VERSION
    try:
        os.makedirs(root + "/lib/modules")
        os.symlink(os.path.realpath(kernel.modules), f"{root}/lib/modules/{kernel.version}")
        order = []
        for module in GUEST_MODULES:
            shown = subprocess.run(["modprobe", "-d", root, "-S", kernel.version, "--show-depends", "-q", module],
                                   capture_output=True, text=True, check=False).stdout
            for line in shown.splitlines():
                kind, _, rest = line.partition(" ")
                path = rest.split(" ")[0]
                if kind == "insmod" and path:
                    path = os.path.realpath(path)
                    if path not in order:
                        order.append(path)
        return order
    finally:
        shutil.rmtree(root, ignore_errors=True)


def hot_files():
    """What the guest keeps in memory: HOT_PROGRAMS with their libraries, by the names they are opened by."""
    programs = [p for p in map(shutil.which, HOT_PROGRAMS) if p]
    shown = subprocess.run(["ldd"] + programs, capture_output=True, text=True, check=False).stdout
    todo = programs + re.findall(r"(?m)^\s+(?:\S+ => )?(/\S+) \(0x", shown) + ["/etc/ld.so.cache"]
    files = set()
    while todo:
        path = todo.pop()
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if os.path.islink(path):
            todo.append(os.path.join(os.path.dirname(path), os.readlink(path)))
        elif not os.path.isfile(path) or os.path.getsize(path) > HOT_SIZE:
            continue
        files.add(path)
    return sorted(files)


def initramfs(kernel):
    """The path of the initramfs for a kernel, built once and cached."""
    stamp = os.stat(os.path.join(kernel.modules, "modules.dep")).st_mtime
    hot = hot_files()
    stamps = [(f, os.lstat(f).st_mtime, os.lstat(f).st_size) for f in hot]
    key = hashlib.sha1(f"{INIT}{PROBE}{GUEST_MODULES}{kernel.modules}{stamp}{stamps}".encode()).hexdigest()[:12]
    path = os.path.join(CACHE, f"initramfs-{kernel.version}-{key}.cpio")
    if os.path.exists(path):
        return path
    if not os.path.exists("/bin/busybox"):
        raise Error("no /bin/busybox (package busybox-static): run `make deps`")
    tree = tempfile.mkdtemp(prefix="vm-initramfs.")
    try:
        os.makedirs(tree + "/bin")
        os.makedirs(tree + "/mods")
        shutil.copy("/bin/busybox", tree + "/bin/busybox")
        os.symlink("busybox", tree + "/bin/sh")
        names = []
        for module in modules_with_dependencies(kernel):
            name, ext = re.fullmatch(r"(.*\.ko)(?:\.(\w+))?", os.path.basename(module)).groups()
            unpack = {"xz": ["xz", "-dc"], "zst": ["zstd", "-dcq"], "gz": ["gzip", "-dc"], None: ["cat"]}[ext]
            with open(f"{tree}/mods/{name}", "wb") as f:
                subprocess.run(unpack + [module], stdout=f, check=True)
            names.append(name)
        for name, text in (("mods/order", "".join(n + "\n" for n in names)), ("init", INIT), ("probe", PROBE)):
            with open(os.path.join(tree, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(tree, name), 0o755)
        os.mkdir(tree + "/hot")
        for file in hot:
            os.makedirs(os.path.dirname(f"{tree}/hot{file}"), exist_ok=True)
            shutil.copy2(file, f"{tree}/hot{file}", follow_symlinks=False)
        packed = subprocess.run("find . | cpio -o -H newc --quiet -R 0:0", shell=True, cwd=tree,
                                stdout=subprocess.PIPE, check=True).stdout
        with replacing(path) as f:
            f.write(packed)
        return path
    finally:
        shutil.rmtree(tree, ignore_errors=True)


# ---------------------------------------------------------------------------------------------
# Accelerator

TCG = "tcg,thread=multi,tb-size=512"
BASE_APPEND = ("console=ttyS0,115200 panic=-1 oops=panic quiet loglevel=6 printk.devkmsg=on tsc=reliable "
               "no_timer_check mitigations=off audit=0 net.ifnames=0 cryptomgr.notests random.trust_cpu=on "
               "nowatchdog log_buf_len=1M sysrq_always_enabled")


def tsc_option():
    """What tells a guest under TCG its counter's frequency: a busy host makes it miscalibrate (tsckhz.c)."""
    source = os.path.join(TOP, "tests/vm/tsckhz.c")
    program = os.path.join(CACHE, f"tsckhz-{int(os.stat(source).st_mtime)}")
    try:
        if not os.path.exists(program):
            os.makedirs(CACHE, exist_ok=True)
            subprocess.run(["gcc", "-O2", "-o", f"{program}.{os.getpid()}", source], check=True)
            os.replace(f"{program}.{os.getpid()}", program)
        khz = subprocess.run([program], stdout=subprocess.PIPE, check=True, timeout=10).stdout.decode().strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"tsc_early_khz={khz}" if khz.isdigit() else ""


def base_command(kernel, accel, append):
    if has_option(kernel, "KASAN"):     # it would stop at its first report
        append = f"kasan_multi_shot {append}"
    cpu = "max"
    if accel.startswith("tcg"):
        # What TCG has translated it finds again by virtual address only: with programs at random ones each start of one
        # is translated anew, and takes three times as long.  String instructions go piece by piece: words, then, not bytes.
        append = f"{tsc_option()} norandmaps {append}"
        cpu = "max,erms=off"
    return ["qemu-system-x86_64", "-accel", accel, "-cpu", cpu, "-machine", "q35,usb=off,hpet=off",
            "-display", "none", "-nodefaults", "-no-user-config", "-no-reboot",
            "-kernel", boot_image(kernel), "-initrd", initramfs(kernel), "-append", f"{BASE_APPEND} {append}".strip()]


def kvm_works(kernel):
    """Whether a kernel boots under KVM here; found out once by trying, not by /dev/kvm being there."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    host = hashlib.sha1(" ".join(os.uname()).encode()).hexdigest()[:12]
    answer = os.path.join(CACHE, f"kvm-{kernel.version}-{host}")
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "kvm.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(answer):
            try:
                out = subprocess.run(base_command(kernel, "kvm", "rdinit=/probe") + ["-m", "256M", "-serial", "stdio"],
                                     stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False).stdout
            except subprocess.TimeoutExpired as e:
                out = e.stdout or b""
            with replacing(answer) as f:
                f.write(b"yes\n" if b"probe-works" in out else b"no\n")
        with open(answer) as f:
            return f.read().strip() == "yes"


def accelerator(kernel):
    """QEMU's -accel: $VM_ACCEL, else KVM where it works and TCG elsewhere."""
    wish = os.environ.get("VM_ACCEL", "auto")
    if wish == "auto":
        wish = "kvm" if kvm_works(kernel) else "tcg"
    return TCG if wish == "tcg" else wish


# ---------------------------------------------------------------------------------------------
# Disks

DISK_HELP = """\
--disk NAME:key=value,...  is /dev/NAME in the guest ($DISK_NAME is its kernel name there)
   size=2G            K, M, G, T, or s for 512-byte sectors; the file is made or cut to this size
   file=PATH          default OUT/NAME.img; it stays, so give the same --out or file to boot again
   nbd=SOCKET         an NBD server instead of a file
   hddsim=on          behind the timing of one disk arm; parameters for the nbdkit plugin may follow
                      instead of `on`: hddsim=mbps:100+rev_us:8300
   lbs=512|4096       logical block size             pbs=N  physical block size (default: lbs)
   bus=blk|scsi       virtio-blk or a SCSI disk      fua=on  SCSI only: offer FUA to the guest
   cache=writeback|none|writethrough|unsafe|directsync     (default writeback)
   aio=threads|native|io_uring                       queues=N  of virtio-blk, default 1
   discard=on|off     default on                     rot=0|1  queue/rotational
   iops= iops_rd= iops_wr= bps= bps_rd= bps_wr= iops_size= and ..._max=  throttling
"""

THROTTLE = {"iops": "iops-total", "iops_rd": "iops-read", "iops_wr": "iops-write", "iops_size": "iops-size",
            "bps": "bps-total", "bps_rd": "bps-read", "bps_wr": "bps-write"}


def parse_size(text):
    m = re.fullmatch(r"(\d+)([kKmMgGtTs]?)", text)
    if not m:
        raise Error(f"not a size: {text}")
    if m[2] == "s":
        return int(m[1]) * 512
    return int(m[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[m[2].upper()]


class Disk:
    def __init__(self, spec, out):
        self.name, _, rest = spec.partition(":")
        if not re.fullmatch(r"[A-Za-z][\w-]{0,19}", self.name):
            raise Error(f"disk {spec}: bad name (a serial number: letters, digits, at most 20)")
        try:
            self.keys = dict(item.split("=", 1) for item in rest.split(",") if item)
        except ValueError as e:
            raise Error(f"disk {spec}: every item must be key=value") from e
        self.bus = self.keys.pop("bus", "blk")
        self.rot = self.keys.pop("rot", None)
        self.hddsim = self.keys.pop("hddsim", None)
        self.socket = self.keys.pop("nbd", None)
        self.server = None
        size = self.keys.pop("size", None)
        self.path = os.path.abspath(self.keys.pop("file", os.path.join(out, self.name + ".img")))
        if not self.socket:
            self.make_file(size)

    def make_file(self, size):
        if not os.path.exists(self.path):
            if not size:
                raise Error(f"disk {self.name}: {self.path} does not exist and no size= is given")
            with open(self.path, "wb"):
                pass
        if size and not os.path.isdir(self.path) and os.path.getsize(self.path) != parse_size(size):
            os.truncate(self.path, parse_size(size))

    def start_server(self, directory):
        """The nbdkit behind a hddsim disk."""
        if not self.hddsim:
            return
        plugin = os.environ.get("HDDSIM_SO", os.path.join(TOP, "build/hddsim.so"))
        if not os.path.exists(plugin):
            raise Error(f"no {plugin}: run `make hddsim`")
        self.socket = os.path.join(directory, self.name + ".sock")
        if len(self.socket) > 100:      # the limit of struct sockaddr_un
            self.socket = os.path.join(tempfile.mkdtemp(prefix="vm-sock."), self.name)
        params = [] if self.hddsim == "on" else [p.replace(":", "=", 1) for p in self.hddsim.split("+")]
        with open(os.path.join(directory, self.name + ".nbdkit"), "w") as log:
            self.server = subprocess.Popen(["nbdkit", "-f", "-U", self.socket, plugin, "file=" + self.path,
                                            f"size={os.path.getsize(self.path)}"] + params,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        for _ in range(200):
            if os.path.exists(self.socket):
                return
            if self.server.poll() is not None:
                break
            time.sleep(0.02)
        with open(log.name) as f:
            raise Error(f"disk {self.name}: nbdkit did not start: {f.read().strip()}")

    def stop_server(self):
        if self.server and self.server.poll() is None:
            self.server.kill()          # its file is mapped shared: nothing is lost
            self.server.wait()
        if self.server and not os.path.exists(os.path.join(os.path.dirname(self.socket), "stage2")):
            shutil.rmtree(os.path.dirname(self.socket), ignore_errors=True)

    def arguments(self, number):
        keys = dict(self.keys)
        cache, discard = keys.pop("cache", "writeback"), keys.pop("discard", "on")
        aio, queues = keys.pop("aio", "threads"), keys.pop("queues", "1")
        lbs, fua = keys.pop("lbs", "512"), keys.pop("fua", "off")
        pbs = keys.pop("pbs", lbs)
        if self.socket:
            drive = f"driver=raw,file.driver=nbd,file.server.type=unix,file.server.path={self.socket},cache={cache}"
        else:
            drive = f"file={self.path},format=raw,cache={cache},aio={aio}"
        if discard == "on":
            drive += ",discard=unmap"
        for key in list(keys):
            base = key.removesuffix("_max")
            if base in THROTTLE:
                drive += f",throttling.{THROTTLE[base]}{'-max' if key != base else ''}={keys.pop(key)}"
        if keys:
            raise Error(f"disk {self.name}: unknown keys {' '.join(sorted(keys))}\n{DISK_HELP}")
        common = f"drive=d{number},serial={self.name},logical_block_size={lbs},physical_block_size={pbs}"
        if self.bus == "scsi":
            device = ["-device", f"scsi-hd,{common},bus=scsi0.0,dpofua={fua}"]
        else:
            device = ["-object", f"iothread,id=io{number}",
                      "-device", f"virtio-blk-pci,{common},num-queues={queues},iothread=io{number},"
                                 f"discard={discard}"]
        return ["-drive", f"if=none,id=d{number},{drive}"] + device


# ---------------------------------------------------------------------------------------------
# Machine

# Process 1 on the overlay root.
STAGE2 = r"""#!/bin/bash
trap '' TERM HUP INT
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
export DM_DISABLE_UDEV=1 OUT=/out TMPDIR=/run/tmp
. /out/.vm/config
version=$(</proc/sys/kernel/osrelease)
if [ -n "$MODULES" ] && [ ! /lib/modules/$version -ef "$MODULES" ]; then
	rm -rf "/lib/modules/$version"; mkdir -p /lib/modules; ln -s "$MODULES" "/lib/modules/$version"
fi
mkdir -p /run/tmp /run/lock; chmod 1777 /run/tmp
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
modprobe configfs && mount -t configfs configfs /sys/kernel/config
echo $((60 * SLOW)) >/proc/sys/kernel/hung_task_timeout_secs
echo 30 >/proc/sys/kernel/watchdog_thresh
if [ $SLOW -gt 1 ]; then
	echo 60 >/proc/sys/kernel/watchdog_thresh
	echo 120 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
	echo 180 >/sys/module/workqueue/parameters/watchdog_thresh
fi
echo 1 >/proc/sys/kernel/soft_watchdog
hostname vm; ip link set lo up
serial() {
	local s
	s=$(cat "$1/serial" 2>/dev/null)
	[ -n "$s" ] || s=$(tr -dc '[:alnum:]_-' <"$1/device/vpd_pg80")
	echo "$s"
}
for _ in {1..100}; do
	missing=
	for d in $DISKS; do
		[ -e "/dev/$d" ] && continue
		missing=1
		for b in /sys/block/vd* /sys/block/sd*; do
			[ -e "$b" ] && [ "$(serial "$b")" = "$d" ] && ln -s "${b##*/}" "/dev/$d"
		done
	done
	[ -z "$missing" ] && break
	sleep 0.1
done
for r in $ROTATIONAL; do echo "${r#*=}" >"/sys/block/$(readlink "/dev/${r%=*}")/queue/rotational"; done
stty -F /dev/ttyS1 raw -echo
touch /out/.vm/started
cd /out
setsid /bin/bash /out/.vm/command </dev/null >/dev/ttyS1 2>&1
rc=$?
stty -F /dev/ttyS1 >/dev/null	# waits for the output to drain
echo $rc >/out/.vm/rc
echo "<5>vmrun: script exit $rc" >/dev/kmsg
timeout 30 sync
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
"""


@dataclasses.dataclass
class Result:
    rc: int | None = None           # the script's exit status; None: it had none
    killed: bool = False            # by VMRUN-KILL or kill_after, as was asked for
    timed_out: bool = False
    trouble: list = dataclasses.field(default_factory=list)
    boot: float = float("nan")      # seconds from QEMU's start to the script's
    total: float = 0.0
    console: list = dataclasses.field(default_factory=list)
    stuck: list = dataclasses.field(default_factory=list)   # what the kernel said when time was up; not in console
    messages: str = ""              # QEMU's own

    def status(self):
        if self.timed_out:
            return STATUS_TIMEOUT
        if self.trouble and not self.rc:
            return STATUS_TROUBLE
        if self.killed:
            return 0
        return STATUS_DIED if self.rc is None else self.rc


class Machine:
    """Context: one thread calls run(); on_data is called in another; kill() from either."""

    def __init__(self, out, kernel=None, cpus=1, mem="1G", disks=(), append="", qemu=(), ignore=()):
        self.out = os.path.abspath(out)
        self.dir = os.path.join(self.out, ".vm")
        self.console = os.path.join(self.out, "console.log")
        self.console_socket = os.path.join(self.dir, "console.sock")
        self.kernel = find_kernel(kernel or default_kernel())
        self.cpus, self.mem, self.append, self.qemu, self.ignore = cpus, mem, append, list(qemu), list(ignore)
        os.makedirs(self.out, exist_ok=True)
        self.disks = [Disk(d, self.out) for d in disks]
        self.deadline = float("inf")    # may be moved while the machine runs
        self.process = None
        self.result = Result()

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)

    def prepare(self, script, args, env):
        """Lay out OUT/.vm for the guest."""
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        if os.path.exists(self.console):
            os.unlink(self.console)
        script = os.path.realpath(script)
        shutil.copy(script, os.path.join(self.dir, "script"))
        with open(script, "rb") as f:
            interpreter = "" if f.read(2) == b"#!" else "/bin/bash "
        os.chmod(os.path.join(self.dir, "script"), 0o755)
        self.write("command", "".join(f"export {k}={shlex.quote(v)}\n" for k, v in env.items()) +
                   "".join(f"export DISK_{d.name.replace('-', '_')}=/dev/$(readlink /dev/{d.name})\n"
                           for d in self.disks) +
                   f"export VMRUN_SCRIPT={shlex.quote(script)}\n" +
                   f"exec {interpreter}/out/.vm/script {shlex.join(args)}\n")
        self.write("config", f"MODULES={shlex.quote(self.kernel.modules)}\n"
                             f"SLOW={int(slowness())}\n"
                             f"DISKS={shlex.quote(' '.join(d.name for d in self.disks))}\n"
                             f"ROTATIONAL='{' '.join(f'{d.name}={d.rot}' for d in self.disks if d.rot is not None)}'\n")
        self.write("stage2", STAGE2)

    def command(self):
        share = "security_model=none,multidevs=remap"
        command = base_command(self.kernel, accelerator(self.kernel), self.append) + [
            # With one processor TCG (of QEMU 7) leaves memory barriers out, as if no other thread looked at the guest's
            # memory: devices do, and sooner or later the guest and a device each wait for the other.  So there may be two.
            "-smp", f"{self.cpus},maxcpus={max(self.cpus, 2)}", "-m", self.mem,
            "-chardev", f"socket,id=console,path={self.console_socket},server=on,wait=off,telnet=on,"
                        f"logfile={self.console}",
            "-serial", "chardev:console", "-serial", "stdio",
            "-fsdev", f"local,id=fsroot,path=/,readonly=on,{share}",
            "-device", "virtio-9p-pci,fsdev=fsroot,mount_tag=root",
            "-fsdev", f"local,id=fsout,path={self.out},{share}",
            "-device", "virtio-9p-pci,fsdev=fsout,mount_tag=out",
            "-object", "rng-random,id=rng0,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng0"]
        if any(d.bus == "scsi" for d in self.disks):
            command += ["-device", "virtio-scsi-pci,id=scsi0"]
        for number, disk in enumerate(self.disks):
            command += disk.arguments(number)
        return command + self.qemu

    def ask_where(self):
        """Time is up: let the kernel say which tasks wait, and where, what runs, and what its timers and queues do."""
        self.result.console = self.console_lines()
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
            s.connect(self.console_socket)
            s.settimeout(2)
            for key in b"7wltq":    # a telnet break is the serial line's, and makes it a SysRq
                s.sendall(b"\xff\xf3")
                time.sleep(0.2)
                s.sendall(bytes([key]))
                end = time.time() + ASK_LIMIT
                with contextlib.suppress(TimeoutError):
                    while s.recv(65536) and time.time() < end:
                        pass
        self.result.stuck = self.console_lines()[len(self.result.console):] or ["the kernel does not answer any more"]

    def kill(self):
        """Cut the power."""
        if self.process and self.process.poll() is None:
            self.process.kill()

    def forward(self, on_data):
        """Hand on what the script prints and look for KILL_LINE in it."""
        line = b""
        while data := self.process.stdout.read1(65536):
            line += data
            if KILL_LINE in line and re.search(rb"(?m)^" + KILL_LINE + rb"\r?$", line):
                self.result.killed = True
                self.kill()
            line = line[line.rfind(b"\n") + 1:]
            on_data(data)

    def supervise(self, kill_after):
        """Until QEMU is gone: by itself, by the deadline, or by kill_after."""
        rc_file, started = os.path.join(self.dir, "rc"), os.path.join(self.dir, "started")
        start, begun, finished = time.time(), None, None
        while True:
            try:
                self.process.wait(0.05 if kill_after else 0.2)
                return
            except subprocess.TimeoutExpired:
                pass
            now = time.time()
            if begun is None and os.path.exists(started):
                begun = os.stat(started).st_mtime
                self.result.boot = begun - start
            if finished is None and os.path.exists(rc_file):
                finished = now
            if kill_after and begun and now > begun + kill_after:
                self.result.killed = True
                self.kill()
            elif finished is None and now > self.deadline:
                self.result.timed_out = True
                self.ask_where()
                self.kill()
            elif finished and now > finished + SHUTDOWN_LIMIT:
                self.kill()

    def console_lines(self):
        try:
            with open(self.console, errors="replace") as f:
                return f.read().splitlines()
        except OSError:
            return []

    def run(self, script, args=(), env=None, on_data=lambda data: None, kill_after=None):
        """Boot, run the script, switch off; returns the Result."""
        if not os.path.exists(script):
            raise Error(f"no such script: {script}")
        self.prepare(script, args, env or {})
        start = time.time()
        errors = os.path.join(self.dir, "qemu.err")
        try:
            for disk in self.disks:
                disk.start_server(self.dir)
            command = self.command()
            self.write("qemu.cmd", shlex.join(command) + "\n")
            with open(errors, "w") as f:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=f,
                                                preexec_fn=die_with_parent)
            reader = threading.Thread(target=self.forward, args=(on_data,), daemon=True)
            reader.start()
            self.supervise(kill_after)
            reader.join(10)
        finally:
            self.kill()
            for disk in self.disks:
                disk.stop_server()
        result = self.result
        try:
            with open(os.path.join(self.dir, "rc")) as f:
                result.rc = int(f.read())
        except (OSError, ValueError):
            pass
        result.total = time.time() - start
        if not result.stuck:
            result.console = self.console_lines()
        result.trouble = trouble_in(result.console, self.ignore)
        with open(errors) as f:
            result.messages = "".join(l for l in f if "warning: TCG doesn't support" not in l).strip()
        return result


def die_with_parent():
    """Nothing outlives the program that started it, however that ends."""
    import ctypes       # here: only needed in the child
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)      # PR_SET_PDEATHSIG
