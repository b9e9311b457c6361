"""`berlyne lab`: use a lab book from the command line."""

from __future__ import annotations

import csv
import math
import re
import warnings
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from berlyne.commands.help import IMPORT, Command, Concentration, Group
from berlyne.exploration.logbook import LabBook
from berlyne.priors import ChineseRestaurant
from berlyne.priors.dirichlet import Alpha, prior_or_default
from berlyne.priors.protocols import discovers_states
from berlyne.user_modules import import_object
from berlyne.worlds.edge_table import column_of

FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
ALLOW_NEGATIVE = {"ignore_unknown_options": True}
"""Context settings of commands that accept a negative number, such as the state -1, as an argument."""
STEPS = 10
"""Number of future steps for which `status` prints the expected gain."""

NEW_EXAMPLE = "berlyne lab new rats.lab --states left,middle,right --actions push,pull"
EXAMPLE = f"""
{NEW_EXAMPLE}
berlyne lab ask rats.lab middle
berlyne lab tell rats.lab middle push right
"""


@click.group(cls=Group, example=EXAMPLE)
def lab() -> None:
    """Get the next action to try, and record the outcomes in a file."""


@lab.command(cls=Command, example=NEW_EXAMPLE)
@FILE
@click.option("--states", metavar="NAMES", help="State names, separated by commas, or the number of states.")
@click.option("--actions", metavar="NAMES", help="Action names, separated by commas, or the number of actions.")
@click.option("--discover", is_flag=True, help="Start without known states; a state is added when you first record it.")
@click.option(
    "--possible",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="TABLE",
    help="CSV file with columns state and action, or s and a: the possible actions; all, in a state without lines.",
)
@click.option(
    "--alpha",
    type=Concentration(),
    help="Concentration of the prior; by default it is learned (ml), or 1 with --discover.",
)
@click.option("--prior", metavar="MODULE:NAME", help="Your own prior, an object in a Python module.")
@click.option("--strategy", default="PIG(VI)", show_default=True, help="Strategy: a name, or MODULE:NAME.")
@IMPORT
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for ties and random actions."
)
def new(
    file: Path,
    states: str | None,
    actions: str | None,
    discover: bool,
    possible: Path | None,
    alpha: Alpha | None,
    prior: str | None,
    strategy: str,
    imports: tuple[str, ...],
    seed: int,
) -> None:
    """Create the lab book FILE.

    Modules from --import are imported whenever the book is opened.
    """
    n_states, state_names = _parse_names("--states", states)
    n_actions, action_names = _parse_names("--actions", actions)
    book_prior: Any = prior
    if prior is not None:
        _check_user_prior(file, prior, discover, n_states, n_actions)
    elif n_actions is None or (n_states is None and not discover):
        raise ValueError(
            "the states and actions are missing; use --states red,green --actions l,r, "
            "or, if the states are unknown, --discover --actions l,r"
        )
    elif discover:
        if n_states is not None and state_names is None:
            raise ValueError(f"--states is {states}; with --discover it must be names, not a number")
        book_prior = ChineseRestaurant(1.0 if alpha is None else alpha, n_actions=n_actions)
    else:
        assert n_states is not None  # see above
        book_prior = prior_or_default(None, alpha, n_states, n_actions)
    parsed = {"n_states": (n_states, state_names), "n_actions": (n_actions, action_names)}
    sizes = {name: size for name, (size, names) in parsed.items() if prior is not None and names is None}
    labels: dict[str, Any] = {"states": state_names, "actions": action_names, **sizes}
    if possible is not None:
        labels["possible"] = _read_possible(possible, state_names, action_names)
    book = LabBook.new(file, book_prior, strategy, seed, imports=imports, **labels)
    _print(f"Created {file}: {book.explorer!r}")


