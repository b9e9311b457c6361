"""What stands under every figure: what is drawn, of how many worlds `{n}`, and what bars, dots and markers are."""

from __future__ import annotations

_ERRORS = (
    "Lines are means over n = {n} worlds of each class, and the dotted lines above and below them are one standard "
    "error of the mean. "
)
_CONTROLS = "Black triangles mark Unembodied, which may relocate before every action, and red plus signs Random. "
_GREEN = "PIG(VI), which plans ahead by value iteration on predicted information gain (PIG), has open green circles"
_MISSING = "Missing information, in bits, against the number of steps explored. "
_DIFFERENCE = (
    "(d to f) The mean, over the same worlds, of every curve minus that of PIG(VI), with one standard error of this "
    "paired difference dotted above and below: above zero a strategy is behind PIG(VI), below zero ahead of it. The "
    "axis is linear between -1 and 1 and logarithmic beyond."
)

CAPTIONS = {
    "fig1": (
        "One of the {n} mazes. Black lines are walls, blue lines transporters on the face of a wall, and the rings are "
        "the base to which transporters lead. For two pairs of a room (black dot) and an action, four arrows show "
        "where the action may lead: into the next room, against a wall (flat head: the agent stays), or into a "
        "transporter (dashed). The shade of an arrow is the probability of its outcome, as the bar shows, and each "
        "probability is written once: arrows joined by an arc have the same outcome and share one probability."
    ),
    "fig2": (
        "Predicted against realised information gain of one further observation, after none to 19 observations of a "
        "transition distribution, for (a) Dense Worlds, (b) Mazes and (c) 1-2-3 Worlds. Green circles are averages "
        "over n = {n} worlds, all transition distributions of each, and repeated trials; the grey diagonal is "
        "equality. Grey bars are one standard deviation, horizontal of the realised and vertical of the predicted "
        "gain. Both axes are logarithmic, so a deviation that reaches zero is drawn above the mean only; in 1-2-3 "
        "Worlds all are, as in the paper."
    ),
    "fig3": _MISSING + _ERRORS + _CONTROLS.strip(),
    "fig4": (
        _MISSING + _ERRORS + _CONTROLS + _GREEN + "; PIG(greedy), which looks one step ahead, has squares and dashes, "
        "and PIG(VI+), which plans with the true world, has diamonds and dash-dotted lines."
    ),
    "fig5": (
        "(a) Embodiment index against structure index; every marker is one of n = {n} worlds of each class. (b) Mutual "
        "information between an action and the state a number of time steps later; markers are means over n = {n} "
        "worlds of each class, and bars one standard deviation above and below. Grey squares are Dense Worlds, orange "
        "triangles Mazes, and open blue circles 1-2-3 Worlds."
    ),
    "fig6": (
        _MISSING + _ERRORS + _CONTROLS + _GREEN + ". The heuristics have asterisks: least taken action (LTA, orange, "
        "six arms) and counter-based exploration (CB, yellow, eight arms). Q-learning on posterior expected "
        "information gain, PEIG(Q), has magenta triangles that point down, and long dashes."
    ),
    "fig7": (
        "(a to c) "
        + _MISSING
        + _ERRORS
        + _CONTROLS
        + _GREEN
        + "; planning on predicted mode change, PMC(VI), has blue "
        "circles filled on the left, and on predicted L1 change, PLC(VI), cyan circles filled below. " + _DIFFERENCE
    ),
    "fig8": (
        "Mean rank, over n = {n} worlds of each class, of every strategy by the loss that policies planned with its "
        "internal model suffer in navigation (across) and reward acquisition (up); rank 1 is the smallest loss. Ranks"
        " are taken at six times of the run and averaged. (a to c) All strategies; bars are one standard deviation "
        "over worlds. Strategies outside the pair of vertical green lines differ significantly from PIG(VI) in "
        "navigation, outside the pair of horizontal blue lines in reward: solid lines for p = 0.0001, the level of "
        "the paper's caption, dashed lines for p = 0.001, the level of its text. (d to f) What the grey frames of a "
        "to c hold, enlarged, without bars. Colour and filling tell utilities apart: PIG green and open, PEIG magenta"
        " and full, PMC blue and half filled on the left, PLC cyan and filled below. Symbols tell methods apart: "
        "squares greedy, circles VI, diamonds VI+, asterisks the heuristics LTA (orange, six arms) and CB (yellow, "
        "eight arms). The black triangle is Unembodied, the red plus sign Random."
    ),
    "fig8-times": (
        "Mean rank of every strategy, over n = {n} worlds of each class, when exploration is stopped after a share of "
        "the run, (a to c) in navigation loss and (d to f) in reward loss; rank 1 is the smallest loss. Markers of one "
        "time stand side by side so that equal ranks do not hide each other, and lines only join the markers of one "
        "strategy. Colours, fillings and symbols are those of Fig. 8; standard deviations are in the table of numbers. "
        "No marker carries a bar."
    ),
    "figS1": (
        "One of the {n} Dense Worlds: ten states (circles) and, in panels a to d, the transitions under each of the "
        "four actions. The shade of an arrow is its probability, as the bar shows; transitions of a probability below "
        "0.15 are hairlines without a head. A loop is a transition back to the same state."
    ),
    "figS2": (
        "One of the {n} 1-2-3 Worlds: twenty states (circles) and, in panels a to c, the transitions under each of the "
        "three actions. Action 1 has one target in every state, action 2 two and action 3 three, all equally probable; "
        "the shade of an arrow is its probability, as the bar shows. State 1, which is a target more often than any "
        "other state, is blue and stands in the middle. A loop is a transition back to the same state."
    ),
    "figS3": (
        _MISSING
        + _ERRORS
        + _CONTROLS
        + _GREEN
        + "; planning on posterior expected information gain, PEIG(VI), has full magenta circles. Q-learning has "
        "triangles that point down, and long dashes: open green ones on PIG, full magenta ones on PEIG."
    ),
    "figS4": (
        "(a to c) L1 distance between the internal model and the world, summed over all transition distributions, "
        "against the number of steps explored. "
        + _ERRORS
        + _CONTROLS
        + _GREEN
        + "; planning on predicted mode change, PMC(VI), has blue circles filled on the left, and on predicted L1 "
        "change, PLC(VI), cyan circles filled below. " + _DIFFERENCE
    ),
    "figS5": (
        "PIG(VI) with the true concentration of the Dirichlet prior given (black triangles), and with a concentration "
        "estimated by maximum likelihood at every step, from the start named in the legend (open markers, broken "
        "lines). (a, b) Missing information: means over n = {n} worlds of each class, with one standard error of the "
        "mean dotted above and below. (c, d) The concentration learned: lines are medians over the same worlds, bands "
        "hold the central 68 % of worlds (16th to 84th percentile), and the black horizontal line is the true "
        "concentration. Time is on a logarithmic axis from step 1 on."
    ),
    "index-by-length": (
        "Embodiment index for runs of any length: the mean over n = {n} worlds of each class (black), with a 95 % "
        "confidence band of that mean (grey). The dashed red line is the published average. The paper does not say how "
        "long its runs were; our run length (dash-dotted line) was chosen so that the index comes out near the "
        "published value (reading R12), so that their agreement is no evidence for the paper."
    ),
    "sensitivity": (
        "Verdicts on claims (rows) when the paper is read otherwise (columns), worked out in all n = {n} worlds of "
        "each class; the first column is the paper as we read it. D, M and O are Dense Worlds, Mazes and 1-2-3 "
        "Worlds. A green disc stands for a claim that holds, a red cross for one that does not, a dash for one that "
        "is undecided. The darker the ground of a cell, the larger the largest change of an effect that the claim "
        "rests on, against the first column: in per cent of an area or of what was missing at first, where a tenth of"
        " a rank counts as one per cent. Hatched claims were not asked again: tasks are not set again under that "
        "reading. A frame marks a verdict that differs from that of the first column: a thick one if the effect "
        "moved, a thin one of long dashes if it hardly moved and the verdict flipped by a hair, of short dashes if it "
        "is the same and only other strategies in the test are not."
    ),
}
