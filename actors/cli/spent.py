"""``greenroom spend``: what each version of a contributor cost, and what it reached (R78)."""

from rich.console import Console

from greenroom.actors.border import check_names
from greenroom.actors.cli.looking import open_reading, print_json
from greenroom.actors.cli.options import Stored as Options
from greenroom.actors.cli.rows import INDENT, key_shown, print_rows, told
from greenroom.actors.cli.words import counted, plain
from greenroom.actors.spending import SpendReport, spend_in
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.reckoning import ContributorSpend, Outcomes


async def spend(
    console: Console,
    options: Options,
    *,
    agent: str | None = None,
    contributor: str | None = None,
    as_json: bool = False,
) -> int:
    """Print what each version of a contributor spent; of one, its turns beside the others (R78)."""
    check_names(DEFAULT_LIMITS, agent=agent)
    async with open_reading(options) as store:
        report = await spend_in(store, options.tenant, agent, None)
    chosen = [each for each in report.contributors if _is(each.contributor, contributor)]
    if as_json:
        for each in chosen:
            print_json(each)
        return 0
    if contributor is None:
        columns = ("contributor", "sessions", "turns", "requests", "tokens")
        rows = [_spent(each) for each in chosen]
        if rows:
            print_rows(console, columns, rows, right=columns[1:])
    elif not chosen:
        console.print(plain(f"No turn was shaped by {contributor}."))
    for each in chosen if contributor is not None else ():
        _side_by_side(console, each)
    console.print(_read(report), style="dim")
    return 0


def _is(key: str, contributor: str | None) -> bool:
    return contributor in (None, key, key.rpartition("@")[0])


def _read(report: SpendReport) -> str:
    told = f"{counted(report.turns, 'turn')} of {counted(report.sessions, 'session')}"
    lost = f"; {counted(report.unreadable, 'session')} cannot be read" if report.unreadable else ""
    return f"{told}{lost}; tokens are estimated by bytes, and a cache may have given most of them"


def _spent(each: ContributorSpend) -> tuple[str, ...]:
    counts = (each.sessions, each.reached.turns, each.requests, each.tokens)
    return (key_shown(each.contributor), *[f"{count:,}" for count in counts])


def _side_by_side(console: Console, each: ContributorSpend) -> None:
    whose = [str(told) for told in (each.owner, each.placement) if told is not None]
    told(console, " · ".join([key_shown(each.contributor), *whose]), style="bold")
    told(
        console,
        f"{each.tokens:,} tokens, {each.bytes:,} bytes, in {counted(each.requests, 'request')}"
        f" of {counted(each.sessions, 'session')}",
        INDENT,
    )
    columns = ("turns of the same agents", "with it", "without it")
    halves = (_figures(each.reached), _figures(each.beside))
    lacking = ["0.0%" if half.turns else "–" for half in (each.reached, each.beside)]
    names = list(dict.fromkeys((*halves[0], *halves[1])))
    rows = [
        (name, *(half.get(name, none) for half, none in zip(halves, lacking, strict=True)))
        for name in names
    ]
    print_rows(console, columns, rows, right=columns[1:])
    console.print()


def _figures(outcomes: Outcomes) -> dict[str, str]:
    """What is told of turns, each a mean of one but their number and how they ended."""
    turns = outcomes.turns
    means = {
        "model calls a turn": outcomes.model_calls,
        "tool calls a turn": outcomes.tool_calls,
        "tokens a turn": outcomes.usage.total,
        "seconds a turn": outcomes.milliseconds / 1_000,
    }
    return {
        "turns": f"{turns:,}",
        **{f"ended {end}": f"{count / turns:.1%}" for end, count in sorted(outcomes.ends.items())},
        **{name: f"{total / turns:,.1f}" if turns else "–" for name, total in means.items()},
    }
