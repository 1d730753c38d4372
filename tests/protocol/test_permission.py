"""Laws of the presets: what is enforced, and what is said of it."""

from itertools import product

import pytest

from greenroom.protocol.errors import InvalidInput, SameName, UnknownPreset
from greenroom.protocol.permission import (
    PRESETS,
    Decision,
    Preset,
    PresetTable,
    decide,
    permissions_section,
    strictest_of,
)
from greenroom.protocol.turn import Effect
from greenroom.protocol.wording import CURRENT

READ_ONLY, WORKSPACE, FULL = PRESETS


def test_the_shipped_table_is_the_agreed_one() -> None:
    """R7: read-only asks, workspace-write asks, danger-full-access never asks."""
    assert [(preset.id, preset.asks) for preset in PRESETS] == [
        ("read-only", True),
        ("workspace-write", True),
        ("danger-full-access", False),
    ]


def test_the_strictest_is_what_nobody_chose() -> None:
    """R7: a new session without a choice is read-only."""
    assert PRESETS.strictest.id == "read-only"


@pytest.mark.parametrize(
    ("preset", "effect", "confined", "decision"),
    [
        (READ_ONLY, "read", False, "allow"),
        (READ_ONLY, "write", True, "ask"),
        (READ_ONLY, "write", False, "ask"),
        (READ_ONLY, "idempotent", True, "ask"),
        (WORKSPACE, "read", False, "allow"),
        (WORKSPACE, "write", True, "allow"),
        (WORKSPACE, "write", False, "ask"),
        (WORKSPACE, "idempotent", False, "ask"),
        (FULL, "write", False, "allow"),
        (FULL, "idempotent", True, "allow"),
    ],
)
def test_a_preset_decides_by_what_the_tool_does(
    preset: Preset, effect: Effect, *, confined: bool, decision: Decision
) -> None:
    """R2, R7: the decision is a function of preset and effect; no text goes in."""
    assert decide(preset, effect, confined=confined) == decision


def test_a_preset_that_never_asks_refuses_without_a_question() -> None:
    """R7: `never` means that what the preset itself forbids is refused."""
    quiet = Preset(id="q", label="", policy="", confined_write="ask", write="refuse", asks=False)
    effects: tuple[Effect, ...] = ("write", "idempotent")
    answers = {
        decide(quiet, e, confined=confined) for e, confined in product(effects, (True, False))
    }
    assert answers == {"refuse"}
    assert decide(quiet, "read") == "allow"


def test_where_several_have_a_say_the_strictest_wins() -> None:
    """R155: refuse, then ask, then allow, whatever the order."""
    assert strictest_of([]) == "allow"
    assert strictest_of(["allow", "ask"]) == strictest_of(["ask", "allow"]) == "ask"
    assert strictest_of(["allow", "refuse", "ask"]) == "refuse"


def test_an_unknown_preset_is_refused_with_the_choices() -> None:
    """R10: the message names what there is."""
    with pytest.raises(UnknownPreset, match="read-only, workspace-write, danger-full-access"):
        PRESETS.get("root")
    assert PRESETS.get("workspace-write") is WORKSPACE


def test_a_table_that_would_begin_too_loosely_is_refused() -> None:
    """R7: the first is what new sessions get, so none may be stricter."""
    with pytest.raises(InvalidInput, match="stricter"):
        PresetTable((FULL, READ_ONLY))
    with pytest.raises(InvalidInput):
        PresetTable(())
    with pytest.raises(SameName):
        PresetTable((READ_ONLY, READ_ONLY))


def test_a_host_may_bring_its_own_table() -> None:
    """R7: presets that cannot be compared may stand in any order."""
    silent = Preset(
        id="silent", label="", policy="", confined_write="allow", write="refuse", asks=False
    )
    assert PresetTable((silent, READ_ONLY)).strictest is silent


def test_the_section_names_the_preset_and_its_policy() -> None:
    """R11, R15: it states the policy in force, and the one sentence that supersedes others."""
    sections = [permissions_section(preset, CURRENT) for preset in PRESETS]
    sentence = "supersedes all earlier guidance on permissions."
    for preset, section in zip(PRESETS, sections, strict=True):
        assert section.startswith("<permissions>\n")
        assert section.endswith("\n</permissions>")
        assert preset.id in section
        assert preset.policy in section
        assert section.count(sentence) == 1
    assert len({section[: section.index(sentence)] for section in sections}) == 1


def test_braces_in_a_policy_are_words() -> None:
    """R4: a host's text is carried as it is."""
    preset = Preset(id="x", label="{label}", policy="{policy}", confined_write="ask", write="ask")
    assert "Preset: x ({label}). {policy}" in permissions_section(preset, CURRENT)
