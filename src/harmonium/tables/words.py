"""Columns of words that are modelled as categories."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from .base import AbstractPart, ColumnKind, check_numbers
from .frames import CellKind, RawColumn, words_of

UNSEEN = ("error", "missing", "other")
MOST_WORDS = 50  # maximum number of categories; rarer words share the last category


@dataclass(frozen=True, kw_only=True)
class Words(AbstractPart):
    """A column of categories, with one state for each category.

    Attributes:
        words: the categories, sorted.
        others: rare words, which share one additional category, and how often each occurs.
        are_numbers: whether the words are numbers and are decoded as numbers.
        unseen: how to treat an unknown word: "error" rejects it, "missing" treats the cell as
            missing, and "other" treats it as a rare word if the column has rare words.
    """

    kind = ColumnKind.CATEGORY
    words: tuple[str, ...]
    others: dict[str, int] | None = None
    are_numbers: bool = False
    unseen: str = "error"

    def __post_init__(self):
        """Check the value of `unseen`."""
        super().__post_init__()
        if self.unseen not in UNSEEN:
            raise ValueError(f"{self.unseen!r} as unseen, which is one of {', '.join(UNSEEN)}")

    @classmethod
    def of(cls, raw: RawColumn, name: str) -> Words:
        """Determine the categories of a column, of which there are at most `MOST_WORDS`."""
        counts = Counter(word for word in words_of(raw) if word is not None)
        others = None
        if len(counts) > MOST_WORDS:
            ranked = counts.most_common()
            # All rare words share the last state.
            others = dict(ranked[MOST_WORDS - 1 :])
            counts = dict(ranked[: MOST_WORDS - 1])
        return cls(
            name=name,
            form=raw.form,
            words=tuple(sorted(counts, key=_order)),
            others=others,
            are_numbers=raw.cell_kind is CellKind.NUMBERS,
            digits=raw.digits,
        )

    @property
    def states(self) -> int:
        return max(2, len(self.words) + (self.others is not None))  # a unit has at least 2

    @property
    def summary(self) -> str:
        shown = ", ".join(self.words)
        if len(shown) > 50:
            shown = f"{len(self.words)} categories: {', '.join(self.words[:3])}, …"[:70]
        if self.others:
            shown += f", and {len(self.others):,} rare categories together"
        return shown

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return the index of each word; all rare words share the last code."""
        if raw.cell_kind is CellKind.NUMBERS:
            check_numbers(raw, label)
        rare = float(len(self.words))
        places = {word: float(place) for place, word in enumerate(self.words)}
        places |= dict.fromkeys(self.others or (), rare)
        words = words_of(raw)
        codes = np.array([places.get(word, -1.0) for word in words])
        codes[raw.is_missing] = np.nan
        is_unseen = codes < 0
        if self.unseen == "other" and self.others:
            codes[is_unseen] = rare
        elif self.unseen != "error":
            codes[is_unseen] = np.nan
        elif is_unseen.any():
            row = int(np.argmax(is_unseen))
            known = f"one of the {len(places):,} categories"
            if len(places) == 1:
                known = "the only category"
            raise InputError(
                f"{label}: column {self.name!r}: expected {known}; got {str(words[row])[:40]!r} in"
                f" row {row + 1}; correct it, or leave the cell empty; known: {self.summary}."
            )
        return codes

    def unseen_in(self, raw: RawColumn) -> list[str]:
        words = {str(word) for word in words_of(raw) if word is not None}
        return sorted(words - {*self.words, *(self.others or ())})

    def taking_unseen_as_missing(self) -> Words:
        return replace(self, unseen="missing")

    def state_names(self) -> list[str]:
        """Return the words, with "other" for the category of rare words."""
        return [*self.words, *["other"] * (self.states - len(self.words))]

    def parsed(self, text: str) -> RawColumn:
        """Parse one word, ignoring case if that is unambiguous, and return it as a column.

        Raises:
            ValueError: the word is unknown and does not count as a rare word, or the text is a
                range. An unknown word is an error even if `unseen` is "missing", since a missing
                cell would impose no condition.
        """
        known = [*self.words, *(self.others or ())]
        alike = [word for word in known if word.lower() == text.lower()]
        word = text
        if text not in known and len(alike) == 1:
            word = alike[0]
        counts_as_rare = self.unseen == "other" and bool(self.others)
        if word not in known and (not counts_as_rare or ".." in word):
            raise ValueError(word)
        return RawColumn(self.name, np.array([word], object), self.form)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return log p of each rare word given that a word is rare, and 0 for all other words."""
        if not self.others:
            return np.zeros(len(raw.values))
        unseen = 1.0 if self.unseen == "other" else 0.0  # pseudo-count of all unknown words
        total = sum(self.others.values()) + unseen
        log_p = {word: float(np.log(count / total)) for word, count in self.others.items()}
        log_p |= dict.fromkeys(self.words, 0.0)
        log_p_unseen = 0.0
        if unseen:
            log_p_unseen = -float(np.log(total))
        log_densities = np.array([log_p.get(word, log_p_unseen) for word in words_of(raw)])
        return np.where(raw.is_missing, 0.0, log_densities)

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decode codes into words; a rare word is drawn with its observed frequency."""
        # If there is only one word, a second state never occurs, and represents it as well.
        words = np.array([*self.words, *self.words[-1:] * (self.states - len(self.words))], object)
        cells = words[codes.astype(int)]
        if self.others:
            is_rare = codes == len(self.words)
            counts = np.array(list(self.others.values()), float)
            rare = np.array(list(self.others), object)
            cells[is_rare] = rng.choice(rare, int(is_rare.sum()), p=counts / counts.sum())
        if self.are_numbers:
            return np.array([float(word or "nan") for word in cells])
        return cells


def _order(word: str) -> tuple:
    """Return a sort key that puts numbers in numerical order before words."""
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)
