"""Fitted readings, and the claims that were used to choose them.

A fitted reading was chosen because it reproduces published statements. A claim that was used to choose a reading is no
independent evidence for the paper.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FittedReading:
    """A reading that was fitted.

    Parameters
    ----------
    reading : str
        Number of the reading, such as "R6".
    chosen_by : tuple of str
        Ids of the claims that were used to choose it.
    rationale : str
        Alternatives that were tried, and whether the choice also holds on other worlds.
    """

    reading: str
    chosen_by: tuple[str, ...]
    rationale: str


FITTED: dict[str, FittedReading] = {
    fitted.reading: fitted
    for fitted in (
        FittedReading(
            "R6",
            ("peig-vi",),
            "We compared two values for a pair never tried: its prior PIG, and 0. With 0, PEIG(VI) does not leave the "
            "part of the world that it knows. In Mazes it is then worse than Random, but the paper reports that it "
            "equals PIG(VI) there.",
        ),
        FittedReading(
            "R7",
            ("peig-q", "cb", "pig-q"),
            "We tried 52 settings of Q-learning on seed 0 and chose a rate of 0.5 with epsilon 0.2. With R16, this "
            "setting reproduces the statements about PEIG(Q), CB and LTA. It also does so on the worlds of seeds 1 and "
            "3, and on worlds drawn independently. Rate 0.1 with epsilon 0.3 gives the same verdicts. With epsilon "
            "0.1, cb and peig-q fail in 1-2-3 Worlds. If the values start at 1 or 10, peig-q fails.",
        ),
        FittedReading(
            "R12",
            ("embodiment-index",),
            "We chose run lengths at which the average embodiment index is near the published one. The figure of the "
            "index against run length shows the index at other lengths.",
        ),
        FittedReading(
            "R16",
            ("controls", "lta"),
            "With the twelve strategies of the learning curves in one test, Random against Unembodied in Dense Worlds "
            "has p of about 0.02 on seeds 0, 1 and 3. This agrees with the unusual statement p > 0.01 in the paper. On "
            "seed 2 it has p = 0.0007, and controls does not hold. With the two strategies of Fig. 3 alone, p is below "
            "0.0001 for every run length from 300 to 5000 steps. A large pool has a cost. In 200 worlds and a pool of "
            "twelve strategies, two strategies are significantly different at p < 0.001 only if their mean ranks "
            "differ by 1.55. So two strategies with neighbouring ranks in every world are not significantly different, "
            "even if one is better in all of them. In the pool of the two strategies of Fig. 3, a difference of 0.23 "
            "is enough.",
        ),
    )
}
"""Fitted readings by number."""


def readings_chosen_by(claim: str) -> tuple[str, ...]:
    """Return the fitted readings that a claim was used to choose; empty if the claim is independent evidence."""
    return tuple(fitted.reading for fitted in FITTED.values() if claim in fitted.chosen_by)
