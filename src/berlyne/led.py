"""An explorer led along a history whose episodes end: step by step, as `Explorer` learns of ends."""

from __future__ import annotations

from berlyne.arrays import BoolArray, FloatArray, IntArray
from berlyne.explorer import Explorer
from berlyne.trace import Thoughts


def led(explorer: Explorer, steps: IntArray, ended: BoolArray) -> tuple[Thoughts, int]:
    """What an explorer that has seen nothing yet thinks along lines (T, 3) s, a, s_next of numbers.

    ended : (T,), whether the episode was over with each line. Returns the lines learned as well: fewer if the next
    one is impossible. It is a loop in Python, not compiled.
    """
    thoughts = Thoughts.begun(len(steps), explorer.n_actions, _left(explorer), False)
    for t, (s, a, s_next) in enumerate(steps.tolist()):
        thoughts.values[t], thoughts.probabilities[t] = explorer.action_values(s), explorer.probabilities(s)
        thoughts.utility[t] = _utility(explorer, s)
        try:
            explorer.observe(s, a, s_next, ended=bool(ended[t]))
        except ValueError:
            return thoughts, t
        thoughts.missing[t + 1] = _left(explorer)
    return thoughts, len(steps)


def _utility(explorer: Explorer, s: int) -> FloatArray:
    """Utilities (M,) of the actions in a state; where states are discovered, of elsewhere if it was not."""
    return explorer.utility()[:, explorer.state_labels.number(s)]


def _left(explorer: Explorer) -> float:
    """Expected missing information in bits; NaN for a prior that does not say it."""
    if not hasattr(explorer.prior, "expected_missing_information"):
        return float("nan")
    return explorer.expected_missing_information().bits
