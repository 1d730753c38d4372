"""Laws of the words: a version never changes, and a conversation stays with its own."""

import hashlib
from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol import wording
from greenroom.protocol.composition import render
from greenroom.protocol.errors import StoreTooNew
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.projection import project_user
from greenroom.protocol.runtime_context import snapshot_of
from greenroom.protocol.wording import CURRENT, WORDINGS, one_line, wording_of
from tests.protocol.prompt_samples import composition, skill, summary, text, user

GOLDEN = {
    "1": ("62fa0d58511af387", "ba9ecb11453ba013"),
}
"""For each version: the digest of its words, and of a rendering that uses all of them."""


ADDED = {
    "1": ("titling", "typed", "moved_more", "3ed9a3b4a453b26e"),
}
"""For each version: words that came later, which its digest leaves out, and theirs."""


def rendering(version: str) -> str:
    """One of everything that a wording says, in one text."""
    words = WORDINGS[version]
    files = {"index.md": b"x" * 20_000, "b.md": b"B"}
    kept = composition(
        bound=(skill("deploy", "Ship it."),),
        catalog=(summary("mail"),),
        person_catalog=(summary("diary"),),
        instructions="Use tabs.",
        person_text="Be brief.",
        extra=(text("money", heading="Money"),),
    )
    kept = structs.replace(kept, wording=version)
    parts = [render(kept, preset, with_person=True).text for preset in PRESETS]
    for skills in (
        [skill("deploy", "Ship it.")],
        [skill("deploy", "Ship it."), skill("s", "", files)],
    ):
        for content in ("Go.", ""):
            snapshot = snapshot_of(0, skills, 0, words)
            parts += [snapshot.content, project_user(user(content), snapshot, (), kept).decode()]
    return "\n".join(parts)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def test_every_version_has_a_golden_rendering() -> None:
    """R201: no version is released without one."""
    assert list(GOLDEN) == list(WORDINGS)


@pytest.mark.parametrize("version", WORDINGS)
def test_a_version_is_never_edited(version: str) -> None:
    """R201: words and rendering of a version stay to the byte; better ones are a new version."""
    words = digest(msgspec.json.encode(WORDINGS[version]))
    assert (words, digest(rendering(version).encode())) == GOLDEN[version]


@pytest.mark.parametrize("version", WORDINGS)
def test_words_that_came_later_are_not_edited_either(version: str) -> None:
    """R201, R196: a request for a title names its version, and is rebuilt with it."""
    *names, golden = ADDED[version]
    assert digest("".join(getattr(WORDINGS[version], name) for name in names).encode()) == golden


def test_a_conversation_keeps_the_wording_of_its_composition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R201: after a release with other words, an old composition is rendered with the old."""
    new = structs.replace(
        CURRENT,
        version="2",
        permissions="<p>{preset}{label}{policy}</p>",
        note_label="[new note]",
        skill_block="{name}{location}{body}",
    )
    kept = composition(bound=(skill("deploy"),))
    snapshot = snapshot_of(0, [skill("deploy"), skill("other")], 0, CURRENT)
    preset = PRESETS.strictest

    def sent(version: str) -> tuple[str, bytes]:
        named = structs.replace(kept, wording=version)
        system = render(named, preset, with_person=True).text
        return system, project_user(user("Go."), snapshot, (), named)

    before = sent("1")
    monkeypatch.setattr(wording, "WORDINGS", MappingProxyType({"1": CURRENT, "2": new}))
    assert sent("1") == before
    system, message = sent("2")
    assert system.endswith("</p>")
    assert b"[new note]" in message
    assert b"[platform note]" not in message
    assert b"<skill" not in message


def test_a_new_composition_names_the_current_wording() -> None:
    """R201: the new one comes with the next composition."""
    assert composition().wording == CURRENT.version


def test_a_wording_of_a_later_release_is_named() -> None:
    """R201: never rendered with other words instead."""
    with pytest.raises(StoreTooNew, match="'99'"):
        wording_of("99")


def test_one_line_is_one_line() -> None:
    """R4: a name with a line break cannot make a heading or an item of a list."""
    assert one_line(" a\n## b\t\r\nc ") == "a ## b c"
    assert one_line("\u2028\n") == ""


@given(st.text(st.sampled_from("a \t\n\r\v\x1c\x85\u2028\u00a0")))
def test_what_is_on_one_line_stays_as_it_is(text: str) -> None:
    """R4, R40: no break is left in it; and nothing else is changed, so that a path stays one."""
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert one_line(line) == line
    if len(text.splitlines()) <= 1:
        assert line == text.strip()
