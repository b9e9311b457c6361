"""HTML representations of worlds, runs, models, explorers and experiments for notebooks: a small picture and a table.

A card is HTML without style sheets or scripts, in the colours of the surrounding page. All texts are escaped. Making a
card never raises: a value that cannot be computed is left out, and if nothing works, the card is the plain `repr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.appearance import distinct_looks
from berlyne.figures.card_pictures import curve_picture, dots_picture, map_picture
from berlyne.figures.map_layout import map_of, map_of_model
from berlyne.figures.state_quantities import explorer_quantity, model_quantity
from berlyne.figures.style import look
from berlyne.models.internal_model import InternalModel
from berlyne.worlds import World, is_ergodic

if TYPE_CHECKING:
    from berlyne.experiments import Results
    from berlyne.exploration.explorer import Explorer
    from berlyne.exploration.run import Run

MAX_TRANSITIONS = 200_000
"""Larger objects have no picture, and no values that need all rows."""
MAX_ENTRIES = 500_000
"""Larger models do not show expected missing information, which would take seconds."""
MAX_CHARACTERS = 60

Line = tuple[str, Callable[[], Any]]
"""Name of a value, and a function that computes it."""
Card = tuple[str, Callable[[], str | None], list[Line]]
"""Heading, function that draws the picture, and lines of the table."""


def card(thing: Any) -> str:
    """Return a world, run, model, explorer, experiment or results as HTML."""
    try:
        (make,) = [CARDS[kind.__name__] for kind in type(thing).__mro__ if kind.__name__ in CARDS][:1]
        heading, picture, lines = make(thing)
        values = [(name, _value_or_none(compute)) for name, compute in lines]
        shown = [(name, value) for name, value in values if value is not None]
        return _html(heading, _value_or_none(picture) or "", shown)
    except Exception:  # an object that cannot be shown must not stop a notebook
        return f"<pre>{escape(_value_or_none(lambda: repr(thing)) or object.__repr__(thing))}</pre>"


def _value_or_none(compute: Callable[[], Any]) -> Any:
    """Return the result of a function, or None if it raises, for example because a prior lacks an optional method."""
    try:
        return compute()
    except Exception:
        return None


def _html(heading: str, picture: str, lines: Iterable[tuple[str, Any]]) -> str:
    cell = "border:0;background:none;text-align:left;padding:1px 10px 1px 0;vertical-align:top"
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{cell};font-weight:normal;opacity:.75">{escape(name)}</th>'
        f'<td style="{cell}">{escape(_format(value))}</td></tr>'
        for name, value in lines
    )
    return (
        '<div class="berlyne" style="display:flex;flex-wrap:wrap;gap:18px;align-items:center;color:inherit;'
        f'background:none;font-size:13px;line-height:1.35">{picture}'
        '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;background:none">'
        f'<caption style="text-align:left;font-weight:600;color:inherit;padding:0 0 3px;caption-side:top">'
        f"{escape(_format(heading))}</caption><tbody>{rows}</tbody></table></div>"
    )


def _format(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def _world(world: World) -> Card:
    small = len(world.rows.indices) <= MAX_TRANSITIONS
    alt_text, terminal = f"Map of {world.name}", [world.states[s] for s in world.terminal.tolist()]
    lines: list[Line] = [
        ("states", lambda: world.n_states),
        ("actions", lambda: _counted(world.actions, world.action_labels.custom is not None)),
        ("transitions", lambda: len(world.rows.indices)),
        ("prior", lambda: "none" if world.prior is None else repr(world.prior)),
        ("start", lambda: _start(world)),
        ("terminal states", lambda: _counted(terminal, True) if terminal else None),
        ("all states reachable", lambda: ("yes" if is_ergodic(world) else "not from every state") if small else None),
    ]
    return world.name, lambda: map_picture(map_of(world), alt_text=alt_text) if small else None, lines


def _counted(labels: Any, named: bool) -> str:
    """Return the number of labels, and the first of them if they were given."""
    if not named:
        return f"{len(labels):,}"
    first = ", ".join(str(label) for label in labels[:4])
    return f"{len(labels):,}: {first}{', …' * (len(labels) > 4)}"


def _start(world: World) -> str:
    if world.start is None:
        return "any state"
    starts = world.episodes.starts[0]
    return str(world.states[int(starts[0])]) if len(starts) == 1 else f"{len(starts):,} states"


def _run(run: Run) -> Card:
    curve, world = run.learning_curve, run.world
    name = "expected missing information" if world is None else "missing information"
    place, terminal = ("", ()) if world is None else (f" in {world.name}", world.terminal)
    colour = _card_colour(look(str(run.strategy)).colour)
    visited, known = np.unique(np.concatenate([run.states, run.next_states])), not np.isnan(curve).any()
    lines: list[Line] = [
        ("strategy", lambda: str(run.strategy)),
        ("steps", lambda: run.n_steps),
        (name, lambda: f"{curve[0]:.1f} → {curve[-1]:.1f} bits" if known else None),
        ("area under the curve", lambda: f"{run.area:,.0f} bits" if known else None),
        ("states visited", lambda: f"{len(visited):,} of {run.labels[0].size:,}"),
        ("episodes", lambda: run.n_episodes if len(terminal) or run.n_episodes > 1 else None),
        ("rewards", lambda: None if run.rewards is None else f"{run.rewards.sum():,g} in total"),
    ]
    alt_text = f"Learning curve of {run.strategy}{place}"
    return (
        f"{run.strategy}{place}",
        lambda: curve_picture([(curve, colour)], alt_text, "bits") if known else None,
        lines,
    )


def _card_colour(colour: str) -> str:
    """Return a colour that is visible on light and dark pages; black becomes the colour of the text."""
    return "currentColor" if colour == "#000000" else colour


def _model(model: InternalModel) -> Card:
    small = _entries(model) <= MAX_ENTRIES
    lines: list[Line] = [
        ("prior", lambda: repr(model.prior)),
        ("states, actions", lambda: f"{model.n_states:,}, {model.n_actions:,}"),
        ("observations", lambda: model.n_obs),
        ("rows tried", lambda: f"{len(np.unique(model.sparse_counts.row)):,} of {model.n_states * model.n_actions:,}"),
        (
            "expected missing information",
            lambda: _format_expected(model._expected_missing_information()) if small else None,
        ),
    ]
    return "Internal model", lambda: _model_picture(model), lines


def _model_picture(model: InternalModel) -> str | None:
    if model.n_states * model.n_actions > MAX_TRANSITIONS:
        return None
    name = "expected missing information" if hasattr(model.prior, "expected_missing_information") else "visits"
    values = model_quantity(model, name, rows=False).by_state().values
    return map_picture(map_of_model(model), values, alt_text=f"States coloured by {name}")


def _entries(thing: InternalModel | Explorer) -> int:
    """Return the number of transitions that the prior considers possible, which sets the cost of an expectation."""
    sizes = getattr(getattr(thing.prior, "support", None), "sizes", None)
    return thing.n_actions * thing.n_states**2 if sizes is None else int(sizes.sum())


def _format_expected(expected: Any) -> str:
    interval = "" if np.isnan(expected.low) else f" ({expected.low:.1f} to {expected.high:.1f})"
    return f"{expected.bits:.1f} bits{interval}"


def _explorer(explorer: Explorer) -> Card:
    small = _entries(explorer) <= MAX_ENTRIES
    lines: list[Line] = [
        ("prior", lambda: repr(explorer.prior)),
        ("states, actions", lambda: f"{explorer.n_states:,}, {explorer.n_actions:,}"),
        ("observations", lambda: explorer.n_obs),
        ("current state", lambda: None if explorer.here is None else str(explorer.here)),
        (
            "expected missing information",
            lambda: _format_expected(explorer.expected_missing_information()) if small else None,
        ),
    ]
    return f"Explorer, {explorer.strategy}", lambda: _explorer_picture(explorer), lines


def _explorer_picture(explorer: Explorer) -> str | None:
    model = explorer.model
    if model.n_states * model.n_actions > MAX_TRANSITIONS:
        return None
    world_map = map_of_model(model)
    agent_state = None if explorer.here is None else world_map.states.number(explorer.here)
    values = explorer_quantity(explorer, "utility", rows=False).by_state().values
    return map_picture(world_map, values, agent_state, "States coloured by utility, and the state of the explorer")


def _experiment(experiment: Any) -> Card:
    names, classes = experiment.strategy_names, experiment.classes
    looks = distinct_looks(names)
    lines: list[Line] = [
        ("worlds", lambda: ", ".join(f"{experiment.n_worlds:,} {world_class.name}" for world_class in classes)),
        ("strategies", lambda: _counted(names, True)),
        ("steps", lambda: ", ".join(f"{n:,}" for n in dict.fromkeys(world_class.n_steps for world_class in classes))),
        ("explorations", lambda: experiment.n_worlds * experiment.n_runs * len(classes) * len(names)),
        ("seed", lambda: str(experiment.seed)),
    ]
    rows = [world_class.name for world_class in classes]
    colours = [_card_colour(looks[name].colour) for name in names[:30]]
    return "Experiment", lambda: dots_picture(rows, colours, "A dot for each class of worlds and strategy"), lines


def _results(results: Results) -> Card:
    finished, total = int(results.dataset["area"].notnull().sum()), results.dataset["area"].size
    known = [name for name in results.classes if not results.has_no_table(name)]  # else the smallest area is not best
    lines: list[Line] = [
        ("worlds", lambda: ", ".join(f"{results.settings['n_worlds']:,} {name}" for name in results.classes)),
        ("strategies", lambda: _counted(results.strategies, True)),
        ("explorations", lambda: f"{finished:,} of {total:,}"),
        *((f"smallest area, {name}", lambda name=name: _best(results, name)) for name in known),
    ]
    return f"Results, {results.path.name}", lambda: _results_picture(results), lines


def _best(results: Results, world_class: str) -> str:
    means = results.areas(world_class).mean("world")
    best = int(np.nanargmin(means.values))
    return f"{means['strategy'].values[best]} ({means.values[best]:,.0f} bits)"


def _results_picture(results: Results) -> str | None:
    world_class, looks = results.classes[0], distinct_looks(results.strategies)
    means = results.curves(world_class)["mean"]
    curves = [(means.sel(strategy=name).values, _card_colour(looks[name].colour)) for name in results.strategies]
    complete = [(values, colour) for values, colour in curves if not np.isnan(values).all()]
    alt_text = f"Mean learning curves, {world_class}"
    return curve_picture(complete, alt_text, f"bits, {world_class}") if complete else None


CARDS: dict[str, Callable[[Any], Card]] = {
    "World": _world,
    "Run": _run,
    "InternalModel": _model,
    "Explorer": _explorer,
    "Experiment": _experiment,
    "Results": _results,
}
"""Functions that make cards, by class name, because this module cannot import `berlyne.experiments`."""
