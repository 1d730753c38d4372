"""Laws of the catalog: nothing before an approval, nothing beyond it, and nothing changed after."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.catalog import Catalog
from greenroom.protocol.composition import compose, encode_composition
from greenroom.protocol.contributor import Declaration, Owner, ToolFacts
from greenroom.protocol.errors import GreenroomError, InvalidInput, TooLarge
from greenroom.protocol.installed import TRUSTED, Terms, Use
from greenroom.protocol.limits import Limits
from greenroom.protocol.plugin import Plugin
from greenroom.protocol.refusal import (
    NotAsShown,
    NotAuthorized,
    UnknownPlugin,
    UntrustedPlugin,
    VersionTaken,
    WritesUnapproved,
)
from tests.protocol.plugin_samples import CLOCK, STANCE, bare, plugin, terms
from tests.protocol.prompt_samples import ingredients

NOW = 1_700_000_000_000


def offered(of: Plugin, before: Catalog | None = None, owner: Owner = "workspace") -> Catalog:
    """The catalog with a plugin proposed."""
    return (before or Catalog()).propose(of, terms(), owner=owner, at=NOW)


def agreed(catalog: Catalog, key: str, **fields: Any) -> Catalog:
    """The catalog with what is proposed approved as it is."""
    digest = catalog.proposal(key).digest
    return catalog.approve(key, digest, terms(by="ben", **fields), at=NOW + 1)


def in_use(of: Plugin, before: Catalog | None = None, owner: Owner = "workspace") -> Catalog:
    """The catalog with a plugin proposed and approved."""
    return agreed(offered(of, before, owner), of.key)


def declared(catalog: Catalog) -> tuple[Declaration, ...]:
    """All contributors of what is in use."""
    return tuple(each for one in catalog.active for each in one.proposal.contributors)


def saying(text: str, version: str = "1", **fields: Any) -> Plugin:
    """A version of the plugin that says this."""
    return bare(version, contributors=({**STANCE, "text": text, "version": version},), **fields)


def test_nothing_happens_before_an_approval() -> None:
    """R163: what is proposed can be read, and is not in use."""
    catalog = offered(plugin(hosts=("a.example",)))
    assert catalog.states == {"reviewer@1": "proposed"}
    assert (catalog.active, catalog.hosts) == ((), ())
    assert catalog.read("reviewer@1") == plugin(hosts=("a.example",))
    catalog = agreed(catalog, "reviewer@1")
    assert catalog.states == {"reviewer@1": "active"}
    assert [each.id for each in declared(catalog)] == [
        f"plugins/reviewer/{id_}" for id_ in ("clock", "load", "news", "stance")
    ]
    assert catalog.hosts == ("a.example",)


def test_an_approval_is_of_exactly_what_was_shown() -> None:
    """R163: by its digest, and by no other; who and when is on record."""
    catalog = offered(bare())
    digest = catalog.proposal("reviewer@1").digest
    other = catalog.propose(bare(), terms(), owner="author", at=NOW).proposal("reviewer@1").digest
    for wrong in ("", digest[:-1], digest.upper(), other):
        with pytest.raises(NotAsShown) as refusal:
            catalog.approve("reviewer@1", wrong, terms(), at=NOW)
        assert refusal.value.facts["digest"] == digest
    approved = agreed(catalog, "reviewer@1").decision("reviewer@1")
    assert (approved.act, approved.digest, approved.by, approved.at) == (
        "approve",
        digest,
        "ben",
        NOW + 1,
    )


def test_content_that_changed_since_is_not_approved() -> None:
    """R163: whatever changed it, what is approved is what is there."""
    catalog = offered(bare())
    digest = catalog.proposal("reviewer@1").digest
    changed = structs.replace(catalog, published={"reviewer@1": saying("Obey me.")})
    with pytest.raises(NotAsShown):
        changed.approve("reviewer@1", digest, terms(), at=NOW)
    assert "never changes" in changed.faults()["reviewer@1"]
    with pytest.raises(NotAsShown):
        agreed(changed, "reviewer@1")
    assert catalog.faults() == {}


def test_a_version_that_asks_for_more_waits_and_the_former_stays_in_use() -> None:
    """R164, P146: needs approval, shown as a difference; then it is in use."""
    catalog = offered(saying("Obey me.", "2"), in_use(saying("Be kind.")))
    assert catalog.states == {"reviewer@1": "active", "reviewer@2": "proposed"}
    [text] = declared(catalog)
    assert text.key == "plugins/reviewer/stance@1"
    difference = catalog.difference("reviewer@2")
    assert difference is not None
    assert difference.asks_more
    catalog = agreed(catalog, "reviewer@2")
    assert catalog.states == {"reviewer@1": "superseded", "reviewer@2": "active"}
    [text] = declared(catalog)
    assert text.key == "plugins/reviewer/stance@2"
    assert catalog.difference("reviewer@2") == difference
    assert catalog.read("reviewer@1") == saying("Be kind.")


def test_a_later_version_that_asks_for_no_more_is_an_update() -> None:
    """R164: in use at once, and on record as what it is; what it rests on was approved."""
    catalog = offered(
        bare("2", contributors=({**STANCE, "budget": 900, "version": "2"},)), in_use(bare())
    )
    assert catalog.states == {"reviewer@1": "superseded", "reviewer@2": "active"}
    assert [one.act for one in catalog.decisions] == ["propose", "approve", "propose", "update"]
    assert declared(catalog)[0].budget == 900


def test_what_asks_for_no_more_than_a_version_before_the_last_asks_for_more() -> None:
    """R164: what was taken out by an update does not come back by one."""
    whole = plugin(contributors=(STANCE, CLOCK), skills=(), texts={})
    less = bare("2", tools={"look": "read"})
    catalog = offered(less, in_use(whole))
    assert catalog.states["reviewer@2"] == "active"
    again = structs.replace(whole, manifest=structs.replace(whole.manifest, version="3"))
    assert offered(again, catalog).states["reviewer@3"] == "proposed"


@pytest.mark.parametrize("end", ["reject", "remove"])
def test_what_a_person_turned_down_is_no_update(end: str) -> None:
    """R164: it comes back by an approval only."""
    same = bare("2")
    catalog = offered(same, in_use(bare()))
    if end == "reject":
        catalog = offered(saying("No.", "2"), in_use(bare())).reject("reviewer@2", terms(), at=NOW)
        same = saying("No.", "2")
    else:
        catalog = catalog.remove("reviewer@2", terms(), at=NOW)
    catalog = offered(same, catalog)
    assert catalog.states == {"reviewer@1": "active", "reviewer@2": "proposed"}
    assert agreed(catalog, "reviewer@2").states["reviewer@2"] == "active"


def test_a_lower_version_is_no_update() -> None:
    """R164: what is older than what is in use waits, though it asks for the same."""
    catalog = offered(bare("1"), in_use(bare("2")))
    assert catalog.states == {"reviewer@1": "proposed", "reviewer@2": "active"}


def test_a_published_version_never_changes() -> None:
    """R138: proposed again it is the same, with other content it is refused, approved or not."""
    for catalog in (offered(bare()), in_use(bare())):
        assert offered(bare(), catalog) == catalog
        for other in (saying("Other."), bare(description="Other."), plugin()):
            with pytest.raises(VersionTaken, match="reviewer@1"):
                offered(other, catalog)


def test_a_contributors_version_never_changes_either() -> None:
    """R138: in whichever version of the plugin it comes again."""
    other = bare("2", contributors=({**STANCE, "text": "Other."},))
    with pytest.raises(VersionTaken, match="stance@1"):
        offered(other, offered(bare()))
    assert offered(bare("2"), offered(bare())).states == {
        "reviewer@1": "proposed",
        "reviewer@2": "proposed",
    }


def test_content_that_was_lost_comes_back_as_it_was() -> None:
    """R138: of a version that was turned down and deleted the digest is still known."""
    lost = structs.replace(offered(bare()).reject("reviewer@1", terms(), at=NOW), published={})
    assert lost.faults() == {}
    assert lost.states == {"reviewer@1": "rejected"}
    with pytest.raises(VersionTaken):
        offered(saying("Other."), lost)
    assert offered(bare(), lost).states == {"reviewer@1": "proposed"}


def test_what_is_wanted_and_is_not_there_is_a_fault() -> None:
    """R163: nothing stands in for it, and the rest goes on."""
    gone = structs.replace(in_use(bare()), published={})
    assert "not there" in gone.faults()["reviewer@1"]
    assert gone.active == ()
    assert gone.remove("reviewer@1", terms(), at=NOW).faults() == {}


def test_what_is_in_use_stays_its_owners() -> None:
    """R135: it is removed before it can be another's; what waits can be offered as another's."""
    with pytest.raises(VersionTaken, match="author"):
        offered(bare(), in_use(bare(), owner="author"))
    waiting = offered(bare(), offered(bare(), owner="author"))
    assert waiting.decision("reviewer@1").owner == "workspace"
    removed = in_use(bare(), owner="author").remove("reviewer@1", terms(), at=NOW)
    assert offered(bare(), removed).decision("reviewer@1").owner == "workspace"


def test_another_owner_is_never_an_update() -> None:
    """R164: what was approved for one authority is not for another."""
    catalog = offered(bare("2"), in_use(bare(), owner="author"), "workspace")
    assert catalog.states["reviewer@2"] == "proposed"


def test_what_is_removed_leaves_what_was_before_it() -> None:
    """R138, R164: the highest version below it that stands; all of it stays readable."""
    catalog = in_use(saying("Two.", "2"), in_use(saying("One.")))
    catalog = catalog.remove("reviewer@2", terms(), at=NOW)
    assert catalog.states == {"reviewer@1": "active", "reviewer@2": "removed"}
    catalog = catalog.remove("reviewer@1", terms(), at=NOW)
    assert catalog.active == ()
    assert catalog.read("reviewer@2") == saying("Two.", "2")


def test_a_step_that_is_none_is_refused() -> None:
    """R163: of what was never offered, and of what stands otherwise."""
    proposed, active = offered(bare()), in_use(bare())
    rejected = proposed.reject("reviewer@1", terms(), at=NOW)
    digest = proposed.proposal("reviewer@1").digest
    steps: list[Callable[[], Catalog]] = [
        lambda: Catalog().approve("reviewer@1", digest, terms(), at=NOW),
        lambda: rejected.approve("reviewer@1", digest, terms(), at=NOW),
        lambda: rejected.reject("reviewer@1", terms(), at=NOW),
        lambda: active.reject("reviewer@1", terms(), at=NOW),
        lambda: proposed.remove("reviewer@1", terms(), at=NOW),
        lambda: proposed.remove("reviewer@2", terms(), at=NOW),
    ]
    for step in steps:
        with pytest.raises(UnknownPlugin):
            step()
    for read in (proposed.read, proposed.proposal, proposed.difference, proposed.decision):
        with pytest.raises(UnknownPlugin):
            read("gone@1")
    assert active.approve("reviewer@1", digest, terms(), at=NOW) == active


@pytest.mark.parametrize("owner", ["operator", "workspace", "author", "person"])
def test_the_owners_authority_is_asked(owner: Owner) -> None:
    """R135: of an approval, a rejection, a removal and an update; a proposal asks nothing."""
    asked: list[Use] = []

    def authority(answer: bool) -> Callable[[Use], bool]:
        def decide(use: Use) -> bool:
            asked.append(use)
            return answer

        return decide

    yes, no = (Terms(by="eve", authorities={owner: authority(answer)}) for answer in (True, False))
    made = [
        bare(version, contributors=({**STANCE, "placement": "person"},)) for version in ("1", "2")
    ]
    proposed = Catalog().propose(made[0], no, owner=owner, at=NOW)
    digest = proposed.proposal("reviewer@1").digest
    assert asked == []
    for under in (no, Terms(by="eve", authorities={})):
        with pytest.raises(NotAuthorized):
            proposed.approve("reviewer@1", digest, under, at=NOW)
        with pytest.raises(NotAuthorized):
            proposed.reject("reviewer@1", under, at=NOW)
    active = proposed.approve("reviewer@1", digest, yes, at=NOW)
    assert asked[-1] == Use("approve", "plugins/reviewer@1", owner, "eve")
    with pytest.raises(NotAuthorized):
        active.remove("reviewer@1", no, at=NOW)
    assert active.propose(made[1], no, owner=owner, at=NOW).states["reviewer@2"] == "proposed"
    assert asked[-1] == Use("add", "plugins/reviewer@2", owner, "eve")
    assert active.propose(made[1], yes, owner=owner, at=NOW).states["reviewer@2"] == "active"


def test_a_strangers_plugin_is_refused_what_it_may_not() -> None:
    """R165: when it is proposed; nothing of it is kept."""
    writes = bare(contributors=(CLOCK,), tools={"look": "write"})
    with pytest.raises(UntrustedPlugin):
        offered(writes, owner="author")
    trusted = in_use(writes)
    assert trusted.active[0].proposal.writing_runs == {"plugins/reviewer/clock@1"}


def test_what_tools_do_is_looked_at_again_when_it_is_approved() -> None:
    """R149: a host may know by then that a tool writes."""
    catalog = offered(bare(contributors=(CLOCK,), tools={"look": "read"}))
    with pytest.raises(WritesUnapproved):
        agreed(catalog, "reviewer@1", tools={"look": ToolFacts("write")})


def test_there_is_a_bound_on_what_is_offered() -> None:
    """R194: with the bound named; what was offered already is no news."""
    few = terms(limits=Limits(plugins_max=1))
    catalog = Catalog().propose(bare(), few, owner="workspace", at=NOW)
    with pytest.raises(TooLarge, match="1"):
        catalog.propose(bare("2"), few, owner="workspace", at=NOW)
    assert catalog.propose(bare(), few, owner="workspace", at=NOW) == catalog


@pytest.mark.parametrize("by", ["", "a\0", "\ud83d"])
def test_who_decides_has_a_name(by: str) -> None:
    """R135, R194: a record that names nobody is none."""
    with pytest.raises(InvalidInput):
        Catalog().propose(bare(), terms(by=by), owner="workspace", at=NOW)


def test_a_catalog_is_plain_data() -> None:
    """R138: it can be kept and read back, with everything that was ever offered."""
    catalog = in_use(saying("Two.", "2"), in_use(plugin()))
    assert msgspec.json.decode(msgspec.json.encode(catalog), type=Catalog) == catalog


def test_a_refusal_leaves_everything_as_it_was() -> None:
    """R163: a value is never changed; what is refused is no part of another one."""
    catalog = in_use(bare())
    before = msgspec.json.encode(catalog, order="deterministic")
    for bad in (bare("2", hosts=("a/b",)), saying("Other."), saying("{now}", "2")):
        with pytest.raises(GreenroomError):
            offered(bad, catalog)
    assert msgspec.json.encode(catalog, order="deterministic") == before


# --- whatever the order --------------------------------------------------------------------------

ONE = saying("One.", id="one")
VERSIONS = [
    saying("First."),
    saying("Second.", "2", description="x"),
    saying("Third.", "3"),
    ONE,
    structs.replace(ONE, manifest=structs.replace(ONE.manifest, version="1.1")),  # an update
    saying("Other.", id="other"),
]


def composed(catalog: Catalog) -> bytes:
    """What a conversation is composed to with what is in use."""
    return encode_composition(compose(ingredients(extra=declared(catalog))))


@given(order=st.permutations(range(len(VERSIONS))), early=st.sets(st.integers(0, 5)))
def test_no_order_of_proposing_and_approving_moves_a_byte(
    order: list[int], early: set[int]
) -> None:
    """R63, R163: some are approved as they come and some at the end; the prompt is the same."""
    catalog = Catalog()
    late: list[str] = []
    for number in order:
        catalog = offered(VERSIONS[number], catalog)
        key = VERSIONS[number].key
        if number in early:
            catalog = agreed(catalog, key)
        else:
            late.append(key)
    for key in late:
        catalog = agreed(catalog, key)
    expected = Catalog()
    for version in VERSIONS:
        expected = in_use(version, expected)
    assert composed(catalog) == composed(expected)
    assert {key for key, state in catalog.states.items() if state == "active"} == {
        "reviewer@3",
        "one@1.1",
        "other@1",
    }


def test_authorities_of_a_workspace_trust_whoever_writes_it() -> None:
    """R135: the samples above ask those."""
    assert terms().authorities == TRUSTED
