"""Measure priors that share between rows: python benchmarks/sharing.py [PIECE ...] [--worlds 200] [--file FILE].

Every piece explores fresh worlds with several priors and the same seeds. A number is the area under the curve of
missing information, relative to that of Unembodied with the usual prior in the same world. Differences are paired, with
standard errors. Results are added to the file world by world, so a piece can be interrupted and resumed. Without a
piece, the tables of the file are printed, and the tables and the figure of docs/explanation/sharing.md are written.

The harm of random labels is small, so the pieces wrong, dense and 123 were measured with `--worlds 1000`.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import print_environment, print_table
from scipy.special import gammainc, gammaincinv, gammaln

import berlyne
from berlyne import (
    ChineseRestaurant,
    Dirichlet,
    InternalModel,
    SharedDirichlet,
    SharedRestaurant,
    Strategy,
    World,
    labels_of,
)
from berlyne.information import kl_divergence
from berlyne.priors.transition_labels import TransitionLabels
from berlyne.sparse import Counts

FIRST_SEED = 250_000
"""Seed of the first world; no other script or test uses these worlds."""
FILE = Path(__file__).with_name("sharing.json")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "sharing.md"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "sharing.png"
Areas = dict[str, float]


class LargestFirst(Dirichlet):
    """The law of mazes (reading R11): Dirichlet rows whose largest probability is in the action's own direction.

    The posterior density is that of the Dirichlet row with pseudo-counts c, where the own outcome is the largest. So
    its mean is c_i / kappa, times the probability that the own outcome is the largest with one more count of i, divided
    by the same without it. Probabilities come from one-dimensional integrals over gamma variables.
    """

    def __init__(self, world: World) -> None:
        assert isinstance(world.prior, Dirichlet) and world.geometry is not None
        super().__init__(world.prior.alpha, world.prior.support)
        self.destination = world.geometry.destination

    def row_estimate(self, counts: Any, a: int, s: int) -> Any:
        """Posterior mean of row (a, s)."""
        possible, n, own = self._ordered(counts, a, s)
        theta_hat = np.zeros(self.n_states)
        theta_hat[possible] = sorted_mean(n, own, self.alpha)
        return theta_hat

    def row_utility(self, name: str, counts: Any, a: int, s: int, last: int) -> float:
        """PIG of row (a, s)."""
        if name != "PIG":
            raise KeyError(name)
        _, n, own = self._ordered(counts, a, s)
        return sorted_pig(n, own, self.alpha)

    def estimate(self, counts: Any) -> Any:
        """Posterior means of all rows."""
        pairs = np.ndindex(self.n_actions, self.n_states)
        rows = [self.row_estimate(np.asarray(counts)[a, s], a, s) for a, s in pairs]
        return np.reshape(rows, (self.n_actions, self.n_states, self.n_states))

    def estimate_at(self, counts: Counts, row: Any, s_next: Any) -> Any:
        """Posterior mean of each transition."""
        s, a = np.divmod(row, self.n_actions)
        return self.estimate(counts.dense())[a, s, s_next]

    def utility(self, name: str, counts: Counts) -> Any:
        """PIG of all rows."""
        dense = counts.dense()
        pairs = ((a, s) for s in range(self.n_states) for a in range(self.n_actions))
        return np.array([self.row_utility(name, dense[a, s], a, s, -1) for a, s in pairs])

    def _ordered(self, counts: Any, a: int, s: int) -> tuple[Any, tuple[int, ...], int]:
        """Return the possible outcomes of a row, their counts, and the position of its own outcome among them."""
        possible = self.support.row(a, s)
        own = int(np.flatnonzero(possible == self.destination[s, a])[0])
        return possible, tuple(int(n) for n in np.asarray(counts)[possible]), own


@lru_cache(maxsize=1 << 20)
def log_largest(own: int, others: tuple[int, ...], alpha: float) -> float:
    """Log probability that the outcome with `own` counts has the largest probability; `others` are sorted."""
    if not others:
        return 0.0
    c, rest = alpha + own, alpha + np.array(others)
    total = c + rest.sum()
    low, high = np.log(gammaincinv(total, 1e-13) / (1 + len(rest))), np.log(gammaincinv(total, 1.0 - 1e-13))
    t, step = np.linspace(low, high, 400, retstep=True)
    x = np.exp(t)
    with np.errstate(divide="ignore"):
        terms = c * t - x - gammaln(c) + np.log(gammainc(rest[:, None], x)).sum(axis=0)
    top = terms.max()
    return float(top + np.log(np.exp(terms - top).sum() * step))


@lru_cache(maxsize=1 << 20)
def sorted_mean(n: tuple[int, ...], own: int, alpha: float) -> Any:
    """Posterior mean of a row whose own outcome is the largest."""

    def log_p(counts: Any) -> float:
        return log_largest(counts[own], tuple(sorted(counts[:own] + counts[own + 1 :])), alpha)

    after = [log_p((*n[:i], n[i] + 1, *n[i + 1 :])) for i in range(len(n))]
    mean = (alpha + np.array(n)) * np.exp(np.array(after) - log_p(n))
    return mean / mean.sum()


@lru_cache(maxsize=1 << 20)
def sorted_pig(n: tuple[int, ...], own: int, alpha: float) -> float:
    """PIG of a row whose own outcome is the largest, from its definition."""
    now = sorted_mean(n, own, alpha)
    after = [sorted_mean((*n[:i], n[i] + 1, *n[i + 1 :]), own, alpha) for i in range(len(n))]
    return max(float(sum(p * kl_divergence(q, now) for p, q in zip(now, after, strict=True))), 0.0)


class FullGain:
    """Value iteration with the expected gain of all rows: what an observation teaches about the others, too.

    For each possible outcome the weights are refitted, and the divergences of all rows are added up. The plan is that
    of PIG(VI): ten steps back without discounting, as in the paper.
    """

    def values(self, view: Any, s: int) -> Any:
        """Value of each action in state s."""
        gain = expected_gains(view.prior, np.asarray(view.counts))
        best = np.zeros(view.n_states)
        for _ in range(10):
            best = np.max(gain + view.theta_hat @ best, axis=0)
        return (gain + view.theta_hat @ best)[:, s]


def expected_gains(prior: SharedDirichlet, counts: Any) -> Any:
    """Expected divergence of all rows after one look at each row, `[a, s]`, in bits."""
    prior = prior.fit(counts)  # to convergence, so that only the imagined outcome changes the weights
    theta_hat = prior.estimate(counts)
    gains = np.zeros(theta_hat.shape[:2])
    for a, s in np.ndindex(*gains.shape):
        for s_star in prior.support.row(a, s).tolist():
            after = counts.copy()
            after[a, s, s_star] += 1
            estimate = prior.refit(after).estimate(after)
            ratio = np.divide(estimate, theta_hat, out=np.ones_like(estimate), where=estimate > 0)
            gains[a, s] += theta_hat[a, s, s_star] * np.sum(estimate * np.log2(ratio))
    return gains


def area(world: World, prior: Any, n_steps: int, seed: int, strategy: Any = "PIG(VI)", engine: Any = "auto") -> float:
    """Return the area of one exploration."""
    return float(berlyne.explore(world.with_prior(prior), strategy, n_steps, seed, engine=engine).area)


def shuffled(labels: TransitionLabels, share: float, rng: np.random.Generator) -> TransitionLabels:
    """Return labels in which a share of the transitions has exchanged its labels at random."""
    wrong = np.flatnonzero(rng.random(labels.labels.shape[1]) < share)
    values = labels.labels.copy()
    values[:, wrong] = values[:, rng.permutation(wrong)]
    return TransitionLabels(labels.support, values, labels.names)


def shuffled_by_number(labels: TransitionLabels, rng: np.random.Generator) -> TransitionLabels:
    """Return labels that transitions with the same number of labels have exchanged at random."""
    values, number = labels.labels.copy(), np.sum(labels.labels >= 0, axis=0)
    for n in np.unique(number):
        same = np.flatnonzero(number == n)
        values[:, same] = values[:, rng.permutation(same)]
    return TransitionLabels(labels.support, values, labels.names)


def own_direction(world: World) -> TransitionLabels:
    """Return labels that tell the explorer the direction of each action: its own outcome, or another one."""
    assert world.geometry is not None
    destination = world.geometry.destination
    return labels_of(world, lambda s, a, s_next: "own" if destination[s, a] == s_next else "other")


def mazes(i: int) -> Areas:
    """The paper's mazes: labels of moves, of effects, and with the direction of each action."""
    world, n_steps = berlyne.maze(FIRST_SEED + i), 2500
    run = partial(area, world, n_steps=n_steps, seed=i)
    labels = {
        "moves": labels_of(world, "moves"),
        "effects without the drawing": labels_of(world, positions=world.positions),  # from positions and support
        "effects": labels_of(world),
        "directions known": own_direction(world),
    }
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior)}
    areas['one class ("ml")'] = run(Dirichlet("ml", world.prior.support))
    return areas | {name: run(SharedDirichlet(one, 0.25)) for name, one in labels.items()}


