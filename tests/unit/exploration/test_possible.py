"""Actions that are not possible in some states: worlds, explorers, lab books, files, environments and replays."""

import gymnasium
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, LabBook, World
from berlyne.cli import commands
from messages import raises

STATES, ACTIONS = ["A", "B", "C", "D"], ["left", "right", "jump"]
POSSIBLE = {"C": ["left", "right"]}


def four_states(**more):
    """A ring of four states; `jump` leads anywhere, and is not possible in C."""
    theta = np.zeros((3, 4, 4))
    for s in range(4):
        theta[0, s, (s - 1) % 4] = theta[1, s, (s + 1) % 4] = 1.0
        theta[2, s] = 0.25
    if "possible" in more:
        theta[2, 2] = 0.0
    prior = Dirichlet(0.5, n_states=4, n_actions=3)
    return World(theta, prior, states=STATES, actions=ACTIONS, start="A", **more)


def explorer(prior=None, strategy="PIG(VI)", **more):
    prior = prior or Dirichlet(0.5, n_states=4, n_actions=3)
    known = {"states": STATES} if hasattr(prior, "n_states") and prior.n_states else {}
    return Explorer(prior, strategy, actions=ACTIONS, **{**known, "possible": POSSIBLE, **more})


def walk(agent, n_steps=400):
    """Let an explorer act in the ring, where `jump` cannot be taken in C; return the number of visits of C."""
    world, rng, s, visits = four_states(), np.random.default_rng(0), "A", 0
    for _ in range(n_steps):
        visits += s == "C"
        a = agent.act(s, among=["left", "right"] if s == "C" else None)
        s_next = STATES[world.sample(ACTIONS.index(a), STATES.index(s), rng.random())]
        agent.observe(s, a, s_next)
        s = s_next
    return visits


@pytest.mark.parametrize("strategy", ["Random", "PIG(VI)", "PIG(Q)", "LTA", "PSRL(PIG)"])
def test_declarations_hold_before_a_state_is_discovered(strategy):
    for seed in range(12):
        unaware, aware = (
            explorer(ChineseRestaurant(1.0), strategy, seed=seed, **more) for more in ({"possible": None}, {})
        )
        assert aware.act("C") in POSSIBLE["C"] and aware.act("C") == aware.act("C")
        assert aware.probabilities("C")[2] == 0.0 and aware.probabilities("C").sum() == pytest.approx(1.0)
        assert aware.act("A") == unaware.act("A") and np.array_equal(
            aware.probabilities("A"), unaware.probabilities("A")
        )
        with raises(ValueError, "among", "'C'"):
            aware.act("C", among=["jump"])
        aware.observe("C", aware.act("C"), "D")
        assert aware.act("C") in POSSIBLE["C"]


@pytest.mark.filterwarnings("ignore:The prior does not agree")  # its outcomes are certain
def test_an_action_that_is_never_possible_attracts_nobody():
    """Before, plans went to C for an action that could not be taken there, and the explorer never knew enough."""
    unaware, aware = explorer(possible=None), explorer()
    assert walk(unaware) > 150 and walk(aware) < 110
    with pytest.warns(UserWarning, match="more regular"):  # both, since most steps of the ring are certain
        assert not unaware.knows_enough(1.0)
    with pytest.warns(UserWarning, match="more regular"):
        assert aware.knows_enough(1.0)
    untried = unaware.expected_missing_information().rows[2, 2]
    assert untried > 0.3 and aware.expected_missing_information().rows[2, 2] == 0.0
    assert aware.utility()[2, 2] == 0.0 and aware.action_values("C")[2] == -np.inf
    assert aware.probabilities("C").sum() == pytest.approx(1.0) and aware.probabilities("C")[2] == 0.0


