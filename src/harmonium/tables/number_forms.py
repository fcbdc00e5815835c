"""How numbers and times of day stand in text: signs around them, thousands, decimal commas, clocks.

A form is "#" for the number, with what stands around it: "$#", "# kg". After "#" come ",##0" or
".##0" for the sign between thousands and "," for a decimal comma; after ";" how negative numbers
are marked, if not by a hyphen: "$#;(#)". The form of a time of day is that of dates: "%H:%M".
"""

from __future__ import annotations

import re
from typing import NamedTuple

HYPHEN = "-#"
FORM = re.compile(r"(?P<before>[^#]*)#(?:(?P<group>.)##0)?(?P<comma>,?)(?P<after>.*)", re.DOTALL)
CLOCK = re.compile(r"(\d{1,3})(?::([0-5]?\d))?(?::([0-5]?\d(?:[.,]\d+)?))?\s?([ap])?\.?m?\.?")
MINUTES = 60  # of an hour, and seconds of a minute
HALF_DAY = 12  # hours


class NumberForm(NamedTuple):
    """How the numbers of a column stand in text.

    Attributes:
        before, after: signs around all of them.
        group: the sign between thousands, or "".
        has_comma: whether the decimal sign is a comma.
        negative: what marks a negative number, "#" being all else: "-#", "(#)", "−#", "#-".
    """

    before: str = ""
    after: str = ""
    group: str = ""
    has_comma: bool = False
    negative: str = HYPHEN

    @classmethod
    def of(cls, form: str) -> NumberForm:
        """Return what a form says."""
        positive, _, negative = form.partition(";")
        parts = FORM.fullmatch(positive)
        negative = negative if "#" in negative else HYPHEN
        if parts is None:
            return cls(has_comma=positive == ",", negative=negative)
        group = parts["group"] or ""
        return cls(parts["before"], parts["after"], group, bool(parts["comma"]), negative)

    @property
    def text(self) -> str:
        """The form; a decimal comma alone is ",", and nothing at all ""."""
        group = f"{self.group}##0" if self.group else ""
        comma = "," if self.has_comma else ""
        negative = f";{self.negative}" if self.negative != HYPHEN else ""
        positive = f"{self.before}#{group}{comma}{self.after}"
        if not (self.before or self.after or group or negative):
            return comma
        return positive + negative

    def dressed(self, number: str) -> str:
        """Return a number such as "-1234.5" as it stands in the column."""
        digits = number.removeprefix("-")
        whole, point, decimals = digits.partition(".")
        if self.group and whole.isdecimal():
            whole = f"{int(whole):,}".replace(",", self.group)
        mark = "," if self.has_comma else "."
        positive = f"{self.before}{whole}{point.replace('.', mark)}{decimals}{self.after}"
        return self.negative.replace("#", positive, 1) if number.startswith("-") else positive

    def number(self, text: str) -> float:
        """Return the number that a text of this form, or a plain number, stands for.

        Raises:
            ValueError: it is none.
        """
        opening, _, closing = self.negative.partition("#")
        is_marked = text.startswith(opening) and text.endswith(closing)
        is_negative = self.negative != HYPHEN and is_marked
        if is_negative:
            text = text[len(opening) : len(text) - len(closing)]
        minus = "-" if text.startswith(("-", "−")) else ""
        bare = text[len(minus) :].strip()
        bare = bare.removeprefix(self.before.strip()).removesuffix(self.after.strip()).strip()
        if self.group and self.group in bare:
            bare = bare.replace(self.group, "").replace(" ", "")
        if self.has_comma:
            bare = bare.replace(",", ".")
        value = float(minus + bare)
        return -value if is_negative else value


def is_clock(form: str) -> bool:
    """Return whether the form of a column of numbers is that of a time of day."""
    return "#" not in form and ("%H" in form or "%I" in form or "%-" in form)


def dressed(number: str, form: str) -> str:
    """Return a number such as "-1234.5" in the form of its column."""
    return (
        _clock_text(float(number), form) if is_clock(form) else NumberForm.of(form).dressed(number)
    )


def number_in(text: str, form: str) -> float:
    """Return the number that a text stands for in a column of a form.

    Raises:
        ValueError: it is none.
    """
    return _clock_number(text, form) if is_clock(form) else NumberForm.of(form).number(text)


def _clock_text(number: float, form: str) -> str:
    """Return minutes, or seconds where the form has them, as a time; hours may exceed a day."""
    digits = re.search(r"%(\d)f", form)
    places = int(digits[1]) if digits else 0
    seconds = round(number if "%S" in form else number * MINUTES, places)
    minutes, second = divmod(abs(seconds), MINUTES)
    hour, minute = divmod(int(minutes), MINUTES)
    twelve = (hour - 1) % HALF_DAY + 1
    half = "PM" if hour // HALF_DAY % 2 else "AM"
    fraction = f"{second % 1:.{places}f}"[2:]
    codes = {
        **{"%H": f"{hour:02}", "%-H": str(hour), "%I": f"{twelve:02}", "%-I": str(twelve)},
        **{"%M": f"{minute:02}", "%S": f"{int(second):02}", "%p": half, "%P": half.lower()},
    }
    text = re.sub(r"%\df", fraction, form)
    text = re.sub(r"%-?[HIMSpP]", lambda code: codes.get(code[0], code[0]), text)
    return "-" * (seconds < 0) + text


def _clock_number(text: str, form: str) -> float:
    parts = CLOCK.fullmatch(text.strip().lower())
    if parts is None:
        raise ValueError(text)
    hour = int(parts[1])
    if parts[4]:
        hour = hour % HALF_DAY + HALF_DAY * (parts[4] == "p")
    minutes = hour * MINUTES + int(parts[2] or 0)
    seconds = float((parts[3] or "0").replace(",", "."))
    return minutes * MINUTES + seconds if "%S" in form else minutes + seconds / MINUTES