def wrong_labels(i: int) -> Areas:
    """Labels of moves and effects that are partly or entirely wrong."""
    world, rng = berlyne.maze(FIRST_SEED + i), np.random.default_rng([FIRST_SEED, i])
    run = partial(area, world, n_steps=2500, seed=i)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior)}
    areas['one class ("ml")'] = run(Dirichlet("ml", world.prior.support))
    for kind in ("moves", "effects"):
        for share in (0.0, 0.1, 0.25, 0.5, 1.0):
            labels = shuffled(labels_of(world, kind), share, rng)
            areas[f"{kind}, {share:.0%} wrong"] = run(SharedDirichlet(labels, 0.25))
    kept = shuffled_by_number(labels_of(world), rng)
    return areas | {"effects, 100% wrong, number kept": run(SharedDirichlet(kept, 0.25))}


def exact_law(i: int) -> Areas:
    """The law from which mazes are drawn, known exactly."""
    world = berlyne.maze(FIRST_SEED + i)
    run = partial(area, world, n_steps=2500, seed=i)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior)}
    areas |= {"effects": run(SharedDirichlet(labels_of(world), 0.25))}
    areas |= {"directions known": run(SharedDirichlet(own_direction(world), 0.25))}
    return areas | {"exact law": run(LargestFirst(world), engine="numpy")}


