"""Every wait in the tests has a limit, so that a hang is a failure that names the missing event."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

from waiting import Lines, wait_until

TESTS = Path(__file__).parents[1]
STARTED = ("run", "call", "check_call", "check_output")


def unbounded(source: str) -> list[int]:
    """Lines with a wait that has no limit."""
    calls = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called, owner = node.func.attr, ast.unparse(node.func.value)
            limited = any(keyword.arg == "timeout" for keyword in node.keywords)
            starts = owner == "subprocess" and called in STARTED
            joins = called in ("wait", "communicate", "join", "acquire") and not node.args
            reads = called == "readline" and "stdout" in owner
            waits = (owner, called) == ("os", "waitpid") and "WNOHANG" not in ast.unparse(node)
            if ((starts or joins) and not limited) or reads or waits:
                calls.append(node.lineno)
        elif isinstance(node, ast.While) and "time.sleep(" in ast.unparse(node):
            calls.append(node.lineno)
    return sorted(calls)


def test_every_wait_has_a_limit():
    waits = {path: unbounded(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("*.py"))}
    assert waits.pop(TESTS / "waiting.py")
    assert {str(path): lines for path, lines in waits.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run(['true'], check=True)", "process.wait()", "process.communicate()", "thread.join()",
        "event.wait()", "os.waitpid(child, 0)", "process.stdout.readline()", "while True:\n    time.sleep(0.1)",
    ],
)  # fmt: skip
def test_waits_without_a_limit_are_detected(line):
    assert unbounded(line) == [1]


def test_waits_with_a_limit_are_accepted():
    for fine in ("subprocess.run(x, timeout=1)", "p.wait(timeout=1)", "t.join(timeout=2)", "', '.join(x)", "e.wait(3)"):
        assert unbounded(fine) == []


def test_events_that_do_not_happen_are_named():
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"^the end of the world: not within 0 s$"):
        wait_until(lambda: False, "the end of the world", limit=0.05)
    assert 0.05 <= time.monotonic() - began < 20


def test_lines_are_read_one_by_one_and_their_absence_is_detected():
    script = "import sys, time; sys.stdout.write('a\\nb\\nc'); sys.stdout.flush(); sys.stdin.readline()"
    asked = [sys.executable, "-c", script]
    with subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        lines = Lines(process.stdout.fileno())
        assert [lines.next(), lines.next()] == ["a\n", "b\n"]
        with pytest.raises(TimeoutError, match=r"^no line came within 0 s$"):
            lines.next(limit=0.1)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert [lines.next(), lines.next()] == ["c", ""]
