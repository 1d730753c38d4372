"""Kept prompts: one object for all sessions that share one."""

import pytest

from greenroom.actors import kept_prompt
from greenroom.actors.kept_prompt import Kept, KeptPrompts
from greenroom.protocol.budget import Budget, TokenEstimate, budget_of
from greenroom.protocol.composition import (
    Composition,
    SystemString,
    composition_digest,
    encode_composition,
)
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.permission import PRESETS
from tests.protocol.prompt_samples import composition as composed

READ_ONLY, _, FULL = PRESETS


def budget(composition: Composition, system: SystemString) -> Budget:
    return budget_of(composition, system, TokenEstimate(3.0), 128_000, DEFAULT_LIMITS)


def kept_of(prompts: KeptPrompts, composition: Composition) -> Kept:
    encoded = encode_composition(composition)
    return prompts.of(composition, encoded, composition_digest(encoded))


def test_equal_compositions_are_one() -> None:
    """R56: shared when all of it is equal, and only then."""
    prompts = KeptPrompts(budget)
    one, same, other = (kept_of(prompts, composed(model=m)) for m in ("a", "a", "b"))
    assert one is same
    assert one is not other


def test_a_stored_one_is_read_by_digest() -> None:
    """R61: what another process sends is the same to the byte."""
    here, there = KeptPrompts(budget), KeptPrompts(budget)
    kept = kept_of(here, composed())
    again = there.stored(kept.digest, {kept.digest: kept.encoded}.get)
    assert (again.composition, again.encoded) == (kept.composition, kept.encoded)
    assert again is there.stored(kept.digest, lambda _: pytest.fail("read twice"))
    with pytest.raises(StoreDamaged):
        KeptPrompts(budget).stored(kept.digest, lambda _: None)


def test_the_preset_is_a_tail() -> None:
    """R17, R57: under another preset the kept bytes are the same; each is rendered once."""
    kept = kept_of(KeptPrompts(budget), composed())
    full = kept.under(FULL, with_person=False)
    assert kept.under(FULL, with_person=False) is full
    other = kept.under(READ_ONLY, with_person=False)
    assert other.frame != full.frame
    tail = full.system.text.index("<permissions>")
    assert other.system.text[:tail] == full.system.text[:tail]


def test_memory_for_sharing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """R128: the oldest is forgotten; who uses it keeps it."""
    monkeypatch.setattr(kept_prompt, "COMPOSITIONS_MAX", 2)
    prompts = KeptPrompts(budget)
    first = kept_of(prompts, composed(model="a"))
    for model in "bc":
        kept_of(prompts, composed(model=model))
    assert kept_of(prompts, composed(model="a")) is not first
