"""Animations of runs: every frame shows its own time, and files can be written."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from berlyne import ChineseRestaurant, Dirichlet, World, explore, maze
from berlyne.figures.animation import N_FRAMES, _Film, frame_times
from berlyne.worlds import places
from messages import raises
from waiting import LIMIT


@pytest.fixture(scope="module")
def run():
    return explore(maze(3, side=3, n_transporters=5), "PIG(VI)", n_steps=300, seed=0)


def artist(ax, gid):
    (match,) = [child for child in ax.get_children() if child.get_gid() == gid]
    return match


@pytest.mark.parametrize("frame", [17, 3, 99])  # not in their order
def test_a_frame_shows_agent_trail_missing_information_and_cursor_of_its_time(run, frame):
    film = _Film(run, frame_times(300, every=3), 5, "missing information", None)
    for other in (50, frame):
        film.show(other)
    t = 3 * frame
    left, right = film.figure.axes[:2]
    np.testing.assert_array_equal(np.ravel(artist(left, "agent").get_data()), places(run.world)[run.states[t]])
    theta, theta_hat, possible = run.world.theta, run.model_at(t).theta_hat, run.world.theta > 0
    bits = np.zeros(theta.shape)
    bits[possible] = theta[possible] * np.log2(theta[possible] / theta_hat[possible])
    np.testing.assert_allclose(artist(left, "states").get_array(), bits.sum(axis=(0, 2)), atol=1e-12)
    assert len(artist(left, "walks").get_paths()) + len(artist(left, "leaps").get_paths()) == 5
    assert artist(right, "cursor").get_xdata() == [t, t]
    assert np.ravel(artist(right, "now").get_data()).tolist() == [t, run.missing_information[t]]
    assert film.title.get_text() == f"{t} steps, {run.missing_information[t]:.1f} bits missing"


def test_the_scale_of_colours_holds_in_all_frames(run):
    film = _Film(run, frame_times(300, n_frames=4), 5, "missing information", None)
    most = max(run.model_at(t).missing_information_by_row(run.world).sum(axis=0).max() for t in (0, 100, 200, 300))
    assert film.coloured.get_clim() == (0.0, pytest.approx(most))


def test_two_scales_side_by_side_have_different_names(run):
    _, right, bar = _Film(run, frame_times(300, n_frames=2), 5, "missing information", None).figure.axes
    assert (right.get_ylabel(), bar.get_ylabel()) == ("in all states (bits)", "missing information (bits)")
    _, right, bar = _Film(run, frame_times(300, n_frames=2), 5, "visits", None).figure.axes
    assert (right.get_ylabel(), bar.get_ylabel()) == ("missing information (bits)", "visits")


def test_there_are_few_frames_by_default():
    assert len(frame_times(2500)) == N_FRAMES and frame_times(2500)[[0, -1]].tolist() == [0, 2500]
    assert frame_times(10).tolist() == list(range(11))
    assert frame_times(10, every=4).tolist() == [0, 4, 8, 10] and frame_times(8, every=4).tolist() == [0, 4, 8]
    assert frame_times(10, n_frames=3).tolist() == [0, 5, 10] and frame_times(10, n_frames=1).tolist() == [10]
    assert frame_times(0).tolist() == [0]
    for options, named in (
        ({"every": 2, "n_frames": 3}, ("every", "2", "n_frames", "3")),
        ({"every": 0}, ("every", "0", "1")),
        ({"n_frames": 0}, ("n_frames", "0")),
    ):
        with raises(ValueError, *named):
            frame_times(10, **options)


def test_a_film_is_saved_as_gif(run, tmp_path):
    run.animate(n_frames=3, fps=5).save(tmp_path / "run.gif", writer="pillow", dpi=40)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 3 and film.info["duration"] == 200
        frames = []
        for i in range(3):
            film.seek(i)
            frames.append(np.asarray(film.convert("L"), dtype=int))
    assert all(np.abs(one - other).max() > 50 for one, other in pairwise(frames))
    with raises(ValueError, "fps", "0", "(0, 1000]"):
        run.animate(fps=0)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg here")
def test_a_film_is_saved_as_mp4(run, tmp_path):
    run.animate(n_frames=4, fps=8).save(tmp_path / "run.mp4", dpi=40)
    asked = ["-count_frames", "-show_entries", "stream=nb_read_frames,r_frame_rate", "-of", "csv=p=0"]
    done = subprocess.run(
        ["ffprobe", "-v", "error", *asked, tmp_path / "run.mp4"],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stdout.strip() == "8/1,4"


def test_a_film_of_many_states_and_of_states_that_are_discovered():
    n = 70
    ring = World(np.roll(np.eye(n), 1, axis=1)[None], Dirichlet(1.0, n_states=n, n_actions=1), start=0)
    film = _Film(explore(ring, "Random", n_steps=6), frame_times(6), 3, "missing information", None)
    film.show(5)
    assert artist(film.figure.axes[0], "agent").get_ydata() == [5, 5]
    discovering_run = explore(maze(0, side=3, n_transporters=4).with_prior(ChineseRestaurant()), "Random", n_steps=6)
    film = _Film(discovering_run, frame_times(6), 3, "missing information", None)
    film.show(4)
    bits = artist(film.figure.axes[0], "states").get_array()
    assert bits.shape == (9,) and bits.sum() == pytest.approx(discovering_run.missing_information[4])
