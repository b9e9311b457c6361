"""`berlyne lab`: use a lab book from the command line."""

from __future__ import annotations

import csv
import difflib
import io
import re
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from berlyne.commands.errors import OptionError
from berlyne.commands.help import IMPORT, Command, Concentration, Group, check_page_option
from berlyne.exploration.logbook import LabBook
from berlyne.exploration.trials import START
from berlyne.labels import GrowingLabels
from berlyne.priors import ChineseRestaurant
from berlyne.priors.dirichlet import Alpha, prior_or_default
from berlyne.priors.protocols import discovers_states
from berlyne.user_modules import import_object

FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
ALLOW_NEGATIVE = {"ignore_unknown_options": True}
"""Context settings of commands that accept a negative number, such as the state -1, as an argument."""
NEW_STATE = click.option(
    "--new", "is_new", is_flag=True, help="The state is new, although its name is like a known one."
)
CLIENT = click.option("--client", metavar="NAME", help="The apparatus that does the trial, such as 'rig 2'.")
AMONG = click.option("--among", metavar="ACTIONS", help="Actions that are possible now, separated by commas.")
OUTPUT = click.Path(dir_okay=False, path_type=Path)
SIMILAR = 0.75
"""Similarity of two names from which on one may be a typing error of the other."""
NOT_ENOUGH = 3
"""Exit code of `status --enough` if more is missing; 1 and 2 are errors."""

NEW_EXAMPLE = """
berlyne lab new rats.lab --states left,middle,right --actions push,pull
berlyne lab new tones.lab --conditions soft,medium,loud --outcomes heard,not-heard
"""
EXAMPLE = """
berlyne lab new rats.lab --states left,middle,right --actions push,pull
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
@click.option("--costs", metavar="COSTS", help="Costs of actions that do not cost 1, such as heat=5,cool=2.")
@click.option("--conditions", metavar="NAMES", help="Conditions of trials without states, separated by commas.")
@click.option("--outcomes", metavar="NAMES", help="Outcomes of trials without states, separated by commas.")
@click.option(
    "--alpha",
    type=Concentration(),
    help="Concentration of the prior; by default it is learned (ml), or 1 with --discover.",
)
@click.option("--prior", metavar="MODULE:NAME", help="Your own prior, an object in a Python module.")
@click.option(
    "--strategy", help="Strategy: a name, or MODULE:NAME; by default PIG(VI), or PIG(greedy) for trials without states."
)
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
    costs: str | None,
    conditions: str | None,
    outcomes: str | None,
    alpha: Alpha | None,
    prior: str | None,
    strategy: str | None,
    imports: tuple[str, ...],
    seed: int,
) -> None:
    """Create the lab book FILE.

    Modules from --import are imported whenever the book is opened.
    """
    if conditions is not None or outcomes is not None:
        _new_trials(
            file, conditions, outcomes, alpha, strategy or "PIG(greedy)", costs=costs, imports=imports, seed=seed
        )
        return
    strategy = strategy or "PIG(VI)"
    n_states, state_names = _parse_names("--states", states)
    n_actions, action_names = _parse_names("--actions", actions)
    book_prior: Any = prior
    if prior is not None:
        _check_user_prior(file, prior, discover, n_states, n_actions)
    elif n_actions is None or (n_states is None and not discover):
        raise OptionError(
            "the states and actions are missing; use --states red,green --actions l,r, "
            "or, if the states are unknown, --discover --actions l,r"
        )
    elif discover:
        if n_states is not None and state_names is None:
            raise OptionError(f"--states is {states}; with --discover it must be names, not a number")
        book_prior = ChineseRestaurant(1.0 if alpha is None else alpha, n_actions=n_actions)
    else:
        assert n_states is not None  # see above
        book_prior = prior_or_default(None, alpha, n_states, n_actions)
    parsed = {"n_states": (n_states, state_names), "n_actions": (n_actions, action_names)}
    sizes = {name: size for name, (size, names) in parsed.items() if prior is not None and names is None}
    labels: dict[str, Any] = {"states": state_names, "actions": action_names, **sizes}
    if costs is not None:
        labels["costs"] = _parse_costs(costs, action_names or range(n_actions or 0))
    if possible is not None:
        labels["possible"] = _read_possible(possible, state_names, action_names)
    book = LabBook.new(file, book_prior, strategy, seed, imports=imports, **labels)
    _print(f"Created {file}: {book.explorer!r}")


def _new_trials(
    file: Path, conditions: str | None, outcomes: str | None, alpha: Alpha | None, strategy: str, **options: Any
) -> None:
    """Create a book of trials without states."""
    if conditions is None or outcomes is None:
        raise OptionError("trials without states need both --conditions and --outcomes")
    context = click.get_current_context()
    for name in ("states", "actions", "discover", "possible", "prior"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise OptionError(f"--{name} and --conditions cannot be combined; trials without states have no --{name}")
    names, results = _split(conditions), _split(outcomes)
    costs = options.pop("costs")
    options["costs"] = None if costs is None else _parse_costs(costs, names)
    book = LabBook.new(file, None, strategy, alpha=alpha, conditions=names, outcomes=results, **options)
    _print(f"Created {file}: {book.explorer!r}")


def _label_argument(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Return the argument `text`; text that begins with "--" is a misspelt option, not a label."""
    if text is not None and text.startswith("--"):
        raise click.NoSuchOption(text, ctx=context)
    return text


