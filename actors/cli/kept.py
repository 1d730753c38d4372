"""``greenroom kept-prompt``: what a session's prompt was composed of, part by part (R77, R103)."""

import msgspec
from rich.console import Console

from greenroom.actors.cli.looking import found, open_reading, print_json
from greenroom.actors.cli.options import Stored as Options
from greenroom.actors.cli.rows import INDENT, VERSION_SHOWN, key_shown, print_rows, told
from greenroom.actors.cli.words import named
from greenroom.protocol.composition import Composition
from greenroom.protocol.errors import Missing
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.rebuild import composition_from
from greenroom.protocol.record import AnyRecord, Dispatched
from greenroom.protocol.spending import PartSpend, kept_spend


class KeptPromptShown(msgspec.Struct, frozen=True):
    """A kept prompt, for programs."""

    session: str
    composition: str
    model: str
    wording: str
    parts: tuple[PartSpend, ...]
    texts: dict[str, str]
    """By part; with ``--full``."""
    eager: tuple[str, ...]
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


async def kept_prompt(
    console: Console, options: Options, key: str, *, full: bool = False, as_json: bool = False
) -> int:
    """Print what a session's prompt was last composed of, part by part, with its sizes."""
    async with open_reading(options) as store:
        digest = _composition_of(found(store, options.tenant, key).records, key)
        composition = composition_from(digest, store.blob)
    texts = {part.name: part.text for part in (*composition.sections, *composition.opening)}
    shown = KeptPromptShown(
        key,
        digest,
        composition.model,
        composition.wording,
        kept_spend(composition),
        {**texts, "tools": composition.tools.decode(errors="replace")} if full else {},
        tuple(each.key for each in composition.eager),
        tuple(each.key for each in composition.notes),
        composition.left_out,
    )
    if as_json:
        print_json(shown)
    else:
        _print_prompt(console, shown, composition)
    return 0


def _composition_of(records: list[AnyRecord], key: str) -> str:
    last = next((r for r in reversed(records) if isinstance(r, Dispatched)), None)
    if last is None:
        raise Missing(f"The session {key} was not composed yet: it sent no request.", session=key)
    return last.composition


def _print_prompt(console: Console, shown: KeptPromptShown, composition: Composition) -> None:
    console.print(named(shown.session), style="bold")
    console.print(
        f"composed {shown.composition[:VERSION_SHOWN]} · model {named(shown.model)}"
        f" · wording {shown.wording}"
    )
    console.print()
    if shown.texts:
        for part in shown.parts:
            head = [key_shown(part.contributor) if part.contributor else part.part, *_about(part)]
            told(console, " · ".join(head), style="bold")
            told(console, shown.texts[part.part], INDENT)
            console.print()
    else:
        columns = ("part", "owner", "placement", "bytes", "tokens")
        rows = [_row(part) for part in shown.parts]
        total = [sum(part.bytes for part in shown.parts), sum(part.tokens for part in shown.parts)]
        rows.append(("all of it", "", "", *[f"{each:,}" for each in total]))
        print_rows(console, columns, rows, right=("bytes", "tokens"))
    for each in composition.eager:
        told(console, f"when a conversation starts: {key_shown(each.key)} · {each.owner}")
    for note in composition.notes:
        told(console, f"a note, when it is due: {key_shown(note.key)} · {note.owner}")
    for left in shown.left_out:
        told(console, f"left out: {key_shown(left.contributor)} · {left.sentence}")
    console.print("tokens are estimated by bytes", style="dim")


def _row(part: PartSpend) -> tuple[str, ...]:
    name = key_shown(part.contributor) if part.contributor else part.part
    return name, part.owner or "", part.placement or "", f"{part.bytes:,}", f"{part.tokens:,}"


def _about(part: PartSpend) -> list[str]:
    whose = [part.owner, part.placement] if part.owner and part.placement else []
    return [*whose, f"{part.bytes:,} bytes", f"{part.tokens:,} tokens"]
