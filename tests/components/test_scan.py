"""Real scan processes against nodesets that do what they must not."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from engine.components import scan_process
from engine.components.scan import ScanRequest
from engine.components.scan_process import run_scans
from tests.components.sources import HEAD, nodeset, tool, whole, write

DEADLINE = 60.0


def scan(path, deadline=DEADLINE):
    return run_scans([ScanRequest(path=str(path))], deadline)[0]


def the_error(path, deadline=DEADLINE):
    report = scan(path, deadline)
    assert report.manifests == ()
    (error,) = report.errors
    return error


def alive(pid):
    """Not gone and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=30.0):
    expires = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < expires, "the condition did not come about"
        time.sleep(0.01)


def test_a_nodeset_is_described(tmp_path):
    text = (
        HEAD
        + "class Panel(BaseEnvPanel):\n    name = 'panel'\n    async def on_load(self):\n        return {}\n"
        + tool("env_a__step", body="default_config = {'size': (64, 64)}\nbatched = True")
        + nodeset(
            "env_a", body="env_panel = Panel\nrecycle_after = 3\nenv = {'A': '1'}\nexpected_vram_mb = 900"
        )
    )
    report = scan(write(tmp_path / "env_a.py", text))
    assert report.errors == ()
    (manifest,) = report.manifests
    assert (manifest.name, manifest.class_name, manifest.path) == ("env_a", "Env", str(tmp_path / "env_a.py"))
    assert (manifest.parallelism, manifest.parallelism_assumed) == ("replicated", True)
    assert (manifest.recycle_after, manifest.env, manifest.expected_vram_mb) == (3, {"A": "1"}, 900)
    schema = {"name": "panel", "display_name": "panel", "fields": [], "actions": [], "only_fields": False}
    assert manifest.panel == schema
    step = manifest.tools["env_a__step"]
    assert (step.batched, step.dynamic_ports, step.default_config) == (True, False, {"size": [64, 64]})
    assert [(p.name, p.wire_type, p.optional) for p in step.inputs] == [
        ("action", "DISCRETE_ACTION", False),
        ("hint", "TEXT", True),
    ]


HOSTILE = {
    "syntax": ("def f(:\n", r"^SyntaxError: .*\(env_x\.py, line 1\)"),
    "not utf-8": (b"\xff\xfe = 1\n", r"^SyntaxError: "),
    "raises": ("\n1 / 0\n", r"^ZeroDivisionError: division by zero \(env_x\.py, line 2\)$"),
    "missing library": (
        "import no_such_library\n",
        r"^ModuleNotFoundError: .*'no_such_library' \(env_x\.py, line 1\); "
        r"install it for .*python.*, or import it in initialize\(\)$",
    ),
    "sys.exit": ("import sys\nsys.exit(3)\n", r"^it calls sys\.exit\(3\) \(env_x\.py, line 2\)$"),
    "os._exit": ("import os\nos._exit(3)\n", r"^importing it ended the process with exit code 3$"),
    "os._exit, success": ("import os\nos._exit(0)\n", r"^importing it ended the process with exit code 0$"),
    "segfault": (
        "import ctypes\nprint('about to read', flush=True)\nctypes.string_at(0)\n",
        r"^importing it ended the process with signal SIGSEGV \(11\); its last output: about to read$",
    ),
    "killed": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
        r"^importing it ended the process with signal SIGKILL \(9\)$",
    ),
    "endless recursion": ("def f():\n    f()\nf()\n", r"^RecursionError: .*\(env_x\.py, line 2\)$"),
    "an error that cannot be shown": (
        "class E(Exception):\n    def __str__(self):\n        raise ValueError('no text')\nraise E\n",
        r"^importing it ended the process with exit code 1; its last output: ValueError: no text$",
    ),
    "an endless error": (
        "raise ValueError('x' * 10_000_000)\n",
        r"^ValueError: x{1000,1999} \(env_x\.py, line 1\)$",
    ),
    "constructor": (
        whole("env_x", body="def __init__(self):\n    raise OSError('no display')"),
        r"^class Env: OSError: no display \(env_x\.py, line \d+\)$",
    ),
    "abstract": (
        HEAD + "class Env(BaseNodeSet):\n    name = 'env_x'\n",
        r"^class Env: TypeError: .*abstract.*get_tools",
    ),
    "surrogates": (whole("env_x", body=r"description = '\ud800'"), r"^its texts are not Unicode: "),
    "nonsense on the report": (
        "import os, sys\n"
        "for fd in range(3, 1024):\n"
        "    try:\n        os.write(fd, b'nonsense\\n')\n    except OSError:\n        pass\n"
        "import time\ntime.sleep(600)\n",
        r"^its scan reported nonsense: ",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_nodeset_that_fails_is_reported_in_one_message(tmp_path, kind):
    text, message = HOSTILE[kind]
    path = tmp_path / "env_x.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    error = the_error(path)
    assert re.search(message, error), error


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    ["while True: pass\n", "import threading\nthreading.Lock().__enter__()\nthreading.Event().wait()\n"],
)
def test_a_nodeset_that_hangs_ends_at_the_deadline(tmp_path, body):
    path = write(tmp_path / "env_x.py", "print('loading')\n" + body)
    assert the_error(path, deadline=2.0).startswith("importing it took longer than 2 s")


