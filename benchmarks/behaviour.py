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
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import berlyne.behaviour as bb

FILE = "pnas2025-tidydata.csv"
DRIVES = ("count_bonus", "surprise", "rarity", "parameter_gain", "PIG", "PMC", "PLC")
CONCENTRATIONS = bb.grid(0.03, 10, 6, refine=False)
DISCOUNTS = [0.0, 0.5, 0.8, 0.95]
N_EPISODES = 5
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


def variants(data: bb.Data, jobs: int | None) -> Iterator[pd.DataFrame]:
    """Yield the scores of all tables: the main ones, and those with one choice of the analysis changed."""
    both = {**drives("VI"), **{name: model for name, model in drives("greedy").items() if name != "CB"}}
    for habit in (True, False):
        name = "main" if habit else "no habit"
        yield compare(data, with_nuisance(both, habit), [PEOPLE, BLOCKS], name, jobs)
    few = {name: drives("VI")[name] for name in ("CB", "rarity(VI)", "parameter_gain(VI)", "PIG(VI)")}
    episode = data.frame["episode"].to_numpy()
    for name, scored in {"episode 1": episode == 1, "episodes 2 to 5": episode > 1}.items():
        part = replace(data, scored=data.scored & scored)
        yield compare(part, with_nuisance(few), [PEOPLE], name, jobs)
    stop = {name.replace("VI)", "VI, after_end=stop)"): None for name in few if name != "CB"}
    yield compare(data, with_nuisance({name: drive(name) for name in stop}), [PEOPLE], "plans stop at ends", jobs)
    for seed in (1, 2):
        by = [bb.cv("people", 3, stratify="goal", seed=seed)]
        yield compare(data, with_nuisance(few), by, f"other folds {seed}", jobs)


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
    parser.add_argument("--jobs", type=int, help="number of threads; by default the number of cores")
    arguments = parser.parse_args()
    frame = read_frame(arguments.directory)
    print(facts(frame))
    data = read(frame)
    print(data)
    bb.fit(data, drive("rarity(VI)", gamma=0.5) + drive("PIG(VI)", gamma=0.5), pool="all")  # compiles
    data.cache.clear()
    n_settings = len(CONCENTRATIONS.values) * len(DISCOUNTS)
    first = compare(
        data, with_nuisance(drives("VI")), [PEOPLE], f"{n_settings} settings, held-out people", arguments.jobs
    )
    if arguments.output is None:
        return
    tables = [*variants(data, arguments.jobs)]
    del first
    arguments.output.mkdir(exist_ok=True)
    pd.concat(tables).to_csv(arguments.output / "scores.csv", index=False)
    best = settings(data, with_nuisance({**drives("VI"), **drives("greedy")}))
    best.to_csv(arguments.output / "settings.csv", index=False)


if __name__ == "__main__":
    main()
