"""Any settings file runs or gives a one-sentence error; a store is created completely or not at all."""

import os
import re
import string
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amounts import amount
from berlyne import STRATEGIES, UTILITIES, Experiment, open_results
from berlyne.experiments.spec import SettingsError
from berlyne.strategies.coordination import METHODS_BY_NAME
from berlyne.worlds import WORLDS
from unit.experiments.studies import command, files

NAMES = ["worlds", "strategies", "n_worlds", "n_steps", "seed", "snapshots", "measures", "classes", "n_world", "x"]
NAMES += ["n_runs", "common_random_numbers"]
PARAMETERS = ["side", "n_states", "n_actions", "alpha", "n_transporters", "p_escape", "kind", "ergodic", "law", "seed"]

texts = st.text(max_size=8) | st.sampled_from([*WORLDS, *STRATEGIES, "PMC(Q)", "PIG(VI, gamma=0.5)", "PIG(VI", "", "/"])
# nothing between: a maze of a million rooms is a right answer, but not a quick one
numbers = st.integers(-3, 12) | st.integers(max_value=-4) | st.integers(min_value=10**12) | st.floats()
leaves = numbers | st.booleans() | texts | st.dates() | st.times()
keys = st.sampled_from([*NAMES, *PARAMETERS, *WORLDS]) | st.text(max_size=4)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


def toml(value):
    """A value as TOML, inline."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        plain = set(string.printable) - set('"\\\n\r\t\x0b\x0c')
        escaped = (c if c in plain else f"\\U{ord(c):08x}" for c in value if not 0xD800 <= ord(c) < 0xE000)
        return '"' + "".join(escaped) + '"'
    if isinstance(value, float | int):
        return repr(value)
    return value.isoformat()


def answer(text):
    """Run the command on a file with this text; return its exit code and the files of the store."""
    with tempfile.TemporaryDirectory() as folder:
        study, place = Path(folder) / "study.toml", Path(folder) / "results.zarr"
        study.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        code, output, errors = command("run", study, place, "--jobs", "1", "--quiet")
        left = sorted(os.listdir(folder))
        if code == 0:
            assert (
                errors == "" and output.startswith("Results(results.zarr: ") and left == ["results.zarr", "study.toml"]
            )
            assert open_results(place).is_complete
        else:
            assert code == 1 and output == "" and errors.startswith("berlyne: ") and errors.count("\n") == 1
            assert left == ["study.toml"]
            assert len(errors) < 20_000
        return code, files(place)


small = {"n_worlds": 1, "n_steps": 2}


@settings(max_examples=amount(40, 60))
@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), anything, max_size=4))
@example({"worlds": {"maze": {"kind": "dense"}}})
@example({"worlds": {"a\n\u0000b": {"kind": "maze"}}, "strategies": "Random"})
@example({"snapshots": [0, 0.0]})
@example({"seed": 2**64})
@example({"worlds": ["maze"], "n_steps": {"maze": 10**30}})
@example({"worlds": {"dense": {"n_states": 10**9}}})
@example({"worlds": {"1-2-3": {"p_escape": 0.0}}})
@example({"strategies": ["PIG(VI, gamma=nan)"]})
def test_any_settings_run_or_are_refused(options):
    """Sizes are small unless they are what is wrong, or they would run for hours."""
    if not isinstance(options.get("n_worlds"), int) or options["n_worlds"] > 2:
        options = {**options, **({"n_worlds": 1} if _is_count(options.get("n_worlds")) else {})}
    options = {**small, **options}
    if _is_count(options["n_steps"]) and options["n_steps"] < 10**8:
        options["n_steps"] = min(options["n_steps"], 5)
    if isinstance(options["n_steps"], dict):
        options["n_steps"] = {
            key: min(n, 5) if _is_count(n) and n < 10**8 else n for key, n in options["n_steps"].items()
        }
        options["n_steps"] = {**{name: 3 for name in WORLDS if name in _classes(options)}, **options["n_steps"]}
    answer("\n".join(f"{toml(key)} = {toml(value)}" for key, value in options.items()))


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _classes(options):
    worlds = options.get("worlds", list(WORLDS))
    if isinstance(worlds, str):
        return [worlds]
    return [key for key in worlds if isinstance(key, str)] if isinstance(worlds, dict | list) else []


@given(st.binary(max_size=60) | st.text(max_size=60) | st.text("[]{}=\"'.,#abn01 \n", max_size=80))
@example("[" * 5000)
@example("a = " + "{b = " * 3000)
@example("n_worlds = " + "1" * 5000)
@example("\ufeffn_worlds = 1")
@example("seed = 1\nseed = 2")
@example("worlds = 'maze'\n[worlds.maze]\nside = 3")
def test_any_text_gives_a_result_or_one_sentence(text):
    """Nearly nothing of this is a study; what is must not be the paper's, which takes its time."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError:
            assert answer(text)[0] == 1
            return
    try:
        asked = _from_text(text)
    except SettingsError:
        assert answer(text)[0] == 1
    else:
        assert asked.n_positions > 0


def _from_text(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return Experiment.from_toml(path)


def parameters(kind, **ranges):
    return st.fixed_dictionaries({"kind": st.just(kind), **{name: st.integers(*r) for name, r in ranges.items()}})


some_worlds = st.one_of(
    parameters("dense", n_states=(1, 5), n_actions=(1, 5)),
    parameters("maze", side=(2, 4), n_transporters=(0, 3)),
    parameters("1-2-3", n_states=(4, 7)),
)
class_names = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=5)
some_strategies = st.sampled_from([*STRATEGIES, *(f"{u}({m})" for u in UTILITIES for m in METHODS_BY_NAME)])
valid = st.fixed_dictionaries(
    {
        "n_worlds": st.integers(1, 3),
        "n_steps": st.integers(1, 12),
        "seed": st.integers(0, 2**63 - 1),
        "strategies": st.lists(some_strategies, min_size=1, max_size=3, unique=True),
        "worlds": st.dictionaries(class_names, some_worlds, min_size=1, max_size=2),
        "snapshots": st.lists(st.floats(0, 1), max_size=3, unique=True),
    }
)


@settings(max_examples=amount(10, 25))
@given(valid)
def test_valid_settings_run_and_are_stored_unchanged(options):
    text = "\n".join(f"{key} = {toml(value)}" for key, value in options.items())
    code, left = answer(text)
    assert code == 0
    python = Experiment(**options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_text(text, encoding="utf-8")
        assert Experiment.from_toml(path).describe() == python.describe()
        results = python.run(Path(folder) / "python.zarr", jobs=2)
        assert results.settings == python.describe()
        assert results.classes == list(options["worlds"]) and results.strategies == options["strategies"]
        assert files(Path(folder) / "python.zarr") == left


@given(st.dictionaries(st.sampled_from(NAMES[:7]), anything, min_size=1, max_size=3))
def test_python_errors_begin_with_the_key(options):
    """Settings from Python, which may contain values that TOML has not."""
    try:
        Experiment(**options)
    except SettingsError as error:
        key = re.split(r"[ :.\[]", str(error), maxsplit=1)[0]
        assert key in NAMES[:7]
    except TypeError as error:
        pytest.fail(f"{options}: {error}")
