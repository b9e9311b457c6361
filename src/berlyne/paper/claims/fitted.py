"""Readings that were chosen because published statements come out under them, and the claims that chose them.

That is how one reads a silent paper, and it must be said: a claim that served to choose a reading is no independent
evidence for the paper.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fitted:
    """A reading that was fitted.

    chosen_by : ids of the claims that it was chosen by.
    how : what was tried, and what became of it elsewhere.
    """

    reading: str
    chosen_by: tuple[str, ...]
    rationale: str


FITTED: dict[str, Fitted] = {
    fitted.reading: fitted
    for fitted in (
        Fitted(
            "R6",
            ("peig-vi",),
            "Two values for a pair never tried were compared, its prior PIG and 0. With 0, PEIG(VI) does not leave "
            "what it knows and is worse than Random in Mazes, where the paper finds it equal to PIG(VI).",
        ),
        Fitted(
            "R7",
            ("peig-q", "cb", "pig-q"),
            "Of 52 settings of Q-learning tried on seed 0, a rate of 0.5 with epsilon 0.2 was taken, with which, and "
            "R16, the statements about PEIG(Q), CB and LTA come out. On fresh worlds it held on seeds 1 and 3 and on "
            "worlds drawn independently. Rate 0.1 with epsilon 0.3 gives the same verdicts; epsilon 0.1 loses cb and "
            "peig-q in 1-2-3 Worlds; values that start at 1 or 10 break peig-q.",
        ),
        Fitted(
            "R12",
            ("embodiment-index",),
            "Run lengths were taken at which the average embodiment index comes out near the published one; the "
            "figure of the index against run length shows what other lengths give.",
        ),
        Fitted(
            "R16",
            ("controls", "lta"),
            "With the twelve strategies of the learning curves in one test, Random against Unembodied in Dense Worlds"
            " has p of about 0.02 on seeds 0, 1 and 3, which fits the odd p > 0.01 of the paper; on seed 2 it has p ="
            " 0.0007, and controls does not hold. With the two strategies of Fig. 3 alone, p is below 0.0001 for "
            "every run length from 300 to 5000 steps. The price of a large pool: of twelve strategies in 200 worlds, "
            "two are told apart at p < 0.001 only if their mean ranks differ by 1.55, so two that have neighbouring "
            "ranks in every world are not, though one is better in all of them; of the two of Fig. 3, a difference of "
            "0.23 is enough.",
        ),
    )
}
"""By the reading's number."""


def readings_chosen_by(claim: str) -> tuple[str, ...]:
    """The fitted readings that a claim helped to choose; none if it is independent evidence."""
    return tuple(fitted.reading for fitted in FITTED.values() if claim in fitted.chosen_by)
