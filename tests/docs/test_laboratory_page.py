"""The shell commands of the page about laboratories print what the page shows, in their order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from unit.experiments.studies import command

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "laboratory.md"
BLOCK = re.compile(r"```sh\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_ten_minutes_can_be_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 6
    for lines, expected in blocks:
        printed = ""
        for line in lines.splitlines():
            words = shlex.split(line)
            assert words[0] == "berlyne"
            _, output, errors = command(*words[1:])
            printed += output + errors
        assert printed == expected, lines
