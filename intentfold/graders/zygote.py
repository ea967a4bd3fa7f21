"""The zygote: an isolated process that forks one child for every program and reports how it went.

Run by `sandbox.py` in a fresh interpreter that never held the grader's memory. Standard library only.

Wire format, both ways over one socket: two big-endian u32 lengths, a JSON head, a body of bytes.
Requests: `python` (body: code and calls), `sql` (body: one statement), `load` (body: a database).
Replies: `{"status": done|timeout|output|killed|unknown|bad|broken, ...}`; the body is what the child wrote:
one JSON line for each call. The zygote doesn't read that body: a program may have forged it, and the grader
compares it with answers that are never sent here.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sqlite3
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from intentfold.graders import isolation

_HEAD = struct.Struct(">II")
_CACHE_BYTES = 256 * 2**20
# Imported before the file system goes: some need shared libraries that the tree inside doesn't hold.
_WARM = (
    "abc array ast base64 bisect bz2 calendar cmath collections copy csv ctypes dataclasses datetime decimal difflib "
    "enum fractions functools hashlib heapq hmac html inspect io itertools json lzma math numbers operator pprint "
    "queue random re secrets statistics string struct textwrap threading time traceback types typing unicodedata "
    "uuid zlib encodings.idna encodings.ascii encodings.latin_1"
)


def send(channel: socket.socket, head: dict[str, Any], body: bytes = b"") -> None:
    """Write one message."""
    text = json.dumps(head).encode()
    channel.sendall(_HEAD.pack(len(text), len(body)) + text + body)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Read one message; raises EOFError when the other side is gone."""
    text_length, body_length = _HEAD.unpack(_exactly(channel, _HEAD.size))
    return json.loads(_exactly(channel, text_length)), _exactly(channel, body_length)


