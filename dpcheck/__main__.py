"""`python -m dpcheck`."""

from dpcheck.cli import main

if __name__ == "__main__":
    main(prog_name="dpcheck")
