"""Run the command line as `python -m harmonium`."""

from .cli import main

if __name__ == "__main__":
    main()
