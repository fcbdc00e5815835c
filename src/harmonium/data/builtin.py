"""The built-in data sets: `digits`, `bars`, `shifter`, `ising` and `mnist`.

`builtin(name)` returns a built-in data set as a `Table`. The functions `bars_and_stripes`,
`labelled_shifter` and `ising_configurations` return the arrays of the synthetic data sets.
"""

import importlib.util
import os
import socket
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .coding import as_table
from .kinds import Kind
from .table import Table

DATA_VARIABLE = "HARMONIUM_DATA"
DIGITS_TEST_ROWS = 360
ISING_SIDE = 8
ISING_INVERSE_TEMPERATURE = 0.44  # just below the critical ln(1 + sqrt 2) / 2 = 0.44069
ISING_ROWS = (5_000, 1_000)  # train, test
MNIST_ROWS = (60_000, 10_000)
_DIGITS_SEED = 1797
_SECONDS_TO_ANSWER = 8.0


def builtin(name: str, *, seed: int = 0) -> Table:
    """Return a built-in data set.

    Args:
        name: The name of the set, a key of `BUILTIN` such as "digits".
        seed: The seed for the configurations of `ising`; the other sets do not depend on it.

    Raises:
        InputError: There is no set of this name, or `mnist` is not on this computer and cannot be
            downloaded.
    """
    if name not in BUILTIN:
        raise InputError(
            f"{name}: expected the name of a built-in set ({', '.join(BUILTIN)}); got another name."
        )
    return BUILTIN[name](seed)


def bars_and_stripes(side: int = 4, *, distinct: bool = False) -> np.ndarray:
    """Return all binary pictures whose rows are uniform, then all whose columns are uniform.

    The blank and the full picture are of both types, and so occur twice unless `distinct` is true.
    With 4 × 4 pixels there are 32 pictures, and the sum of −log p over all pictures is at least
    108.131 nats for any model (30 pictures and 102.036 nats if `distinct` is true).

    Args:
        side: The number of pixels on each side, 1 to 12.
        distinct: Whether to keep only one blank and one full picture.

    Returns:
        0/1 as uint8, shape (2^(side+1), side²), or (2^(side+1) − 2, side²) if `distinct` is
            true.

    Raises:
        InputError: `side` is outside 1 to 12.

    Example:
        >>> hm.bars_and_stripes(2, distinct=True).tolist()
        [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]]

    Source: MacKay (2003), Information Theory, Inference, and Learning Algorithms, section 43.
    """
    _check_range("bars_and_stripes", "side", side, 1, 12)
    lines = _all_bits(side)
    stripes = np.repeat(lines, side, axis=1)
    bars = np.tile(lines, (1, side))
    if distinct:
        bars = bars[1:-1]
    return np.concatenate([stripes, bars])


def labelled_shifter(width: int = 8) -> np.ndarray:
    """Return all bit patterns, each with a shifted copy of itself and a label of the shift.

    Each row consists of a pattern, a copy of the pattern shifted cyclically by one place to the
    left, by none, or by one to the right, and the one-hot direction (left, none, right) as a label.
    For width 8 there are 768 different rows, so the sum of log p over these rows is at most −768
    log 768 = −5102.43 nats for any model.

    Args:
        width: The number of bits in the pattern, 1 to 12.

    Returns:
        0/1 as uint8, shape (3 · 2^width, 2 · width + 3).

    Raises:
        InputError: `width` is outside 1 to 12.

    Example:
        >>> rows = hm.data.labelled_shifter(3)
        >>> rows.shape  # 8 patterns, each shifted in 3 ways
        (24, 9)
        >>> rows[1].tolist()  # 001, moved to the left: 010, label 100
        [0, 0, 1, 0, 1, 0, 1, 0, 0]

    Source: Hinton and Sejnowski (1986), Learning and relearning in Boltzmann machines.
    """
    _check_range("labelled_shifter", "width", width, 1, 12)
    patterns = _all_bits(width)
    label = np.eye(3, dtype=np.uint8)
    shifts = [
        np.hstack(
            [patterns, np.roll(patterns, step, axis=1), np.tile(label[i], (len(patterns), 1))]
        )
        for i, step in enumerate((-1, 0, 1))
    ]
    return np.concatenate(shifts)


