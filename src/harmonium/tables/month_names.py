"""Names of months in other languages than English, and days such as 3rd, in the forms of dates.

A form tells them by a word in braces behind a code: "%-d. %B{de} %Y", "%B %-d{th}, %Y".
"""

from __future__ import annotations

import re
from datetime import datetime

from .notations import quoted

ENGLISH = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
LONG = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
    " diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre"
    " dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro"
    " dezembro",
}
SHORT = {
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
}
ORDINAL = "th"
ORDINALS = r"(?i)(\d)(?:st|nd|rd|th)\b"
TAG = re.compile(r"\{([a-z]{2})\}")
CODES_WITH_TAG = {"B": LONG, "b": SHORT}


class _Names:
    """The names of months of a language, of one length."""

    def __init__(self, code: str, language: str) -> None:
        self.code = code
        self.names = CODES_WITH_TAG[code][language].split()
        english = ENGLISH if code == "B" else [name[:3] for name in ENGLISH]
        self.english = dict(zip((name.lower() for name in self.names), english, strict=True))
        longest_first = sorted(map(re.escape, self.names), key=len, reverse=True)
        self.pattern = "|".join(longest_first)
        self.search = re.compile(rf"(?i)(?<![^\W\d_])(?:{self.pattern})(?![^\W\d_])")

    def in_english(self, text: str) -> str:
        return self.search.sub(lambda name: self.english[name[0].lower()], text)

    def sql(self, text: str) -> str:
        pattern = quoted(rf"(?i)(?:^|[^\pL])({self.pattern})(?:$|[^\pL])")
        name = f"regexp_extract({text}, '{pattern}', 1)"
        cases = " ".join(f"when '{own}' then '{name}'" for own, name in self.english.items())
        return (
            f"case when {name} <> '' then replace({text}, {name}, case lower({name}) {cases} end)"
            f" else {text} end"
        )


KNOWN = {(code, tag): _Names(code, tag) for code, tags in CODES_WITH_TAG.items() for tag in tags}


def tags_of(form: str) -> tuple[str, str]:
    """Return a form without its words in braces, and the word; "" if there is none."""
    tag = TAG.search(form)
    return TAG.sub("", form), tag[1] if tag else ""


def translations(cell: str) -> list[tuple[str, str, str]]:
    """Return a cell in English for each language that it may be of: with the code and the tag."""
    found = [
        (english, code, tag)
        for (code, tag), names in KNOWN.items()
        if (english := names.in_english(cell)) != cell
    ]
    bare = re.sub(ORDINALS, r"\1", cell)
    return found + ([(bare, "d", ORDINAL)] if bare != cell else [])


def tagged(form: str, code: str, tag: str) -> str:
    """Return a form whose code has a tag."""
    return re.sub(rf"(%{code})(?![a-z{{])", rf"\1{{{tag}}}", form, count=1)


def in_english(text: str, form: str, tag: str) -> str:
    """Return a text of a form in English."""
    if tag == ORDINAL:
        return re.sub(ORDINALS, r"\1", text)
    names = _names_of(form, tag)
    return names.in_english(text) if names else text


def sql_in_english(text: str, form: str, tag: str) -> str:
    """Return the SQL for a text of a form in English."""
    if tag == ORDINAL:
        return f"regexp_replace({text}, '{ORDINALS}', '\\1')"
    names = _names_of(form, tag)
    return names.sql(text) if names else text


def written(time: datetime, letter: str, tag: str) -> str | None:
    """Return the part of a time for a code with a tag; None for those that are as in English."""
    if tag == ORDINAL and letter == "d":
        last = 0 if 10 < time.day < 14 else time.day % 10
        return f"{time.day:02}" + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    names = KNOWN.get((letter, tag))
    return names.names[time.month - 1] if names else None


def _names_of(form: str, tag: str) -> _Names | None:
    return KNOWN.get(("B" if "B" in re.findall(r"%[-^]?([a-zA-Z])", form) else "b", tag))
