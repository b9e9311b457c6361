"""`python -m berlyne` is the command `berlyne`."""

from berlyne.cli import main

if __name__ == "__main__":
    main()
