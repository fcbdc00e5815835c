"""How numbers are interpreted, and which are refused."""

import numpy as np
import pytest

from harmonium.data.coding import CODINGS, as_table
from harmonium.data.table import Table, describe
from harmonium.errors import InputError, count_of


def refusal(array, *, name="rows.npy", **options) -> str:
    """Return the error message, which must be one line of the agreed form."""
    with pytest.raises(InputError) as caught:
        as_table(array, name=name, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{name}: expected ")
    assert "; got " in message
    return message


def test_input_error_is_one_line_whatever_it_is_given():
    message = str(InputError("a\nb: expected x; got one\n\ttwo; go."))
    assert message == "a b: expected x; got one two; go."


# --- Bernoulli visibles -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.float64])
@pytest.mark.parametrize("coding", ["auto", "levels"])
def test_zeros_and_ones_are_binary(dtype, coding):
    table = as_table(np.array([[0, 1], [1, 1]], dtype), name="x", coding=coding)
    assert (table.kind, table.scale, table.states) == ("binary", 1.0, None)
    assert table.train.dtype == np.uint8
    assert table.train.tolist() == [[0, 1], [1, 1]]
    assert table.notes == ("x: 2 rows of 2 binary values.",)


def test_a_scale_of_one_leaves_binary_rows_binary():
    assert as_table([[0, 1]], name="x", scale=1).kind == "binary"


def test_fractions_are_grey_levels_as_they_are():
    table = as_table([[0.0, 0.25], [1.0, 0.5]], name="x")
    assert (table.kind, table.scale, table.train.dtype) == ("grey", 1.0, np.float32)
    assert table.notes == ("x: 2 rows of 2 grey levels between 0 and 1, used unchanged.",)


@pytest.mark.parametrize("highest", [128, 255])
def test_integers_above_127_are_grey_levels_of_255(highest):
    table = as_table(np.array([[0, highest]], np.int32), name="x")
    assert (table.kind, table.scale, table.train.dtype) == ("grey", 255.0, np.uint8)
    assert table.notes == ("x: 1 row of 2 grey levels, divided by 255.",)


@pytest.mark.parametrize("highest", [2, 16, 127])
def test_integers_up_to_127_need_a_scale_and_the_message_suggests_one(highest):
    message = refusal(np.array([[0, 1], [1, highest]]))
    assert "grey levels whose maximum is given" in message
    assert f"got {highest} at row 1, column 1 (counted from 0)" in message
    assert f"--scale MAX (scale={highest} is the largest seen)" in message
    assert "--visible potts" in message
    assert "reals" in message


def test_given_a_scale_whole_levels_stay_small():
    table = as_table(np.array([[0, 3], [16, 1]]), name="x", scale=16)
    assert (table.kind, table.scale, table.train.dtype) == ("grey", 16.0, np.uint8)
    assert table.notes == ("x: 2 rows of 2 grey levels, divided by 16.",)


@pytest.mark.parametrize("array", [np.array([[0, 65535]], np.uint16), np.array([[0.5, 9.5]])])
def test_given_a_scale_other_levels_are_kept_as_float32(array):
    table = as_table(array, name="x", scale=65535)
    assert (table.kind, table.scale, table.train.dtype) == ("grey", 65535.0, np.float32)
    np.testing.assert_array_equal(table.train, array)


@pytest.mark.parametrize("value", [17, -1])
def test_levels_outside_the_scale_are_refused(value):
    message = refusal(np.array([[0, 1], [value, 16]]), scale=16)
    assert "expected grey levels in [0, 16]" in message
    assert f"got {value} at row 1, column 0" in message
    assert "--scale" in message


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_an_invalid_scale_is_refused(scale):
    assert "a finite positive scale" in refusal([[0, 1]], scale=scale)


def test_integers_above_255_are_refused_with_the_maximum():
    message = refusal(np.array([[0, 0, 4095], [5, 0, 1]]))
    assert "expected values in [0, 1]" in message
    assert "got 4095 at row 0, column 2 (counted from 0) and 1 more;" in message
    assert "4095 is the largest seen" in message


def test_floats_above_one_are_refused_even_when_whole():
    message = refusal(np.array([[0.0, 255.0]]))
    assert "got 255.0 at row 0, column 1" in message
    assert "--scale MAX (255 is the largest seen)" in message
    assert "--visible gaussian" in message


def test_negative_values_are_refused_with_other_kinds_of_unit():
    message = refusal(np.array([[0.0, 0.5], [0.25, -0.5]]))
    assert "got -0.5 at row 1, column 1" in message
    assert "--visible gaussian (ising for spins −1/+1)" in message


def test_test_rows_are_judged_with_the_training_rows():
    table = as_table(np.array([[0, 90]]), test=np.array([[200, 1]]), name="x")
    assert (table.scale, table.test.dtype) == (255.0, np.uint8)
    message = refusal(np.array([[0, 1]]), test=np.array([[0, 1], [0, 7]]))
    assert "got 7 at test row 1, column 1" in message


# --- Ising, Potts and Gaussian visibles -------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
def test_spins(dtype):
    array = np.array([[-1, 1], [1, 1]], dtype)
    for coding in ("auto", "spins"):
        table = as_table(array, name="x", coding=coding)
        assert (table.kind, table.train.dtype) == ("spins", np.int8)
    assert "taken for Ising spins" in as_table(array, name="x").notes[0]
    assert "taken for" not in as_table(array, name="x", coding="spins").notes[0]


def test_auto_needs_both_spins_and_nothing_else():
    assert as_table(np.ones((2, 2), int), name="x").kind == "binary"
    assert "got -1 at row 0" in refusal(np.array([[-1, 0, 1]]))
    assert "got -1 at row 0" in refusal(np.array([[-1, -1]]))


def test_other_values_than_spins_are_refused():
    message = refusal(np.array([[1, -1], [0, 1]]), coding="spins")
    assert "expected spins −1 or +1; got 0 at row 1, column 0" in message
    assert "2 * x - 1" in message
    assert "--visible bernoulli" in message


@pytest.mark.parametrize(
    ("highest", "states", "dtype"),
    [(20, None, np.uint8), (20, 21, np.uint8), (3, 300, np.uint16), (0, None, np.uint8)],
)
def test_codes(highest, states, dtype):
    for array in (np.array([[0, highest]]), np.array([[0.0, highest]])):
        table = as_table(array, name="x", coding="codes", states=states)
        assert (table.kind, table.train.dtype) == ("codes", dtype)
        assert table.states == (states or max(2, highest + 1))
    assert table.notes == (f"x: 1 row of 2 codes with {table.states} states.",)


@pytest.mark.parametrize("value", [-1, 4, 0.5, 1e300])
def test_other_values_than_codes_are_refused(value):
    message = refusal(np.array([[0, 1], [2, value]]), coding="codes", states=4)
    assert "expected whole codes from 0 to 3" in message
    assert "at row 1, column 1" in message
    assert "--states" in message


def test_codes_are_not_to_be_identifiers():
    message = refusal(np.array([[0, 70_000]]), coding="codes")
    assert "whole codes from 0 to 65,535" in message


def test_bools_are_codes_of_two_states():
    assert as_table(np.array([[True, False]]), name="x", coding="codes").states == 2


def test_reals_become_float32():
    table = as_table(np.array([[-3.5, 1e6], [7, 0]]), name="x", coding="reals")
    assert (table.kind, table.train.dtype, table.scale) == ("real", np.float32, 1.0)
    assert table.notes == ("x: 2 rows of 2 real numbers.",)


def test_reals_beyond_float32_are_refused():
    message = refusal(np.array([[0, 1e39]]), coding="reals")
    assert "the range of float32" in message
    assert "got 1e+39 at row 0, column 1" in message


@pytest.mark.parametrize("states", [1, 0, 65_537])
def test_an_impossible_number_of_states_is_refused(states):
    assert "2 to 65,536 states" in refusal([[0, 1]], coding="codes", states=states)


def test_options_of_another_kind_of_unit_are_refused():
    assert "no scale with codes" in refusal([[0, 1]], coding="codes", scale=2)
    assert "no states with auto" in refusal([[0, 1]], states=2)
    message = refusal([[0, 1]], coding="softmax")
    assert "got 'softmax'" in message
    assert "reals" in message


# --- Any visibles -----------------------------------------------------------------------


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_always_refused(coding, value):
    array = np.ones((3, 4))
    array[1, 2] = array[2, 0] = value
    message = refusal(array, coding=coding)
    assert "expected finite numbers" in message
    assert f"got {value} at row 1, column 2 (counted from 0) and 1 more;" in message
    assert "drop the rows" in message


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (3, 0, 2)])
def test_empty_arrays_are_refused(shape):
    message = refusal(np.zeros(shape))
    assert "at least one row and one column" in message
    assert str(shape) in message


