"""The command: `python -m tests.specification [--all | --tests | --write]`."""

import argparse

from tests.specification import laws


def main() -> None:
    """List the laws that no test proves, or do what the option says."""
    parser = argparse.ArgumentParser(prog="python -m tests.specification", description=__doc__)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--all", action="store_true", help="list those of later milestones too")
    choice.add_argument("--tests", action="store_true", help="show every law with its tests")
    choice.add_argument("--write", action="store_true", help="write unproven.txt anew")
    options = parser.parse_args()

    every = laws.read_laws()
    proven = laws.proofs(laws.read_tests())
    asked = every if options.all else laws.of_reached_milestones(every)
    open_ones = laws.unproven(asked, proven)
    if options.tests:
        show_tests(every, proven)
    elif options.write:
        laws.write_unproven(open_ones)
    else:
        for law in open_ones:
            print(law.number, law.sentence)
    print(f"{len(asked) - len(open_ones)} of {len(asked)} laws are proved by a test.")


def show_tests(every: list[laws.Law], proven: dict[str, list[str]]) -> None:
    """Each law, and below it the tests that prove it."""
    for law in every:
        print(law.number, law.sentence)
        for test in proven.get(law.number, []):
            print(f"    {test}")


if __name__ == "__main__":
    main()