def large_mazes(i: int) -> Areas:
    """Mazes of 100 rooms, with transporters and steps in the same proportion."""
    world = berlyne.maze(FIRST_SEED + i, side=10, n_transporters=83)
    run = partial(area, world, n_steps=6944, seed=i)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior)}
    return areas | {kind: run(SharedDirichlet(labels_of(world, kind), 0.25)) for kind in ("moves", "effects")}


def unknown_support(i: int) -> Areas:
    """Mazes whose explorers know the position of every room, but not which rooms are one step away."""
    world = berlyne.maze(FIRST_SEED + i)
    n, run = world.n_states, partial(area, world, n_steps=2500, seed=i)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "support known": run(world.prior)}
    areas["alpha learned"] = run(Dirichlet("ml", n_states=n, n_actions=4))
    kinds = {"moves": "moves", "shifts": "shifts", "moves and targets": ["moves", "targets"]}
    for name, kind in kinds.items():
        areas[name] = run(SharedDirichlet(labels_of(world, kind, support="all"), 1.0 / n))
    return areas


def discovered(i: int, make: Callable[[int], World], n_steps: int) -> Areas:
    """Worlds whose explorers do not know the number of states, and share between rows by positions or not.

    Labels are those of the states that were discovered. Unembodied knows all states.
    """
    world, seed = make(i), FIRST_SEED + i
    run = partial(area, world, n_steps=n_steps, seed=seed)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "c learned": run(ChineseRestaurant("ml"))}
    for name, kind in {"moves": "moves", "shifts": "shifts", "moves and targets": ["moves", "targets"]}.items():
        labels = labels_of(world, kind, support="all")
        areas[name] = run(SharedRestaurant(labels, 1.0 / world.n_states))
    return areas