def test_other_dimensions_are_refused_with_a_way_to_reshape():
    message = refusal(np.zeros(3))
    assert "(3,)" in message
    assert "array.reshape(-1, 1) for one column or (1, -1) for one row" in message
    assert "shape ()" in refusal(np.float64(3))
    assert "array.reshape(len(array), -1)" in refusal(np.zeros((2, 3, 4, 5)))


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([[None, 1]], dtype=object), "Python objects"),
        (np.array([[1j, 2]]), "complex numbers"),
        (np.array([["a", "b"]]), "text"),
        (np.array([[b"a"]]), "text"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
    ],
)
def test_values_that_are_no_numbers_are_refused(array, kind):
    message = refusal(array)
    assert kind in message
    assert "convert them to integers or floats first" in message


def test_ragged_lists_are_refused():
    assert "rows of equal length" in refusal([[0, 1], [1]])


def test_pictures_are_flattened_and_keep_their_shape():
    pictures = np.arange(24).reshape(2, 3, 4) % 2
    table = as_table(pictures, name="x", test=pictures[:1])
    assert table.image_shape == (3, 4)
    assert table.train.shape == (2, 12)
    assert table.test.shape == (1, 12)
    assert table.train[1].tolist() == pictures[1].ravel().tolist()
    assert table.notes[0] == "x: pictures of 3 × 4 flattened to rows."
    assert as_table(np.zeros((2, 16)), name="x").image_shape is None


