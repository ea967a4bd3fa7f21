"""Kernel mechanisms that hold model-written programs: namespaces, a file view, privileges, system calls.

Used by the zygote alone, in a fresh interpreter: standard library only. Nothing here is optional. A step that
the kernel refuses raises `MissingMechanism`, which names it, and no program is run.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Iterable

MECHANISMS = {
    "user namespace": "only where the grader is not root: gives an ordinary user the namespaces below",
    "pid namespace": "no process of the grader to be seen or signalled; its pid 1 kills all that it holds",
    "network namespace": "no interface, not even loopback",
    "ipc namespace": "no shared memory, queues or semaphores of other processes",
    "uts namespace": "no host name",
    "mount namespace": "pivot_root into a read-only tree with the standard library alone; no /proc, no /tmp",
    "own uid": "where the grader is root: an unprivileged uid and gid of its own, no groups",
    "no capabilities": "bounding, permitted, effective and ambient sets are empty",
    "no_new_privs": "no set-uid program can give privileges back",
    "not dumpable": "no core dumps, no tracing",
    "seccomp": "an allowlist of system calls: no sockets, processes, signals, tracing or limits of others",
    "rlimits": "CPU seconds, address space, threads, open files; files of length zero",
    "wall clock and output": "watched by the zygote, which kills with SIGKILL",
}

_NAMESPACES = {
    "mount namespace": 0x00020000,
    "uts namespace": 0x04000000,
    "ipc namespace": 0x08000000,
    "pid namespace": 0x20000000,
    "network namespace": 0x40000000,
}
_NEWUSER = 0x10000000
_INSIDE_ID = 1000
_UID_BASE = 0x70000000  # far above what distributions hand out; the zygote's pid is added

_MS_RDONLY_NOSUID_NODEV = 0x1 | 0x2 | 0x4
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SYS_PIVOT_ROOT, _SYS_CAPSET, _SYS_MOUNT_SETATTR = 155, 126, 442
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 38, 47

_libc = ctypes.CDLL(None, use_errno=True)


class MissingMechanism(Exception):
    """The kernel refused something that the sandbox needs; the text names it."""


def check_platform() -> None:
    """Raise `MissingMechanism` on anything but 64-bit Linux on x86: the system call table below is its."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or struct.calcsize("P") != 8:
        found = f"{sys.platform} on {platform.machine()}"
        raise MissingMechanism(f"seccomp filter: written for 64-bit Linux on x86_64, this is {found}")


def _must(result: int, mechanism: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise MissingMechanism(f"{mechanism}: {os.strerror(code)} ({errno.errorcode.get(code, code)})")


def unshare() -> None:
    """Move the calling process into fresh namespaces; its next child is pid 1 of the new pid namespace."""
    check_platform()
    if os.geteuid() != 0:
        uid, gid = os.geteuid(), os.getegid()
        _must(_libc.unshare(_NEWUSER), "user namespace")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{_INSIDE_ID} {uid} 1")
        _write("/proc/self/gid_map", f"{_INSIDE_ID} {gid} 1")
    for name, flag in _NAMESPACES.items():
        _must(_libc.unshare(flag), name)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise MissingMechanism(f"user namespace: {path}: {error.strerror}") from error


def isolate() -> None:
    """Take the file system and the privileges away from the calling process, pid 1 of its namespace."""
    uid = _UID_BASE + int(os.readlink("/proc/self"))  # the pid as the grader sees it: unique while we live
    _leave_file_system()
    _drop_privileges(uid)


def _leave_file_system() -> None:
    where = "mount namespace"
    _must(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), where)
    # /dev is a directory that every system has and that nothing below is read from.
    root = "/dev"
    flags = _MS_RDONLY_NOSUID_NODEV & ~1
    _must(_libc.mount(b"none", root.encode(), b"tmpfs", flags, b"size=1m,mode=755"), where)
    for library in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}:
        inside = root + library  # the same path inside, so that sys.path and tracebacks stay right
        os.makedirs(inside, mode=0o755, exist_ok=True)
        _must(_libc.mount(library.encode(), inside.encode(), None, _MS_BIND | _MS_REC, None), where)
        if os.path.isdir(inside + "/site-packages"):
            hidden = (inside + "/site-packages").encode()
            _must(_libc.mount(b"none", hidden, b"tmpfs", flags, b"size=4k,mode=755"), where)
    os.chdir(root)
    _must(_libc.syscall(_SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    _must(_libc.umount2(b".", _MNT_DETACH), "umount of the old root")
    os.chdir("/")
    attributes = struct.pack("QQQQ", _MS_RDONLY_NOSUID_NODEV, 0, 0, 0)
    _must(
        _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes)),
        "mount_setattr (read-only tree)",
    )


