"""The benchmark kit for prompt caches: a trace, composers, ways of caching, and a report.

* A **trace** is what people, authors and operators do in simulated time: :func:`workload` makes one
  from a seed, :func:`read_trace` reads JSON lines, ours or the public form for prefix caches.
* A **contender** is a way of composing; yours is made by :func:`contender` of the same composer
  that a host takes. One whose bytes vary is refused with the first byte that differs (R245).
* A **cache** is a way of caching: anything with a method ``request``; :func:`public_ways` has the
  four that providers and engines state, and :func:`ideal` is what none of them can exceed.
* :func:`run` plays the trace through every contender into every cache and gives a
  :class:`Report`: the share of tokens read from cache, by placement, beside the best possible; and
  whether requests that share a placement begin alike up to its end (R217). :func:`show` prints it.

The same trace gives the same findings to the digit. ``python -m greenroom.actors.bench`` runs it.
"""

from greenroom.actors.bench.cache import (
    Bounded,
    Breakpoints,
    CacheModel,
    CacheUse,
    Keeping,
    Tokens,
)
from greenroom.actors.bench.checking import Asked, Difference, ask, check_composer
from greenroom.actors.bench.contender import (
    Contender,
    Setting,
    common_ways,
    contender,
    ours,
    recomposed,
    time_at_the_tail,
    time_in_front,
)
from greenroom.actors.bench.conversation import Tokenizer, four_bytes
from greenroom.actors.bench.faults import BrokenTrace, ComposerVaries, LevelTooShort
from greenroom.actors.bench.levels import LevelReport, check_levels
from greenroom.actors.bench.marks import breakpoints
from greenroom.actors.bench.report import (
    CacheFindings,
    ContenderFindings,
    Findings,
    LevelShare,
    Report,
)
from greenroom.actors.bench.running import run
from greenroom.actors.bench.shown import show
from greenroom.actors.bench.tally import Cache, cache, public_ways
from greenroom.actors.bench.trace import (
    Blocks,
    Compact,
    Edit,
    Expire,
    Line,
    Prompt,
    Switch,
    read_trace,
    write_trace,
)
from greenroom.actors.bench.tree import block_chain, ideal, radix_tree, whole_units
from greenroom.actors.bench.workload import Workload, workload

__all__ = [
    "Asked",
    "Blocks",
    "Bounded",
    "Breakpoints",
    "BrokenTrace",
    "Cache",
    "CacheFindings",
    "CacheModel",
    "CacheUse",
    "Compact",
    "ComposerVaries",
    "Contender",
    "ContenderFindings",
    "Difference",
    "Edit",
    "Expire",
    "Findings",
    "Keeping",
    "LevelReport",
    "LevelShare",
    "LevelTooShort",
    "Line",
    "Prompt",
    "Report",
    "Setting",
    "Switch",
    "Tokenizer",
    "Tokens",
    "Workload",
    "ask",
    "block_chain",
    "breakpoints",
    "cache",
    "check_composer",
    "check_levels",
    "common_ways",
    "contender",
    "four_bytes",
    "ideal",
    "ours",
    "public_ways",
    "radix_tree",
    "read_trace",
    "recomposed",
    "run",
    "show",
    "time_at_the_tail",
    "time_in_front",
    "whole_units",
    "workload",
    "write_trace",
]
