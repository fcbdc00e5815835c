"""Columns that are not learned: labels, weights, those that are dropped; and tables of ratings."""

from pathlib import Path

import numpy as np
import pytest

import harmonium as hm


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def pictures(rows: int = 60, pixels: int = 64, highest: int = 255) -> np.ndarray:
    levels = np.random.default_rng(0).integers(0, highest + 1, (rows, pixels))
    levels[0, 0] = highest
    levels[:, :8] *= np.arange(rows)[:, None] % 2  # a pixel of a border is often 0
    return levels


def write(path: str, names: list[str] | None, rows: np.ndarray) -> str:
    lines = [",".join(names)] if names else []
    lines += [",".join(map(str, row)) for row in rows.tolist()]
    Path(path).write_text("\n".join(lines) + "\n")
    return path


NAMES = [f"pixel{i}" for i in range(64)]


@pytest.mark.parametrize("name", ["label", "Label", "class", "y"])
@pytest.mark.parametrize("is_first", [True, False])
def test_the_label_of_pictures_is_set_aside_and_said(name, is_first):
    levels = pictures()
    labels = np.arange(60) % 10
    rows = np.insert(levels, 0 if is_first else 64, labels, axis=1)
    names = [name, *NAMES] if is_first else [*NAMES, name]
    table = hm.open_source(write("pictures.csv", names, rows))
    assert (table.kind, table.scale, table.train.shape) == ("grey", 255.0, (60, 64))
    np.testing.assert_array_equal(table.labels, labels)
    assert any(f"'{name}' is set aside as labels (10 different values)" in n for n in table.notes)
    assert any("--label none" in note for note in table.notes)
    whole = hm.open_source("pictures.csv", label="none")
    assert (whole.train.shape, whole.labels) == ((60, 65), None)


def test_words_can_be_labels():
    rows = np.insert(pictures().astype(object), 0, np.resize(["cat", "dog"], 60), axis=1)
    table = hm.open_source(write("pets.csv", ["label", *NAMES], rows))
    assert table.kind == "grey"
    assert table.labels.tolist()[:3] == ["cat", "dog", "cat"]


def test_the_label_of_pictures_without_names_is_known_by_its_values():
    rows = np.insert(pictures(), 0, np.arange(60) % 10, axis=1)
    table = hm.open_source(write("mnist.csv", None, rows))
    assert (table.kind, table.train.shape) == ("grey", (60, 64))
    np.testing.assert_array_equal(table.labels, np.arange(60) % 10)
    last = np.insert(pictures(highest=16), 64, np.arange(60) % 10, axis=1)
    table = hm.open_source(write("optdigits.csv", None, last), scale=16)
    assert (table.scale, table.train.shape) == (16.0, (60, 64))
    assert table.labels is not None


def test_what_only_looks_like_a_label_is_learned():
    np.save("square.npy", pictures(pixels=81))
    assert hm.open_source("square.npy").labels is None
    yes = np.random.default_rng(1).integers(0, 2, (60, 65))  # one yes/no column among others
    assert hm.open_source(write("yes.csv", ["label", *NAMES], yes)).train.shape == (60, 65)
    numbers = np.random.default_rng(2).normal(size=(60, 4)).round(2)
    table = hm.open_source(write("few.csv", ["label", "a", "b", "c"], numbers))
    assert [column.name for column in table.columns.columns] == ["label", "a", "b", "c"]


def test_grey_levels_stay_grey_levels_when_a_column_is_dropped():
    rows = np.insert(pictures().astype(float), 0, np.linspace(0.1, 0.9, 60), axis=1)
    rows = np.insert(rows, 30, np.arange(60) % 7, axis=1)
    names = ["score", *NAMES[:29], "other", *NAMES[29:]]
    path = write("pictures.csv", names, rows.round(2))
    dropped = [{"name": name, "kind": "left out"} for name in ("score", "other")]
    table = hm.open_source(path, columns={"columns": dropped})
    assert (table.kind, table.train.shape) == ("grey", (60, 64))
    assert sum("left out as requested" in note for note in table.notes) == 2
    with pytest.raises(hm.InputError, match="'scores'"):
        hm.open_source(path, columns={"columns": [{"name": "scores", "kind": "left out"}]})


