"""Every claim of the paper that can be checked, under its id."""

from __future__ import annotations

from berlyne.claims import learning, prediction, structure, theory, usefulness
from berlyne.claims.verdict import Claim

_CURVES = ("explorations",)

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in (
        Claim(
            "theorem-1",
            "Theorem 1",
            "The Bayesian estimate minimises expected missing information over every other estimate.",
            (),
            (),
            theory.theorem_1,
        ),
        Claim("theorem-2", "Theorem 2", "PIG equals the expected information gain.", (), (), theory.theorem_2),
        Claim(
            "pig-predicts",
            "Sec. 3.1, Fig. 2",
            "Average PIG against average realised gain lies on the unity line for 0 to 19 observations.",
            ("fig2",),
            ("gains",),
            prediction.pig_predicts,
        ),
        Claim(
            "pig-falls",
            "Sec. 3.2, Fig. 2",
            "Average PIG falls with every further observation.",
            ("fig2",),
            ("gains",),
            prediction.pig_falls,
        ),
        Claim(
            "controls",
            "Sec. 3.2, Fig. 3",
            "Random is worse than Unembodied in Mazes and 1-2-3 Worlds (p < 0.001), not in Dense Worlds (p > 0.01).",
            ("fig3",),
            _CURVES,
            learning.controls,
        ),
        Claim(
            "embodied-greedy",
            "Sec. 3.3, Fig. 4",
            "PIG(greedy) is worse than Unembodied in Mazes and 1-2-3 Worlds (p < 0.001), not in Dense Worlds.",
            ("fig4",),
            _CURVES,
            learning.embodied_greedy,
        ),
        Claim(
            "embodiment-index",
            "Sec. 3.3",
            "The embodiment index averages 0.02 in Dense Worlds, 2.59 in Mazes and 1.27 in 1-2-3 Worlds.",
            ("fig4", "fig5", "index-by-length"),
            _CURVES,
            learning.embodiment_index,
        ),
        Claim(
            "greedy-random",
            "Sec. 3.3, Fig. 4",
            "PIG(greedy) is like Random in Dense Worlds and Mazes, and better in 1-2-3 Worlds (p < 0.001).",
            ("fig4",),
            _CURVES,
            learning.greedy_random,
        ),
        Claim(
            "vi-gain",
            "Sec. 3.3, Fig. 4",
            "PIG(VI) gains most over PIG(greedy) in Mazes, moderately in 1-2-3 Worlds, nothing in Dense Worlds.",
            ("fig4",),
            _CURVES,
            learning.vi_gain,
        ),
        Claim(
            "vi-plus",
            "Sec. 3.3, Fig. 4",
            "PIG(VI+) differs from PIG(VI) only in Mazes, by little next to the gain over Random and PIG(greedy).",
            ("fig4",),
            _CURVES,
            learning.vi_plus,
        ),
        Claim(
            "structure",
            "Sec. 3.4, Fig. 5a",
            "The embodiment index correlates strongly with the structure index over all worlds.",
            ("fig5",),
            ("explorations", "structure"),
            structure.structure,
        ),
        Claim(
            "control-horizon",
            "Sec. 3.4, Fig. 5b",
            "One action has more influence on future states in Mazes and 1-2-3 Worlds than in Dense Worlds; "
            "in Mazes far into the future.",
            ("fig5",),
            ("structure",),
            structure.control_horizon,
        ),
        Claim("lta", "Sec. 3.5, Fig. 6", "LTA is like Random in all classes.", ("fig6",), _CURVES, learning.lta),
        Claim(
            "cb",
            "Sec. 3.5, Fig. 6",
            "CB is worse than Random in Dense and 1-2-3 Worlds (p < 0.001), better in Mazes, but far from PIG(VI).",
            ("fig6",),
            _CURVES,
            learning.cb,
        ),
        Claim(
            "peig-q",
            "Sec. 3.5, Fig. 6",
            "PEIG(Q) is worse than Random, at least at first, everywhere (p < 0.001 in Dense and 1-2-3 Worlds, "
            "not in Mazes), and catches up late.",
            ("fig6",),
            _CURVES,
            learning.peig_q,
        ),
        Claim(
            "best-of-previous",
            "Sec. 3.5, Fig. 6",
            "PIG(VI) beats LTA, CB and PEIG(Q) in Mazes and 1-2-3 Worlds.",
            ("fig6",),
            _CURVES,
            learning.best_of_previous,
        ),
        Claim(
            "pig-q",
            "Sec. 3.5, Fig. S3",
            "PIG(Q) is like PEIG(Q), short of PIG(VI).",
            ("figS3",),
            _CURVES,
            learning.pig_q,
        ),
        Claim(
            "peig-vi",
            "Sec. 3.5, Fig. S3",
            "PEIG(VI) is like PIG(VI) in Mazes and worse in 1-2-3 Worlds (p < 0.001).",
            ("figS3",),
            _CURVES,
            learning.peig_vi,
        ),
        Claim(
            "utilities",
            "Sec. 3.6, Fig. 7",
            "PIG(VI) beats PMC(VI) in all classes, and PLC(VI) in 1-2-3 Worlds (p < 0.001).",
            ("fig7",),
            _CURVES,
            learning.utilities,
        ),
        Claim(
            "utilities-help",
            "Sec. 3.6, Fig. 7",
            "PMC(VI) and PLC(VI) beat Random in Mazes and 1-2-3 Worlds.",
            ("fig7",),
            _CURVES,
            learning.utilities_help,
        ),
        Claim(
            "l1",
            "Sec. 3.6, Fig. S4",
            "Measured by L1 distance, PIG(VI) still beats PMC(VI) and PLC(VI) in 1-2-3 Worlds.",
            ("figS4",),
            _CURVES,
            learning.l1,
        ),
        Claim(
            "tasks-top",
            "Sec. 3.7, Fig. 8",
            "In all classes, for navigation and for reward, PIG(VI) is among the best strategies that are not "
            "positive controls (p > 0.001).",
            ("fig8",),
            ("tasks",),
            usefulness.tasks_top,
        ),
        Claim(
            "tasks-only",
            "Sec. 3.7, Fig. 8",
            "PIG(VI) is the only strategy of which that is true everywhere.",
            ("fig8",),
            ("tasks",),
            usefulness.tasks_only,
        ),
        Claim(
            "learned-prior",
            "Sec. 4.1, Fig. S5",
            "With the concentration estimated by maximum likelihood, exploration soon matches that of agents given "
            "the true one, in Dense Worlds and Mazes.",
            ("figS5",),
            ("learned",),
            learning.learned_prior,
        ),
    )
}
