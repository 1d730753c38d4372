"""Laws of comparing two requests: the byte is the first that differs, and its owner holds it."""

from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.composition import ToolDeclaration, canonical_tools
from greenroom.protocol.explain import SHOWN, explain
from greenroom.protocol.rebuild import SentRequest
from tests.protocol.prompt_samples import composition, note, skill, text
from tests.protocol.request_samples import ANN, BEN, Told, beside, said, sent
from tests.protocol.test_pieces import holds

WORDS = st.sampled_from(["Hi.", "Hi. And", "é", "ê", "\n\n", '"', "x" * 100, "x" * 99 + "é"])


@st.composite
def histories(draw: st.DrawFn) -> list[Told]:
    """What is sent of a conversation: its messages, and what stands among them."""
    told: list[Told] = []
    messages = 0
    for kind in draw(st.lists(st.sampled_from(["user", "assistant", "note", "eager"]), max_size=5)):
        words = draw(WORDS)
        if kind in ("user", "assistant"):
            told.append(said(words, messages, by=kind))
            messages += 1
        else:
            told.append(
                beside("note", words, "pause@1")
                if kind == "note"
                else beside("eager", words, "clock@1")
            )
    return told


@st.composite
def requests(draw: st.DrawFn) -> SentRequest:
    """One of many requests that have much in common, as those of one store have."""
    person = draw(st.sampled_from([None, "ada", "ben"]))
    names = draw(st.sets(st.sampled_from(["look", "ask"])))
    version, words = draw(st.sampled_from([("1", "Pence."), ("2", "Pence.\n\nEUR."), ("3", "P")]))
    extra = [text("money", words, version=version), text("tone"), note("pause")]
    kept = composition(
        extra=tuple(draw(st.permutations(extra))[: draw(st.integers(1, 3))]),
        bound=tuple(draw(st.permutations([skill("plan"), skill("act")]))),
        person=person,
        person_text=f"{person} counts." if person else "",
        model=draw(st.sampled_from(["m1", "m1", "m1", "m10"])),
        tools=canonical_tools([ToolDeclaration(n, draw(WORDS), {}) for n in sorted(names)]),
        parameters=draw(st.sampled_from([b"{}", b"{}", b'{"top_k":1}'])),
    )
    return sent(
        *draw(histories()),
        kept=kept,
        person=person,
        preset=draw(st.sampled_from(["read-only", "workspace-write"])),
        session=draw(st.sampled_from([ANN, BEN])),
    )


@given(first=requests(), second=requests(), cut=st.none() | st.integers(0, 5))
def test_the_byte_is_the_first_that_differs_and_the_part_holds_it(
    first: SentRequest, second: SentRequest, cut: int | None
) -> None:
    """R197: of any two requests, and P083: a prefix that moved is told by its first byte."""
    if cut is not None:  # the same kept prompt, and a history that grew or not
        bodies = list(first.request.messages)[:cut]
        told = list(zip(first.sources, bodies, strict=False))
        second = sent(*told, kept=first.composition, preset=first.preset, person=first.person)
    one, other = first.request.canonical(), second.request.canonical()
    found = explain(first, second)
    assert found.sizes == (len(one), len(other))
    assert one[: found.common] == other[: found.common]
    if found.why == "equal":
        assert one == other
        return
    assert one[found.common] != other[found.common]
    assert found.sides is not None
    for side, request in zip(found.sides, (first, second), strict=True):
        assert side.piece.start <= found.common < side.piece.start + side.piece.size
        assert holds(request, side.piece)
    assert found.part in [side.piece for side in found.sides]
    assert found.sentence.endswith(".")


@given(first=requests(), second=requests())
def test_the_other_way_round_it_is_the_same_place(first: SentRequest, second: SentRequest) -> None:
    """R197: which of two is called the first decides nothing but the direction of the words."""
    found, turned = explain(first, second), explain(second, first)
    assert (found.common, found.why) == (turned.common, turned.why)
    assert found.sizes == turned.sizes[::-1]


@given(request=requests())
def test_a_request_differs_from_itself_in_nothing(request: SentRequest) -> None:
    """R197: nothing moved."""
    found = explain(request, request)
    assert (found.why, found.part, found.sides) == ("equal", None, None)
    assert found.common == len(request.request.canonical())


def test_words_at_the_place_are_whole_characters() -> None:
    """R197: the byte may be inside of one; what is shown is text."""
    first, second = sent(said("abcé", 0)), sent(said("abcê", 0))
    found = explain(first, second)
    assert found.sides is not None
    assert [side.shown[0] for side in found.sides] == ["é", "ê"]
    assert first.request.canonical()[found.common] == "é".encode()[1]
    assert found.before.endswith("abc")
    assert len(found.before.encode()) <= SHOWN + 3


def test_what_lies_behind_the_place_is_told_too() -> None:
    """R197: another preset stands in front; that the history grew and a note moved is not lost."""
    first = sent(said("Hi.", 0), kept=composition(extra=(note("pause"),)))
    second = sent(said("Hi.", 0), kept=composition(extra=()), preset="workspace-write")
    found = explain(first, second)
    assert found.why == "preset"
    assert [each.id for each in found.moved.removed] == ["pause"]
