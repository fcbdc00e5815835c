"""Turn functions into commands: annotations become options, the docstring becomes the help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from ..runs.options import AbstractOption, Option, options_of
from .base import run_command

AS_IT_IS = "\b\n"  # marks a paragraph whose lines Click must not wrap
LISTS = (list[str], list[str] | None)  # types of options that can be repeated
TRUST = Option(
    "Before loading the model, import this module, which defines its custom layers; a model file"
    " alone cannot cause a module to be imported. May be repeated.",
    "MODULE",
)


def add_command(
    app: typer.Typer,
    function: Callable[..., int | None],
    summary: str,
    *,
    reads_models: bool = False,
    name: str = "",
    hidden: bool = False,
) -> None:
    """Add a function to the command as a subcommand.

    Each parameter annotated with an `AbstractOption` becomes a command-line option. A parameter
    annotated with a dataclass receives an instance of this class, whose fields become options too.

    Args:
        app: the command.
        function: the function to call, which returns the exit status, or None for 0.
        summary: the subcommand's description in the list of commands.
        reads_models: whether the subcommand has the option --trust, for custom layers.
        name: the subcommand's name, if it differs from the function's.
        hidden: whether the list of commands omits the subcommand.
    """
    parameters = _parameters_of(function)
    if reads_models:
        parameters.append(_Parameter("trust", TRUST, list[str], None))

    def command(**values: Any) -> None:
        def arguments() -> dict[str, Any]:
            modules = values.pop("trust", None)
            if modules:
                from ..io.formats.base_types import import_trusted

                import_trusted(modules, "--trust")
            return _arguments(function, values)

        is_distributed = values.get("is_distributed", False)
        raise typer.Exit(run_command(function, arguments, is_distributed=is_distributed))

    signature = [parameter.for_typer() for parameter in parameters]
    command.__dict__["__signature__"] = inspect.Signature(signature)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    name = name or function.__name__
    app.command(name, help=_help_of(function), short_help=summary, hidden=hidden)(command)


def _help_of(function: Callable[..., Any]) -> str:
    """Return the help text: the function's docstring, with indented paragraphs kept unwrapped."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(AS_IT_IS + text if "\n " in text else text for text in paragraphs)


class _Parameter(NamedTuple):
    """A parameter of a command.

    Attributes:
        name: the parameter's name in the function or the dataclass.
        option: the parameter's help and valid values.
        kind: the parameter's type.
        default: the parameter's default value; `Parameter.empty` if a value is required.
    """

    name: str
    option: AbstractOption
    kind: Any
    default: Any

    def for_typer(self) -> inspect.Parameter:
        """Return the parameter in the form that Typer reads from a function's signature."""
        has_default = "[default:" in self.option.help
        settings: dict[str, Any] = {"help": self.option.help, "show_default": not has_default}
        called = self.option.name(self.name)
        if self.kind is bool:
            kind: Any = bool
        elif self.kind in LISTS:
            kind = list[str]
            if self.default is not inspect.Parameter.empty:
                kind = list[str] | None
        elif type(self.option).read is AbstractOption.read:
            kind = str | None
        else:
            kind = Any
            settings["parser"] = lambda text: self.option.read(text, called)
        if self.kind is not bool:
            settings["metavar"] = self.option.metavar
        if self.option.is_argument:
            annotation = Annotated[kind, typer.Argument(**settings)]
        else:
            names = self.option.names or (called,)
            annotation = Annotated[kind, typer.Option(*names, **settings)]
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.name, keyword, default=self.default, annotation=annotation)


def _parameters_of(kind: Any) -> list[_Parameter]:
    """Return the options of a function or dataclass, including options of nested dataclasses."""
    options = options_of(kind)
    hints = get_type_hints(kind)
    parameters = []
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in options:
            default = parameter.default
            if hints[name] in LISTS and default is not inspect.Parameter.empty:
                default = None  # the dataclass has a default factory instead
            parameters.append(_Parameter(name, options[name], hints[name], default))
        elif is_dataclass(hints[name]):
            parameters += _parameters_of(hints[name])
    return parameters


def _arguments(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a function or a dataclass, given the values of its options.

    Raises:
        InputError: an option has an invalid value.
    """
    options = options_of(kind)
    hints = get_type_hints(kind)
    arguments = {}
    for name in inspect.signature(kind).parameters:
        value = values.get(name)
        if name in options and value is not None:
            arguments[name] = value
            if not is_dataclass(kind):  # a dataclass checks its own fields
                options[name].check(value, options[name].name(name))
        elif is_dataclass(hints[name]):
            arguments[name] = hints[name](**_arguments(hints[name], values))
    return arguments
