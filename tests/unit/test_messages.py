"""The check of messages by what they name fails if they name something else."""

import warnings

import pytest

from messages import check_names, raises, warns


def test_a_sentence_may_be_rewritten_as_long_as_it_names_the_same():
    for message in ("alpha is -1; it must be a number in (0, 1]", "alpha must not be -1 but from (0, 1]"):
        check_names(message, "alpha", -1, "(0, 1]")


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("beta is -1", ("alpha", "-1")),
        ("alpha is -2", ("alpha", "-1")),
        ("-1 is alpha", ("alpha", "-1")),
        ("alphas are -1", ("alpha", "-1")),
        ("n is -1", ("n", "1")),
        ("n is 10", ("n", "1")),
        ("n is 1.5", ("n", "1")),
        ("n is 0.1", ("n", "1")),
        ("n is 1", ("n", "1", "1")),
        ("a strategy's name is 3", ("s", "3")),
        ("s_next is 3", ("s", "3")),
        ("s is 'red'", ("s", "'blue'")),
        ("two\nlines", ("two",)),
        ("", ()),
    ],
)
def test_a_message_that_names_something_else_fails(message, names):
    with pytest.raises(AssertionError, match="the message must"):
        check_names(message, *names)


def test_errors_and_warnings_are_expected_by_type_and_names():
    with raises(ValueError, "alpha", 3) as raised:
        raise ValueError("alpha is 3")
    assert str(raised.value) == "alpha is 3"
    with pytest.raises(AssertionError), raises(ValueError, "alpha", 4):
        raise ValueError("alpha is 3")
    with pytest.raises(KeyError), raises(ValueError, "alpha"):
        raise KeyError("alpha")
    with pytest.raises(pytest.fail.Exception), raises(ValueError, "alpha"):
        pass
    with warns(UserWarning, "alpha"):
        warnings.warn("alpha is 3", UserWarning, stacklevel=1)
    with pytest.raises(AssertionError), warns(UserWarning, "beta"):
        warnings.warn("alpha is 3", UserWarning, stacklevel=1)
    with pytest.raises(pytest.fail.Exception), warns(UserWarning, "alpha"):
        pass
