"""The `harmonium` command; each subcommand's module calls a function and prints the result."""

from .app import main as main
