"""The rows of UCI Adult: six columns of numbers and nine of words, some of them missing."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from reference_data import reference

NAMES = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "classification",
)
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
WORDS = tuple(name for name in NAMES if name not in NUMBERS)
LABEL = "classification"
RICH = ">50K"


def adult() -> pd.DataFrame:
    """Return all rows."""
    return read(reference("tables/adult.data"))


def read(path: Path) -> pd.DataFrame:
    """Return the rows of a file: numbers as floats, words as text, NaN where a cell is missing.

    The first line may hold the names of the columns.
    """
    with path.open() as file:
        has_names = file.readline().startswith(NAMES[0])
    return pd.read_csv(
        path,
        header=0 if has_names else None,
        names=list(NAMES),
        skipinitialspace=True,
        na_values="?",
        dtype=dict.fromkeys(NUMBERS, float) | dict.fromkeys(WORDS, object),
    )


def sampled_rows(rows: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """Return so many rows, chosen at random, in random order."""
    if count > len(rows):
        sys.exit(f"there are only {len(rows):,} rows")
    which = np.random.default_rng(seed).permutation(len(rows))[:count]
    return rows.iloc[which].reset_index(drop=True)
