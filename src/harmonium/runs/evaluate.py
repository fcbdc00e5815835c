"""Score a machine that is kept in a file or a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax

from ..data import Dataset
from ..data.base import input_error
from ..errors import NotFiniteError
from ..evaluation.exact import LARGEST_LOG2_STATES
from ..likelihood import finite_z, log_likelihood, log_z
from ..rbm import RBM
from ..sources import open_source
from ..storage import load
from .checks import refuse_many_states, refuse_misfit
from .display import Display
from .folder import CONFIG, RunFolder
from .memory import refuse_beyond_memory
from .options import BINARIZE, PARTS, SCORES, check_choice, check_count, check_seed
from .prepare import BYTES, COPIES_IN_FLIGHT, Rows, as_dataset, introduce, read_rows
from .score import finite_score, log_z_record, score_record

DEFAULT_CHAINS = 512
READ_AS = ("bernoulli", "ising", "potts", "gaussian")  # kinds of visible units that rows have


def evaluate(
    run: str,
    data: str | None,
    part: str,
    binarize: str | None,
    scale: float | None,
    seed: int,
    settings: dict[str, Any],
    display: Display,
) -> dict[str, Any]:
    """Give log Z, and the log-likelihood of rows where there are any; write nothing.

    Args:
        run: a run folder or a model.
        data: a built-in set or a file; None for the run's own source.
        part: which of the source's rows.
        binarize: what becomes of grey levels; None for what the run did.
        scale: the grey level that means 1.
        seed: seed of everything that is drawn.
        settings: method, chains and steps of the estimate; None for the default.
        display: where progress is told.

    Raises:
        InputError: a model or rows that cannot be read or do not fit each other.
        NotFiniteError: the machine has no finite score.
    """
    check_choice("--rows", part, PARTS)
    if binarize is not None:
        check_choice("--binarize", binarize, BINARIZE)
    check_seed(seed)
    rbm = load(run)
    if not finite_z(rbm):
        raise NotFiniteError(
            f"{run}: expected a machine with a finite Z; found {rbm}, whose Z is not known to be:"
            " its couplings are too strong for its precisions; train it with smaller weights."
        )
    chosen = _checked(settings, rbm)
    chosen |= {"key": jax.random.key(seed), "progress": display.timer("log Z")}
    summary: dict[str, Any] = {"run": run, "data": data, "model": str(rbm)}
    rows = _own_rows(run, display) if data is None else None
    if data is not None:
        rows = _rows_of(data, rbm, binarize or _binarize_of(run), scale, display)
    if rows is None:
        found = finite_score(rbm, lambda: log_z(rbm, **chosen))
        return summary | {"log_z": log_z_record(found), "log_likelihood": None}
    name, dataset = _choose(part, rows.parts, data or run)
    score = finite_score(rbm, lambda: log_likelihood(rbm, dataset, **chosen))
    record = score_record(score, name, len(dataset))
    return summary | {"log_z": log_z_record(score.log_z), "log_likelihood": record}


def _checked(settings: dict[str, Any], rbm: RBM) -> dict[str, Any]:
    """Give the settings that are not left to the default, if the machine allows them."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    method, chains, steps = (chosen.get(name) for name in ("method", "chains", "steps"))
    check_choice("--method", method, SCORES)
    for option, value in (("--chains", chains), ("--steps", steps)):
        if value is not None:
            check_count(option, value, least=2)
    if method == "exact":
        advice = "leave the method out, or choose annealed"
        refuse_many_states(rbm, LARGEST_LOG2_STATES, advice)
        return {"method": "exact"}
    states = (chains or DEFAULT_CHAINS) * (rbm.visible.size + rbm.hidden.size)
    sizes = {"--chains": (chains or 0) / DEFAULT_CHAINS, "--steps": (steps or 0) / 4_000}
    needed = BYTES * COPIES_IN_FLIGHT * states + 16 * (steps or 0)
    refuse_beyond_memory(needed, sizes, "this estimate")
    return chosen


def _binarize_of(run: str) -> str:
    """Give what a run did with grey levels; a model alone does not say."""
    is_run = (Path(run) / CONFIG).is_file()
    return RunFolder(run).config().binarize if is_run else "stochastic"


def _own_rows(run: str, display: Display) -> Rows | None:
    """Read the rows of a run's own source; a model alone has none."""
    if not (Path(run) / CONFIG).is_file():
        return None
    rows = read_rows(RunFolder(run).config())
    display.say(introduce(rows)[0])
    return rows


def _rows_of(data: str, rbm: RBM, binarize: str, scale: float | None, display: Display) -> Rows:
    """Read the rows of a source as the machine's visible units take them.

    Raises:
        InputError: it cannot be read, or has another width or other values.
    """
    read_as, states = rbm.visible.kind_of_rows
    table = open_source(data, visible=read_as, scale=scale, states=states)
    arrays = {"train": table.train, "validation": table.validation, "test": table.test}
    parts: dict[str, Dataset] = {}
    notes = table.notes
    for name, array in arrays.items():
        if array is not None:
            fitting = array if table.scale == 1.0 else array[:1] / table.scale
            refuse_misfit(fitting, rbm, data, "give rows like those it learned from")
            parts[name], note = as_dataset(array, table, binarize)
            notes = (*table.notes, *note)
    rows = Rows(table, parts, notes)
    for line in introduce(rows):
        display.say(line)
    return rows


def _choose(part: str, parts: dict[str, Dataset], source: str) -> tuple[str, Dataset]:
    """Give the rows that were asked for, by default those learned from least."""
    wanted = (part,) if part != "auto" else ("test", "validation", "train")
    for name in wanted:
        if name in parts:
            return name, parts[name]
    found, advice = f"{' and '.join(parts)} rows only", "choose one of these with --rows"
    raise input_error(source, f"{part} rows", found, advice)