def open_book(file: Path) -> LabBook:
    """Open a book; a small one without compiled code, whose import takes most of the time of a command."""
    return LabBook(file, engine="small")


@lab.command(cls=Command, context_settings=ALLOW_NEGATIVE, example="berlyne lab ask rats.lab middle --among push,pull")
@FILE
@click.argument("state", required=False, callback=_label_argument)
@AMONG
@click.option("--many", type=click.IntRange(min=1), metavar="K", help="Hand out K trials to do at the same time.")
@CLIENT
@NEW_STATE
def ask(file: Path, state: str | None, among: str | None, many: int | None, client: str | None, is_new: bool) -> None:
    """Print the action to try in STATE.

    Leave STATE out for a strategy that may go to any state, such as Unembodied; the command prints the state as well.
    Also leave it out for trials without states. With --client or --many, the trials are pending until you tell their
    outcomes, and others get other trials meanwhile.
    """
    book = open_book(file)
    explorer = book.explorer
    strategy = explorer.strategy
    if strategy.relocates or not book.has_states:
        reason = f"{strategy} chooses the state as well as the action" if book.has_states else "trials have no states"
        if state is not None:
            raise OptionError(f"{reason}; leave the state out: berlyne lab ask {file}")
        if among is not None and strategy.relocates:
            raise OptionError(
                f"--among is {among}, but {strategy} chooses among all pairs of a state and an action; "
                "leave --among out"
            )
    elif state is None:
        raise OptionError(f"{strategy} acts in the current state; give the state: berlyne lab ask {file} STATE")
    possible = None if among is None else [find_action(book, name) for name in _split(among)]
    s = None if state is None else find_state(book, state, is_new)
    if many is not None:
        trials = book.ask_many(many, s, among=possible, client=client)
    elif strategy.relocates:
        trials = [book.ask_pair(client=client)]
    else:
        trials = [book.ask(START if s is None else s, possible, client=client)]
    for trial in trials:
        _print(" ".join(map(str, trial)) if strategy.relocates and book.has_states else str(trial))


