"""`berlyne lab`: a lab book from the command line."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from berlyne.commands.help import Command, Group
from berlyne.exploration.log_header import import_object
from berlyne.exploration.logbook import LabBook
from berlyne.priors import ChineseRestaurant, Dirichlet
from berlyne.priors.protocols import discovers_states

FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
NEGATIVE = {"ignore_unknown_options": True}
"""Settings of a command to which a state called -1 can be typed."""
STEPS = 10
"""Steps ahead for which `status` says what they are expected to teach."""


NEW = "berlyne lab new rats.lab --states left,middle,right --actions push,pull"
EXAMPLE = f"""
{NEW}
berlyne lab ask rats.lab middle
berlyne lab tell rats.lab middle push right
"""


@click.group(cls=Group, example=EXAMPLE)
def lab() -> None:
    """Ask what to try next, tell what happened: an explorer that lives in a file."""


@lab.command(cls=Command, example=NEW)
@FILE
@click.option("--states", metavar="NAMES", help="Names with commas between, or how many there are.")
@click.option("--actions", metavar="NAMES", help="Names with commas between, or how many there are.")
@click.option("--discover", is_flag=True, help="States are not known: they are discovered as they are told.")
@click.option("--alpha", type=float, default=1.0, show_default=True, help="Concentration of the prior.")
@click.option("--prior", metavar="MODULE:NAME", help="A prior of your own instead, an object in a Python module.")
@click.option("--strategy", default="PIG(VI)", show_default=True, help="How to explore: a name, or MODULE:NAME.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of ties and random actions.")
def new(
    file: Path,
    states: str | None,
    actions: str | None,
    discover: bool,
    alpha: float,
    prior: str | None,
    strategy: str,
    seed: int,
) -> None:
    """Begin a lab book in FILE."""
    n_states, state_names = _named("--states", states)
    n_actions, action_names = _named("--actions", actions)
    given: Any = prior
    if prior is not None:
        _check_own(file, prior, discover, n_states, n_actions)
    elif n_actions is None or (n_states is None and not discover):
        raise ValueError(
            "say what states and actions there are: --states red,green --actions l,r; "
            "or, if nobody knows the states: --discover --actions l,r"
        )
    elif discover:
        if n_states is not None and state_names is None:
            raise ValueError(f"--states is {states}; with --discover it may name states, not number them")
        given = ChineseRestaurant(alpha, n_actions=n_actions)
    else:
        given = Dirichlet(alpha, n_states=n_states, n_actions=n_actions)
    numbers = {"n_states": (n_states, state_names), "n_actions": (n_actions, action_names)}
    sizes = {name: size for name, (size, labels) in numbers.items() if prior is not None and labels is None}
    book = LabBook.new(file, given, strategy, seed, states=state_names, actions=action_names, **sizes)
    _say(f"Began {file}: {book.explorer!r}")


def _typed(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """A name that was typed; -1 is one, and a misspelt option is none."""
    if text is not None and text.startswith("--"):
        raise click.NoSuchOption(text, ctx=context)
    return text


@lab.command(cls=Command, context_settings=NEGATIVE, example="berlyne lab ask rats.lab middle --among push,pull")
@FILE
@click.argument("state", required=False, callback=_typed)
@click.option("--among", metavar="ACTIONS", help="The actions that are possible now, with commas between.")
def ask(file: Path, state: str | None, among: str | None) -> None:
    """Say which action to try in STATE; for a strategy that may go anywhere, without STATE, also where."""
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
                f"--among is {among}, but {strategy} chooses among all pairs of a state and an action; leave it out"
            )
        s, a = book.ask_pair()
        _say(f"{s} {a}")
        return
    if state is None:
        raise ValueError(f"{strategy} acts in the state it is in; say which: berlyne lab ask {file} STATE")
    possible = None if among is None else [_meant(explorer.actions, name) for name in _split(among)]
    _say(str(book.ask(_meant(explorer.states, state), possible)))


@lab.command(cls=Command, context_settings=NEGATIVE, example="berlyne lab tell rats.lab middle push right")
@FILE
@click.argument("state", callback=_typed)
@click.argument("action", callback=_typed)
@click.argument("next_state", callback=_typed)
@click.option("--ended", is_flag=True, help="The episode is over in NEXT_STATE.")
def tell(file: Path, state: str, action: str, next_state: str, ended: bool) -> None:
    """Write down that ACTION in STATE led to NEXT_STATE. Once this says so it is on the disk."""
    book = LabBook(file)
    states, actions = book.explorer.states, book.explorer.actions
    book.tell(_meant(states, state), _meant(actions, action), _meant(states, next_state), ended=ended)
    _say(f"{book.explorer.n_obs}: {state} {action} {next_state}")


@lab.command(cls=Command, example="berlyne lab undo rats.lab")
@FILE
def undo(file: Path) -> None:
    """Strike out what was told last."""
    book = LabBook(file)
    s, a, s_next = book.undo()
    _say(f"Struck out {s} {a} {s_next}; {book.explorer.n_obs} left")


@lab.command(cls=Command, example="berlyne lab status rats.lab")
@FILE
def status(file: Path) -> None:
    """Say what was told, what is likely to be missing still, and what more steps would teach."""
    explorer = LabBook(file).explorer
    table = Table(show_header=False, box=None)

    def line(name: str, text: str) -> None:
        table.add_row(escape(name), escape(text))

    line("explorer", repr(explorer))
    line("prior", repr(explorer.prior))
    if hasattr(explorer.prior, "expected_missing_information"):
        missing = explorer.expected_missing_information()
        interval = "" if math.isnan(missing.high) else f", {missing.low:.2f} to {missing.high:.2f} at 95 %"
        line("missing", f"{missing.bits:.2f} bits expected{interval}")
        if explorer.episode_is_over:
            line(f"next {STEPS} steps", "said once the next episode has begun: nobody told yet where")
        elif explorer.n_obs:
            gain = explorer.expected_gain(STEPS)
            line(f"next {STEPS} steps", f"{gain.bits:.2f} ± {gain.standard_error:.2f} bits expected to be learned")
    for s, a, s_next in [] if not explorer.n_obs else explorer.history[-3:]:
        line("told", f"{s} {a} {s_next}")
    Console().print(table, highlight=False)


def _named(option: str, text: str | None) -> tuple[int | None, list[str] | None]:
    """How many there are and what they are called, from what was typed."""
    if text is None:
        return None, None
    if text.isdigit():
        return int(text), None
    names = _split(text)
    if not all(names):
        raise ValueError(f"{option} is {text!r}; it must be names with commas between, or a number")
    return len(names), names


def _check_own(file: Path, prior: str, discover: bool, n_states: int | None, n_actions: int | None) -> None:
    """Refuse what does not go together with a prior of one's own, or what it does not say by itself."""
    if discover:
        raise ValueError("--discover brings a prior of its own; leave it out, or leave --prior out")
    if click.get_current_context().get_parameter_source("alpha") is not ParameterSource.DEFAULT:
        raise ValueError("--alpha is for berlyne's own prior; leave it out, or leave --prior out")
    found = import_object(prior, file.parent)
    wanted = {} if discovers_states(found) else {"states": n_states}
    for kind, size in {**wanted, "actions": n_actions}.items():
        if size is None and getattr(found, f"n_{kind}", None) is None:
            raise ValueError(f"{prior} does not say how many {kind} there are; say it by --{kind}")


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _meant(labels: Any, text: str) -> Any:
    """The label that was typed; whole numbers are meant where all labels are, so also where none is known yet.

    What is no label is refused later, by name, or discovered.
    """
    same = [] if isinstance(labels, range) else [label for label in labels if str(label) == text]
    if same:
        return same[0]
    whole = re.fullmatch(r"-?[0-9]+", text) and (isinstance(labels, range) or all(type(v) is int for v in labels))
    return int(text) if whole else text


def _say(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)
