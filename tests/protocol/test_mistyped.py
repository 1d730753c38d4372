"""Whoever mistypes a declaration is told the choices, as far as its types know them (R131)."""

import msgspec
import pytest

from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.contributor import Declaration
from greenroom.protocol.gate import Gate
from greenroom.protocol.mistyped import mistyped

GATES = tuple[Gate, ...]
NOTE = {"kind": "note", "id": "n", "version": "1", "owner": "workspace", "placement": "message"}


@pytest.mark.parametrize(
    ("type_", "value", "told"),
    [
        (Declaration, {"kind": "txt"}, "it is one of: text, eager_load, eager_run, note"),
        (
            Declaration,
            {"kind": "note", "placement": "agent"},
            "`$.placement`; it is one of: message",
        ),
        (Declaration, {"kind": "text", "version": 1}, "`$.version`; put it in quotes"),
        (Declaration, {"kind": "text", "version": 1.5}, "`$.version`; put it in quotes"),
        (
            Declaration,
            {**NOTE, "text": "", "condition": {"kind": "later"}},
            "it is one of: time_elapsed, date_crossed, version_changed",
        ),
        (
            Declaration,
            {"kind": "note", "condition": {"kind": "time_elapsed", "hours": 1}},
            "`$.condition`; there are: seconds",
        ),
        (GATES, [{"tool": "pay", "decision": "deny"}], "`$[0].decision`; it is one of: allow, ask"),
        (GATES, [{"tol": "pay"}], "`$[0]`; there are: decision, reason, tool, where"),
        (
            GATES,
            [{"tool": "pay", "decision": "ask", "where": {"to": {"lik": "a"}}}],
            "`$[0].where[...]`; there are: like",
        ),
        (dict[str, int], {False: 1}, "YAML reads on, off, yes and no as true and false"),
    ],
)
def test_the_sentence_has_the_place_and_what_would_do_there(
    type_: type, value: object, told: str
) -> None:
    """R131: what is refused names the value, its place and the choices."""
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, type_)
    assert told in mistyped(caught.value, value, type_)


def test_fields_that_are_not_written_there_are_no_choice() -> None:
    """The name of an agent is its file's, so a head that misspells a key is not offered it."""
    value = {"name": "a", "prompt": "b", "skill": []}
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, AgentDeclaration)
    told = mistyped(caught.value, value, AgentDeclaration, ("name", "prompt"))
    assert "there are: available, contributors, description" in told
    assert "name," not in told


def test_what_has_no_choices_is_told_as_it_is() -> None:
    """A wrong type or a missing field says all that there is to say."""
    for value in ({"kind": "text"}, {}, {"kind": "text", "priority": "x"}):
        with pytest.raises(msgspec.ValidationError) as caught:
            msgspec.convert(value, Declaration)
        assert mistyped(caught.value, value, Declaration) == str(caught.value)
