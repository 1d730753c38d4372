"""Laws of what an export tells: it is a session that can be opened, or it is refused."""

import hashlib
from collections.abc import Iterable, Mapping

import pytest
from msgspec import Raw, structs

from greenroom.protocol.composition import composition_digest, encode_composition
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.export_lines import Exported
from greenroom.protocol.exported import check_whole
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.message import ImagePart, ToolMessage, UserMessage
from greenroom.protocol.question import Allow
from greenroom.protocol.record import (
    Accepted,
    Answered,
    AnyRecord,
    Deleted,
    Dispatched,
    Ended,
    Imported,
    LegacyContext,
    NotSent,
    Opened,
    Recomposed,
    Resumed,
    Returned,
)
from greenroom.protocol.record_parts import CallResult
from greenroom.protocol.refusal import BadExport, ExportTooNew
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, snapshot_of
from greenroom.protocol.wording import CURRENT
from tests.protocol.prompt_samples import composition, skill

OPENED = Opened(0, "support", None, "read-only")
HEADER = Header("support", None, "read-only", None, 0)
SAID = Raw(encode_message(UserMessage("Hi.")))
KEPT = composition()
DIGEST = composition_digest(encode_composition(KEPT))
CONTENTS = {DIGEST: encode_composition(KEPT)}
OTHER = "0" * 64
"""Content of another session: named, and not there."""
SENT = (
    Accepted(0, "n", SAID, "started", 0, 1),
    Dispatched(0, 1, "n", 0, 1, "model", "read-only", DIGEST, "digest"),
)
SEES = Raw(encode_message(UserMessage((ImagePart("image/png", OTHER, 1),))))
RESULT = CallResult("c", Raw(encode_message(ToolMessage("c", "head"))), object=OTHER)
PICKED = snapshot_of(0, [structs.replace(skill("deploy"), files=OTHER)], 0, CURRENT)


def check(
    records: Iterable[AnyRecord],
    header: Header = HEADER,
    contents: Mapping[str, bytes] = CONTENTS,
) -> None:
    check_whole(Exported(SessionId("default", "ann"), header, (), tuple(records), contents))


def test_a_session_that_was_is_taken() -> None:
    """R191: one that said nothing, and one whose turn is over."""
    check([OPENED])
    check([OPENED, *SENT, Ended(0, 1, "done")], structs.replace(HEADER, composition=DIGEST))


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([], "does not begin"),
        (SENT, "does not begin"),
        ([OPENED, OPENED], "begins twice"),
        ([OPENED, Deleted(0)], "was deleted"),
        ([structs.replace(OPENED, agent="other")], "another agent"),
        ([structs.replace(OPENED, at=1)], "another agent, person or time"),
        ([OPENED, *SENT], "not over: 1"),
        ([OPENED, NotSent(0, 2**64 - 1, "n", "not_sent", "", "")], "a turn of the number 1844"),
        ([OPENED, LegacyContext(RuntimeContextSnapshot(3, "far", 0))], "cannot be opened"),
        ([OPENED, Imported(0, Raw(b'{"role":"nobody"}'), 0)], "cannot be opened"),
    ],
)
def test_what_was_no_session_is_refused(records: list[AnyRecord], told: str) -> None:
    """R191: how it begins, whose it is, that nothing of it runs, and that it can be read back."""
    with pytest.raises(BadExport, match=told):
        check(records)


@pytest.mark.parametrize(
    "record",
    [
        Recomposed(0, OTHER, "m"),
        Resumed(0, 1, "read-only", gates=OTHER),
        Imported(0, SEES, 0),
        Accepted(0, "n", SEES, "queued", 0, None),
        Returned(0, 1, 0, (RESULT,), "digest"),
        Ended(0, 1, "done", results=(RESULT,)),
        Answered(0, 1, "q", Allow("ann"), object=OTHER),
        LegacyContext(PICKED),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_it_names_and_does_not_bring_is_refused(record: AnyRecord) -> None:
    """R191, R218: whoever knows a digest must not get at what another session holds."""
    with pytest.raises(BadExport, match="names the content 000000000000"):
        check([OPENED, Imported(0, SAID, 0), record])


@pytest.mark.parametrize("field", ["composition", "gates"])
def test_what_its_head_names_it_brings(field: str) -> None:
    """R191, R218: the same for how it stands."""
    with pytest.raises(BadExport, match="names the content"):
        check([OPENED], structs.replace(HEADER, **{field: OTHER}))


def test_the_files_of_its_skills_are_with_it() -> None:
    """R191, R202: by the list of them, each one."""
    files = b'{"SKILL.md":"%b"}' % OTHER.encode()
    digest = hashlib.sha256(files).hexdigest()
    snapshot = snapshot_of(0, [structs.replace(skill("deploy"), files=digest)], 0, CURRENT)
    records: list[AnyRecord] = [OPENED, Imported(0, SAID, 0), LegacyContext(snapshot)]
    with pytest.raises(BadExport, match="names the content 0000"):
        check(records, contents={digest: files})
    check(records, contents={digest: files, OTHER: b"it is not looked at here"})


def test_what_a_newer_greenroom_rendered_is_told() -> None:
    """R191, R240: a wording that this one does not have."""
    newer = encode_composition(structs.replace(KEPT, wording="999", skills=()))
    digest = composition_digest(newer)
    with pytest.raises(ExportTooNew):
        check([OPENED], structs.replace(HEADER, composition=digest), {digest: newer})


def test_what_breaks_the_reader_is_refused_by_the_same_error() -> None:
    """R191: whatever is wrong with its parts, it is said of the export."""
    with pytest.raises(BadExport, match="cannot be opened"):
        check([OPENED], structs.replace(HEADER, composition=OTHER), {OTHER: b"\x81"})