def _drop_privileges(uid: int) -> None:
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            if capability == 0 or ctypes.get_errno() != errno.EINVAL:  # EINVAL: past the kernel's last one
                _must(-1, "capability bounding set")
            break
    _must(_libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0), "ambient capabilities")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _must(_libc.syscall(_SYS_CAPSET, header, nothing), "capset")
    _must(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _must(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "not dumpable")
    # Changing ids clears this signal, so it is set last.
    _must(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent death signal")
    if 0 in os.getresuid() or 0 in os.getresgid() or _libc.setuid(0) == 0:
        raise MissingMechanism("own uid: still able to be root after dropping privileges")


def limit(cpu_seconds: int, address_bytes: int, threads: int) -> None:
    """Bind the calling process: whole CPU seconds, bytes of address space, threads besides its first."""
    for which, value in (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, address_bytes),
        (resource.RLIMIT_NPROC, threads + 2),  # the zygote and the program's own first thread count too
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(which, (value, value))


# System calls of x86_64 by number. Files can only be read; nothing names another process.
_ALLOWED = (
    *(0, 1, 2, 3, 4, 5, 6, 7, 8),  # read write open close stat fstat lstat poll lseek
    *(9, 10, 11, 12, 25, 28),  # mmap mprotect munmap brk mremap madvise
    *(13, 14, 15, 131),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
    *(17, 19, 20, 21, 22, 23, 24),  # pread64 readv writev access pipe select sched_yield
    *(32, 33, 35, 39, 60, 63, 72),  # dup dup2 nanosleep getpid exit uname fcntl
    *(78, 79, 89, 96, 97, 98, 100),  # getdents getcwd readlink gettimeofday getrlimit getrusage times
    *(102, 104, 107, 108, 110, 118, 120, 186),  # getuid getgid geteuid getegid getppid getres[ug]id gettid
    *(202, 204, 217, 218),  # futex sched_getaffinity getdents64 set_tid_address
    *(228, 229, 230, 231),  # clock_gettime clock_getres clock_nanosleep exit_group
    *(257, 262, 267, 269),  # openat newfstatat readlinkat faccessat
    *(270, 271, 273),  # pselect6 ppoll set_robust_list
    *(292, 293, 309, 318, 324, 332, 334, 439),  # dup3 pipe2 getcpu getrandom membarrier statx rseq faccessat2
)
_CLONE, _CLONE3, _PRLIMIT64 = 56, 435, 302
_CLONE_THREAD = 0x00010000
_ARCH_X86_64 = 0xC000003E
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def _filter(allowed: Iterable[int]) -> bytes:
    """Classic BPF: (code u16, if-true u8, if-false u8, operand u32); offset 0 holds the call, 4 the machine."""
    refuse = _ERRNO | errno.EPERM
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _ARCH_X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, 0x40000000),  # the x32 calls share the architecture
        (_RETURN, 0, 0, refuse),
        (_EQUAL, 0, 4, _CLONE),  # a thread, never a process
        (_LOAD, 0, 0, 16),
        (_ANY_BIT, 0, 1, _CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        (_EQUAL, 0, 1, _CLONE3),  # its flags are out of a filter's sight; libc falls back to clone
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_EQUAL, 0, 4, _PRLIMIT64),  # its own limits only, and those can only sink
        (_LOAD, 0, 0, 16),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
    ]
    for number in allowed:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, refuse))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


_PROGRAM = ctypes.create_string_buffer(_filter(_ALLOWED))
_FILTER = struct.pack("HxxxxxxP", (len(_PROGRAM) - 1) // 8, ctypes.addressof(_PROGRAM))


def filter_calls() -> None:
    """Install the allowlist for the calling process, for good; every other call fails with EPERM."""
    _must(_libc.prctl(_PR_SET_SECCOMP, 2, _FILTER, 0, 0), "seccomp")