def test_outcomes_with_counts_are_rows_with_weights():
    outcomes = ["000", "011", "101", "110"]
    Path("counts.csv").write_text(
        "outcome,count\n" + "".join(f"{o},{10 * i + 1}\n" for i, o in enumerate(outcomes))
    )
    table = hm.open_source("counts.csv", weight="count")
    assert table.kind == "binary"
    np.testing.assert_array_equal(table.train, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(table.weights, [1, 11, 21, 31])


@pytest.mark.parametrize("cell", ["-1", "x", ""])
def test_weights_that_are_none_are_refused(cell):
    Path("rows.csv").write_text(f"a,b,n\n1,0,2\n0,1,{cell}\n" + "1,1,3\n0,0,4\n" * 5)
    with pytest.raises(hm.InputError, match="column 'n': expected finite weights"):
        hm.open_source("rows.csv", weight="n")
    with pytest.raises(hm.InputError, match="--weight to name one of several columns"):
        hm.open_source("rows.csv", weight="m")


@pytest.mark.parametrize("names", ["user,item,rating", "userId,movieId,rating,timestamp"])
def test_ratings_are_known_and_it_is_said_how_they_are_learned(names):
    rng = np.random.default_rng(0)
    pairs = [(u, i) for u in range(30) for i in range(25) if rng.random() < 0.3]
    columns = names.count(",") + 1
    lines = [f"{u},{i},{rng.integers(1, 6)},{881250949 + 7 * u * i}" for u, i in pairs]
    lines = [",".join(line.split(",")[:columns]) for line in lines]
    Path("ratings.csv").write_text("\n".join([names, *lines]) + "\n")
    table = hm.open_source("ratings.csv")
    note = next(note for note in table.notes if "one rating per row" in note)
    assert "30 × 25" in note
    assert "frame.pivot(index=" in note
    Path("bare.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(hm.InputError, match=r"one rating per row.*frame\.pivot\(index="):
        hm.open_source("bare.csv")


def test_ratings_without_names_are_known_by_their_times():
    pairs = [(u, i) for u in range(30) for i in range(12) if (3 * u + 5 * i) % 7 < 3]
    lines = [f"{u + 1}\t{i + 100}\t{(u * i) % 5 + 1}\t{881250949 + 7 * u * i}" for u, i in pairs]
    Path("u.data").write_text("\n".join(lines) + "\n")
    with pytest.raises(hm.InputError, match="one rating per row"):
        hm.open_source("u.data")


def test_a_counter_beside_pictures_is_no_pixel():
    rows = pictures()
    counted = np.concatenate([np.arange(60)[:, None], np.arange(60)[:, None] % 10, rows], axis=1)
    names = ["", "label", *(f"p{i}" for i in range(64))]
    table = hm.open_source(write("counted.csv", names, counted))
    assert (table.kind, table.train.shape) == ("grey", (60, 64))
    assert table.labels is not None
    assert any("numbers the rows and is left out" in note for note in table.notes)
    # A first pixel that does not count stays.
    assert hm.open_source(write("all.csv", names[2:], rows)).train.shape == (60, 64)


@pytest.mark.parametrize("name", ["number", "species", "Y true"])
def test_a_column_of_classes_beside_numbered_pixels_is_their_label(name):
    rows = np.concatenate([np.arange(60)[:, None] * 7 % 10, pictures()], axis=1)
    names = [name, *(f"pixel{i}" for i in range(64))]
    table = hm.open_source(write("t.csv", names, rows))
    assert (table.kind, table.train.shape) == ("grey", (60, 64))
    assert any(f"{name!r} is set aside as labels" in note for note in table.notes)


def test_a_column_beside_answers_with_numbers_is_learned():
    rows = np.concatenate([np.arange(60)[:, None] % 2, pictures(highest=4)], axis=1)
    names = ["sex", *(f"q{i}" for i in range(64))]
    assert not any(
        "labels" in note for note in hm.open_source(write("t.csv", names, rows), scale=4).notes
    )


@pytest.mark.parametrize(("name", "step"), [("num_occurrences", 1), ("energy", 3), ("pixel64", 1)])
def test_a_column_beside_pixels_that_holds_no_classes_is_learned(name, step):
    rows = np.concatenate([pictures(), np.arange(60)[:, None] * 7 % 10 * step], axis=1)
    names = [*(f"pixel{i}" for i in range(64)), name]
    assert hm.open_source(write("t.csv", names, rows)).train.shape == (60, 65)


@pytest.mark.parametrize(
    ("names", "is_hinted"),
    [("sex,class,freq", True), ("sex,class,shots", True), ("sex,class,price", False)],
)
def test_a_column_that_may_count_rows_is_hinted_at(names, is_hinted):
    cells = [f"{sex},{level},{11 + 7 * level}" for sex in ("m", "f") for level in range(1, 9)]
    Path("t.csv").write_text("\n".join([names, *cells]) + "\n")
    notes = "".join(hm.open_source("t.csv").notes)
    assert ("--weight" in notes) == is_hinted


def test_a_count_beside_rows_that_repeat_is_a_column_like_others():
    cells = [f"{'mf'[i % 2]},{i % 3},{20 + i}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["sex,class,count", *cells]) + "\n")
    assert "--weight" not in "".join(hm.open_source("t.csv").notes)


def test_a_table_of_other_things_is_no_table_of_ratings():
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, 90, 200), rng.integers(0, 9, 200), rng.normal(size=200)], 1)
    table = hm.open_source(write("table.csv", ["user", "age", "score"], rows.round(2)))
    assert not any("ratings" in note for note in table.notes)


@pytest.mark.parametrize("options", [{"label": "x"}, {"weight": "x"}])
def test_a_built_in_set_has_no_column_of_labels_or_weights(options):
    with pytest.raises(hm.InputError, match="no column of labels or weights with a built-in set"):
        hm.open_source("bars", **options)
