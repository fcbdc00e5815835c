"""The `harmonium` command; each subcommand's module calls the library and prints the result."""

from .app import main as main
