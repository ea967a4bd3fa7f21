"""The sandbox against programs that try to get out, to hang, to forge, or to leave something behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intentfold.graders import grade, isolation, registry
from intentfold.graders.grade import Grade
from intentfold.graders.sandbox import Limits, Sandbox, SandboxError, SandboxUnavailable
from intentfold.task import SourceTask

Make = Callable[..., SourceTask]
HONEST = "def f(x):\n    return 2 * x"

HOSTILE = {
    "endless loop": "while True: pass",
    "endless loop deaf to signals": """
        import signal
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: pass
    """,
    "sleep": "import time\ntime.sleep(3600)",
    "endless loop in C": "sum(iter(int, 1))",
    "fork bomb": """
        import os
        while True:
            try: os.fork()
            except OSError: pass
    """,
    "daemonised grandchild": """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: time.sleep(3600)
            os._exit(0)
        time.sleep(3600)
    """,
    "process start": "import subprocess\nsubprocess.run(['/bin/true'], check=True)",
    "thread bomb": """
        import threading, time
        while True: threading.Thread(target=time.sleep, args=(3600,)).start()
    """,
    "threads that swallow errors": """
        import threading, time
        while True:
            try: threading.Thread(target=time.sleep, args=(3600,)).start()
            except RuntimeError: pass
    """,
    "thread that outlives the answer": """
        import threading
        def spin():
            while True: pass
        threading.Thread(target=spin).start()
        def f(x): return x
    """,
    "memory bomb": "held = []\nwhile True: held.append(bytearray(10**7))",
    "one huge allocation": "bytearray(10**12)",
    "memory bomb that swallows errors": """
        held = []
        while True:
            try: held.append(bytearray(10**6))
            except MemoryError: pass
    """,
    "endless output": "while True: print('x' * 10000)",
    "endless output to the raw descriptor": "import os\nwhile True: os.write(2, b'x' * 65536)",
    "huge output": "def f(x): return 'x' * 10**8",
    "huge integer": "def f(x): return 10 ** 100000",
    "huge integer printed": "import sys\nsys.set_int_max_str_digits(0)\nprint(7 ** 10**8)",
    "closed descriptors": "import os\nos.closerange(0, 1000)\ndef f(x): return 2 * x",
    "closed descriptors and sleep": "import os, time\nos.closerange(0, 1000)\ntime.sleep(3600)",
    "early exit": "import os\nos._exit(0)",
    "system exit": "raise SystemExit(0)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "interrupts its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGINT)",
    "kills everything": "import os, signal\nos.kill(-1, signal.SIGKILL)\nwhile True: pass",
    "limits its parent": """
        import os, resource
        resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))
    """,
    "lifts its limits": """
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)
    """,
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "recursion": "def f(x): return f(x) + 1",
    "recursion in C": "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
    "nested output": "def f(x):\n    for _ in range(10**5): x = [x]\n    return x",
    "cyclic output": "def f(x):\n    x = []\n    x.append(x)\n    return x",
    "source too nested": "x = " + "(" * 50_000,
    "source with a null": "x = '\0'",
    "no program at all": "the answer is simply to double it",
    "another name": "def g(x): return 2 * x",
    "obliging equality": """
        class Yes(int):
            def __eq__(self, other): return True
            def __hash__(self): return 0
        def f(x): return Yes(0)
    """,
    "obliging object": """
        class Yes:
            def __eq__(self, other): return True
        def f(x): return Yes()
    """,
    "exception that cannot be shown": """
        class Bad(BaseException):
            def __str__(self): raise Bad
        def f(x): raise Bad
    """,
    "json replaced": """
        import json
        json.dumps = lambda *a, **k: '{"output": true, "full": true, "value": 1.0}'
        def f(x): return 0
    """,
    "builtins replaced": """
        import builtins
        builtins.type = lambda x: int
        builtins.all = lambda x: True
        def f(x): return object
    """,
    "result written early": """
        import os
        os.write(3, b'{"output": 0}\\n' * 2)
        os._exit(0)
    """,
    "right result written, then endless": """
        import os
        os.write(3, b'{"output": 6}\\n{"output": 42}\\n')
        while True: pass
    """,
    "verdict written": """
        import os
        os.write(3, b'{"value": 1.0, "full": true, "output": null}\\n' * 2)
        os._exit(0)
    """,
    "garbage written": "import os\nos.write(3, os.urandom(50000))\nos._exit(0)",
    "endless result": "import os\nwhile True: os.write(3, b'[' * 65536)",
    "deep result": "import os\nos.write(3, b'[' * 200000 + b'\\n')\nos._exit(0)",
    "harness frames rewritten": """
        import sys
        frame = sys._getframe()
        while frame:
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, list): value.clear()
                if isinstance(value, dict): value.clear()
            frame = frame.f_back
        def f(x): return 0
    """,
}


def _descendants(pid: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = {pid}
    while grown := {child for child, parent in parents.items() if parent in found} - found:
        found |= grown
    return found - {pid}


def _code_task(make_task: Make) -> SourceTask:
    return make_task("code", {"function": "f", "tests": [{"args": [x], "expected": 2 * x} for x in (3, 21)]})


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_fails_in_bounded_time_and_harms_nobody(name: str, box: Sandbox, make_task: Make) -> None:
    task = _code_task(make_task)
    began = time.monotonic()
    grade_of_it = grade(task, textwrap.dedent(HOSTILE[name]))
    assert time.monotonic() - began < 6
    assert (grade_of_it.value, grade_of_it.full) == (0.0, False)
    assert "Sandbox" not in grade_of_it.reason
    assert grade(task, HONEST).full
    assert box._process is not None
    assert len(_descendants(box._process.pid)) == 1, "only the zygote itself may be left"


def test_the_zygote_outlives_every_program(box: Sandbox, make_task: Make) -> None:
    box.run_python(HONEST, [{"function": "f", "args": [1]}])
    assert box._process is not None
    before = box._process.pid
    for name in ("kills its parent", "interrupts its parent", "fork bomb", "kills everything", "limits its parent"):
        grade(_code_task(make_task), textwrap.dedent(HOSTILE[name]))
    assert box._process.pid == before


# Each probe is a function body that raises where it is held, and returns where it is not.
PROBES = {
    "connect": "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()",
    "unix socket": "import socket\nsocket.socketpair()",
    "read the users": "open('/etc/passwd').read()",
    "read this test": "open(TEST).read()",
    "list the checkout": "import os\nos.listdir(os.path.dirname(TEST))",
    "list site-packages": "import sysconfig, os\nassert os.listdir(sysconfig.get_path('stdlib') + '/site-packages')",
    "import the project": "import sys\nsys.path.append(ROOT)\nimport intentfold.graders",
    "read the grader's environment": "open(f'/proc/{GRADER}/environ').read()",
    "read its own maps": "open('/proc/self/maps').read()",
    "read the parent's memory": "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb')",
    "signal the grader": "import os\nos.kill(GRADER, 0)",
    "see the grader's secret": "import os\nos.environ['INTENTFOLD_SECRET']",
    "write to tmp": "open('/tmp/' + NAME, 'w')",
    "write to shared memory": "open('/dev/shm/' + NAME, 'w')",
    "write where it stands": "open(NAME, 'w')",
    "make a folder": "import os, tempfile\nos.rmdir(tempfile.mkdtemp())",
    "make a memory file": "import os\nos.memfd_create(NAME)",
    "start a process": "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)",
    "execute": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''], check=True)",
    "be traced": "import ctypes\nassert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    "another namespace": "import ctypes, os\nassert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "lift the file limit": "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))",
}


def _probe_code(name: str) -> str:
    constants = (
        f"TEST = {__file__!r}\nROOT = {str(Path(__file__).parents[2])!r}\nGRADER = {os.getpid()}\n"
        f"NAME = 'intentfold-probe-{uuid.uuid4().hex}'\n"
    )
    return constants + "def probe():\n" + textwrap.indent(PROBES[name], "    ") + "\n    return 'reached'"


@pytest.mark.parametrize("name", PROBES)
def test_a_program_reaches_nothing_outside(name: str, box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTFOLD_SECRET", "sesame")
    (call,) = box.run_python(_probe_code(name), [{"function": "probe", "args": []}]).calls
    assert call.kind == "exception", call


@pytest.mark.parametrize("name", PROBES)
def test_the_probe_would_reach_it_without_a_sandbox(name: str, tmp_path: Path) -> None:
    if name == "list site-packages" and not list(Path(os.__file__).parent.glob("site-packages/*")):
        pytest.skip("this interpreter has none beside its standard library")
    code = _probe_code(name) + "\nprint(probe())"
    done = subprocess.run(
        [sys.executable, "-c", code.replace("'/tmp/'", repr(f"{tmp_path}/"))],
        cwd=tmp_path,
        env={**os.environ, "INTENTFOLD_SECRET": "sesame"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    for left in Path("/dev/shm").glob("intentfold-probe-*"):
        left.unlink()
    assert done.stdout == "reached\n", done.stderr


def test_the_expected_output_is_nowhere_in_the_program(box: Sandbox, make_task: Make) -> None:
    secret = f"sesame-{uuid.uuid4().hex}"
    search = """
        import gc, sys
        def f(word):
            seen = []
            frame = sys._getframe()
            while frame:
                seen += list(frame.f_locals.values()) + list(frame.f_globals.values())
                frame = frame.f_back
            for thing in gc.get_objects() + seen:
                for part in gc.get_referents(thing) + [thing]:
                    if isinstance(part, (str, bytes)):
                        part = part if isinstance(part, str) else part.decode('latin-1')
                        if word in part and len(part) < 10**6 and 'gc.get_objects' not in part:
                            at = part.index(word)
                            found = part[at : at + 39]
                            if len(found) == 39: return found
            return None
    """
    tests = [{"args": ["sesa" + "me-"], "expected": secret}]
    assert not grade(make_task("code", {"function": "f", "tests": tests}), textwrap.dedent(search)).full
    # The search does find what a program is given: it can fail for no other reason.
    tests = [{"args": ["sesame-"], "expected": secret}, {"args": [secret], "expected": secret}]
    result = box.run_python(textwrap.dedent(search), [{"function": "f", "args": test["args"]} for test in tests])
    assert result.calls[0].output == secret


def test_programs_leave_nothing_to_one_another(box: Sandbox) -> None:
    poison = "import json, builtins, sys\njson.loads = None\nbuiltins.len = None\nsys.left = 1\ndef f(): return 1"
    look = "import json, sys\ndef f(): return [len('ab'), json.loads('1'), hasattr(sys, 'left')]"
    assert box.run_python(poison, [{"function": "f", "args": []}]).calls[0].output == 1
    assert box.run_python(look, [{"function": "f", "args": []}]).calls[0].output == [2, 1, False]


def test_earlier_calls_keep_their_outputs_and_kinds_are_told_apart(box: Sandbox) -> None:
    code = "def f(x):\n    if x == 1: raise KeyError(x)\n    if x == 2: bytearray(10**12)\n    while x == 3: pass\n    return x"
    calls = box.run_python(code, [{"function": "f", "args": [x]} for x in (0, 1, 2, 3, 4)]).calls
    assert [call.output for call in calls] == [0, None, None, None, None]
    assert [call.kind for call in calls] == [None, "exception", "memory", "timeout", "timeout"]


def test_answers_do_not_depend_on_chance(box: Sandbox) -> None:
    code = "import random\ndef f(): return [list({'a', 'b', 'c', 'd', 'e'}), random.random(), hash('x')]"
    outputs = []
    for _ in range(2):
        outputs.append(box.run_python(code, [{"function": "f", "args": []}]).calls[0].output)
        box.close()
    assert outputs[0] == outputs[1] and outputs[0] is not None


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=25, deadline=None)
@given(values=st.lists(plain, min_size=1, max_size=20))
def test_plain_data_comes_back_as_it_went(values: list[Any], impatient: Sandbox) -> None:
    result = impatient.run_python("def f(x): return x", [{"function": "f", "args": [value]} for value in values])
    assert [call.output for call in result.calls] == values


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ("(1, (2,))", [1, [2]]),
        ("{3, 1, 2}", [1, 2, 3]),
        ("frozenset('ba')", ["a", "b"]),
        ("{1: 'a', None: 2, (1, 2): 3}", {"1": "a", "null": 2, "[1, 2]": 3}),
    ],
)
def test_python_collections_become_json(expression: str, output: Any, box: Sandbox) -> None:
    assert box.run_python(f"def f(): return {expression}", [{"function": "f", "args": []}]).calls[0].output == output


@pytest.mark.parametrize("expression", ["object()", "b'x'", "1j", "{1: 2, '1': 3}", "[lambda: 0]", "range(3)"])
def test_other_types_are_an_error(expression: str, box: Sandbox) -> None:
    assert box.run_python(f"def f(): return {expression}", [{"function": "f", "args": []}]).calls[0].kind == "output"


def test_common_modules_and_threads_work(box: Sandbox) -> None:
    code = """
        import bisect, collections, datetime, decimal, fractions, functools, hashlib, heapq, itertools, json, math
        import random, re, statistics, string, typing, zoneinfo, dataclasses, xml.etree.ElementTree, sqlite3, threading
        def f(x):
            out = []
            thread = threading.Thread(target=lambda: out.append(math.factorial(x)))
            thread.start()
            thread.join()
            print('a little output')
            return out + [hashlib.sha256(b'').hexdigest()[:4], str(datetime.date(2024, 2, 29))]
    """
    (call,) = box.run_python(textwrap.dedent(code), [{"function": "f", "args": [5]}]).calls
    assert call.output == [120, "e3b0", "2024-02-29"], call


def test_a_dead_zygote_is_replaced(box: Sandbox) -> None:
    call = [{"function": "f", "args": [4]}]
    box.run_python(HONEST, call)
    assert box._process is not None
    box._process.kill()
    assert box.run_python(HONEST, call).calls[0].output == 8


def _work(x: int) -> tuple[int, Any]:
    sandbox = _shared
    output = sandbox.run_python(HONEST, [{"function": "f", "args": [x]}]).calls[0].output
    assert sandbox._process is not None
    return sandbox._process.pid, output


_shared = Sandbox(Limits(cpu_seconds=1, wall_seconds=2.5))


def test_forked_workers_have_zygotes_of_their_own() -> None:
    ours, _ = _work(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers = pool.map(_work, range(40), chunksize=5)
    assert [output for _, output in answers] == [2 * x for x in range(40)]
    assert ours not in {pid for pid, _ in answers}
    assert _work(1)[0] == ours
    _shared.close()


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_the_zygote_ends_with_its_grader(signal_number: int) -> None:
    code = f"""if True:
        import os
        from intentfold.graders.sandbox import Sandbox
        sandbox = Sandbox()
        sandbox.mechanisms()
        print(sandbox._process.pid, flush=True)
        os.kill(os.getpid(), {int(signal_number)})
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[2])
    zygote = int(done.stdout)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{zygote}").exists():
        assert time.monotonic() < deadline, "the zygote is still there"
        time.sleep(0.02)