def ising_configurations(
    rows: int,
    *,
    side: int = ISING_SIDE,
    inverse_temperature: float = ISING_INVERSE_TEMPERATURE,
    seed: int,
) -> np.ndarray:
    """Draw independent, exact samples from the two-dimensional Ising model.

    The distribution is p(s) ∝ exp(β Σ s_i s_j) with inverse temperature β; the sum is over the
    2·side² bonds of a periodic square lattice (coupling 1, no field). Let r_k be lattice row k, and
    T the transfer matrix between neighbouring lattice rows. The first row is drawn from the
    diagonal of T^side, and each subsequent row from

        p(r_{k+1} | r_k, r_1) ∝ T[r_k, r_{k+1}] · (T^(side−k))[r_{k+1}, r_1].

    No Markov chain is run, so the configurations are independent.

    Args:
        rows: The number of configurations to draw.
        side: The number of spins on each side, 2 to 10.
        inverse_temperature: β, from −2 to 2; the critical value is ln(1 + √2)/2 ≈ 0.4407.
        seed: The random seed; the same seed always yields the same configurations.

    Returns:
        Spins −1/+1 as int8, shape (rows, side²), with the lattice rows concatenated.

    Raises:
        InputError: `rows`, `side` or `inverse_temperature` is out of range.

    Example:
        >>> spins = hm.data.ising_configurations(20_000, side=3, inverse_temperature=0.3, seed=0)
        >>> spins.shape, np.unique(spins).tolist()
        ((20000, 9), [-1, 1])
        >>> bonds = hm.data.lattice_bonds((3, 3))
        >>> energy = -(spins[:, bonds[:, 0]] * spins[:, bonds[:, 1]]).sum(1).mean()
        >>> bool(abs(energy - hm.data.lattice_exact((3, 3), 0.3).energy) < 0.3)
        True

    Source: Kramers and Wannier (1941), Phys. Rev. 60, 252 (the transfer matrix).
    """
    _check_range("ising_configurations", "rows", rows, 1, 10_000_000)
    _check_range("ising_configurations", "side", side, 2, 10)
    _check_range("ising_configurations", "inverse_temperature", inverse_temperature, -2, 2)
    rng = np.random.default_rng(seed)
    states = 2 * _all_bits(side).astype(np.int8) - 1
    powers = _transfer_powers(states, inverse_temperature)
    first = _draw(np.tile(np.diag(powers[side]), (rows, 1)), rng)
    drawn = [first]
    for k in range(1, side):
        drawn.append(_draw(powers[1][drawn[-1]] * powers[side - k].T[first], rng))
    return states[np.stack(drawn, axis=1)].reshape(rows, side * side)


def _transfer_powers(states: np.ndarray, inverse_temperature: float) -> list[np.ndarray]:
    """Return the powers T⁰ to T^side of the transfer matrix, each scaled by a positive factor.

    T[r, r'] = exp(β (Σ r_i r_{i+1} + Σ r_i r'_i)) has one term for the bonds within a lattice row
    and one for the bonds to the next row.
    """
    spins = states.astype(np.float64)
    within = (spins * np.roll(spins, -1, axis=1)).sum(axis=1)
    exponent = inverse_temperature * (within[:, None] + spins @ spins.T)
    transfer = np.exp(exponent - exponent.max())
    powers = [np.eye(len(states))]
    for _ in range(states.shape[1]):
        power = powers[-1] @ transfer
        powers.append(power / power.max())
    return [powers[0], transfer, *powers[2:]]


def _draw(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one column index for each row, with probability proportional to the row's weights."""
    cumulative = np.cumsum(weights, axis=1)
    level = (1 - rng.random(len(weights))) * cumulative[:, -1]  # in (0, total]
    return (cumulative < level[:, None]).sum(axis=1)


def _all_bits(width: int) -> np.ndarray:
    """Return all patterns of `width` bits in counting order, as uint8, shape (2^width, width)."""
    places = np.arange(width - 1, -1, -1)
    return ((np.arange(2**width)[:, None] >> places) & 1).astype(np.uint8)


def _check_range(function: str, what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"{function}: expected {what} from {low} to {high:,}; got {value}.")


def _digits(seed: int) -> Table:
    pixels, labels = _read_digits()
    order = np.random.default_rng(_DIGITS_SEED).permutation(len(pixels))
    train = order[DIGITS_TEST_ROWS:]
    test = order[:DIGITS_TEST_ROWS]
    levels = pixels.astype(np.uint8)
    return as_table(
        levels[train],
        name="digits",
        coding=Kind.GREY.coding,
        scale=16,
        test=levels[test],
        labels=labels[train],
        test_labels=labels[test],
        image_shape=(8, 8),
        notes=("digits: scikit-learn's handwritten digits, in a fixed shuffle and split.",),
    )


def _read_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's digits and labels, usually without importing it, which takes 2 s."""
    package = importlib.util.find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder, "datasets", "data", "digits.csv.gz")
        if file.is_file():
            levels = np.loadtxt(file, delimiter=",", dtype=np.int64)
            return levels[:, :-1], levels[:, -1]
    from sklearn.datasets import load_digits  # only if the file was not found

    return load_digits(return_X_y=True)  # pyright: ignore[reportReturnType]