def dense_worlds(i: int) -> Areas:
    """Dense Worlds, in which there is nothing to share: labels of targets, and random labels."""
    world, rng = berlyne.dense_world(FIRST_SEED + i), np.random.default_rng([FIRST_SEED, i])
    run = partial(area, world, n_steps=3000, seed=i)
    targets = labels_of(world, "targets")
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior)}
    areas |= {"targets": run(SharedDirichlet(targets, 1.0))}
    return areas | {"targets, 100% wrong": run(SharedDirichlet(shuffled(targets, 1.0, rng), 1.0))}


def one_two_three_worlds(i: int) -> Areas:
    """1-2-3 Worlds, with the exact prior, and with Dirichlet priors over all states."""
    world, rng = berlyne.one_two_three_world(FIRST_SEED + i), np.random.default_rng([FIRST_SEED, i])
    n, run = world.n_states, partial(area, world, n_steps=1250, seed=i)
    targets = labels_of(world, "targets", support="all")
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior)}
    areas |= {"alpha learned": run(Dirichlet("ml", n_states=n, n_actions=world.n_actions))}
    areas |= {"targets": run(SharedDirichlet(targets, 1.0 / n))}
    return areas | {"targets, 100% wrong": run(SharedDirichlet(shuffled(targets, 1.0, rng), 1.0 / n))}


def grid(i: int, make: Callable[[], World], n_steps: int, kinds: Mapping[str, Any]) -> Areas:
    """A benchmark world, whose explorers know only the number of states and what labels say; one seed."""
    world = make()
    run = partial(area, world, n_steps=n_steps, seed=FIRST_SEED + i)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "alpha learned": run(world.prior)}
    for name, kind in kinds.items():
        areas[name] = run(SharedDirichlet(labels_of(world, kind), 1.0 / world.n_states))
    return areas


def taxi_label(s: int, a: str, s_next: int) -> Any:
    """Change of the taxi's place and of the passenger, from the numbers that Taxi gives its states."""
    (line, column, passenger, goal), (to_line, to_column, to_passenger, to_goal) = map(decode_taxi, (s, s_next))
    shift = to_line - line, to_column - column
    if goal != to_goal or abs(shift[0]) + abs(shift[1]) > 1:
        return a, "jump"
    rides = "same" if passenger == to_passenger else "in" if to_passenger == 4 else "out"
    return (a, shift, rides) if rides == "same" or shift == (0, 0) else (a, "jump")


def decode_taxi(s: int) -> tuple[int, int, int, int]:
    """Line and column of the taxi, place of the passenger (4 if in the taxi), and the goal."""
    s, goal = divmod(s, 4)
    s, passenger = divmod(s, 5)
    return s // 5, s % 5, passenger, goal


def split(i: int) -> Areas:
    """Paths and estimates apart: both estimates along both paths, from the counts at 50 times."""
    world, times = berlyne.maze(FIRST_SEED + i), range(0, 2501, 50)
    shared = SharedDirichlet(labels_of(world), 0.25)
    unembodied = berlyne.explore(world, "Unembodied", 2500, i, snapshots=times)
    areas = {"Unembodied": area_at(world, world.prior, unembodied.snapshots)}
    for path, prior in {"paper": world.prior, "effects": shared}.items():
        run = berlyne.explore(world.with_prior(prior), "PIG(VI)", 2500, i, snapshots=times)
        areas[f"path {path}, estimates paper"] = area_at(world, world.prior, run.snapshots)
        areas[f"path {path}, estimates effects"] = area_at(world, shared, run.snapshots)
    run = berlyne.explore(world, "Random", 2500, i, snapshots=times)
    areas["path Random, estimates paper"] = area_at(world, world.prior, run.snapshots)
    areas["path Random, estimates effects"] = area_at(world, shared, run.snapshots)
    return areas


