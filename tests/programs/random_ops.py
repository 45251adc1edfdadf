"""random_ops.py SEED COUNT [attack]: COUNT random calls on names in HOME, the same ones for the same seed.

Prints what came of each. With `attack` the protected folder and its parents are among the names. No name and no link has
`..` in it, so that nothing outside HOME is ever reached.
"""
import ctypes
import errno
import os
import random
import socket
import stat
import sys

home = os.environ["HOME"]
if not os.path.exists(os.path.join(home, ".throwaway-home")):
    sys.exit("HOME is not a throw-away one")
os.chdir(home)
rng = random.Random(int(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)
tops = ["r1", "r2", "r3", "r4", "tmp/r1", "tmp/r2"]
if sys.argv[3:] == ["attack"]:
    tops += [".pi/agent", ".pi", ".pi/agent/sessions", ".pi/agent/sessions/--work--", ".codex", ".claude.json"] * 2
    more = ["auth.json", "settings.json", "sessions", "npm", "2026-08-31_1.jsonl", "latest"]
else:
    more = []


def name():
    parts = [rng.choice(tops)]
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        parts.append(rng.choice(["a", "b", "c"] + more))
    path = "/".join(parts)
    kind = rng.random()
    if kind < 0.15:
        return home + "/" + path
    return path + "/" if kind < 0.2 else path


def opened():
    how = rng.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
    for flag in (os.O_CREAT, os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND, os.O_NOFOLLOW, os.O_DIRECTORY, os.O_CLOEXEC):
        if rng.random() < 0.3:
            how |= flag
    path, mode = name(), rng.choice([0o600, 0o644, 0o666, 0o777, 0o400, 0])
    text = b"x" * rng.randrange(50)
    fd = os.open(path, how | os.O_NONBLOCK, mode)
    try:
        return os.write(fd, text)
    finally:
        os.close(fd)


def renamed2():
    if libc.renameat2(-100, name().encode(), -100, name().encode(), rng.choice([0, 1, 2])) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def bound():
    with socket.socket(socket.AF_UNIX, rng.choice([socket.SOCK_STREAM, socket.SOCK_DGRAM])) as s:
        path = name()
        s.bind(path)
        return s.getsockname() == path


def in_folder():
    fd = os.open(name(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        what = rng.randrange(4)
        if what == 0:
            os.mkdir("a", 0o755, dir_fd=fd)
        elif what == 1:
            os.unlink("b", dir_fd=fd)
        elif what == 2:
            os.rename("a", "b", src_dir_fd=fd, dst_dir_fd=fd)
        else:
            os.symlink("b", "c", dir_fd=fd)
    finally:
        os.close(fd)


def by_descriptor():
    fd = os.open(name(), os.O_RDONLY | os.O_NONBLOCK)
    try:
        what = rng.randrange(3)
        if what == 0:
            os.fchmod(fd, rng.choice([0o600, 0o755, 0o700]))
        elif what == 1:
            os.utime(fd, ns=(10**18, 10**18 + rng.randrange(10**9)))
        else:
            os.setxattr(fd, "user.f", b"v")
    finally:
        os.close(fd)


def masked():
    os.umask(rng.choice([0, 0o22, 0o27, 0o77]))


calls = {
    "open": (opened, 8),
    "mkdir": (lambda: os.mkdir(name(), rng.choice([0o755, 0o700, 0o777, 0o1777])), 8),
    "rmdir": (lambda: os.rmdir(name()), 2),
    "unlink": (lambda: os.unlink(name()), 3),
    "rename": (lambda: os.rename(name(), name()), 4),
    "renameat2": (renamed2, 3),
    "link": (lambda: os.link(name(), name(), follow_symlinks=rng.random() < 0.3), 3),
    "symlink": (lambda: os.symlink(rng.choice(["a", "b", home + "/r1/a", home + "/tmp/r2", name()]), name()), 3),
    "truncate": (lambda: os.truncate(name(), rng.randrange(100)), 2),
    "chmod": (lambda: os.chmod(name(), rng.choice([0o700, 0o755, 0o640, 0o4755, 0o2755, 0o600])), 3),
    "chown": (lambda: os.chown(name(), -1, os.getgid(), follow_symlinks=rng.random() < 0.5), 1),
    "utime": (lambda: os.utime(name(), ns=(10**18, 10**18 + rng.randrange(10**9)), follow_symlinks=rng.random() < 0.5), 2),
    "setxattr": (lambda: os.setxattr(name(), rng.choice(["user.a", "user.b"]), b"v"), 2),
    "removexattr": (lambda: os.removexattr(name(), rng.choice(["user.a", "user.b"])), 1),
    "mknod": (lambda: os.mknod(name(), rng.choice([stat.S_IFIFO, stat.S_IFREG]) | 0o644), 2),
    "bind": (bound, 1),
    "in a folder": (in_folder, 3),
    "by descriptor": (by_descriptor, 2),
    "umask": (masked, 1),
    "listdir": (lambda: sorted(os.listdir(name())), 1),
}
names, weights = list(calls), [weight for _, weight in calls.values()]
for number in range(int(sys.argv[2])):
    call = rng.choices(names, weights)[0]
    # A seed of its own for each call, so that one that fails early does not shift all that follow.
    rng.seed(f"{sys.argv[1]} {number}")
    try:
        result = calls[call][0]()
    except OSError as error:
        result = errno.errorcode.get(error.errno, error.errno)
    print(number, call, result)