@lab.command(cls=Command, context_settings=ALLOW_NEGATIVE, example="berlyne lab tell rats.lab middle push right")
@FILE
@click.argument("words", nargs=-1, required=True, metavar="STATE ACTION [NEXT_STATE]")
@click.option("--ended", is_flag=True, help="The episode ends in NEXT_STATE: no action can be taken there.")
@click.option("--timed-out", is_flag=True, help="You cut the episode here; this says nothing about NEXT_STATE.")
@click.option("--lost", is_flag=True, help="The trial was done, but its outcome is not known; leave NEXT_STATE out.")
@click.option("--note", metavar="TEXT", help="Your note.")
@CLIENT
@NEW_STATE
def tell(file: Path, words: tuple[str, ...], note: str | None, client: str | None, is_new: bool, **flags: Any) -> None:
    """Record that ACTION in STATE led to NEXT_STATE.

    For trials without states, give CONDITION OUTCOME. The line is on the disk before the command prints it.
    """
    context = click.get_current_context()
    for word in words:
        _label_argument(context, context.command.params[1], word)
    book = open_book(file)
    expected = ["STATE"] * book.has_states + ["ACTION" if book.has_states else "CONDITION"]
    expected += [] if flags["lost"] else ["NEXT_STATE" if book.has_states else "OUTCOME"]
    if len(words) != len(expected):
        instead = "" if not words else f", not {' '.join(words)}"
        raise OptionError(f"give {' '.join(expected)}{instead}: berlyne lab tell {file} {' '.join(expected)}")
    if flags["ended"] and flags["timed_out"]:
        raise OptionError(
            "--ended and --timed-out cannot be combined; an episode either ends in a state or is cut there"
        )
    for name in ("ended", "timed_out"):
        if flags[name] and not book.has_states:
            raise OptionError(f"--{name.replace('_', '-')} is for episodes; trials without states have none")
    labels = [START] if not book.has_states else []
    for word, kind in zip(words, expected, strict=True):
        labels.append(find_action(book, word) if kind in ("ACTION", "CONDITION") else find_state(book, word, is_new))
    book.tell(*labels, note=note, client=client, **flags)
    more = [name.replace("_", "-") for name in ("ended", "timed_out", "lost") if flags[name]]
    _print(f"{len(book.trials)}: {' '.join([*words, *more])}")


@lab.command(cls=Command, example="berlyne lab undo rats.lab -n 2")
@FILE
@click.option("-n", type=click.IntRange(min=1), default=1, show_default=True, help="Number of outcomes to remove.")
def undo(file: Path, n: int) -> None:
    """Remove the last recorded outcomes."""
    book = open_book(file)
    for trial in reversed(book.undo(n)):
        _print(f"Removed {' '.join(trial_words(trial))}; {len(book.trials)} left")


@lab.command("give-up", cls=Command, example="berlyne lab give-up rats.lab --client 'rig 2'")
@FILE
@click.argument("number", type=int, required=False)
@CLIENT
def give_up(file: Path, number: int | None, client: str | None) -> None:
    """Give up the pending trial NUMBER, or all those of a client."""
    if (number is None) == (client is None):
        raise OptionError("give either the number of a pending trial or --client; `berlyne lab status` lists them")
    for trial in open_book(file).give_up(number, client=client):
        _print(f"Gave up {trial.number}: {trial.s} {trial.a}")


@lab.command(cls=Command, example="berlyne lab history rats.lab --csv")
@FILE
@click.option("--csv", "as_csv", is_flag=True, help="Print a CSV table with a header.")
def history(file: Path, as_csv: bool) -> None:
    """Print all trials with times and notes.

    In the CSV table, ends and time-outs begin a new episode, and a lost outcome has no next_state. Trials without
    states have a condition and an outcome.
    """
    from berlyne.commands.lab_status import history_table

    rows = history_table(open_book(file))
    if as_csv:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        click.echo(text.getvalue(), nl=False)
        return
    for i, row in enumerate(rows[1:], start=1):
        entry = dict(zip(rows[0], row, strict=True))
        names = ("time", "state", "action", "next_state", "condition", "outcome")
        words = [entry[name] for name in names if entry.get(name) not in (None, "")]
        words += [name.replace("_", "-") for name in ("ended", "timed_out", "lost") if entry.get(name)]
        words += [f"({entry[name]})" for name in ("client", "note") if entry[name]]
        _print(f"{i}: {' '.join(map(str, words))}")


