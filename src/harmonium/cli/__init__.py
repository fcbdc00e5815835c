"""The `harmonium` command: one file per subcommand that parses, calls a function and prints."""

from .app import main as main
