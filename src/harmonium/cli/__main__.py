"""`python -m harmonium.cli`: the command where its script is not on the path."""

from .app import main

if __name__ == "__main__":
    main()
