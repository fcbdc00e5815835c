"""The command `harmonium`: one file a command, each parsing, calling a plain function, printing."""

from .app import main as main