@pytest.mark.parametrize(
    "strategy", ["PIG(VI)", "Random", "LTA", "CB", "PIG(Q)", "Unembodied", "PIG(greedy, lapse=0.5)"]
)
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_no_strategy_takes_what_is_not_possible(strategy, engine):
    world = four_states(possible=POSSIBLE)
    run = berlyne.explore(world, strategy, 300, seed=1, engine=engine)
    taken = run.states[:-1] * 3 + run.actions
    assert set(range(12)) - set(taken.tolist()) == {2 * 3 + 2}
    assert run.missing_information[-1] < 3.0
    expected = run.model.missing_information_by_row(world)
    assert expected[2, 2] == 0.0 and run.missing_information[-1] == pytest.approx(expected.sum())
    replayed = berlyne.replay(world, run, strategy, engine=engine)
    assert np.all(np.isfinite(replayed.log_likelihood))


def test_forms_of_possible_agree():
    mask = np.ones((3, 4), dtype=bool)
    mask[2, 2] = False
    by_mask, by_label = four_states(possible=mask), four_states(possible=POSSIBLE)
    assert np.array_equal(by_mask.possible, mask) and np.array_equal(by_label.possible, mask)
    assert np.array_equal(explorer().allowed, mask) and np.array_equal(explorer(possible=mask).allowed, mask)
    assert np.array_equal(by_label.with_prior(Dirichlet(1.0, n_states=4, n_actions=3)).possible, mask)


def test_mistakes():
    with pytest.raises(ValueError, match=r"possible in state 'C'.*terminal"):
        four_states(possible={"C": []})
    ends = four_states(possible={"C": []}, terminal=["C"])
    assert not ends.possible[:, 2].any() and ends.possible[:, [0, 1, 3]].all()
    with pytest.raises(ValueError, match="'E'"):
        four_states(possible={"E": ["left"]})
    with pytest.raises(ValueError, match="'hop'"):
        four_states(possible={"C": ["hop"]})
    with pytest.raises(ValueError, match=r"possible.*\(3, 4\)"):
        four_states(possible=np.ones((4, 3), dtype=bool))
    with pytest.raises(ValueError, match=r"'jump'.*'C'"):
        explorer().observe("C", "jump", "A")
    with pytest.raises(ValueError, match=r"'jump'.*'C'"):
        explorer().observe_many([("A", "left", "D"), ("C", "jump", "A")])
    with pytest.raises(ValueError, match=r"among.*'C'"):
        explorer().act("C", among=["jump"])
    tried = explorer(possible=None)
    tried.observe("C", "jump", "A")
    with pytest.raises(ValueError, match=r"'jump'.*'C'"):
        tried.allow("C", ["left"])


def test_files_keep_what_is_possible(tmp_path):
    world = four_states(possible=POSSIBLE, terminal=["D"])
    world.save(tmp_path / "world.npz")
    assert np.array_equal(berlyne.load_world(tmp_path / "world.npz").possible, world.possible)
    first = explorer()
    first.observe("B", "right", "C")
    first.save(tmp_path / "explorer.npz")
    second = Explorer.load(tmp_path / "explorer.npz")
    assert (
        np.array_equal(second.action_values("C"), first.action_values("C")) and second.action_values("C")[2] == -np.inf
    )


@pytest.mark.parametrize("possible", [POSSIBLE, "mask"])
def test_lab_books_keep_what_is_possible(tmp_path, possible):
    mask = np.ones((3, 4), dtype=bool)
    mask[2, 2] = False
    prior = Dirichlet(0.5, n_states=4, n_actions=3)
    possible = mask if isinstance(possible, str) else possible
    book = LabBook.new(tmp_path / "a.lab", prior, states=STATES, actions=ACTIONS, possible=possible)
    book.tell("B", "right", "C")
    assert np.array_equal(LabBook(tmp_path / "a.lab").explorer.allowed, mask)
    with pytest.raises(ValueError, match="'jump'"):
        book.tell("C", "jump", "A")
    assert LabBook(tmp_path / "a.lab").explorer.n_obs == 1


