"""Vector operations, and the plain functions that replace them, against NumPy."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

from berlyne.engine.jit import kernel
from berlyne.engine.simd import (
    LANES,
    add,
    add_outer,
    aligned_zeros,
    at_least,
    divide,
    gather,
    item,
    maximum,
    minimum,
    multiply,
    multiply_add,
    scatter,
    set_item,
    splat,
)
from waiting import LIMIT

PLACES = {n: tuple(int(p) for p in np.random.default_rng(n).permutation(2 * n)[:n] * LANES) for n in (1, 2, 3, 5, 12)}
"""Where the values of a bundle lie: apart, and in no order."""


@kernel
def added(out, places, x, y, z):
    scatter(out, places, 1, add(gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, add(gather(x, places, 0), splat(0.5)))


@kernel
def multiplied(out, places, x, y, z):
    scatter(out, places, 1, multiply(gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, multiply(gather(x, places, 0), splat(0.5)))


@kernel
def divided(out, places, x, y, z):
    scatter(out, places, 1, divide(gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, divide(gather(x, places, 0), splat(0.5)))


@kernel
def the_larger(out, places, x, y, z):
    scatter(out, places, 1, maximum(gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, maximum(gather(x, places, 0), splat(0.5)))


@kernel
def the_smaller(out, places, x, y, z):
    scatter(out, places, 1, minimum(gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, minimum(gather(x, places, 0), splat(0.5)))


@kernel
def is_at_least(out, places, x, y, z):
    scatter(out, places, 1, at_least(gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, at_least(gather(x, places, 0), splat(0.5)))


@kernel
def product_added(out, places, x, y, z):
    scatter(out, places, 1, multiply_add(gather(z, places, 0), gather(x, places, 0), gather(y, places, 2)))
    scatter(z, places, 0, multiply_add(splat(2.0), gather(x, places, 0), splat(0.5)))


OPERATIONS = {
    added: (add.plain, lambda z, x, y: x + y),
    multiplied: (multiply.plain, lambda z, x, y: x * y),
    divided: (divide.plain, lambda z, x, y: x / y),
    the_larger: (maximum.plain, lambda z, x, y: np.maximum(x, y)),
    the_smaller: (minimum.plain, lambda z, x, y: np.minimum(x, y)),
    is_at_least: (at_least.plain, lambda z, x, y: (x >= y).astype(float)),
    product_added: (multiply_add.plain, lambda z, x, y: z + x * y),
}
"""Each with its plain form, and with what it should be."""


@pytest.mark.parametrize("n", PLACES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_operations_on_bundles_of_any_size(operation, n):
    rng, places, (_, in_numpy) = np.random.default_rng(n), PLACES[n], OPERATIONS[operation]
    x, y, z = rng.integers(1, 9, size=(3, 2 * n * LANES + 2)) / 8.0  # small fractions, so that some are equal
    out, with_four, written = np.zeros_like(x), z.copy(), np.zeros(len(x), dtype=bool)
    operation(out, places, x, y, with_four)
    for place in places:
        here, second, to = (slice(place + i, place + i + LANES) for i in (0, 2, 1))
        assert out[to] == pytest.approx(in_numpy(z[here], x[here], y[second]), rel=1e-15, abs=0.0)
        assert with_four[here] == pytest.approx(in_numpy(2.0, x[here], 0.5), rel=1e-15, abs=0.0)
        written[to] = True
    assert not out[~written].any()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_plain_forms_agree(operation):
    plain, in_numpy = OPERATIONS[operation]
    z, x, y = np.random.default_rng(0).integers(1, 9, size=(3, LANES)) / 8.0
    y[1] = x[1]
    arguments = (z, x, y)[-len(inspect.signature(plain).parameters) :]
    assert plain(*arguments).tolist() == in_numpy(z, x, y).tolist()


@kernel
def spread_numbers(out, places, numbers, x):
    scatter(out, places, 0, splat(numbers))
    scatter(x, (0,), 0, (splat(numbers[0]),))


@pytest.mark.parametrize("n", PLACES)
def test_four_of_a_number_and_of_several(n):
    numbers, places = tuple(np.random.default_rng(n).random(n).tolist()), PLACES[n]
    out, x = np.zeros(2 * n * LANES), np.zeros(LANES)
    spread_numbers(out, places, numbers, x)
    assert all(
        out[place : place + LANES].tolist() == [each] * LANES for place, each in zip(places, numbers, strict=True)
    )
    assert x.tolist() == [numbers[0]] * LANES
    assert np.array_equal(splat.plain(numbers), np.repeat(np.array(numbers)[:, None], LANES, axis=1))


@kernel
def items(long, short, real, i):
    return item(long, i), item(short, i), item(real, i)


def test_items_of_every_kind_of_array():
    long, short = np.array([5, -(2**40), 7]), np.array([1, -3, 2], dtype=np.int32)
    assert items(long, short, np.array([0.5, 0.25, 8.0]), 1) == (-(2**40), -3, 0.25)
    assert items(long, short, np.array([0.5, 0.25, 8.0]), 2) == (7, 2, 8.0)
    assert item.plain(short, 1) == -3


@kernel
def set_one(array, i, number):
    set_item(array, i, number)


@pytest.mark.parametrize("setter", [set_one, set_item.plain], ids=["compiled", "plain"])
def test_one_item_is_set(setter):
    array = np.arange(4.0)
    setter(array, 2, 7.5)
    setter(array, 3, 1.0)
    assert array.tolist() == [0.0, 1.0, 7.5, 1.0]


@pytest.mark.parametrize("n", [1, 7, 8, 40, 5000])
def test_aligned_arrays_start_at_a_cache_line(n):
    for array in [aligned_zeros(n) for _ in range(5)]:
        assert array.ctypes.data % 64 == 0 and array.tolist() == [0.0] * n


@kernel
def outer(out, to, array, i, x, xs):
    scatter(out, to, 0, add_outer(gather(out, to, 0), array, i, gather(x, xs, 0)))


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
def test_outer_products_are_added(width, n_columns):
    rng = np.random.default_rng(width)
    array, x = rng.random(9), rng.random((n_columns, LANES))
    to = tuple(range(0, width * n_columns * LANES, LANES))
    before = rng.random((width, n_columns, LANES))
    out = before.copy()
    outer(out.reshape(-1), to, array, 2, x.reshape(-1), to[:n_columns])
    expected = before + array[2 : 2 + width, None, None] * x
    assert out == pytest.approx(expected, rel=1e-15)
    sums = tuple(before.reshape(-1, LANES))
    assert np.array(add_outer.plain(sums, array, 2, tuple(x))) == pytest.approx(expected.reshape(-1, LANES), rel=1e-15)


BOUNDS = """
import numpy as np
from berlyne.engine.jit import kernel
from berlyne.engine.simd import add_outer, gather, item, load, scatter, set_item, splat
x = np.arange(8.0)

@kernel
def an_item(x, i):
    return item(x, i)

@kernel
def a_set_item(x, i):
    set_item(x, i, 1.0)

@kernel
def a_load(x, i):
    scatter(x, (0,), 0, (load(x, i),))

@kernel
def a_gather(x, i):
    scatter(x, (0,), 0, gather(x, (0,), i))

@kernel
def a_scatter(x, i):
    scatter(x, (i,), 0, (splat(1.0),))

@kernel
def an_outer(x, i):
    scatter(x, (0,), 0, add_outer((splat(0.0),), x, i, (splat(1.0),)))

for function, last in (
    (an_item, 7), (a_set_item, 7), (a_load, 4), (a_gather, 4), (a_scatter, 4), (an_outer, 7)
):
    function(x.copy(), last)
    for wrong in (last + 1, -1):
        try:
            function(x.copy(), wrong)
        except IndexError:
            continue
        print(function.__name__, wrong, "was let pass")
print("done")
"""


def test_with_bounds_checked_they_do_not_leave_their_arrays(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(BOUNDS)
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout == "done\n"
