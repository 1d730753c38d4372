"""Laws of gates and egress: they only tighten, and what a turn committed to has one name."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.argument import Like
from greenroom.protocol.errors import InvalidInput, StoreDamaged, TooLarge
from greenroom.protocol.gate import (
    Commitment,
    Egress,
    Gate,
    GateInForce,
    GateTable,
    ToolFacts,
    check_egress,
    check_gates,
    committed_to,
    decide_call,
    decode_commitment,
    encode_commitment,
    gate_set_digest,
    looks_at,
)
from greenroom.protocol.limits import Limits
from greenroom.protocol.permission import PRESETS, Decision, decide

READ_ONLY, WORKSPACE, FULL = PRESETS
STRICTNESS: Sequence[Decision] = ("allow", "ask", "refuse")
REFUND = ToolFacts("refund", "write", defaults={"currency": "eur"})
FETCH = ToolFacts("fetch", "read", hosts=("url", "more.hosts"))


def gate(decision: Decision = "refuse", tool: str = "refund", **told: Any) -> Gate:
    return Gate(tool=tool, decision=decision, **told)


def under(*gates: Gate, egress: Egress | None = None, preset: Any = FULL) -> Commitment:
    return committed_to(preset, egress, [GateInForce("workspace", each) for each in gates])


# --- deciding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "arguments", "decision"),
    [
        (gate(), {}, "refuse"),
        (gate(tool="ref*"), {}, "refuse"),
        (gate(tool="*"), {}, "refuse"),
        (gate(tool="ref"), {}, "allow"),
        (gate(tool="refunds*"), {}, "allow"),
        (gate(where={"cents": 7}), {"cents": 7}, "refuse"),
        (gate(where={"cents": 7}), {"cents": 8}, "allow"),
        (gate(where={"cents": 7}), {}, "allow"),
        (gate(where={"cents": (7, 8)}), {"cents": 8}, "refuse"),
        (gate(where={"cents": 7, "note": Like("*x*")}), {"cents": 7, "note": "axb"}, "refuse"),
        (gate(where={"cents": 7, "note": Like("*x*")}), {"cents": 7, "note": "b"}, "allow"),
        (gate(where={"currency": "eur"}), {}, "refuse"),
        (gate(where={"currency": "eur"}), {"currency": "usd"}, "allow"),
        (gate("allow"), {}, "allow"),
        (gate("ask"), {}, "ask"),
    ],
)
def test_a_gate_is_about_certain_calls(
    made: Gate, arguments: dict[str, Any], decision: Decision
) -> None:
    """R155: by tool and argument; an argument that is left out is what the tool says it is then."""
    assert decide_call(under(made), REFUND, arguments).decision == decision


def test_a_gate_that_allows_permits_nothing() -> None:
    # R3, R155
    for preset in PRESETS:
        alone = decide(preset, "write")
        assert decide_call(under(gate("allow"), preset=preset), REFUND, {}).decision == alone


@pytest.mark.parametrize("preset", list(PRESETS), ids=lambda preset: preset.id)
def test_the_question_of_a_gate_is_asked_under_every_preset(preset: Any) -> None:
    """R7: also under one that never asks; there, what the preset itself forbids stays refused."""
    assert decide_call(under(gate("ask"), preset=preset), REFUND, {}).decision == "ask"
    quiet = msgspec.structs.replace(preset, asks=False)
    expected = "refuse" if decide(quiet, "write") == "refuse" else "ask"
    assert decide_call(under(gate("ask"), preset=quiet), REFUND, {}).decision == expected


def test_hosts_outside_the_list_are_refused_wherever_they_stand() -> None:
    # R158
    egress = Egress(("a.example", "*.b.example"))

    def fate(**arguments: Any) -> tuple[str, str]:
        return decide_call(under(egress=egress), FETCH, arguments)

    assert fate(url="https://a.example/x")[0] == "allow"
    assert fate(url="https://a.example", more={"hosts": ["x.b.example", "a.example"]})[0] == "allow"
    assert fate()[0] == fate(url=None)[0] == fate(url="")[0] == "allow"
    decision, reason = fate(url="https://evil.example/x")
    assert decision == "refuse"
    assert "evil.example" in reason
    assert "read anew with each turn" in reason
    assert fate(url="https://a.example", more={"hosts": ["x.b.example", "evil"]})[0] == "refuse"
    told = fate(url="https://a.example@evil.example")
    assert told == ("refuse", "Not run: url names no host that can be told.")
    assert fate(url=["https://a.example", 7])[0] == "refuse"
    # Without a list any host will do, and a tool that names none is not asked about any.
    assert decide_call(under(), FETCH, {"url": "https://evil.example"}).decision == "allow"
    assert decide_call(under(egress=Egress(())), REFUND, {"url": "evil"}).decision == "allow"
    assert decide_call(under(egress=Egress(())), FETCH, {"url": "a.example"}).decision == "refuse"


def test_a_refusal_says_whose_it_is_and_that_policy_may_be_newer_than_the_prompt() -> None:
    # R156
    ours = GateInForce("workspace", gate(reason="No refunds on Sundays."))
    theirs = GateInForce("skills/refunds", gate(reason="Closed."))
    asks = GateInForce("skills/refunds", gate("ask", reason="Only this."))
    decision, reason = decide_call(committed_to(FULL, None, [ours, theirs, asks]), REFUND, {})
    assert decision == "refuse"
    assert "a gate of the workspace refuses this call of refund now" in reason
    assert "a gate of the skill skills/refunds refuses" in reason
    assert "though it may still be described: policy is read anew with each turn" in reason
    assert reason.count("No refunds on Sundays.") == reason.count("Closed.") == 1
    assert "Only this" not in reason
    assert decide_call(committed_to(FULL, None, [asks]), REFUND, {}) == ("ask", "Only this.")


def test_what_a_preset_alone_forbids_is_told_as_before() -> None:
    # R2, R7
    quiet = msgspec.structs.replace(READ_ONLY, asks=False)
    told = decide_call(Commitment(quiet), REFUND)
    assert told.decision == "refuse"
    assert (
        told.reason == "Not run: refund would change things, which the preset 'read-only' forbids."
    )


def test_arguments_are_asked_for_only_where_they_count() -> None:
    """R155: a turn without gates never reads what a call says."""
    assert not looks_at(under(), FETCH)
    assert not looks_at(under(gate()), FETCH)
    assert not looks_at(under(egress=Egress(())), REFUND)
    assert looks_at(under(egress=Egress(())), FETCH)
    assert looks_at(under(gate(tool="fe*")), FETCH)


decisions = st.sampled_from(STRICTNESS)
tools = st.sampled_from(["refund", "ref*", "*", "fetch", "other"])
wheres = st.dictionaries(
    st.sampled_from(["cents", "currency"]), st.sampled_from([7, "eur", Like("e*")]), max_size=2
)
gates = st.builds(lambda tool, says, where: gate(says, tool, where=where), tools, decisions, wheres)
calls = st.dictionaries(
    st.sampled_from(["cents", "currency"]), st.sampled_from([7, 8, "eur", "usd"])
)
egresses = st.none() | st.lists(st.sampled_from(["a.example", "*.b.example"])).map(
    lambda hosts: Egress(tuple(hosts))
)
presets = st.sampled_from([*PRESETS, *(msgspec.structs.replace(p, asks=False) for p in PRESETS)])
urls = st.sampled_from([None, "https://a.example", "https://x.b.example", "evil.example", "@"])


@given(presets, egresses, st.lists(gates, max_size=6), calls, urls)
def test_the_strictest_wins_and_more_policy_only_tightens(
    preset: Any,
    egress: Egress | None,
    some: list[Gate],
    arguments: dict[str, Any],
    url: str | None,
) -> None:
    """R3, R155: what holds is the strictest of what each part says alone, in whatever order."""
    for tool in (REFUND, FETCH):
        given = {**arguments, "url": url}
        alone = [decide(preset, tool.effect)]
        alone += [decide_call(under(each, preset=FULL), tool, given).decision for each in some]
        alone += [decide_call(under(egress=egress, preset=FULL), tool, given).decision]
        if tool is REFUND:
            # FULL allows a write, so that each gate is heard alone.
            assert decide(FULL, tool.effect) == "allow"
        whole = under(*some, egress=egress, preset=preset)
        fate = decide_call(whole, tool, given)
        assert fate.decision == max(alone, key=STRICTNESS.index)
        backwards = under(*reversed(some), egress=egress, preset=preset)
        assert decide_call(backwards, tool, given) == fate
        fewer = decide_call(under(*some[1:], egress=egress, preset=preset), tool, given)
        assert STRICTNESS.index(fewer.decision) <= STRICTNESS.index(fate.decision)


# --- committing ----------------------------------------------------------------------------------


@given(presets, egresses, st.lists(gates, max_size=6))
def test_equal_policy_has_one_name_and_is_read_back(
    preset: Any, egress: Egress | None, some: list[Gate]
) -> None:
    """R77: whatever order it was read in; and the content under the digest is the policy."""
    one = under(*some, egress=egress, preset=preset)
    again = under(*some[::-1], *some, egress=egress, preset=preset)
    assert encode_commitment(one) == encode_commitment(again)
    assert decode_commitment(encode_commitment(one)) == one


def test_a_list_of_hosts_is_one_however_it_is_written() -> None:
    """R77, R155: its order, and what stands in it twice, is no policy."""
    one = under(egress=Egress(("a.example", "*.b.example")))
    again = under(egress=Egress(("*.b.example", "a.example", "*.b.example")))
    assert encode_commitment(one) == encode_commitment(again)


def test_a_reason_is_told_once() -> None:
    """R155, R156: refused alike by several gates, one is told once, and nothing of what allows."""
    some = [gate(where={"currency": at}, reason="Not today.") for at in ("eur", Like("e*"))]
    allowed = gate("allow", reason="Why not.")
    verdict = decide_call(under(*some, allowed), REFUND, {})
    assert verdict.decision == "refuse"
    assert verdict.reason.count("Not today.") == 1
    assert "Why not." not in verdict.reason


def test_other_policy_has_another_name() -> None:
    """R77: also where only the preset's own table changed under the same id (P143)."""
    some = [
        under(),
        under(preset=READ_ONLY),
        under(preset=msgspec.structs.replace(FULL, write="ask")),
        under(gate()),
        under(gate(reason="Why.")),
        under(egress=Egress(())),
        committed_to(FULL, None, [GateInForce("skills/x", gate())]),
    ]
    digests = {gate_set_digest(encode_commitment(each)) for each in some}
    assert len(digests) == len(some)


