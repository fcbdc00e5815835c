"""Columns of categories."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ..errors import count_of, input_error
from .base import AbstractPart, check_numbers
from .frames import RawColumn, words_of

UNSEEN = ("error", "missing", "other")
MOST_WORDS = 50  # a column of more different words keeps the most frequent ones


@dataclass(frozen=True, kw_only=True)
class Words(AbstractPart):
    """Categories.

    Attributes:
        words: the categories, sorted.
        others: rare words that are one further category together, and how often each occurred.
        are_numbers: whether the words are numbers, and come back as such.
        unseen: what a word that is none of these counts as: "error" refuses it, "missing" takes the
            cell as missing, and "other" as one of the rare words, if there are any.
    """

    kind = "category"
    words: tuple[str, ...]
    others: dict[str, int] | None = None
    are_numbers: bool = False
    unseen: str = "error"

    def __post_init__(self):
        """Check what unseen words count as."""
        super().__post_init__()
        if self.unseen not in UNSEEN:
            raise ValueError(f"unseen is one of {', '.join(UNSEEN)}; got {self.unseen!r}")

    @classmethod
    def of(cls, raw: RawColumn, name: str) -> Words:
        """Return the categories of a column, at most `MOST_WORDS`."""
        counts = Counter(value for value in words_of(raw) if value is not None)
        others = None
        if len(counts) > MOST_WORDS:
            ranked = counts.most_common()
            others = dict(ranked[MOST_WORDS - 1 :])
            counts = dict(ranked[: MOST_WORDS - 1])
        return cls(
            name=name,
            form=raw.form,
            words=tuple(sorted(counts, key=_order)),
            others=others,
            are_numbers=raw.values.dtype.kind == "f",
            digits=raw.digits,
        )

    @property
    def states(self) -> int:
        """The number of categories, at least two."""
        return max(2, len(self.words) + (self.others is not None))

    @property
    def summary(self) -> str:
        """The categories, or how many there are."""
        shown = ", ".join(self.words)
        if len(shown) > 50:
            shown = f"{len(self.words)} words: {', '.join(self.words[:3])}, …"[:70]
        more = f", and {len(self.others):,} rare ones together" if self.others else ""
        return shown + more

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return the place of each word."""
        if raw.values.dtype.kind == "f":
            check_numbers(raw, label)
        places = {word: float(i) for i, word in enumerate(self.words)}
        places |= dict.fromkeys(self.others or (), float(len(self.words)))
        text = words_of(raw)
        found = np.array([np.nan if word is None else places.get(str(word), -1.0) for word in text])
        if self.unseen != "error":
            is_other = self.unseen == "other" and self.others
            found[found < 0] = float(len(self.words)) if is_other else np.nan
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            expected = f"one of the {count_of(len(places), 'category').replace('ys', 'ies')}"
            shown = f"{str(text[row])[:40]!r} in row {row + 1}"
            advice = f"correct it, or leave the cell empty; known are {self.summary}"
            raise input_error(f"{label}: column {self.name!r}", expected, shown, advice)
        return found

    def unseen_in(self, raw: RawColumn) -> list[str]:
        """Return the words that are none of the categories, in order."""
        known = {*self.words, *(self.others or ())}
        return sorted({str(w) for w in words_of(raw) if w is not None} - known)

    def taking_unseen_as_missing(self) -> Words:
        """Return the column with the rule that unseen words count as missing."""
        return replace(self, unseen="missing")

    def state_names(self) -> list[str]:
        """Return the words; rare ones together are "other"."""
        return [*self.words, *["other"] * (self.states - len(self.words))]

    def told(self, text: str) -> RawColumn:
        """Return a column of one word, in whatever case it is told.

        Raises:
            ValueError: no word of the column, where others are not allowed, or a range.
        """
        known = [*self.words, *(self.others or ())]
        alike = [word for word in known if word.lower() == text.lower()]
        if text not in known and len(alike) == 1:
            text = alike[0]
        if text not in known and (self.unseen == "error" or ".." in text):
            raise ValueError(text)
        return RawColumn(self.name, np.array([text], object), self.form)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log share of each rare word among the rare ones, 0 for all others."""
        if not self.others:
            return np.zeros(len(raw.values))
        new = 1.0 if self.unseen == "other" else 0.0  # one observation for all unseen words
        total = sum(self.others.values()) + new
        logs = {word: float(np.log(count / total)) for word, count in self.others.items()}
        logs |= dict.fromkeys(self.words, 0.0)
        of_new = -float(np.log(total)) if new else 0.0
        return np.array([0.0 if w is None else logs.get(str(w), of_new) for w in words_of(raw)])

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the words; a rare one is drawn by how often it occurred."""
        # the second state of a single word is never seen, and stands for the same word
        known = np.array([*self.words, *self.words[-1:] * (self.states - len(self.words))], object)
        found = known[codes.astype(int)]
        if self.others:
            which = codes == len(self.words)
            shares = np.array(list(self.others.values()), float)
            rare = np.array(list(self.others), object)
            found[which] = rng.choice(rare, int(which.sum()), p=shares / shares.sum())
        if self.are_numbers:
            return np.array([float(word or "nan") for word in found])
        return found


def _order(word: str) -> tuple:
    """Sort numbers by their size, before words."""
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)