def test_the_command_reads_a_table(tmp_path):
    (tmp_path / "possible.csv").write_text("state,action\nC,left\nC, right\n")
    options = ["--states", "A,B,C,D", "--actions", "left,right,jump", "--possible", str(tmp_path / "possible.csv")]
    result = CliRunner().invoke(commands, ["lab", "new", str(tmp_path / "a.lab"), *options])
    assert result.exit_code == 0, result.output
    assert np.array_equal(np.argwhere(~LabBook(tmp_path / "a.lab").explorer.allowed), [[2, 2]])
    (tmp_path / "short.csv").write_text("s,a\nC,left\nC, right\n")  # as in tables of edges
    options[-1] = str(tmp_path / "short.csv")
    result = CliRunner().invoke(commands, ["lab", "new", str(tmp_path / "c.lab"), *options])
    assert result.exit_code == 0, result.output
    assert np.array_equal(np.argwhere(~LabBook(tmp_path / "c.lab").explorer.allowed), [[2, 2]])
    (tmp_path / "wrong.csv").write_text("room,a\nC,left\n")
    options[-1] = str(tmp_path / "wrong.csv")
    result = CliRunner().invoke(commands, ["lab", "new", str(tmp_path / "b.lab"), *options])
    assert result.exit_code != 0 and "state" in str(result.output) + str(result.exception)


def test_tables_of_edges_need_no_lines_for_what_is_not_possible(tmp_path):
    lines = ["s,a,s_next,p", "x,go,y,1", "y,go,x,1", "x,stay,x,1"]
    (tmp_path / "edges.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"'stay' in s='y' are missing.*possible=\{'y': \['go'\]\}"):
        berlyne.load_world(tmp_path / "edges.csv")
    world = berlyne.load_world(tmp_path / "edges.csv", possible={"y": ["go"]})
    assert np.array_equal(np.argwhere(~world.possible), [[1, 1]])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_of_edges_may_have_long_names(tmp_path, ending):
    lines = {
        "state": ["x", "y"],
        "probability": [1.0, 1.0],
        "next_state": ["y", "x"],
        "action": ["go", "go"],
        "note": [1, 2],
    }
    frame, path = pd.DataFrame(lines), tmp_path / f"edges.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    world = berlyne.load_world(path)
    assert world.to_edges() == {"s": ["x", "y"], "a": ["go", "go"], "s_next": ["y", "x"], "p": [1.0, 1.0]}
    mixed = frame.rename(columns={"state": "s", "action": "a"}).assign(state="other")  # the short name counts
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    assert berlyne.load_world(tmp_path / "mixed.csv").to_edges() == world.to_edges()


def test_states_that_are_discovered_have_their_own_actions():
    agent = explorer(ChineseRestaurant(0.5))
    agent.observe("A", "right", "B")
    agent.observe("B", "right", "C")
    assert agent.action_values("C")[2] == -np.inf and np.isfinite(agent.action_values("B")).all()
    agent.undo()
    agent.observe("B", "jump", "D")
    assert np.isfinite(agent.action_values("D")).all()  # it has the number that C had


class Masked(gymnasium.Env):
    """A ring of four states that tells which actions are possible."""

    observation_space, action_space = gymnasium.spaces.Discrete(4), gymnasium.spaces.Discrete(3)

    def _info(self):
        return {"action_mask": np.array([1, 1, self.s != 2], dtype=np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        return self.s, self._info()

    def step(self, action):
        assert self._info()["action_mask"][action]
        self.s = int(self.np_random.integers(4)) if action == 2 else (self.s + 2 * action - 1) % 4
        return self.s, 0.0, False, False, self._info()


@pytest.mark.parametrize("prior", [None, ChineseRestaurant(0.5)])
def test_the_mask_of_an_environment_is_read(prior):
    run = berlyne.explore_env(Masked(), "PIG(VI)", 200, prior=prior)
    allowed = run.explorer.allowed
    assert not allowed[2, run.explorer.states.index(2)] and np.count_nonzero(~allowed) == 1
    agent = run.explorer.expected_missing_information()
    assert run.expected_missing_information[-1] == pytest.approx(agent.bits)


def test_a_wrong_mask_of_an_environment_is_an_error():
    class Wrong(Masked):
        def _info(self):
            return {"action_mask": np.array([1, 2])}

    with pytest.raises(ValueError, match="action_mask"):
        berlyne.explore_env(Wrong(), "Random", 5)