def _bars(seed: int) -> Table:
    note = "bars: all bars and stripes of 4 × 4 pixels; the blank and the full picture occur twice."
    rows = bars_and_stripes()
    return as_table(rows, name="bars", image_shape=(4, 4), exhaustive=True, notes=(note,))


def _shifter(seed: int) -> Table:
    shift = "its shift by one (left, none or right) and the direction as its label"
    note = f"shifter: all 256 patterns of 8 bits, each with {shift}."
    return as_table(labelled_shifter(), name="shifter", exhaustive=True, notes=(note,))


def _ising(seed: int) -> Table:
    train, test = ISING_ROWS
    spins = ising_configurations(train + test, seed=seed)
    note = (
        f"ising: independent exact draws of the periodic {ISING_SIDE} × {ISING_SIDE} Ising model "
        f"at inverse temperature {ISING_INVERSE_TEMPERATURE} (seed {seed})."
    )
    return as_table(
        spins[:train],
        name="ising",
        coding=Kind.SPINS.coding,
        test=spins[train:],
        image_shape=(ISING_SIDE, ISING_SIDE),
        notes=(note,),
    )


def _mnist(seed: int) -> Table:
    folder = os.environ.get(DATA_VARIABLE)
    files = [Path(folder or "", "mnist", f"mnist_{part}_gray.npz") for part in ("train", "test")]
    if folder and all(file.is_file() for file in files):
        (train, labels), (test, test_labels) = map(_mnist_file, files)
        note = f"mnist: read from the folder that {DATA_VARIABLE} names."
    else:
        pixels, digits = _mnist_from_openml()
        train = pixels[: MNIST_ROWS[0]]
        test = pixels[MNIST_ROWS[0] :]
        labels = digits[: MNIST_ROWS[0]]
        test_labels = digits[MNIST_ROWS[0] :]
        note = "mnist: read from OpenML's mnist_784 through scikit-learn's cache."
    return as_table(
        train,
        name="mnist",
        coding=Kind.GREY.coding,
        scale=255,
        test=test,
        labels=labels,
        test_labels=test_labels,
        image_shape=(28, 28),
        notes=(note,),
    )


def _mnist_file(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the grey levels and the labels stored in a file as `x` and `y`."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return arrays["x"], arrays["y"]
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"mnist ({file}): expected an .npz file with grey levels x and labels y; got another"
            f" file ({error}); replace it, or unset {DATA_VARIABLE}."
        ) from None


def _mnist_from_openml() -> tuple[np.ndarray, np.ndarray]:
    """Return the 70,000 pictures and labels of MNIST, from scikit-learn's cache or the network."""
    from sklearn.datasets import fetch_openml

    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with _patience(_SECONDS_TO_ANSWER), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"as_frame": False, "parser": parser, "n_retries": 1, "delay": 0.1}
            fetched: Any = fetch_openml("mnist_784", version=1, **options)
        pixels = fetched.data.astype(np.uint8)
        labels = fetched.target.astype(np.uint8)
    except (OSError, EOFError, ValueError, HTTPException) as error:
        raise InputError(
            f"mnist: expected its files in the folder that {DATA_VARIABLE} names, or access to"
            f" OpenML; got neither ({type(error).__name__}: {error}); set {DATA_VARIABLE} to a"
            " folder with mnist/mnist_train_gray.npz and mnist/mnist_test_gray.npz, or connect to"
            " the network once."
        ) from None
    if pixels.shape != (sum(MNIST_ROWS), 784):
        raise InputError(
            f"mnist: expected 70,000 rows of 784 grey levels; got shape {pixels.shape}; remove"
            " OpenML's files from scikit-learn's data home and try again."
        )
    return pixels, labels


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Limit how long network connections opened in this context wait for a response."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


BUILTIN: dict[str, Callable[[int], Table]] = {
    "digits": _digits,
    "bars": _bars,
    "shifter": _shifter,
    "ising": _ising,
    "mnist": _mnist,
}
