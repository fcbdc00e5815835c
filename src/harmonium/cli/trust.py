"""The option by which a user trusts modules, whose layers and weights a model file may name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .base import configure_jax

Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="MODULE",
        help="Import a module of your own first, whose layers the model has. A model file cannot"
        " make a module run by naming it. May be repeated.",
    ),
]


def trusting(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that reads models with the option --trust added to its own."""

    @functools.wraps(command)
    def trusting_command(*words: Any, trust: list[str] | None = None, **options: Any) -> None:
        if trust:
            from ..io.formats.base_types import import_trusted

            configure_jax()  # before a module of the user's imports JAX
            import_trusted(trust, "--trust")
        command(*words, **options)

    # Typer reads options from the signature, in which annotations must no longer be text.
    signature = inspect.signature(command, eval_str=True)
    more = inspect.Parameter(
        "trust", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Trust
    )
    parameters = [*signature.parameters.values(), more]
    hints = {parameter.name: parameter.annotation for parameter in parameters}
    trusting_command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    trusting_command.__annotations__ = hints | {"return": None}
    return trusting_command
