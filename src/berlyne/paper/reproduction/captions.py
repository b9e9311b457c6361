"""Captions of the figures: what is drawn, the number of worlds `{n}`, and the meaning of bars, dots and markers."""

from __future__ import annotations

_ERRORS = (
    "Lines are means over n = {n} worlds of each class. The dotted lines above and below them are one standard error "
    "of the mean. "
)
_CONTROLS = "Black triangles mark Unembodied, which may relocate before every action, and red plus signs mark Random. "
_GREEN = "Open green circles mark PIG(VI), which plans ahead by value iteration on predicted information gain (PIG)"
_MISSING = "Missing information, in bits, against the number of steps explored. "
_UTILITIES = (
    ". Two strategies plan ahead on other utilities: PMC(VI) on predicted mode change (blue circles, left half "
    "filled) and PLC(VI) on predicted L1 change (cyan circles, lower half filled). "
)
_DIFFERENCE = (
    "(d to f) Every curve minus that of PIG(VI), averaged over the same worlds, with one standard error of this paired "
    "difference dotted above and below. Above zero, a strategy has more missing information than PIG(VI), below zero "
    "less. The axis is linear between -1 and 1 and logarithmic beyond."
)

CAPTIONS = {
    "fig1": (
        "One of the {n} mazes. Black lines are walls, blue lines are transporters on the face of a wall, and the rings "
        "are the base to which transporters lead. For two pairs of a room (black dot) and an action, four arrows show "
        "where the action may lead: into the next room, against a wall (flat head: the agent stays), or into a "
        "transporter (dashed). The shade of an arrow is the probability of its outcome, as the bar shows. Each "
        "probability is written once. Arrows joined by an arc have the same outcome and share one probability."
    ),
    "fig2": (
        "Predicted against realised information gain of one further observation, after 0 to 19 observations of a "
        "transition distribution, for (a) Dense Worlds, (b) Mazes and (c) 1-2-3 Worlds. Green circles are averages "
        "over n = {n} worlds, all transition distributions of each, and repeated trials. The grey diagonal is "
        "equality. Grey bars are one standard deviation: horizontal bars of the realised gain, vertical bars of the "
        "predicted gain. Both axes are logarithmic, so if a bar would reach zero, only its part above the mean is "
        "drawn. In 1-2-3 Worlds this applies to all bars, as in the paper."
    ),
    "fig3": _MISSING + _ERRORS + _CONTROLS.strip(),
    "fig4": (
        _MISSING + _ERRORS + _CONTROLS + _GREEN + ". Squares and dashed lines mark PIG(greedy), which looks one step "
        "ahead. Diamonds and dash-dotted lines mark PIG(VI+), which plans with the true world."
    ),
    "fig5": (
        "(a) Embodiment index against structure index. Every marker is one of n = {n} worlds of each class. (b) Mutual "
        "information between an action and the state a number of time steps later. Markers are means over n = {n} "
        "worlds of each class, and bars are one standard deviation above and below. Grey squares are Dense Worlds, "
        "orange triangles Mazes, and open blue circles 1-2-3 Worlds."
    ),
    "fig6": (
        _MISSING + _ERRORS + _CONTROLS + _GREEN + ". Asterisks mark the heuristics: least taken action (LTA, orange, "
        "six arms) and counter-based exploration (CB, yellow, eight arms). Magenta triangles that point down, with "
        "long dashes, mark PEIG(Q): Q-learning on posterior expected information gain."
    ),
    "fig7": "(a to c) " + _MISSING + _ERRORS + _CONTROLS + _GREEN + _UTILITIES + _DIFFERENCE,
    "fig8": (
        "Mean rank, over n = {n} worlds of each class, of every strategy by its loss in navigation (horizontal) and "
        "reward acquisition (vertical). For each strategy, a policy is planned with its internal model, and the "
        "loss of this policy is ranked. Rank 1 is the smallest loss. Ranks are taken at six times of the run and "
        "averaged. (a to c) All strategies; bars are one standard deviation over worlds. Strategies outside the pair "
        "of vertical green lines differ significantly from PIG(VI) in navigation, and strategies outside the pair of "
        "horizontal blue lines in reward. Solid lines are for p = 0.0001, the level of the paper's caption, and dashed "
        "lines for p = 0.001, the level of its text. (d to f) The contents of the grey frames of a to c, enlarged, "
        "without bars. Colour and filling distinguish utilities: PIG is green and open, PEIG magenta and filled, PMC "
        "blue with the left half filled, PLC cyan with the lower half filled. Symbols distinguish methods: squares are "
        "greedy, circles VI, diamonds VI+. Asterisks are the heuristics LTA (orange, six arms) and CB (yellow, eight "
        "arms). The black triangle is Unembodied, the red plus sign Random."
    ),
    "fig8-times": (
        "Mean rank of every strategy, over n = {n} worlds of each class, if exploration stops after a fraction of the "
        "run, (a to c) in navigation loss and (d to f) in reward loss. Rank 1 is the smallest loss. Markers of the "
        "same time are drawn side by side, so that markers with equal ranks do not overlap. Lines only join the "
        "markers of one strategy. Colours, fillings and symbols are those of Fig. 8. No marker has a bar; the CSV file "
        "contains the standard deviations."
    ),
    "figS1": (
        "One of the {n} Dense Worlds: ten states (circles) and, in panels a to d, the transitions under each of the "
        "four actions. The shade of an arrow is its probability, as the bar shows. Transitions with a probability "
        "below 0.15 are thin lines without a head. A loop is a transition back to the same state."
    ),
    "figS2": (
        "One of the {n} 1-2-3 Worlds: twenty states (circles) and, in panels a to c, the transitions under each of the "
        "three actions. In every state, action 1 has one target, action 2 two and action 3 three, all equally "
        "probable. The shade of an arrow is its probability, as the bar shows. State 1, which is a target more often "
        "than any other state, is blue and in the middle. A loop is a transition back to the same state."
    ),
    "figS3": (
        _MISSING + _ERRORS + _CONTROLS + _GREEN + ". Filled magenta circles mark PEIG(VI), which plans ahead on "
        "posterior expected information gain (PEIG). Triangles that point down, with long dashes, mark Q-learning: "
        "open green ones on PIG, filled magenta ones on PEIG."
    ),
    "figS4": (
        "(a to c) L1 distance between the internal model and the world, summed over all transition distributions, "
        "against the number of steps explored. " + _ERRORS + _CONTROLS + _GREEN + _UTILITIES + _DIFFERENCE
    ),
    "figS5": (
        "PIG(VI) with the true concentration of the Dirichlet prior (black triangles), and with a concentration "
        "estimated by maximum likelihood at every step, from the start named in the legend (open markers, broken "
        "lines). (a, b) Missing information: means over n = {n} worlds of each class, with one standard error of the "
        "mean dotted above and below. (c, d) The learned concentration: lines are medians over the same worlds, bands "
        "contain the central 68 % of worlds (16th to 84th percentile), and the black horizontal line is the true "
        "concentration. The time axis is logarithmic and starts at step 1."
    ),
    "index-by-length": (
        "Embodiment index for runs of any length: the mean over n = {n} worlds of each class (black), with a 95 % "
        "confidence band of this mean (grey). The dashed red line is the published average. The paper does not give "
        "its run lengths. We chose ours (dash-dotted line) so that the index is near the published value (reading "
        "R12). So their agreement is not evidence for the paper."
    ),
    "sensitivity": (
        "Verdicts on claims (rows) under other readings of the paper (columns), computed in all n = {n} worlds of each "
        "class. The first column, “as read”, has the readings of this page. D, M and O are Dense Worlds, Mazes and "
        "1-2-3 Worlds. A green disc is a claim that holds, a red cross one that does not hold, and a dash one that is "
        "undecided. The darker a cell, the larger the largest change of an effect that the claim rests on, compared "
        "with the first column. The change is in per cent of an area or of the initial missing information, and a "
        "tenth of a rank counts as one per cent. Hatched claims were not checked again, because tasks are not "
        "recomputed under that reading. A frame marks a verdict that differs from the first column. Thick frame: "
        "the effect left its 95 % confidence interval, or has none. Thin frame with long dashes: the effect moved "
        "within the interval. Thin frame with short dashes: the effect is unchanged, and only other strategies in the "
        "test changed."
    ),
}
