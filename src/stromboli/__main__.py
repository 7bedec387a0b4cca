"""`python -m stromboli` is the same as `stromboli`."""

from stromboli.cli import main

if __name__ == "__main__":
    main(prog_name="stromboli")
