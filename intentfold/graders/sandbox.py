"""Runs model-written Python and SQL, and hands back what they returned as plain data.

A `Sandbox` starts one zygote: a fresh interpreter that isolates itself (`isolation.py`) and then forks a child
for every program (`zygote.py`), so a program costs a fork, not the start of an interpreter, and finds nothing
of the programs before it. Where the kernel lacks a mechanism, `SandboxUnavailable` names it and nothing is run.

Expected outputs are never sent. A program may overwrite its harness and write to the result pipe what it
likes; all that it can achieve is to claim outputs, which the grader then compares with the right ones.

What a program doesn't have: child processes, sockets, a writable file, packages beyond the standard library
(so `asyncio`, `subprocess`, `tempfile` and numpy fail in it). It may start a few threads.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from intentfold.graders import isolation, zygote

ErrorKind = Literal["exception", "timeout", "memory", "output", "killed"]

_GRACE_SECONDS = 20.0  # what the zygote may take beyond a program's own wall clock, on a busy machine
_TEXT = {
    "timeout": "ran out of time",
    "output": "printed or returned too much",
    "killed": "ended before it had answered",
}
# Import the zygote without the packages around it: the child interpreter sees only these files.
_BOOT = """
import sys, types
for name, path in (("intentfold", sys.argv[1] + "/.."), ("intentfold.graders", sys.argv[1])):
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
from intentfold.graders.zygote import main
main()
"""


class SandboxError(RuntimeError):
    """The sandbox itself failed; says nothing about the program."""


class SandboxUnavailable(SandboxError):
    """This machine lacks a mechanism that the sandbox needs; the text names it."""


class DatabaseError(ValueError):
    """A database cannot be read or built: the task's fault, not the answer's."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use; `memory_bytes` comes on top of what the zygote itself has mapped."""

    cpu_seconds: int = 5
    wall_seconds: float = 10.0
    memory_bytes: int = 512 * 2**20
    threads: int = 8
    output_bytes: int = 4 * 2**20
    rows: int = 50_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ValueError(f"limits: {name} must be positive, got {value!r}")
        if self.cpu_seconds != int(self.cpu_seconds):
            raise ValueError(f"limits: cpu_seconds must be whole, got {self.cpu_seconds!r}")


@dataclass(frozen=True, slots=True)
class CallResult:
    """Plain JSON data in `output`, or `error` with its `kind`."""

    output: Any = None
    error: str | None = None
    kind: ErrorKind | None = None


@dataclass(frozen=True, slots=True)
class PythonResult:
    """One result for each call, in order."""

    calls: tuple[CallResult, ...]


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Rows of None, int, float, str or bytes; or `error` with its `kind` and no rows."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    error: str | None = None
    kind: ErrorKind | None = None


_live: weakref.WeakSet[Sandbox] = weakref.WeakSet()


