"""The command `harmonium`: one file per subcommand, which parses, calls a function and prints."""

from .app import main as main
