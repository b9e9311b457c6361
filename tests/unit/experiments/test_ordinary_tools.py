"""A store stays readable and resumable after tools that others use on Zarr stores, and its results stay the same."""

import shutil
import subprocess
import warnings

import numpy as np
import pytest
import xarray as xr
import zarr

import berlyne
from unit.experiments.studies import assert_same_store, count_explorations, files, study

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A store of two of four worlds, whose last block is not full."""
    place = tmp_path_factory.mktemp("half") / "results.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("berlyne.experiments.store.BLOCK", 3)
        study(n_worlds=2).run(place)
    return place


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same study, run at once and used by no tool."""
    place = tmp_path_factory.mktemp("whole") / "results.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("berlyne.experiments.store.BLOCK", 3)
        study().run(place)
    return place


def consolidate(place):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)  # consolidated metadata is not standard yet
        zarr.consolidate_metadata(place)
    return place


def read(place):
    with xr.open_zarr(place) as dataset:
        dataset.load()
    return place


def add_variable(place):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)
        with xr.open_zarr(place, chunks=None) as dataset:
            final = dataset["missing_information"].isel(time=-1, drop=True)
            dataset.assign(final=final)[["final"]].to_zarr(place, mode="a")
    return place


def add_variable_without_attributes(place):
    """xarray then removes all attributes of the root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)
        with xr.open_zarr(place, chunks=None) as dataset:
            final = dataset["missing_information"].isel(time=-1, drop=True)
            xr.Dataset({"final": final}).to_zarr(place, mode="a")
    return place


def rewrite_all(place):
    """Every array is written again by xarray, with one more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)
        dataset = xr.open_zarr(place, chunks=None).load()
        dataset.assign(final=dataset["missing_information"].isel(time=-1)).to_zarr(place, mode="a")
    return place


def rsync(place):
    """Copy with rsync, or as it does if it is not installed."""
    copy = place.with_name("copy.zarr")
    if shutil.which("rsync"):
        subprocess.run(["rsync", "-a", f"{place}/", str(copy)], check=True, timeout=60)
    else:
        shutil.copytree(place, copy, copy_function=shutil.copy2)
    shutil.rmtree(place)
    return copy


def rename(place):
    return place.rename(place.with_name("another name"))


TOOLS = [consolidate, read, add_variable, add_variable_without_attributes, rewrite_all, rsync, rename]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_store_is_read_and_resumed_after(tool, half, whole, tmp_path, monkeypatch):
    shutil.copytree(half, tmp_path / "results.zarr")
    before = berlyne.open_results(half)
    place = tool(tmp_path / "results.zarr")
    after = berlyne.open_results(place)
    xr.testing.assert_identical(after.dataset.load(), before.dataset.load())
    assert after.settings == before.settings
    made = count_explorations(monkeypatch)
    results = study().run(place)
    assert len(made) == 12 and results.is_complete  # the other two worlds only
    assert study().run(place).is_complete and len(made) == 12
    for name in (path for path in files(whole) if path != "zarr.json"):
        assert (place / name).read_bytes() == (whole / name).read_bytes(), name
    with xr.open_zarr(place, chunks=None) as ours, xr.open_zarr(whole, chunks=None) as theirs:
        assert ours.attrs == theirs.attrs
        xr.testing.assert_identical(ours, theirs)  # without `final`, which has too few worlds now
    if tool in WRITERS:
        assert zarr.open_array(place, path="final", mode="r").shape == (4, 3)
    else:
        assert_same_store(place, whole)


WRITERS = [add_variable, add_variable_without_attributes, rewrite_all]


@pytest.mark.parametrize("tool", WRITERS)
def test_an_array_of_ones_own_is_kept(tool, whole, tmp_path):
    """It is neither read as a result nor removed, also if the study is run again."""
    place = tmp_path / "results.zarr"
    shutil.copytree(whole, place)
    tool(place)
    results = study().run(place)
    assert "final" not in results.dataset
    with xr.open_zarr(place, chunks=None) as dataset:
        np.testing.assert_array_equal(dataset["final"], dataset["missing_information"].isel(time=-1))


def test_own_worlds_give_no_warning_of_zarr(tmp_path):
    """Zarr warns of files in a group that are not its own, so ours are in the folders of arrays."""
    berlyne.Experiment({"mine": [berlyne.maze(0, side=3, n_transporters=4)]}, ["Random"], n_steps=5).run(
        tmp_path / "r.zarr"
    )
    assert list((tmp_path / "r.zarr").rglob("*.npz"))
    group = zarr.open_group(tmp_path / "r.zarr", mode="r", use_consolidated=False)
    assert "area" in dict(group.members())


def test_attributes_of_ones_own_are_kept(half, tmp_path):
    place = tmp_path / "results.zarr"
    shutil.copytree(half, place)
    zarr.open_group(place, mode="r+").attrs["note"] = "mine"
    study().run(place)
    attributes = zarr.open_group(place, mode="r").attrs
    assert attributes["note"] == "mine" and attributes["settings"]["n_worlds"] == 4