class Sandbox:
    """One zygote, started by the first program, started again when it is gone; safe to share among threads.

    After a fork of the grader the child's copy starts a zygote of its own.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        _live.add(self)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run_python(self, code: str, calls: Sequence[Mapping[str, Any]]) -> PythonResult:
        """Define `code`, then make each call `{"function": name, "args": [plain data]}` in the same process.

        Outputs of exact type None, bool, int, float, str, list, tuple, set, frozenset or dict come back as JSON
        data (tuples as lists, sets as sorted lists, keys as text); any other is an error of kind "output".
        Raises `SandboxError` when the sandbox itself fails.
        """
        if not calls:
            raise ValueError("run_python: at least one call is needed")
        body = json.dumps({"code": code, "calls": [dict(call) for call in calls]}).encode()
        with self._lock:
            status, said = self._ask({"op": "python", "limits": asdict(self.limits)}, body)
        return PythonResult(tuple(_decode(status, said, len(calls))))

    def run_sql(self, database: Path | bytes, sql: str) -> SqlResult:
        """Execute one reading statement on a copy in memory of `database`, a sqlite file or a script's bytes.

        Raises `DatabaseError` when the database cannot be made, `SandboxError` when the sandbox itself fails.
        """
        key = database_key(database)
        head = {"op": "sql", "database": key, "limits": asdict(self.limits)}
        body = sql.encode(errors="surrogatepass").decode(errors="replace").encode()
        with self._lock:
            status, said = self._ask(head, body)
            while status == "unknown":
                self._load(database, key)
                status, said = self._ask(head, body)
        (call,) = _decode(status, said, 1)
        if call.error is not None:
            return SqlResult(error=call.error, kind=call.kind)
        try:
            rows = tuple(tuple(_cell(cell) for cell in row) for row in call.output["rows"])
            return SqlResult(columns=tuple(str(column) for column in call.output["columns"]), rows=rows)
        except (TypeError, KeyError, ValueError) as error:
            raise SandboxError(f"the sandbox returned malformed rows: {error}") from error

    def mechanisms(self) -> dict[str, str]:
        """The kernel mechanisms in force on this machine, name -> what each is for; starts the zygote."""
        with self._lock:
            self._start()
        unused = "user namespace" if os.geteuid() == 0 else "own uid"
        return {name: use for name, use in isolation.MECHANISMS.items() if name != unused}

    def close(self) -> None:
        """End the zygote and everything in it; the sandbox may be used again."""
        with self._lock:
            self._stop()

    def _ask(self, head: dict[str, Any], body: bytes) -> tuple[str, bytes]:
        for _ in range(2):
            self._start()
            try:
                return self._exchange(head, body)
            except (EOFError, OSError):  # gone or silent; TimeoutError is an OSError
                self._stop()
        # Twice, with a zygote in between that had just proved itself: this program brings it down.
        self._start()
        return "killed", b""

    def _exchange(self, head: dict[str, Any], body: bytes) -> tuple[str, bytes]:
        assert self._channel is not None
        self._channel.settimeout(self.limits.wall_seconds + _GRACE_SECONDS)
        try:
            zygote.send(self._channel, head, body)
            reply, said = zygote.receive(self._channel)
        except BaseException:  # an interrupted exchange leaves half a message behind
            self._stop()
            raise
        if reply["status"] == "broken":
            raise SandboxError(f"the sandbox could not run the program: {reply['error']}")
        if reply["status"] == "bad":
            raise DatabaseError(reply["error"])
        return reply["status"], said

    def _load(self, database: Path | bytes, key: str) -> None:
        form, image = ("script", database) if isinstance(database, bytes) else ("image", _image(database))
        head = {"op": "load", "database": key, "form": form, "wall_seconds": self.limits.wall_seconds}
        try:
            status, _ = self._ask(head, image)
        except DatabaseError as error:
            where = "script" if isinstance(database, bytes) else database
            raise DatabaseError(f"database {where}: {error}") from error
        if status == "killed":
            raise DatabaseError("building the database brings the sandbox down")

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop()
        try:
            isolation.check_platform()
        except isolation.MissingMechanism as error:
            raise SandboxUnavailable(f"no sandbox on this machine: {error}") from error
        ours, theirs = socket.socketpair()
        with theirs:
            self._channel = ours
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-S", "-P", "-B", "-c", _BOOT, str(Path(__file__).parent.resolve())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                # Nothing of the grader's environment; a fixed hash seed, so that sets iterate alike always.
                env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
                start_new_session=True,
            )
        try:
            ours.settimeout(60)
            reply, _ = zygote.receive(ours)
        except (EOFError, OSError) as error:
            self._stop()
            raise SandboxError(f"the sandbox did not start: {error}") from error
        if reply["status"] != "ready":
            self._stop()
            raise SandboxUnavailable(f"no sandbox on this machine: {reply['error']}")
        probe = json.dumps({"code": "def f():\n return 1", "calls": [{"function": "f", "args": []}]}).encode()
        try:
            outcome = self._exchange({"op": "python", "limits": asdict(Limits())}, probe)
        except (EOFError, OSError) as error:
            raise SandboxError(f"the sandbox did not survive its first program: {error}") from error
        if outcome != ("done", b'{"output": 1}\n'):
            self._stop()
            raise SandboxUnavailable(f"no sandbox on this machine: its first program came to {outcome}")

    def _stop(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
            self._process = None

    def _forget(self) -> None:
        """In a forked child: the zygote is the parent's."""
        self._lock = threading.Lock()
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            self._process.returncode = 0  # no warning about a process that is not ours
            self._process = None


def _forget_all() -> None:
    for sandbox in list(_live):
        sandbox._forget()


@atexit.register
def _close_all() -> None:
    for sandbox in list(_live):
        sandbox.close()


os.register_at_fork(after_in_child=_forget_all)


@functools.cache
def shared_sandbox() -> Sandbox:
    """This process's sandbox with the default limits."""
    return Sandbox()


def _decode(status: str, said: bytes, count: int) -> list[CallResult]:
    """`count` results from what a program wrote, trusting none of it."""
    if status == "output":
        return [CallResult(error=_TEXT["output"], kind="output")] * count
    results = []
    for line in said.split(b"\n")[:count]:
        if line:
            results.append(_decode_line(line))
    ended: ErrorKind = "timeout" if status == "timeout" else "killed"
    if status != "done" and len(results) == count:
        results.pop()  # it wrote as many lines as were asked for and still did not end as the harness ends
    missing = CallResult(error=_TEXT[ended], kind=ended)
    return results + [missing] * (count - len(results))


def _decode_line(line: bytes) -> CallResult:
    try:
        match json.loads(line):
            case {"output": output, **rest} if not rest:
                return CallResult(output=output)
            case {"error": str(error), "kind": str(kind), **rest} if not rest and kind in get_args(ErrorKind):
                return CallResult(error=error[:300], kind=kind)  # type: ignore[arg-type]  # checked on this line
    except (ValueError, RecursionError):
        pass
    return CallResult(error="wrote something that is no result", kind="output")


def _cell(cell: Any) -> Any:
    return bytes.fromhex(cell["blob"]) if isinstance(cell, dict) else cell


def database_key(database: Path | bytes) -> str:
    """Hex digest of a database's content; a file is read again when its size or time changes."""
    if isinstance(database, bytes):
        return hashlib.sha256(database).hexdigest()
    try:
        stat = database.stat()
    except OSError as error:
        raise DatabaseError(f"database {database}: {error.strerror}") from error
    return _file_key(database, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _file_key(path: Path, size: int, time_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _image(path: Path) -> bytes:
    """The file's content, in a form that opens in memory (one in write-ahead mode does not)."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise DatabaseError(f"database {path}: {log.name} holds changes; checkpoint the database first")
    image = path.read_bytes()
    # Bytes 18 and 19 are the versions to write and to read with: 2 asks for a write-ahead log, 1 doesn't.
    return image[:18] + b"\1\1" + image[20:] if image[18:20] == b"\2\2" else image