def test_constant_columns_are_allowed():
    assert as_table(np.zeros((3, 2)), name="x").kind == "binary"


def test_test_rows_of_another_width_are_refused():
    message = refusal(np.zeros((3, 2)), test=np.zeros((3, 4)))
    assert "expected 2 columns in all rows; got test rows with 4" in message


def test_labels_and_weights_need_one_for_each_row():
    rows = np.zeros((3, 2))
    table = as_table(rows, name="x", labels=["a", "b", "c"], weights=[1, -2.5, 0])
    assert table.labels.tolist() == ["a", "b", "c"]
    assert table.weights.tolist() == [1, -2.5, 0]
    assert "expected 3 labels; got an array of shape (2,)" in refusal(rows, labels=[1, 2])
    assert "expected 3 weights; got an array of shape (1, 3)" in refusal(rows, weights=[[1, 2, 3]])
    assert "finite weights" in refusal(rows, weights=[1, 2, np.nan])


def test_errors_name_the_source_and_the_table_its_stem():
    with pytest.raises(InputError, match=r"^dir/x\.npz:a: expected"):
        as_table([[np.nan]], name="x", source="dir/x.npz:a")


def test_given_notes_come_first():
    assert as_table([[0]], name="x", notes=("first.",)).notes[0] == "first."


# --- Lines for people -------------------------------------------------------------------


def test_counts_agree_with_their_noun():
    assert count_of(1, "row") == "1 row"
    assert count_of(1437, "row") == "1,437 rows"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"kind": "binary"}, "x: 1,437 rows × 64 binary values"),
        ({"kind": "grey", "scale": 16.0}, "x: 1,437 rows × 64 grey levels (0–16)"),
        ({"kind": "spins"}, "x: 1,437 rows × 64 spins (−1/+1)"),
        ({"kind": "codes", "states": 21}, "x: 1,437 rows × 64 codes (21 states)"),
        ({"kind": "real"}, "x: 1,437 rows × 64 real numbers"),
    ],
)
def test_describe(options, line):
    rows = np.zeros((1437, 64), np.uint8)
    assert describe(Table(name="x", train=rows, **options)) == line
    parts = Table(name="x", train=rows, test=rows[:360], validation=rows[:1], **options)
    assert describe(parts) == f"{line}, 1 validation row, 360 test rows"
    whole = Table(name="x", train=rows, exhaustive=True, **options)
    assert describe(whole) == f"{line}, the whole distribution"


@pytest.mark.parametrize("at_once", [1, 2, 7, 8_192])
def test_the_first_bad_value_is_named_whatever_part_it_lies_in(monkeypatch, at_once):
    monkeypatch.setattr("harmonium.data.parts.rows_at_once", lambda width: at_once)
    array = np.eye(7, 4)
    assert as_table(array, name="rows").kind == "binary"
    array[5, 2] = np.nan
    array[6, 0] = np.inf
    message = refusal(array)
    assert "got nan at row 5, column 2 (counted from 0) and 1 more;" in message