def test_it_says_what_it_uses(box: Sandbox) -> None:
    mechanisms = box.mechanisms()
    assert {"network namespace", "mount namespace", "seccomp", "rlimits", "no_new_privs"} <= mechanisms.keys()
    assert ("own uid" in mechanisms) == (os.geteuid() == 0)
    status = "import os\ndef f(): return [os.getresuid(), os.getpid(), os.getppid()]"
    uids, pid, parent = box.run_python(status, [{"function": "f", "args": []}]).calls[0].output
    assert 0 not in uids and parent == 1 and pid > 1


def test_another_platform_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, make_task: Make) -> None:
    monkeypatch.setattr(isolation.platform, "machine", lambda: "aarch64")
    with Sandbox() as sandbox, pytest.raises(SandboxUnavailable, match=r"seccomp.*aarch64"):
        sandbox.run_python(HONEST, [{"function": "f", "args": [1]}])


@pytest.mark.skipif(os.geteuid() != 0, reason="takes a capability away from root")
@pytest.mark.parametrize(("capability", "named"), [(21, "mount namespace"), (8, "bounding set")])
def test_a_missing_mechanism_is_refused_by_name(capability: int, named: str) -> None:
    code = f"""if True:
        from intentfold.graders import SandboxUnavailable, Sandbox
        from intentfold.graders.isolation import _libc
        assert _libc.prctl(24, {capability}, 0, 0, 0) == 0
        try: print(Sandbox().run_python("def f(): return 1", [{{"function": "f", "args": []}}]))
        except SandboxUnavailable as error: print("refused:", error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[2])
    assert done.stdout.startswith("refused:") and named in done.stdout, done


def test_a_broken_sandbox_leaves_the_answer_ungraded(monkeypatch: pytest.MonkeyPatch, make_task: Make) -> None:
    def broken(task: SourceTask, answer: str) -> Grade:
        raise SandboxError("no descriptors left")

    monkeypatch.setitem(registry.GRADERS, "code", broken)
    outcome = grade(_code_task(make_task), HONEST)
    assert outcome.value is None and not outcome.full and "no descriptors left" in outcome.reason


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="wall_seconds must be positive, got 0"):
        Limits(wall_seconds=0)
    with pytest.raises(ValueError, match=r"cpu_seconds must be whole, got 1\.5"):
        Limits(cpu_seconds=1.5)  # type: ignore[arg-type]
