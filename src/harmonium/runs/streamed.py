"""Read files larger than memory for a run: as a stream of rows, and as a sample of these rows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from .._base.files import memory_there
from .._base.processes import from_first
from ..data import Dataset, Stream, Table
from ..data.block_files import files_named, is_in_blocks
from ..data.builtin import BUILTIN
from ..data.coding import as_table
from ..data.kinds import Kind
from ..data.readers import stem_of
from ..data.sources import coding_of
from ..data.splits import USUAL_FRACTION, note_on_levels
from ..errors import InputError, count_of
from ..tables.text_format import TextFormat
from .train_options import RunConfig

SHARE_OF_MEMORY = 0.5  # larger files are streamed; numbers may take as much memory as on disk
ROWS_TO_LOOK_AT = 10_000  # sample size for inferring the meaning of the numbers
MOST_HELD_OUT = 10_000  # limit on held-out rows, unless a fraction is given


def is_streamed(config: RunConfig) -> bool:
    """Return whether rows are read during training: if requested, or for many or large files."""
    if config.window != "auto":
        return config.window > 0
    source = config.origin
    if source in BUILTIN or not is_in_blocks(source):
        return False
    if not Path(source).is_file():
        return True  # a folder or a glob pattern
    there = from_first(memory_there())
    is_mapped = Path(source).suffix.lower() == ".npy"  # other files may be tables of words
    return is_mapped and there is not None and size_of(source) > SHARE_OF_MEMORY * there


def size_of(source: str) -> int:
    """Return the size of a source's files in bytes."""
    return sum(file.stat().st_size for file in files_named(source))


def opened(config: RunConfig) -> tuple[Table, Stream]:
    """Return a table of some rows of a source, and a stream of all its rows.

    The type of the values is inferred from the rows of the table, which come from all blocks; a row
    that is read later and has an invalid value raises an error.

    Raises:
        InputError: the source cannot be read in blocks, or does not hold plain numbers.
    """
    source = config.origin
    for option, value in (
        ("--columns", config.columns),
        ("--as", config.kinds),
        ("--label or --weight", config.label not in (None, "none") or config.weight),
        ("--given or --past", config.given or config.past),
        ("--header, --separator, --missing or --skip", config.text_format != TextFormat()),
    ):
        if value:
            raise InputError(
                f"{source}: expected plain numbers, and no {option}, for files that are read"
                f" during training; got {option}; leave it out, or give --window 0."
            )
    window = None if config.window == "auto" else config.window
    name = re.sub(r"[^\w.-]+", "-", stem_of(Path(source))).strip("-") or "rows"
    stream = Stream(source, window=window, name=source)
    sample = stream.some(ROWS_TO_LOOK_AT).rows()
    table = as_table(
        sample,
        name=name,
        coding=coding_of(config.visible),
        scale=config.scale,
        states=config.states,
        source=source,
    )
    grey = table.kind == Kind.GREY
    if grey and config.binarize == "threshold":
        stream = stream.changed(lambda rows: rows >= 0.5 * table.scale)
    elif grey:
        drawn = config.binarize == "stochastic"
        stream = Stream(source, window=window, name=source, scale=table.scale, stochastic=drawn)
    lines = (
        f"{name}: {count_of(len(stream), 'row')}, read while training, {stream.window:,} at a time"
        " (--window).",
        f"{name}: the meaning of the numbers is inferred from a sample of rows.",
    )
    return replace(table, notes=(*lines, *table.notes)), stream


def parts_of_stream(
    config: RunConfig, table: Table, stream: Stream
) -> tuple[dict[str, Dataset], Stream, tuple[str, ...]]:
    """Return datasets for evaluation, the stream of training rows, and notes on these rows."""
    fraction = USUAL_FRACTION if config.validation == "auto" else float(config.validation)
    count = round(fraction * len(stream))
    count = min(count, MOST_HELD_OUT) if config.validation == "auto" else count
    parts = {}
    notes = note_on_levels(table, config.binarize)
    if count:
        everything = len(stream)
        stream, held = stream.split_off(count)
        parts["validation"] = held
        of = f"{count:,} of {everything:,} rows held out for validation"
        notes = (f"{table.name}: {of}, from up to 64 blocks.", *notes)
    parts["train"] = stream.some(ROWS_TO_LOOK_AT)
    return parts, stream, notes
