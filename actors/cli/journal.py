"""``greenroom journal``: who intervened in a store, when and why (R242).

It is never shortened, so it is shown a page at a time, and each page says how to go on.
"""

from typing import Final

from rich.console import Console

from greenroom.actors.cli.looking import open_reading, print_json
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.words import moment, short
from greenroom.protocol.filter import about
from greenroom.protocol.journal import (
    AnyIntervention,
    HoldLifted,
    HoldPlaced,
    ModelPut,
    PresetPut,
    QuestionAnswered,
    SessionsMarked,
    decode_intervention,
)

ENTRIES: Final = 100
"""Entries that are shown unless another number is given."""
ENTRIES_MAX: Final = 10_000
CHARACTERS_MAX: Final = 2_000
"""Of an entry; --json has it whole."""


async def journal(
    console: Console, options: Stored, *, after: int, limit: int, as_json: bool = False
) -> int:
    """List the next entries of the journal behind one of them."""
    async with open_reading(options) as store:
        page = store.journal(after, limit=limit)
        has_more = bool(page and store.journal(page[-1].number, limit=1))
    for row in page:
        entry = decode_intervention(row.entry)
        if as_json:
            print_json({"number": row.number, "entry": entry})
        else:
            console.print(f"{row.number}  {short(_told(entry), CHARACTERS_MAX)}")
    if not as_json:
        console.print(_count(len(page), page[-1].number if has_more else None), style="dim")
    return 0


def _count(entries: int, last: int | None) -> str:
    told = "1 entry" if entries == 1 else f"{entries:,} entries"
    return told if last is None else f"{told}; more with --after {last}"


def _told(entry: AnyIntervention) -> str:
    reason = f": {entry.reason}" if entry.reason else ""
    return f"{moment(entry.at)} UTC {entry.by or 'somebody'} {_done(entry)}{reason}"


def _done(entry: AnyIntervention) -> str:
    match entry:
        case HoldPlaced(hold=hold):
            return f"held {about(hold)} ({hold.id})"
        case HoldLifted(hold=name, withdrawn=withdrawn):
            return f"lifted {name}" + (" and withdrew its skill" if withdrawn else "")
        case SessionsMarked(recomposition=made):
            return f"marked {about(made)} to be composed anew"
        case PresetPut(session=session, preset=preset, before=before):
            return f"put {session} under the preset {preset}, which was under {before}"
        case ModelPut(session=session, model=model, before=before):
            after = f", after {before}" if before else ""
            return f"chose the model {model} for {session}{after}"
        case QuestionAnswered(session=session, question=name, answer=answer):
            return f"answered {answer} in {session} ({name})"