def test_a_table_gives_the_gates_of_the_skills_that_count() -> None:
    # R155
    table = GateTable((gate(),), Egress(("a.example",)), {"s/a": (gate("ask"),), "s/b": (gate(),)})
    both = table.in_force(READ_ONLY, {"s/a", "s/c"})
    assert {each.source for each in both.gates} == {"workspace", "s/a"}
    assert (both.preset, both.egress) == (READ_ONLY, table.egress)
    assert not both.is_bare
    assert GateTable().in_force(READ_ONLY, {"s/a"}).is_bare


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 2_000])
def test_what_is_no_commitment_is_damage(data: bytes) -> None:
    # R92
    with pytest.raises(StoreDamaged):
        decode_commitment(data)


# --- declaring -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        {"tool": "refund", "decision": "ask", "when": "always"},
        {"tool": "refund", "decision": "permit"},
        {"tool": "refund"},
        {"decision": "ask"},
        {"kind": "fence", "tool": "refund", "decision": "ask"},
        {"tool": "refund", "decision": "ask", "where": {"a": {"above": 7}}},
        {"tool": "refund", "decision": "ask", "where": {"a": {"like": "x", "or": "y"}}},
        {"tool": "refund", "decision": "ask", "where": {"a": [[7]]}},
        {"tool": "refund", "decision": "ask", "where": ["a"]},
    ],
)
def test_unknown_words_are_refused_where_a_gate_is_read(told: dict[str, Any]) -> None:
    """R131: a fixed vocabulary; what cannot be understood is never passed over."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(told, Gate)


@pytest.mark.parametrize(
    "made",
    [
        gate(tool=""),
        gate(tool="a b"),
        gate(tool="a*b"),
        gate(tool="**"),
        gate(tool="a" * 65),
        gate(where={"": 7}),
        gate(where={"a..b": 7}),
        gate(where={"a": float("nan")}),
        gate(where={"a": 2**63}),
        gate(where={"a": "\ud800"}),
        gate(where={"a": Like("\0")}),
        gate(reason="\0"),
        gate(tool=7),  # type: ignore[arg-type]
        gate("maybe"),  # type: ignore[arg-type]
        gate(where={"a": print}),
        "refund",
    ],
)
def test_a_gate_that_could_not_be_kept_or_would_do_nothing_is_refused(made: Any) -> None:
    # R131, R194
    with pytest.raises(InvalidInput):
        check_gates([made])


def test_gates_and_hosts_have_bounds() -> None:
    # R194
    limits = Limits(gates_max=2, egress_hosts_max=2)
    assert len(check_gates([gate(), gate()], limits)) == 2
    with pytest.raises(TooLarge, match="3 gates; the bound is 2"):
        check_gates([gate()] * 3, limits)
    assert check_egress(Egress(("A.example", "b")), limits) == Egress(("a.example", "b"))
    with pytest.raises(TooLarge, match="3 hosts; the bound is 2"):
        check_egress(Egress(("a", "b", "c")), limits)
    with pytest.raises(InvalidInput):
        check_egress(Egress(("https://a",)), limits)
    with pytest.raises(InvalidInput, match="not a list"):
        check_egress(["a"])  # type: ignore[arg-type]
