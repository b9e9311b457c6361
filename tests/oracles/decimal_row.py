"""Utilities of one row from their definitions, in decimal numbers of 60 digits: nothing of berlyne, nothing of SciPy.

The row has pseudo-counts c, as a Dirichlet distribution has; an outcome adds one to its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

PRECISE = Context(prec=60, Emin=-999999, Emax=999999)
BERNOULLI = [Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66), Fraction(-691, 2730),
             Fraction(7, 6), Fraction(-3617, 510), Fraction(43867, 798), Fraction(-174611, 330)]  # fmt: skip


def decimals(numbers: Sequence[Fraction]) -> list[Decimal]:
    """The numbers, rounded to 60 digits."""
    return [Decimal(x.numerator) / Decimal(x.denominator) for x in numbers]


def digamma(x: Decimal) -> Decimal:
    """By its recurrence up to 200, and Stirling's series from there: right to some 45 digits."""
    below = Decimal(0)
    while x < 200:
        below -= 1 / x
        x += 1
    series = sum(_of(b) / (2 * k * x ** (2 * k)) for k, b in enumerate(BERNOULLI, 1))
    return below + x.ln() - 1 / (2 * x) - series


def _of(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def estimate(c: Sequence[Fraction]) -> list[float]:
    """c / kappa."""
    return [float(x / sum(c)) for x in c]


def utilities(c: Sequence[Fraction]) -> dict[str, float]:
    """PIG and parameter_gain in bits, PMC and PLC, of a row with positive pseudo-counts."""
    total = sum(c)
    now = [x / total for x in c]
    pmc = plc = Fraction(0)
    with localcontext(PRECISE):
        pig, ln2 = Decimal(0), Decimal(2).ln()
        for i, p in enumerate(now):
            after = [(x + (j == i)) / (total + 1) for j, x in enumerate(c)]
            pmc += p * (max(after) - max(now))
            plc += p * sum(abs(q - r) for q, r in zip(after, now, strict=True)) / len(c)
            gained = sum(q * (q / r).ln() for q, r in zip(decimals(after), decimals(now), strict=True))
            pig += _of(p) * gained
        left = sum(
            p * (digamma(x + 1) - digamma(_of(total) + 1) - p.ln())
            for p, x in zip(decimals(now), decimals(c), strict=True)
        )
        return {"PIG": float(pig / ln2), "parameter_gain": float(left / ln2), "PMC": float(pmc), "PLC": float(plc)}


def peig(before: Sequence[Fraction], outcome: int) -> float:
    """D(after || before) of one outcome, in bits."""
    total = sum(before)
    with localcontext(PRECISE):
        now = decimals([x / total for x in before])
        after = decimals([(x + (j == outcome)) / (total + 1) for j, x in enumerate(before)])
        return float(sum(q * (q / r).ln() for q, r in zip(after, now, strict=True)) / Decimal(2).ln())