def _label_argument(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Return the argument `text`; text that begins with "--" is a misspelt option, not a label."""
    if text is not None and text.startswith("--"):
        raise click.NoSuchOption(text, ctx=context)
    return text


@lab.command(cls=Command, context_settings=ALLOW_NEGATIVE, example="berlyne lab ask rats.lab middle --among push,pull")
@FILE
@click.argument("state", required=False, callback=_label_argument)
@click.option("--among", metavar="ACTIONS", help="Actions that are possible now, separated by commas.")
def ask(file: Path, state: str | None, among: str | None) -> None:
    """Print the action to try in STATE.

    For a strategy that may go to any state, such as Unembodied, leave STATE out; the command prints the state as well.
    """
    book = LabBook(file)
    explorer = book.explorer
    strategy = explorer.strategy
    if strategy.relocates:
        if state is not None:
            raise ValueError(
                f"{strategy} chooses the state as well as the action; leave the state out: berlyne lab ask {file}"
            )
        if among is not None:
            raise ValueError(
                f"--among is {among}, but {strategy} chooses among all pairs of a state and an action; "
                "leave --among out"
            )
        s, a = book.ask_pair()
        _print(f"{s} {a}")
        return
    if state is None:
        raise ValueError(f"{strategy} acts in the current state; give the state: berlyne lab ask {file} STATE")
    possible = None if among is None else [_parse_label(explorer.actions, name) for name in _split(among)]
    _print(str(book.ask(_parse_label(explorer.states, state), possible)))


@lab.command(cls=Command, context_settings=ALLOW_NEGATIVE, example="berlyne lab tell rats.lab middle push right")
@FILE
@click.argument("state", callback=_label_argument)
@click.argument("action", callback=_label_argument)
@click.argument("next_state", callback=_label_argument)
@click.option("--ended", is_flag=True, help="The episode ends in NEXT_STATE.")
def tell(file: Path, state: str, action: str, next_state: str, ended: bool) -> None:
    """Record that ACTION in STATE led to NEXT_STATE.

    The line is on the disk before the command prints it.
    """
    book = LabBook(file)
    states, actions = book.explorer.states, book.explorer.actions
    s, a, s_next = _parse_label(states, state), _parse_label(actions, action), _parse_label(states, next_state)
    book.tell(s, a, s_next, ended=ended)
    _print(f"{book.explorer.n_obs}: {state} {action} {next_state}")


@lab.command(cls=Command, example="berlyne lab undo rats.lab")
@FILE
def undo(file: Path) -> None:
    """Remove the last recorded outcome."""
    book = LabBook(file)
    s, a, s_next = book.undo()
    _print(f"Removed {s} {a} {s_next}; {book.explorer.n_obs} left")


@lab.command(cls=Command, example="berlyne lab status rats.lab")
@FILE
def status(file: Path) -> None:
    """Print the last outcomes, the missing information, and the expected gain of more steps."""
    explorer = LabBook(file).explorer
    table = Table(show_header=False, box=None)

    def line(name: str, text: str) -> None:
        table.add_row(escape(name), escape(text))

    line("explorer", repr(explorer))
    line("prior", repr(explorer.prior if discovers_states(explorer.prior) else explorer.model.prior))
    if hasattr(explorer.prior, "expected_missing_information"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            missing = explorer.expected_missing_information()
        interval = "" if math.isnan(missing.high) else f", 95 % interval {missing.low:.2f} to {missing.high:.2f}"
        line("missing", f"{missing.bits:.2f} bits expected{interval}")
        if explorer.episode_is_over:
            line(f"next {STEPS} steps", "not available between episodes")
        elif explorer.n_obs:
            gain = explorer.expected_gain(STEPS)
            line(f"next {STEPS} steps", f"{gain.bits:.2f} ± {gain.standard_error:.2f} bits expected to be learned")
        for warning in caught:
            line("warning", str(warning.message))
    for s, a, s_next in [] if not explorer.n_obs else explorer.history[-3:]:
        line("told", f"{s} {a} {s_next}")
    Console().print(table, highlight=False)


def _read_possible(path: Path, states: list[str] | None, actions: list[str] | None) -> dict[Any, list[Any]]:
    """Read the possible actions of each state from a CSV file with columns state and action, or s and a."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, skipinitialspace=True)
        columns = [] if reader.fieldnames is None else [name.strip() for name in reader.fieldnames]
        names = [column_of(name, columns) for name in ("s", "a")]
        missing = [name for name in names if name not in columns]
        if missing:
            raise ValueError(
                f"{path}: there is no column {missing[0]!r}; the columns must be state and action, or s and a"
            )
        reader.fieldnames = columns
        possible: dict[Any, list[Any]] = {}
        for line in reader:
            if not all(line[name] for name in names):
                raise ValueError(f"{path}: line {reader.line_num} needs a state and an action")
            state, action = (line[name].strip() for name in names)
            known = states or range(0), actions or range(0)
            possible.setdefault(_parse_label(known[0], state), []).append(_parse_label(known[1], action))
    return possible


def _parse_names(option: str, text: str | None) -> tuple[int | None, list[str] | None]:
    """Return the number of names in an option, and the names; the names are None if `text` is a number."""
    if text is None:
        return None, None
    if text.isdigit():
        return int(text), None
    names = _split(text)
    if not all(names):
        raise ValueError(f"{option} is {text!r}; it must be names separated by commas, or a number")
    return len(names), names


def _check_user_prior(file: Path, prior: str, discover: bool, n_states: int | None, n_actions: int | None) -> None:
    """Refuse options that conflict with a prior of the user, and sizes that neither it nor an option defines."""
    if discover:
        raise ValueError("--discover and --prior cannot be combined; leave one of them out")
    if click.get_current_context().get_parameter_source("alpha") is not ParameterSource.DEFAULT:
        raise ValueError("--alpha sets the built-in prior and cannot be combined with --prior; leave one of them out")
    user_prior = import_object(prior, file.parent)
    required = {} if discovers_states(user_prior) else {"states": n_states}
    for kind, size in {**required, "actions": n_actions}.items():
        if size is None and getattr(user_prior, f"n_{kind}", None) is None:
            raise ValueError(f"{prior} does not define the number of {kind}; set it with --{kind}")


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _parse_label(labels: Any, text: str) -> Any:
    """Return the label whose text is `text`; otherwise an int, if all labels are ints and `text` is one; else `text`.

    With no labels yet, all labels count as ints. An unknown label is refused or discovered by the lab book.
    """
    matches = [] if isinstance(labels, range) else [label for label in labels if str(label) == text]
    if matches:
        return matches[0]
    is_int = re.fullmatch(r"-?[0-9]+", text) and (isinstance(labels, range) or all(type(v) is int for v in labels))
    return int(text) if is_int else text


def _print(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)
