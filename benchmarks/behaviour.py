"""Held-out nats of drives in the open data of Modirshanechi et al. (PNAS 2025), and the time of the comparison.

    python benchmarks/behaviour.py DIRECTORY                    # the ten models with 24 settings, held-out people: time
    python benchmarks/behaviour.py DIRECTORY --output docs/people   # all tables of docs/explanation/what-people-seek.md

DIRECTORY contains `pnas2025-tidydata.csv` (columns subject, episode, trial, state, action, rt). This is the file
IMRLExploration/data/tidydata.CSV of the repository modirshanechi/ComplexEnvExploration-Modirshanechi2025 (MIT licence).
It is not part of berlyne. In a clone beside it, DIRECTORY may be `../shared/data/behaviour`, the default.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

import berlyne
import berlyne.behaviour as bb

FILE = "pnas2025-tidydata.csv"
DRIVES = ("count_bonus", "surprise", "rarity", "parameter_gain", "PIG", "PMC", "PLC")
CONCENTRATIONS = bb.grid(0.03, 10, 6, refine=False)
DISCOUNTS = [0.0, 0.5, 0.8, 0.95]
FEW = ("CB", "rarity(VI)", "parameter_gain(VI)", "PIG(VI)")
ALPHAS = (1 / 61, 0.1, 0.3)
N_EPISODES = 5
Models = dict[str, bb.Model]
PEOPLE, BLOCKS = bb.cv("people", 3, stratify="goal"), bb.cv("blocks", 3, pool="all")


def read_frame(directory: Path) -> pd.DataFrame:
    """Read the rows of the people whom the study includes, with their goal and the state of the following row.

    The study excludes people who did not reach the goal in all episodes, and those whose episodes 2 to 5 have more than
    three times as many rows as the mean of the others with their goal.
    """
    frame = pd.read_csv(directory / FILE)
    frame["state"] = frame.state.astype(str)
    frame["next_state"] = frame.groupby(["subject", "episode"]).state.shift(-1)
    at_goal = frame[frame.state.str.endswith("CHF")]
    frame["goal"] = frame.subject.map(at_goal.groupby("subject").state.first())
    finished = at_goal.groupby("subject").episode.nunique() == N_EPISODES
    frame = frame[frame.subject.isin(finished.index[finished])]
    length = frame[frame.episode > 1].groupby("subject").size()
    goal = frame.groupby("subject").goal.first()
    included = length <= 3 * length.groupby(goal).transform("mean")
    return frame[frame.subject.isin(included.index[included])]


def facts(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers that the study reports: people by goal, and median rows of episode 1 and of the later ones."""
    rows, goal = frame.groupby(["subject", "episode"]).size(), frame.groupby("subject").goal.first()
    later = rows.drop(1, level="episode").groupby("subject").median().groupby(goal).median()
    return {
        "people": goal.value_counts().sort_index().to_dict(),
        "choices": int(frame.next_state.notna().sum()),
        "median rows of episode 1": float(rows.xs(1, level="episode").median()),
        "median rows of episodes 2 to 5": later.to_dict(),
    }


def read(frame: pd.DataFrame) -> bb.Data:
    """Return the choices; the last row of an episode is the goal, and no choice."""
    return bb.read(
        frame[frame.next_state.notna()],
        subject="subject",
        state="state",
        action="action",
        next_state="next_state",
        episode="episode",
        ended=lambda d: d.next_state.str.endswith("CHF"),
        order="trial",
        group="goal",
        keep=["rt"],
    )


def drive(name: str, **options: Any) -> bb.Model:
    """Return a drive on the common transition model, with all settings to try."""
    plans = {"gamma": DISCOUNTS, **options} if "(VI" in name else {}
    return bb.model(name, bb.crp(c=CONCENTRATIONS), **plans)


def drives(method: str, **options: Any) -> dict[str, bb.Model]:
    """Return CB and each drive with a method, and rarity with PIG."""
    alone = {f"{name}({method})": drive(f"{name}({method})", **options) for name in DRIVES}
    both = {f"rarity({method}) + PIG({method})": alone[f"rarity({method})"] + alone[f"PIG({method})"]}
    return {"CB": drive("CB"), **alone, **both}


def nuisance(habit: bool = True) -> bb.Model:
    """Return the terms that are no exploration."""
    return bb.bias() + bb.repeat() + bb.lapse() + (bb.habit() if habit else bb.Model(()))


def with_nuisance(models: dict[str, bb.Model], habit: bool = True) -> dict[str, bb.Model]:
    """Return the nuisance terms alone, and each of the models with them."""
    return {"nuisance": nuisance(habit), **{name: model + nuisance(habit) for name, model in models.items()}}


def compare(data: bb.Data, models: dict[str, bb.Model], by: list[Any], variant: str, jobs: int | None) -> pd.DataFrame:
    """Return a line for each variant, held-out part and model, with the held-out log-likelihood of each person."""
    start, clock = time.process_time(), time.perf_counter()
    result = bb.compare(data, models, by=by, weights="positive", jobs=jobs)
    seconds = f"{time.process_time() - start:.0f} s of CPU time, {time.perf_counter() - clock:.0f} s by the clock"
    print(f"\n{variant}: {len(models)} models, {seconds}")
    lines = []
    for criterion in by:
        for name in models:
            scores = result.scores(str(criterion))[name]
            lines.append({"variant": variant, "held_out": criterion.over, "model": name, **scores.round(3).to_dict()})
            if name != "nuisance":
                print(result.difference(name, "nuisance", str(criterion)), flush=True)
    return pd.DataFrame(lines)


