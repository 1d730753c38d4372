"""The requests for a summary, rebuilt from the store to the byte (R196)."""

from collections.abc import Callable, Sequence

from greenroom.protocol.compaction import piece_of, summary_request
from greenroom.protocol.errors import Missing
from greenroom.protocol.projector import Projector
from greenroom.protocol.prompt_checkpoint import joined, replay, whole
from greenroom.protocol.rebuild import SentRequest, checkpoints_of, composition_from
from greenroom.protocol.record import AnyRecord, Compacted
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.request import request_digest
from greenroom.protocol.wording import wording_of


def summary_request_at(
    records: Sequence[AnyRecord],
    compaction: int,
    call: int,
    blob: Callable[[str], bytes | None],
) -> SentRequest:
    """Rebuild one request of one compaction (-1: the last), as the summariser was given it.

    Raises:
        Missing: there is no such compaction, or it has no such call.
        StoreDamaged: the composition that it names is not in the store.
    """
    places = [place for place, record in enumerate(records) if isinstance(record, Compacted)]
    try:
        place = places[compaction]
        record = records[place]
        assert isinstance(record, Compacted)
        made = record.calls[call]
    except IndexError:
        raise Missing(
            f"There is no call {call} of compaction {compaction}; of those the session has "
            f"{len(places)}.",
            compaction=compaction,
        ) from None
    number = call if call >= 0 else len(record.calls) + call
    start, so_far = _before(record.calls[:number])
    composition = composition_from(record.composition, blob)
    projector = Projector(composition, record.model).take(records[:place])
    projector.withdraw(record.withdrawn)
    # What every conversation opens with is not summarised: it stays in front (R113).
    part = projector.chunks[projector.opening : projector.place_of(record.before)]
    checkpoints = checkpoints_of(records[:place], blob)
    if record.checkpoint is not None:
        checkpoints.append(whole(record.checkpoint, composition.texts))
    sections = replay(checkpoints)
    request = summary_request(
        composition,
        joined(sections),
        wording_of(composition.wording),
        piece_of(part, start, made.until),
        so_far=so_far,
        changed=record.changed,
        removed=record.removed,
    )
    return SentRequest(
        record.turn or 0,
        number,
        request,
        made.request,
        request_digest(request),
        composition,
        sections,
        # Pieces are cut to what a request can hold, so only the whole part has a map.
        (),
        "",
    )


def _before(calls: Sequence[SummaryCall]) -> tuple[int, str]:
    """Where the piece of the next call begins, and the summary of those before it."""
    taken = [call for call in calls if call.summary]
    return (taken[-1].until, taken[-1].summary) if taken else (0, "")
