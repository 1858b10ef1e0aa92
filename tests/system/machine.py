"""A machine of its own under systemd: what the packaged units meet where they are installed.

    test ─▶ unshare (pid, mount, network, cgroup, ... namespaces) ─▶ systemd, its process 1

Its root is a copy-on-write view of this machine's files; nothing of it is left. Its /sys and
/proc/sys are read-only, its devices are a few harmless ones, and it lacks the capabilities by which
it could change this machine's kernel. Of units it has systemd's own, less those for hardware and
timers, and what is installed in it. Its cgroup is one of the unified hierarchy: that can be
mounted beside the older ones, too, with no controller in it, and systemd needs none.
"""

import os
import select
import socket
import subprocess

from testbed.process import Process

# This machine's unified hierarchy wherever it may be mounted, in a mount namespace of its own.
CGROUP = 'mount --make-rprivate / && mount -t cgroup2 none "$1/cgroup" && cd "$1/cgroup" && '
ENTER = CGROUP + 'mkdir -p "$2" && echo $$ >"$2/cgroup.procs" && cd / && shift 2 && exec "$@"'
LEAVE = CGROUP + 'find "$2" -depth -type d -exec rmdir {} +'

# Becomes process 1.
BOOT = """
set -e
umount "$1/cgroup"
mount -t tmpfs none "$1/view"
mkdir "$1/view/upper" "$1/view/work" "$1/view/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/view/upper,workdir=$1/view/work" "$1/view/root"
host=$1/host
cd "$1/view/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 none dev
mkdir dev/net dev/pts
mount -t devpts -o newinstance,ptmxmode=666 none dev/pts
ln -s pts/ptmx dev/ptmx
for device in null zero full random urandom tty net/tun; do
  if [ -e "/dev/$device" ]; then
    : >"dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  fi
done
for folder in run tmp dev/shm etc/systemd/system usr/lib/systemd/system-generators; do
  mkdir -p "$folder"
  mount -t tmpfs none "$folder"
done
chmod 755 run
chmod 1777 tmp dev/shm
mkdir run/host
mount --bind "$host" run/host
for unit in timers.target paths.target systemd-udevd.service systemd-udev-trigger.service \
            systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-modules-load.service \
            systemd-sysctl.service systemd-random-seed.service; do
  ln -s /dev/null "etc/systemd/system/$unit"
done
ip link set lo up
mkdir -p mnt
pivot_root . mnt
umount -l mnt
exec env -i container=tributary NOTIFY_SOCKET=/run/host/notify PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  setpriv --bounding-set=-sys_module,-sys_rawio,-sys_time,-syslog,-mknod \
  /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=no
"""


class Machine:
    """Booted on construction; close() ends all that runs in it. Use as a context manager."""

    def __init__(self, loop, folder):
        self._loop = loop
        self.folder = folder
        self._started = 0
        self._end = None  # readable once process 1 is gone, and with it all others
        self._cgroup = f"tributary-test-{os.getpid()}"
        for name in ("cgroup", "view", "host"):
            (folder / name).mkdir()
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(str(folder / "host/notify"))
        self._notify.settimeout(60)
        namespaces = ["--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup"]
        boot = ["unshare", *namespaces, "--fork", "--kill-child=KILL",
                "sh", "-c", BOOT, "sh", folder]
        enter = ["unshare", "--mount", "sh", "-c", ENTER, "sh", folder, self._cgroup, *boot]
        self._process = Process(loop, "machine", enter, folder / "machine.log")
        try:
            self._wait_for_boot()
            children = f"/proc/{self._process.pid}/task/{self._process.pid}/children"
            with open(children, encoding="ascii") as file:
                self._init = file.read().strip()
            self._end = os.pidfd_open(int(self._init))
        except BaseException:
            self.close()
            raise

    def _wait_for_boot(self):
        heard = ""

        def ready():
            nonlocal heard
            assert self._process.running, self._process.describe()
            try:
                heard = self._notify.recv(4096, socket.MSG_DONTWAIT).decode()
            except BlockingIOError:
                return False
            return "READY=1" in heard.splitlines()

        self._loop.wait(ready, 60, "systemd has booted")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # unshare ignores SIGTERM, and takes its child along when it is killed.
        self._process.stop(grace=0)
        self._notify.close()
        if self._end is not None:
            select.select([self._end], [], [], 60)
            os.close(self._end)
        subprocess.run(
            ["unshare", "--mount", "sh", "-c", LEAVE, "sh", self.folder, self._cgroup],
            check=self._end is not None,
            timeout=60,
        )

    def command(self, *argv, user=None):
        """What runs `argv` in the machine: as root, or as a user with its groups."""
        inside = ["nsenter", "--target", self._init, "--mount", "--uts", "--ipc", "--net", "--pid",
                  "--cgroup", "--"]
        if user is not None:
            inside += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"]
        return [*inside, *map(str, argv)]

    def try_to(self, *argv, user=None):
        """Runs it and waits for its end, whatever that is."""
        command = self.command(*argv, user=user)
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, cwd="/")

    def run(self, *argv, user=None):
        """Runs it; its output."""
        done = self.try_to(*argv, user=user)
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}\n{self.journal()}"
        return done.stdout

    def write(self, path, text):
        """A file of the machine."""
        subprocess.run(self.command("tee", path), input=text, text=True, check=True,
                       stdout=subprocess.DEVNULL, timeout=60)

    def show(self, unit, name):
        """A property of a unit."""
        return self.run("systemctl", "show", "--value", "-p", name, unit).strip()

    def start(self, *argv, user=None):
        """Runs it beside the test; a Process."""
        self._started += 1
        log = self.folder / f"process{self._started}.log"
        return Process(self._loop, str(argv[0]), self.command(*argv, user=user), log, cwd="/")

    def wait_for(self, unit, what, condition):
        """Until the condition is true; what the unit said if it does not become so."""
        try:
            self._loop.wait(condition, 60, f"{unit}: {what}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.journal('--unit=' + unit)}") from None

    def journal(self, *options):
        return self.try_to("journalctl", "--no-pager", "-o", "cat", *options).stdout
