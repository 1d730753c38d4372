"""Prefix: what a prompt cache can read of the requests that greenroom composes.

    python -m benchmarks.prefix

1,000 conversations of 10 turns between 10 agents and 100 people, with edits, switches of presets,
compactions and caches that go cold, played in simulated time through greenroom's composing and
three common ways of it, into the four public ways of caching. It fails when greenroom's composing
gets less than 99 % of what any order of the same contents could get in one of these ways, or when
requests that share a placement differ before its end.

The kit is :mod:`greenroom.actors.bench`, which is in the wheel and takes composers, caches and
traces of others; ``--json`` keeps a run whole.
"""

import sys

from greenroom.actors.bench.command import main

if __name__ == "__main__":
    sys.exit(main(name="benchmarks.prefix"))