def _exactly(channel: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = channel.recv(min(length - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side of the sandbox is gone")
        parts += part
    return bytes(parts)


def main() -> None:
    """Isolate, fork pid 1 of the new namespaces, and let it serve until the grader hangs up."""
    channel = socket.socket(fileno=0)
    try:
        for name in _WARM.split():
            importlib.import_module(name)
        isolation.unshare()
    except isolation.MissingMechanism as error:
        send(channel, {"status": "unavailable", "error": str(error)})
        return
    pid = os.fork()
    if pid:
        channel.close()
        os.waitpid(pid, 0)
        return
    try:
        # Init of a pid namespace is deaf to every signal from inside it that has no handler: keep none.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        pages = os.open("/proc/self/statm", os.O_RDONLY)
        null = os.open("/dev/null", os.O_RDONLY)
        isolation.isolate()
    except isolation.MissingMechanism as error:
        send(channel, {"status": "unavailable", "error": str(error)})
        os._exit(1)
    for name in [name for name in sys.modules if name.split(".")[0] == "intentfold"]:
        del sys.modules[name]
    gc.freeze()
    send(channel, {"status": "ready"})
    with contextlib.suppress(EOFError, ConnectionError):
        _Server(channel, pages, null).serve()
    os._exit(0)


class _Server:
    def __init__(self, channel: socket.socket, pages: int, null: int) -> None:
        self.channel, self.pages, self.null = channel, pages, null
        self.databases: OrderedDict[str, tuple[sqlite3.Connection, int]] = OrderedDict()

    def serve(self) -> NoReturn:
        while True:
            head, body = receive(self.channel)
            try:
                reply = self.answer(head, body)
            except (
                OSError,
                MemoryError,
            ) as error:  # out of processes, descriptors or memory: nobody's answer
                reply = {"status": "broken", "error": f"{type(error).__name__}: {error}"}, b""
            send(self.channel, *reply)

    def answer(self, head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        if head["op"] == "load":
            return self.load(head, body), b""
        if head["op"] == "python":
            request = json.loads(body)
            return self.run(head["limits"], lambda: answer_python(request["code"], request["calls"]))
        if head["database"] not in self.databases:
            return {"status": "unknown"}, b""
        self.databases.move_to_end(head["database"])
        connection, rows = self.databases[head["database"]][0], head["limits"]["rows"]
        return self.run(head["limits"], lambda: answer_sql(connection, body.decode(), rows))

    def load(self, head: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Hold a database in memory, where a forked child finds it at no cost and nobody can change it."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        deadline = time.monotonic() + head["wall_seconds"]
        try:
            if head["form"] == "image":
                connection.deserialize(body)
            else:
                connection.set_authorizer(_no_attach)
                connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
                connection.execute(f"PRAGMA max_page_count = {_CACHE_BYTES // 4096}")
                connection.executescript(body.decode())
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (pages,), (size,) = (connection.execute(f"PRAGMA {x}").fetchone() for x in ("page_count", "page_size"))
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            connection.close()
            return {"status": "bad", "error": f"{type(error).__name__}: {error}"}
        connection.set_progress_handler(None, 0)
        self.databases[head["database"]] = connection, pages * size
        while len(self.databases) > 1 and sum(held for _, held in self.databases.values()) > _CACHE_BYTES:
            self.databases.popitem(last=False)[1][0].close()
        gc.freeze()
        return {"status": "done"}

    def run(self, limits: dict[str, Any], program: Callable[[], Iterator[str]]) -> tuple[dict[str, Any], bytes]:
        """Run `program` in a fork, under the limits; all that it leaves behind is killed before this returns."""
        deadline = time.monotonic() + limits["wall_seconds"]
        address = int(os.pread(self.pages, 64, 0).split()[0]) * os.sysconf("SC_PAGESIZE") + limits["memory_bytes"]
        results, results_in = os.pipe()
        chatter, chatter_in = os.pipe()
        pid = os.fork()
        if pid == 0:
            self.become_program(results_in, chatter_in, limits, address, program)
        os.close(results_in)
        os.close(chatter_in)
        ended = os.pidfd_open(pid)
        try:
            status, body = _watch(results, chatter, ended, deadline, limits["output_bytes"])
        finally:
            # Every process of this pid namespace but us; the kernel does it in one sweep that no fork escapes.
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            _, code, usage = os.wait4(pid, 0)
            _reap()
            for descriptor in (results, chatter, ended):
                os.close(descriptor)
        if status == "done" and code != 0:
            spent = usage.ru_utime + usage.ru_stime
            status = "timeout" if os.WIFSIGNALED(code) and spent > limits["cpu_seconds"] - 0.2 else "killed"
        return {"status": status}, body

    def become_program(
        self,
        results: int,
        chatter: int,
        limits: dict[str, Any],
        address: int,
        program: Callable[[], Iterator[str]],
    ) -> NoReturn:
        code = 1
        try:
            os.dup2(self.null, 0)
            os.dup2(chatter, 1)
            os.dup2(chatter, 2)
            os.dup2(results, 3)
            os.closerange(4, 4096)
            random.seed(0)  # an answer that draws numbers gets the same grade every time
            isolation.limit(limits["cpu_seconds"], address, limits["threads"])
            isolation.filter_calls()
            for line in program():
                _write_all(3, line.encode() + b"\n")
            code = 0
        finally:
            os._exit(code)


def _watch(results: int, chatter: int, ended: int, deadline: float, most: int) -> tuple[str, bytes]:
    """Read both pipes until the program ends: ("done" | "timeout" | "output", what came through `results`)."""
    said, printed = bytearray(), 0
    poll = select.poll()
    for descriptor in (results, chatter, ended):
        poll.register(descriptor, select.POLLIN)
    over = False
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return "timeout", bytes(said)
        # Once the program is over, what the pipes still hold is read without waiting for more.
        ready = dict(poll.poll(0 if over else left * 1000))
        over = over or ended in ready
        moved = False
        for descriptor in (results, chatter):
            if not ready.get(descriptor, 0):
                continue
            part = os.read(descriptor, 1 << 16)
            if not part:
                poll.unregister(descriptor)
            elif descriptor == results:
                said += part
            else:
                printed += len(part)
            moved = moved or bool(part)
        if len(said) > most or printed > most:
            return "output", b""
        if over and not moved:
            return "done", bytes(said)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def answer_python(code: str, calls: list[dict[str, Any]]) -> Iterator[str]:
    """Define the program, make the calls in order in one process, and yield a JSON line for each."""
    namespace: dict[str, Any] = {"__name__": "__answer__", "__builtins__": __builtins__}
    try:
        exec(compile(code, "<answer>", "exec"), namespace)
    except BaseException as error:
        line = _failure(error)
        for _ in calls:
            yield line
        return
    for call in calls:
        try:
            function = namespace.get(call["function"])
            if function is None:
                raise NameError(f"the program defines no {call['function']!r}")
            output = function(*call["args"])
        except BaseException as error:
            yield _failure(error)
            continue
        try:
            yield json.dumps({"output": _plain(output)})
        except BaseException as error:
            yield _failure(error, "output")


def _failure(error: BaseException, kind: str | None = None) -> str:
    kind = kind or ("memory" if isinstance(error, MemoryError) else "exception")
    try:
        text = f"{type(error).__name__}: {error}"[:300]
    except BaseException:  # an exception of the program's own, with a __str__ of its own
        text = "an exception that cannot be shown"
    return json.dumps({"error": text, "kind": kind})


def _plain(value: Any) -> Any:
    """Plain JSON data: tuples become lists, sets lists in a fixed order, keys text as JSON writes them."""
    kind = type(value)  # subclasses are refused: they may compare and print as they like
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return [_plain(item) for item in value]
    if kind in (set, frozenset):
        items = [_plain(item) for item in value]
        numbers = all(type(item) in (int, float) for item in items)
        return sorted(items) if numbers else sorted(items, key=json.dumps)
    if kind is dict:
        plain = {key if type(key) is str else json.dumps(_plain(key)): _plain(item) for key, item in value.items()}
        if len(plain) != len(value):
            raise TypeError("two keys of a dict are the same in JSON")
        return plain
    raise TypeError(f"an answer must be plain data, got {kind.__name__}")


_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}


def _only_reading(action: int, _table: str | None, name: str | None, *_rest: str | None) -> int:
    allowed = action in _READING or (action == sqlite3.SQLITE_FUNCTION and name != "load_extension")
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _no_attach(action: int, *_rest: str | None) -> int:
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK


def answer_sql(connection: sqlite3.Connection, sql: str, most_rows: int) -> Iterator[str]:
    """Execute one reading statement and yield its columns and rows as one JSON line."""
    connection.text_factory = lambda data: data.decode(errors="replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 22)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_only_reading)
    try:
        cursor = connection.execute(sql)
        if cursor.description is None:
            raise sqlite3.ProgrammingError("the statement returns no rows")
        rows = cursor.fetchmany(most_rows + 1)
        if len(rows) > most_rows:
            yield json.dumps({"error": f"more than {most_rows} rows", "kind": "output"})
            return
        plain = [[{"blob": x.hex()} if isinstance(x, bytes) else x for x in row] for row in rows]
        yield json.dumps({"output": {"columns": [column[0] for column in cursor.description], "rows": plain}})
    except Exception as error:
        yield _failure(error)