@lab.command(
    cls=Command, example="berlyne lab status rats.lab\nberlyne lab status rats.lab --enough 8 --confidence 0.9"
)
@FILE
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option("--enough", type=float, metavar="BITS", help="Only ask whether at most BITS are missing.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Probability for --enough.")
def status(file: Path, as_json: bool, enough: float | None, confidence: float) -> None:
    """Print the last outcomes, the missing information, and the expected gain of more steps.

    With --enough the exit code tells whether you can stop: 0 if at most BITS are missing with this probability, 3 if
    not, 1 or 2 for an error.
    """
    from berlyne.commands import lab_status

    book = open_book(file)
    if enough is None and click.get_current_context().get_parameter_source("confidence") is not ParameterSource.DEFAULT:
        raise OptionError("--confidence needs --enough, the bits that may be missing")
    if enough is not None and not 0.0 <= confidence <= 1.0:
        raise OptionError(f"--confidence is {confidence:g}; it must be a probability from 0 to 1")
    if enough is not None and not enough >= 0.0:
        raise OptionError(f"--enough is {enough:g}; it must be a number of bits of at least 0")
    if as_json:
        _print(lab_status.status_json(book, enough, confidence))
    is_enough = enough is None or book.explorer.knows_enough(enough, confidence)
    if not as_json and enough is not None:
        _print(
            f"{'enough' if is_enough else 'not enough'}: at most {enough:g} bits missing, {confidence:.0%} confidence"
        )
    elif not as_json:
        lab_status.print_status(book)
    if not is_enough:
        click.get_current_context().exit(NOT_ENOUGH)


@lab.command(cls=Command, example="berlyne lab plot rats.lab -o rats.png")
@FILE
@click.option("-o", "--output", type=OUTPUT, default=Path("lab.png"), show_default=True, help="PNG, SVG or PDF file.")
@click.option("--what", default="utility", show_default=True, help="Quantity that colours the states.")
def plot(file: Path, output: Path, what: str) -> None:
    """Draw the states of a book, coloured by what is still to be learned there.

    Quantities are utility, visits, "expected missing information", or the name of a utility.
    """
    from berlyne.serialization import atomic_write

    kind = output.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg", "pdf"):
        raise OptionError(f"--output is {output}; the file name must end in .png, .svg or .pdf")
    explorer = open_book(file).explorer
    try:
        figure: Any = explorer.plot(what).figure
    except ValueError as error:
        if not str(error).startswith("`what`"):
            raise
        raise OptionError(str(error).replace("`what`", "--what", 1).replace("an array, or ", "", 1)) from None
    atomic_write(output, lambda stream: figure.savefig(stream, format=kind), overwrite=True)
    _print(f"Drew {output}")


@lab.command(cls=Command, example="berlyne lab watch rats.lab -o rats.html")
@FILE
@click.option("-o", "--output", type=OUTPUT, help="Write the page to this file; its name must end in .html.")
def watch(file: Path, output: Path | None) -> None:
    """Replay the trials of a book on a web page.

    The truth is not known, so the page shows the beliefs against the estimates that all trials give together. Without
    -o the page is opened in a browser.
    """
    from berlyne.commands.lab_status import book_run
    from berlyne.watch.page import check_page_path, render_page, write_page

    check_page_option(output)
    page = render_page(book_run(open_book(file)), estimated=True)
    _print(f"Wrote {write_page(page, None if output is None else check_page_path(output))}")


@lab.command(cls=Command, example="berlyne lab serve rats.lab --port 8765 --token-file token.txt")
@FILE
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 for a free one.")
@click.option("--token-file", type=OUTPUT, help="File that contains the token; it is created if it does not exist.")
def serve(file: Path, port: int, token_file: Path | None) -> None:
    """Let other programs on this computer use a book, by HTTP and JSON.

    The service listens on the loopback address 127.0.0.1 only. Every request needs the token, which is printed unless
    it is in a file. Needs the packages of `pip install "berlyne[serve]"`.
    """
    from berlyne.commands.lab_service import run_service

    run_service(LabBook(file), port, token_file)


def trial_words(trial: Any) -> list[str]:
    """Return the labels of a trial as text, without the state before trials without states."""
    return [str(label) for i, label in enumerate(trial) if not (i == 0 and label == START) and label is not None]