def area_at(world: World, prior: Any, snapshots: Mapping[int, Any]) -> float:
    """Return the area of estimates from counts at some times, by the trapezoidal rule."""
    missing, shared = [], isinstance(prior, SharedDirichlet)
    for time_, counts in snapshots.items():
        counts = counts if isinstance(counts, Counts) else Counts.from_dense(counts)
        if shared and time_:
            prior = prior.refit(counts)
        missing.append(InternalModel.from_counts(prior, counts, {}).missing_information(world))
    return float(np.trapezoid(missing, list(snapshots)))


def row_local(i: int) -> Areas:
    """Mazes of nine rooms: PIG of one row against the expected gain of all rows."""
    world = berlyne.maze(FIRST_SEED + i, side=3, n_transporters=7)
    run = partial(area, world, n_steps=100, seed=i)
    shared = SharedDirichlet(labels_of(world), 0.25)
    areas = {"Unembodied": run(world.prior, strategy="Unembodied"), "paper": run(world.prior), "effects": run(shared)}
    full = Strategy("full gain", utility="PIG", coordinate=FullGain())
    return areas | {"effects, gain of all rows": run(shared, strategy=full, engine="numpy")}


def cost(i: int) -> Areas:
    """CPU time of an exploration of 2500 steps, in microseconds a step; that of Unembodied is set to 1, the unit."""
    world = berlyne.maze(FIRST_SEED + i % 4)
    priors = {"paper": world.prior, 'one class ("ml")': Dirichlet("ml", world.prior.support)}
    priors |= {kind: SharedDirichlet(labels_of(world, kind), 0.25) for kind in ("moves", "effects")}
    times = {"Unembodied": 1.0}
    for name, prior in priors.items():
        changed = world.with_prior(prior)
        berlyne.explore(changed, "PIG(VI)", 20, i)  # compile
        begin = time.process_time()
        berlyne.explore(changed, "PIG(VI)", 2500, i)
        times[name] = (time.process_time() - begin) / 2500 * 1e6
    return times


PIECES: dict[str, Callable[[int], Areas]] = {
    "mazes": mazes,
    "wrong": wrong_labels,
    "law": exact_law,
    "large": large_mazes,
    "unknown": unknown_support,
    "discovered": partial(discovered, make=lambda i: berlyne.maze(FIRST_SEED + i), n_steps=2500),
    "discovered-lake": partial(discovered, make=lambda _: berlyne.from_gymnasium("FrozenLake8x8-v1"), n_steps=4000),
    "dense": dense_worlds,
    "123": one_two_three_worlds,
    "frozen-lake": partial(
        grid,
        make=lambda: berlyne.from_gymnasium("FrozenLake8x8-v1"),
        n_steps=4000,
        kinds={"moves": "moves", "effects": "effects"},
    ),
    "four-rooms": partial(grid, make=berlyne.four_rooms, n_steps=4000, kinds={"moves": "moves", "effects": "effects"}),
    "taxi": partial(grid, make=lambda: berlyne.from_gymnasium("Taxi-v4"), n_steps=4000, kinds={"function": taxi_label}),
    "split": split,
    "local": row_local,
    "cost": cost,
}


Results = dict[str, dict[str, list[float]]]
"""Areas of all worlds, by piece and prior."""


def read(path: Path) -> Results:
    """Read the results; none if the file does not exist."""
    results: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return results


def write(path: Path, results: Results) -> None:
    """Write the results with a line for each prior."""
    pieces = (
        f'"{piece}": {{\n' + ",\n".join(f" {json.dumps(name)}: {areas}" for name, areas in columns.items()) + "\n}"
        for piece, columns in results.items()
    )
    path.write_text("{\n" + ",\n".join(pieces) + "\n}\n", encoding="utf-8")


def relative(columns: Mapping[str, list[float]]) -> dict[str, Any]:
    """Return the area of each prior in all worlds, relative to Unembodied, which is left out."""
    first = np.array(columns["Unembodied"])
    return {name: np.array(areas) / first for name, areas in columns.items() if name != "Unembodied"}


