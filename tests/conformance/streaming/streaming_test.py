#!/usr/bin/env python3
"""Streaming equals offline: compiles the cases of cases.py and holds each to its limit.

    streaming_test.py LONGWAVE FOLDER GROUP [--all] [-k NAME...]

FOLDER takes the packages and the kernel cache. Without --all, cases that take long are left out.
"""

import argparse
import pathlib
import sys

import cases
import runner


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("group", choices=cases.GROUPS)
    parser.add_argument("--all", action="store_true", help="the cases that take long as well")
    parser.add_argument("-k", nargs="+", metavar="NAME", help="only these cases")
    options = parser.parse_args()
    longwave, folder = options.longwave.resolve(), options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [
        case
        for case in runner.in_turns(cases.GROUPS[options.group])
        if (case.name in options.k if options.k else options.all or not case.large)
    ]
    assert chosen, f"no such case in {options.group}"
    passed = [runner.check(longwave, folder, case) for case in chosen]
    print(f"{sum(passed)} of {len(chosen)} cases passed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
