"""What notebooks show of worlds, runs, models, explorers and studies: a small picture, and the first numbers.

A card is a piece of HTML without style sheets or scripts, in the colours of the page around it. Every text in it is
escaped. It never fails: what cannot be said is left out, and if nothing can, there is the plain `repr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.figures.card_pictures import curve_picture, dots_picture, map_picture
from berlyne.figures.map_layout import map_of, map_of_model
from berlyne.figures.palette import distinct_looks
from berlyne.figures.state_quantities import explorer_quantity, model_quantity
from berlyne.figures.style import look
from berlyne.models.internal_model import InternalModel
from berlyne.worlds import World, is_ergodic

if TYPE_CHECKING:
    from berlyne.experiments import Results
    from berlyne.exploration.explorer import Explorer
    from berlyne.exploration.run import Run

MAX_TRANSITIONS = 200_000
"""Beyond, there is no picture, and nothing is said that would have to look at all rows."""
MOST_ENTRIES = 500_000
"""Beyond, it is not said how much a model expects to miss, which would take seconds."""
MOST_CHARACTERS = 60

Line = tuple[str, Callable[[], Any]]
"""What a number is called, and how to get it."""
Card = tuple[str, Callable[[], str | None], list[Line]]
"""A heading, a picture, and lines."""


def card(thing: Any) -> str:
    """A world, run, model, explorer, experiment or results as HTML."""
    try:
        (make,) = [CARDS[kind.__name__] for kind in type(thing).__mro__ if kind.__name__ in CARDS][:1]
        heading, picture, lines = make(thing)
        told = [(name, value) for name, value in ((name, _tried(value)) for name, value in lines) if value is not None]
        return _html(heading, _tried(picture) or "", told)
    except Exception:  # a notebook that cannot show a value must show the rest
        return f"<pre>{escape(_tried(lambda: repr(thing)) or object.__repr__(thing))}</pre>"


def _tried(value: Callable[[], Any]) -> Any:
    """What a function returns; None if it cannot, such as for a prior that does not say what it expects."""
    try:
        return value()
    except Exception:
        return None


def _html(heading: str, picture: str, lines: Iterable[tuple[str, Any]]) -> str:
    cell = "border:0;background:none;text-align:left;padding:1px 10px 1px 0;vertical-align:top"
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{cell};font-weight:normal;opacity:.75">{escape(name)}</th>'
        f'<td style="{cell}">{escape(_said(value))}</td></tr>'
        for name, value in lines
    )
    return (
        '<div class="berlyne" style="display:flex;flex-wrap:wrap;gap:18px;align-items:center;color:inherit;'
        f'background:none;font-size:13px;line-height:1.35">{picture}'
        '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;background:none">'
        f'<caption style="text-align:left;font-weight:600;color:inherit;padding:0 0 3px;caption-side:top">'
        f"{escape(_said(heading))}</caption><tbody>{rows}</tbody></table></div>"
    )


def _said(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _world(world: World) -> Card:
    small = len(world.rows.indices) <= MAX_TRANSITIONS
    about, ends = f"Map of {world.name}", [world.states[s] for s in world.terminal.tolist()]
    lines: list[Line] = [
        ("states", lambda: world.n_states),
        ("actions", lambda: _counted(world.actions, world.action_labels.custom is not None)),
        ("transitions", lambda: len(world.rows.indices)),
        ("prior", lambda: "none" if world.prior is None else repr(world.prior)),
        ("begins in", lambda: _begins(world)),
        ("ends in", lambda: _counted(ends, True) if ends else None),
        ("all states can be reached", lambda: ("yes" if is_ergodic(world) else "not from all") if small else None),
    ]
    return world.name, lambda: map_picture(map_of(world), about=about) if small else None, lines


def _counted(labels: Any, named: bool) -> str:
    """How many there are, and what the first are called."""
    if not named:
        return f"{len(labels):,}"
    first = ", ".join(str(label) for label in labels[:4])
    return f"{len(labels):,}: {first}{', …' * (len(labels) > 4)}"


def _begins(world: World) -> str:
    if world.start is None:
        return "any state"
    starts = world.episodes.starts[0]
    return str(world.states[int(starts[0])]) if len(starts) == 1 else f"{len(starts):,} states"


def _run(run: Run) -> Card:
    missing = run.missing_information
    colour = _seen(look(str(run.strategy)).colour)
    met = np.unique(np.concatenate([run.states, run.next_states]))
    lines: list[Line] = [
        ("strategy", lambda: str(run.strategy)),
        ("steps", lambda: run.n_steps),
        ("missing information", lambda: f"{missing[0]:.1f} → {missing[-1]:.1f} bits"),
        ("area under the curve", lambda: f"{run.area:,.0f} bits"),
        ("states met", lambda: f"{len(met):,} of {run.world.n_states:,}"),
        ("episodes", lambda: len(run.episode_starts) if len(run.world.terminal) else None),
    ]
    about = f"Learning curve of {run.strategy} in {run.world.name}"
    return f"{run.strategy} in {run.world.name}", lambda: curve_picture([(missing, colour)], about, "bits"), lines


def _seen(colour: str) -> str:
    """A colour that is seen on a light page and on a dark one: black is that of the text around."""
    return "currentColor" if colour == "#000000" else colour


def _model(model: InternalModel) -> Card:
    small = _entries(model) <= MOST_ENTRIES
    lines: list[Line] = [
        ("prior", lambda: repr(model.prior)),
        ("states, actions", lambda: f"{model.n_states:,}, {model.n_actions:,}"),
        ("observations", lambda: model.n_obs),
        ("rows tried", lambda: f"{len(np.unique(model.sparse_counts.row)):,} of {model.n_states * model.n_actions:,}"),
        ("expects to miss", lambda: _expected(model.expected_missing_information()) if small else None),
    ]
    return "Internal model", lambda: _model_picture(model), lines


def _model_picture(model: InternalModel) -> str | None:
    if model.n_states * model.n_actions > MAX_TRANSITIONS:
        return None
    name = "expected missing information" if hasattr(model.prior, "expected_missing_information") else "visits"
    values = model_quantity(model, name, rows=False).by_state().values
    return map_picture(map_of_model(model), values, about=f"States, the warmer the more {name}")


def _entries(thing: InternalModel | Explorer) -> int:
    """How many probabilities one looks at to say how sure an expectation is: all that the prior takes for possible."""
    sizes = getattr(getattr(thing.prior, "support", None), "sizes", None)
    return thing.n_actions * thing.n_states**2 if sizes is None else int(sizes.sum())


def _expected(found: Any) -> str:
    interval = "" if np.isnan(found.low) else f" ({found.low:.1f} to {found.high:.1f})"
    return f"{found.bits:.1f} bits{interval}"


def _explorer(explorer: Explorer) -> Card:
    small = _entries(explorer) <= MOST_ENTRIES
    lines: list[Line] = [
        ("prior", lambda: repr(explorer.prior)),
        ("states, actions", lambda: f"{explorer.n_states:,}, {explorer.n_actions:,}"),
        ("observations", lambda: explorer.n_obs),
        ("is in", lambda: None if explorer.here is None else str(explorer.here)),
        ("expects to miss", lambda: _expected(explorer.expected_missing_information()) if small else None),
    ]
    return f"Explorer, {explorer.strategy}", lambda: _explorer_picture(explorer), lines


def _explorer_picture(explorer: Explorer) -> str | None:
    model = explorer.model
    if model.n_states * model.n_actions > MAX_TRANSITIONS:
        return None
    drawn = map_of_model(model)
    here = None if explorer.here is None else drawn.states.number(explorer.here)
    values = explorer_quantity(explorer, "utility", rows=False).by_state().values
    return map_picture(drawn, values, here, "States, the warmer the more useful to the explorer, and where it is")


def _experiment(study: Any) -> Card:
    names, classes = study.strategy_names, study.classes
    looks = distinct_looks(names)
    lines: list[Line] = [
        ("worlds", lambda: ", ".join(f"{study.n_worlds:,} {each.name}" for each in classes)),
        ("strategies", lambda: _counted(names, True)),
        ("steps", lambda: ", ".join(f"{n:,}" for n in dict.fromkeys(each.n_steps for each in classes))),
        ("explorations", lambda: study.n_worlds * study.n_runs * len(classes) * len(names)),
        ("seed", lambda: str(study.seed)),
    ]
    rows = [each.name for each in classes]
    colours = [_seen(looks[name].colour) for name in names[:30]]
    return "Experiment", lambda: dots_picture(rows, colours, "Classes of worlds by strategies"), lines


def _results(results: Results) -> Card:
    done, asked = int(results.dataset["area"].notnull().sum()), results.dataset["area"].size
    known = [name for name in results.classes if not results.has_no_table(name)]  # of others the least is not the best
    lines: list[Line] = [
        ("worlds", lambda: ", ".join(f"{results.settings['n_worlds']:,} {name}" for name in results.classes)),
        ("strategies", lambda: _counted(results.strategies, True)),
        ("explorations", lambda: f"{done:,} of {asked:,}"),
        *((f"least area, {name}", lambda name=name: _best(results, name)) for name in known),
    ]
    return f"Results, {results.path.name}", lambda: _results_picture(results), lines


def _best(results: Results, world_class: str) -> str:
    means = results.areas(world_class).mean("world")
    best = int(np.nanargmin(means.values))
    return f"{means['strategy'].values[best]} ({means.values[best]:,.0f} bits)"


def _results_picture(results: Results) -> str | None:
    world_class, looks = results.classes[0], distinct_looks(results.strategies)
    found = results.curves(world_class)["mean"]
    curves = [(found.sel(strategy=name).values, _seen(looks[name].colour)) for name in results.strategies]
    there = [(values, colour) for values, colour in curves if not np.isnan(values).all()]
    return curve_picture(there, f"Mean learning curves, {world_class}", f"bits, {world_class}") if there else None


CARDS: dict[str, Callable[[Any], Card]] = {
    "World": _world,
    "Run": _run,
    "InternalModel": _model,
    "Explorer": _explorer,
    "Experiment": _experiment,
    "Results": _results,
}
"""How each kind of object is shown, by the name of its class: studies are not known here."""