def standard_error(values: Any) -> float:
    """Return the standard error of a mean."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else np.nan


def table(columns: Mapping[str, list[float]], digits: int = 3) -> list[list[str]]:
    """Return the lines of a table: prior, relative area, and its difference to the first prior."""
    values = relative(columns)
    first = next(iter(values))
    lines = []
    for name, value in values.items():
        change = value - values[first]
        shown = f"{value.mean():.{digits}f} ± {standard_error(value):.{digits}f}"
        changed = "" if name == first else f"{change.mean():+.{digits}f} ± {standard_error(change):.{digits}f}"
        lines.append([name, shown, changed])
    return lines


def with_tables(text: str, results: Results) -> str:
    """Return the text of the page with the tables of the results between their marks."""
    for piece, columns in results.items():
        mark = re.compile(rf"(<!-- table {piece} -->\n\n)(?:(?!<!--).)+?(\n\n<!-- end -->)", re.DOTALL)
        if not mark.search(text):
            raise ValueError(f"{PAGE.name} has no marks of the table {piece}")
        lines = table(columns, 1 if piece == "cost" else 3)
        unit = "CPU µs a step" if piece == "cost" else "relative area"
        header = f"| {len(columns['Unembodied'])} worlds | {unit} | difference to the first |\n|---|---:|---:|\n"
        body = header + "\n".join(f"| {' | '.join(line)} |" for line in lines)
        text = mark.sub(lambda match, body=body: match[1] + body + match[2], text)  # type: ignore[misc]  # its type is not inferred
    return text


def draw(results: Results) -> Any:
    """Draw the areas of the priors in mazes, and those of labels that are partly wrong, with 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    areas = {**relative(results["mazes"]), "exact law": relative(results["law"])["exact law"]}
    for i, (_name, values) in enumerate(reversed(areas.items())):
        left.errorbar(values.mean(), i, xerr=1.96 * standard_error(values), fmt="o", color="black", capsize=3)
    left.axvline(1.0, color="0.6", linestyle="--", linewidth=1)
    left.text(1.0, len(areas) - 0.4, "Unembodied", ha="center", color="0.4")
    left.set(yticks=range(len(areas)), yticklabels=list(areas)[::-1], xlim=(0.8, None), xlabel="relative area")
    wrong = relative(results["wrong"])
    for kind, style in {"moves": "o-", "effects": "s--"}.items():
        chosen = {name: values for name, values in wrong.items() if re.fullmatch(rf"{kind}, \d+% wrong", name)}
        shares = [int(name.split()[1].rstrip("%")) for name in chosen]
        means, errors = zip(*((v.mean(), 1.96 * standard_error(v)) for v in chosen.values()), strict=True)
        right.errorbar(shares, means, yerr=errors, fmt=style, color="black", capsize=3, label=f"labels of {kind}")
    right.axhline(wrong["paper"].mean(), color="0.6", linewidth=1)
    right.text(0, wrong["paper"].mean(), "paper", va="bottom", color="0.4")
    right.set(xlabel="wrong labels, %", ylabel="relative area")
    right.legend(frameon=False, loc="lower right")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Run pieces; without any, print all tables, and write those of the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pieces", nargs="*", choices=[*PIECES, []])
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # states that cannot be reached
    print_environment("scipy")
    for piece in options.pieces:
        for i in range(len(read(options.file).get(piece, {}).get("Unembodied", [])), options.worlds):
            areas = PIECES[piece](i)
            results = read(options.file)
            for name, value in areas.items():
                results.setdefault(piece, {}).setdefault(name, []).append(float(f"{value:.6g}"))
            write(options.file, results)
    results = read(options.file)
    for piece in options.pieces or results:
        header = [f"{piece}, {len(results[piece]['Unembodied'])} worlds", "relative area", "difference to the first"]
        print_table(header, table(results[piece]))
    if not options.pieces:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        draw(results).savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