def known_states(data: bb.Data, alpha: float) -> tuple[bb.Data, dict[str, bb.Model]]:
    """Return the choices with numbers for the 61 states, and drives that know all states, with a Dirichlet prior."""
    states = sorted({*data.frame["s"], *data.frame["s_next"]})
    number = {s: i for i, s in enumerate(states)}
    frame = data.frame.assign(s=data.frame["s"].map(number), s_next=data.frame["s_next"].map(number))
    prior = berlyne.Dirichlet(alpha, n_states=len(states), n_actions=len(data.actions))
    models = {name: bb.model(name, prior, **({} if name == "CB" else {"gamma": DISCOUNTS})) for name in FEW}
    return bb.read(frame, group="goal", keep=["rt", "group"]), models


def all_drives() -> dict[str, bb.Model]:
    """Return CB, and each drive with VI and greedy."""
    return {**drives("VI"), **drives("greedy")}


def variants(data: bb.Data, jobs: int | None) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return functions that compute the scores: the main ones, and those with one choice of the analysis changed."""
    few = {name: drives("VI")[name] for name in FEW}
    stop = [name.replace("VI)", "VI, after_end=stop)") for name in FEW if name != "CB"]
    episode = data.frame["episode"].to_numpy()

    def score(name: str, models: Models, by: list[Any], part: bb.Data = data, habit: bool = True) -> pd.DataFrame:
        return compare(part, with_nuisance(models, habit), by, name, jobs)

    def some(name: str, scored: Any) -> pd.DataFrame:
        return score(name, few, [PEOPLE], replace(data, scored=data.scored & scored))

    def known(name: str, alpha: float) -> pd.DataFrame:
        numbered, models = known_states(data, alpha)
        return score(name, models, [PEOPLE], numbered)

    listed: dict[str, Callable[[str], pd.DataFrame]] = {
        "main": lambda name: score(name, all_drives(), [PEOPLE, BLOCKS]),
        "no habit": lambda name: score(name, all_drives(), [PEOPLE, BLOCKS], habit=False),
        "episode 1": lambda name: some(name, episode == 1),
        "episodes 2 to 5": lambda name: some(name, episode > 1),
        "plans stop at ends": lambda name: score(name, {drive_: drive(drive_) for drive_ in stop}, [PEOPLE]),
        **{f"61 known states, alpha {a:.2g}": lambda name, a=a: known(name, a) for a in ALPHAS},
        **{
            f"other folds {seed}": lambda name, seed=seed: score(
                name, few, [bb.cv("people", 3, stratify="goal", seed=seed)]
            )
            for seed in (1, 2)
        },
    }
    return {name: partial(make, name) for name, make in listed.items()}


def settings(data: bb.Data, models: dict[str, bb.Model]) -> pd.DataFrame:
    """Return the best settings and the weights of drives for all people together."""
    lines = []
    for name, model in models.items():
        fit = bb.fit(data, model, weights="positive", pool="all")
        weights = dict(zip(fit.names, fit.estimates[0].round(4).tolist(), strict=True))
        lines.append({"model": name, "nats": round(float(fit.log_likelihood.sum()), 2), **fit.best_settings, **weights})
    return pd.DataFrame(lines)


def main() -> None:
    """Time the ten models; with --output, write all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, nargs="?", default=Path("../shared/data/behaviour"))
    parser.add_argument("--output", type=Path, help="directory for scores.csv and settings.csv")
    parser.add_argument("--only", nargs="+", help="variants to compute, and 'settings'; by default all")
    parser.add_argument("--jobs", type=int, help="number of threads; by default the number of cores")
    arguments = parser.parse_args()
    frame = read_frame(arguments.directory)
    print(facts(frame))
    data = read(frame)
    print(data)
    bb.fit(data, drive("rarity(VI)", gamma=0.5) + drive("PIG(VI)", gamma=0.5), pool="all")  # compiles
    data.cache.clear()
    if arguments.only is None:
        title = f"{len(CONCENTRATIONS.values) * len(DISCOUNTS)} settings, held-out people"
        compare(data, with_nuisance(drives("VI")), [PEOPLE], title, arguments.jobs)
    if arguments.output is None:
        return
    write(data, arguments.output, arguments.only, arguments.jobs)


def write(data: bb.Data, output: Path, only: list[str] | None, jobs: int | None) -> None:
    """Write or renew the scores of each variant, and the settings, in CSV files."""
    output.mkdir(exist_ok=True)
    scores = output / "scores.csv"
    for name, make in variants(data, jobs).items():
        if only is None or name in only:
            made = make()
            if scores.exists():
                others = pd.read_csv(scores)
                made = pd.concat([others[others.variant != name], made.rename(columns=str)])
            made.to_csv(scores, index=False)
    if only is None or "settings" in only:
        settings(data, with_nuisance(all_drives())).to_csv(output / "settings.csv", index=False)


if __name__ == "__main__":
    main()
