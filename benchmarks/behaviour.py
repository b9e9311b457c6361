"""Held-out nats of drives in the open data of Modirshanechi et al. (PNAS 2025), and the CPU time of the comparison.

    python benchmarks/behaviour.py DIRECTORY [--quick]

DIRECTORY contains `pnas2025-tidydata.csv` (columns subject, episode, trial, state, action, rt). This is the file
IMRLExploration/data/tidydata.CSV of the repository modirshanechi/ComplexEnvExploration-Modirshanechi2025 (MIT licence).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

import berlyne.behaviour as bb

DRIVES = ["PIG", "parameter_gain", "PMC", "PLC", "rarity", "surprise", "count_bonus"]


N_EPISODES = 5


def read_frame(directory: Path) -> pd.DataFrame:
    """Read the rows of the people whom the study includes, with their goal and the state of the following row.

    The study excludes people who did not reach the goal in all episodes, and those whose episodes 2 to 5 have more than
    three times as many rows as the mean of the others with their goal.
    """
    frame = pd.read_csv(directory / "pnas2025-tidydata.csv")
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


def print_facts(frame: pd.DataFrame) -> None:
    """Print the numbers of people and the median lengths of episodes, which the study reports."""
    rows, goal = frame.groupby(["subject", "episode"]).size(), frame.groupby("subject").goal.first()
    later = rows.drop(1, level="episode").groupby("subject").median().groupby(goal).median()
    print(f"people by goal {goal.value_counts().sort_index().to_dict()}, choices {frame.next_state.notna().sum()}")
    print(f"median rows of episode 1: {rows.xs(1, level='episode').median()}; of episodes 2 to 5: {later.to_dict()}")


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


def models(quick: bool, habit: bool) -> dict[str, bb.Model]:
    """Nuisance terms alone, and with each drive."""
    nuisance = bb.bias() + bb.repeat() + bb.lapse() + (bb.habit() if habit else bb.Model(()))
    c, gamma = ([0.1, 1.0], [0.8]) if quick else (bb.grid(0.03, 10, 6, refine=False), [0.5, 0.8, 0.95])
    drives = {"CB": bb.model("CB", bb.crp(c=c))}
    for name in DRIVES:
        drives[f"{name}(greedy)"] = bb.model(f"{name}(greedy)", bb.crp(c=c))
        drives[f"{name}(VI)"] = bb.model(f"{name}(VI)", bb.crp(c=c), gamma=gamma)
    both = drives["rarity(VI)"] + drives["PIG(VI)"]
    sums = {name: drive + nuisance for name, drive in drives.items()}
    return {"nuisance": nuisance, **sums, "rarity(VI) + PIG(VI)": both + nuisance}


def main() -> None:
    """Print the table of held-out nats over nuisance, with and without the habit term."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--quick", action="store_true", help="two concentrations and one discount")
    arguments = parser.parse_args()
    frame = read_frame(arguments.directory)
    print_facts(frame)
    data = read(frame)
    print(data, flush=True)
    criteria = [bb.cv("people", 3, stratify="goal"), bb.cv("blocks", 3, pool="all")]
    for habit in (True, False):
        start = time.process_time()
        result = bb.compare(data, models(arguments.quick, habit), by=criteria, weights="positive")
        names = [name for name in result.scores() if name != "nuisance"]
        differences = [result.difference(name, "nuisance", by) for name in names for by in result.criteria]
        scores: dict[str, dict[str, str]] = {name: {} for name in names}
        for d in differences:
            scores[d.first][d.criterion] = f"{d.nats:+.0f} ± {d.se:.0f} ({d.n_for}:{d.n_against})"
        print(f"\n{'with' if habit else 'without'} the habit term, {time.process_time() - start:.0f} s of CPU time")
        print(pd.DataFrame(scores).T.to_string(), "\n", flush=True)


if __name__ == "__main__":
    main()