def find_action(book: LabBook, text: str) -> Any:
    """Return the label of an action; raise a ValueError in the words of the user if there is none."""
    labels = book.explorer.actions
    label = _parse_label(labels, text)
    return _check_known("action" if book.has_states else "condition", label, labels)


def find_state(book: LabBook, text: str, is_new: bool) -> Any:
    """Return the label of a state; ask back if it is new and like a known one.

    With discovered states, a name that is not known is a new state. If it is like a known name, it may be a typing
    error, so it must be confirmed. Names that differ only in numbers are different names.
    """
    labels = book.explorer.states
    label = _parse_label(labels, text)
    if not isinstance(book.explorer.state_labels, GrowingLabels):
        return _check_known("state" if book.has_states else "outcome", label, labels)
    if is_new or label in labels or not isinstance(label, str):
        return label
    names = [name for name in labels if isinstance(name, str) and re.findall(r"\d+", name) == re.findall(r"\d+", label)]
    near = difflib.get_close_matches(label.lower(), [name.lower() for name in names], n=1, cutoff=SIMILAR)
    if near:
        known = next(name for name in names if name.lower() == near[0])
        raise ValueError(f"new state {label!r}; did you mean {known!r}? add --new")
    return label


def _check_known(kind: str, label: Any, labels: Any) -> Any:
    """Return a label if it is one of `labels`; otherwise raise a ValueError that names the nearest one."""
    if label in labels:
        return label
    listed = [str(known) for known in labels if known != START]
    near = difflib.get_close_matches(str(label), listed, n=1)
    if isinstance(labels, range):
        raise ValueError(f"{kind} {label!r} is unknown; it must be 0 to {len(labels) - 1}")
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else f"there are {', '.join(map(repr, listed[:8]))}{', ...' * (len(listed) > 8)}"
    )
    raise ValueError(f"{kind} {label!r} is unknown; {hint}")


def _parse_costs(text: str, actions: Any) -> dict[Any, float]:
    """Return the costs in text such as "heat=5,cool=2"."""
    costs: dict[Any, float] = {}
    for part in _split(text):
        name, separator, number = part.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            cost = 0.0
        if not separator or not 0.0 < cost < float("inf"):
            raise OptionError(f"--costs is {text!r}; it must be actions and positive costs, such as heat=5,cool=2")
        try:
            action = _check_known("action", _parse_label(actions, name.strip()), actions)
        except ValueError as error:
            raise OptionError(f"--costs is {text!r}; {error}") from None
        if action in costs:
            raise OptionError(f"--costs is {text!r}; it must name {action!r} once")
        costs[action] = cost
    return costs


def _read_possible(path: Path, states: list[str] | None, actions: list[str] | None) -> dict[Any, list[Any]]:
    """Read the possible actions of each state from a CSV file with columns state and action, or s and a."""
    from berlyne.worlds.edge_table import column_of

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
        raise OptionError(f"{option} is {text!r}; it must be names separated by commas, or a number")
    if len(set(names)) < len(names):
        raise OptionError(f"{option} is {text!r}; every name must be there once")
    return len(names), names


def _check_user_prior(file: Path, prior: str, discover: bool, n_states: int | None, n_actions: int | None) -> None:
    """Refuse options that conflict with a prior of the user, and sizes that neither it nor an option defines."""
    if discover:
        raise OptionError("--discover and --prior cannot be combined; leave one of them out")
    if click.get_current_context().get_parameter_source("alpha") is not ParameterSource.DEFAULT:
        raise OptionError("--alpha sets the built-in prior and cannot be combined with --prior; leave one of them out")
    user_prior = import_object(prior, file.parent)
    required = {} if discovers_states(user_prior) else {"states": n_states}
    for kind, size in {**required, "actions": n_actions}.items():
        if size is None and getattr(user_prior, f"n_{kind}", None) is None:
            raise OptionError(f"{prior} does not define the number of {kind}; set it with --{kind}")


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
    click.echo(text)
