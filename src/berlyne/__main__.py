"""Run the command `berlyne` as `python -m berlyne`."""

from berlyne.cli import main

if __name__ == "__main__":
    main()