def test_one_bad_class_does_not_take_its_neighbour_along(tmp_path):
    text = HEAD + tool("a__step") + nodeset("a", "A") + nodeset("b", "B", body="max_batch = 0")
    report = scan(write(tmp_path / "two.py", text))
    assert [m.name for m in report.manifests] == ["a"]
    assert report.errors == ("class B, max_batch: Expected `int` >= 1 (it is 0)",)


def test_what_it_prints_reads_or_leaves_running_disturbs_nothing(tmp_path, capfd):
    text = (
        "import os, subprocess, sys, threading, time\n"
        "assert sys.stdin.read() == ''\n"
        "print('x' * 5_000_000)\n"
        "sys.stderr.write('y' * 5_000_000)\n"
        "os.close(1)\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    )
    report = scan(write(tmp_path / "env_x.py", text + whole("env_x")))
    assert ([m.name for m in report.manifests], report.errors) == (["env_x"], ())
    assert capfd.readouterr() == ("", "")
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: not alive(child))


def test_a_fork_that_keeps_the_descriptors_delays_nothing(tmp_path):
    text = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not os.path.exists({str(tmp_path / 'pid')!r}): pass\n"
        "os._exit(7)\n"
    )
    try:
        error = the_error(write(tmp_path / "env_x.py", text), deadline=600.0)
        assert error == "importing it ended the process with exit code 7"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_many_files_are_scanned_each_in_a_process_of_its_own(tmp_path):
    record = "import os\nopen(__file__ + '.pid', 'w').write(str(os.getpid()))\n"
    paths = [write(tmp_path / f"env_{i}.py", record + whole(f"env_{i}")) for i in range(6)]
    paths.insert(3, write(tmp_path / "broken.py", "import os\nos.abort()\n"))
    reports = run_scans([ScanRequest(path=str(path)) for path in paths], DEADLINE)
    assert [[m.name for m in report.manifests] for report in reports] == [
        ["env_0"], ["env_1"], ["env_2"], [], ["env_3"], ["env_4"], ["env_5"],
    ]  # fmt: skip
    assert "SIGABRT" in reports[3].errors[0]
    pids = {int(file.read_text()) for file in tmp_path.glob("*.pid")}
    assert len(pids) == 6
    assert os.getpid() not in pids
    assert not any(map(alive, pids))


def test_an_interrupted_discovery_leaves_no_process(tmp_path, monkeypatch):
    pid_file = tmp_path / "pid"
    text = f"import os\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()) + ' ')\nwhile True: pass\n"
    path = write(tmp_path / "env_x.py", text)

    def interrupt(scans):
        wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith(" "))
        raise KeyboardInterrupt

    monkeypatch.setattr(scan_process, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        scan(path)
    assert not alive(int(pid_file.read_text()))


def test_a_scan_that_cannot_be_started_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no_python"))
    error = the_error(write(tmp_path / "env_x.py", whole("env_x")))
    assert error.startswith("its scan cannot be started: [Errno 2] ")


def test_no_descriptor_is_left_open(tmp_path):
    good, bad = write(tmp_path / "a.py", whole("a")), write(tmp_path / "b.py", "import os\nos._exit(1)\n")
    before = len(os.listdir("/proc/self/fd"))
    run_scans([ScanRequest(path=str(path)) for path in (good, bad)], DEADLINE)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_scan_whose_parent_is_gone_ends_by_itself(tmp_path):
    path = write(tmp_path / "env_x.py", f"open({str(tmp_path / 'up')!r}, 'w').close()\nwhile True: pass\n")
    report_fd, report_end = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "engine.components.scan", str(report_end), "0.5"],
        stdin=subprocess.PIPE,
        pass_fds=(report_end,),
        env=dict(os.environ, PYTHONPATH=str(Path(__file__).parents[2])),
    )
    os.close(report_end)
    try:
        process.communicate(msgspec.json.encode(ScanRequest(path=str(path))), timeout=60)
        assert (tmp_path / "up").exists()
        assert process.returncode == -signal.SIGALRM
    finally:
        process.kill()
        process.wait()
        os.close(report_fd)


def test_a_tool_is_asked_for_its_ports_under_a_config(tmp_path):
    body = """
        @classmethod
        def _resolve_ports(cls, config):
            return [PortDef(f"in{i}", "TEXT") for i in range(config["n"])], []
    """
    path = write(tmp_path / "env_x.py", HEAD + tool("env_x__merge", body=body) + nodeset("env_x"))

    def ask(**config):
        request = ScanRequest(path=str(path), nodeset="env_x", node_type="env_x__merge", config=config)
        return run_scans([request], DEADLINE)[0]

    assert scan(path).manifests[0].tools["env_x__merge"].dynamic_ports
    assert [p.name for p in ask(n=3).ports.inputs] == ["in0", "in1", "in2"]
    assert ask().ports is None
    assert ask().errors[0].startswith("KeyError: 'n' (env_x.py, line ")
