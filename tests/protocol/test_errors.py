"""Errors as an interface: stable codes, a way out each, and facts that travel."""

import inspect
import pickle
from copy import copy

import pytest

from greenroom.protocol import errors, refusal
from greenroom.protocol.errors import GreenroomError, ModelFailed, Refused, StoreFailed

CLASSES = [
    each
    for module in (errors, refusal)
    for _, each in inspect.getmembers(module, inspect.isclass)
    if issubclass(each, GreenroomError) and each.__module__ == module.__name__
]
FAMILIES = ("Refused", "ModelFailed", "StoreFailed", "SessionFailed")

CODES = {
    "AmbiguousSkill": ("ambiguous_skill", 400),
    "BadArguments": ("bad_arguments", 500),
    "BadExport": ("bad_export", 400),
    "BadTool": ("bad_tool", 400),
    "BrokenMetadata": ("broken_metadata", 409),
    "BrokenWorkspace": ("broken_workspace", 400),
    "Busy": ("busy", 409),
    "ContributorOverBudget": ("contributor_over_budget", 413),
    "EmptyMessage": ("empty_message", 400),
    "EngineFailed": ("engine_failed", 503),
    "ExportTooNew": ("export_too_new", 400),
    "ExtraMissing": ("extra_missing", 501),
    "GreenroomError": ("greenroom", 500),
    "Held": ("held", 409),
    "HostFull": ("host_full", 503),
    "IllegalStep": ("illegal_step", 409),
    "InvalidInput": ("invalid_input", 400),
    "KeyReused": ("key_reused", 409),
    "Mismatch": ("mismatch", 409),
    "Missing": ("missing", 404),
    "ModelFailed": ("model_failed", 502),
    "NotAStore": ("not_a_store", 400),
    "NotAuthorized": ("not_authorized", 403),
    "OverBudget": ("over_budget", 413),
    "OverQuota": ("over_quota", 429),
    "PendingSave": ("pending_save", 409),
    "QueueFull": ("queue_full", 429),
    "QuotaFailed": ("quota_failed", 503),
    "Refused": ("refused", 400),
    "Rewound": ("rewound", 410),
    "SameName": ("same_name", 409),
    "SaveFailed": ("save_failed", 503),
    "SessionFailed": ("session_failed", 500),
    "SessionLost": ("session_lost", 500),
    "SetAside": ("set_aside", 500),
    "SkillNotGiven": ("skill_not_given", 404),
    "SkillUnavailable": ("skill_unavailable", 409),
    "StoreClosed": ("store_closed", 503),
    "StoreDamaged": ("store_damaged", 503),
    "StoreFailed": ("store_failed", 503),
    "StoreFull": ("store_full", 507),
    "StoreTaken": ("store_taken", 409),
    "StoreTooNew": ("store_too_new", 503),
    "StoreUnavailable": ("store_unavailable", 503),
    "TooLarge": ("too_large", 413),
    "ToolFailed": ("tool_failed", 500),
    "TurnFailed": ("turn_failed", 500),
    "UnknownAgent": ("unknown_agent", 404),
    "UnknownContributor": ("unknown_contributor", 404),
    "UnknownModel": ("unknown_model", 400),
    "UnknownPreset": ("unknown_preset", 400),
    "UnknownTool": ("unknown_tool", 400),
    "VersionTaken": ("version_taken", 409),
    "WouldWaitForItself": ("would_wait_for_itself", 409),
    "WritesUnapproved": ("writes_unapproved", 403),
    "WrongLoop": ("wrong_loop", 400),
    "WrongPlacement": ("wrong_placement", 400),
}
"""What programs rely on: a line is added for a new error, and none is ever changed (R232)."""


@pytest.mark.parametrize("name", CODES)
def test_codes_and_statuses_stay(name: str) -> None:
    """R232: a program that knows a code goes on knowing it."""
    kind = getattr(errors, name, None) or getattr(refusal, name)
    assert (kind.code, kind.status) == CODES[name]


def test_no_two_errors_share_a_code() -> None:
    """R232: a code names one error."""
    codes = [each.__dict__.get("code") for each in CLASSES]
    assert None not in codes, "an error without a code of its own"
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_error_says_what_to_do(kind: type[GreenroomError]) -> None:
    """R232: a sentence of its own that a person can act on, and a status that fits its family."""
    assert kind.__doc__
    assert kind.way_out[0].isupper()
    assert kind.way_out.endswith(".")
    assert "way_out" in kind.__dict__
    assert any(base.__name__ in FAMILIES for base in kind.__mro__) or kind is GreenroomError
    client = issubclass(kind, Refused) and kind.status not in (501, 503)
    assert (400 <= kind.status < 500) is client or issubclass(kind, StoreFailed)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_travels_whole(kind: type[GreenroomError]) -> None:
    """R232: sentence, facts and way out survive a process border; the text shows both sentences."""
    error = kind("The thing failed.", thing="this", bound=7)
    for again in (pickle.loads(pickle.dumps(error)), copy(error)):
        assert type(again) is kind
        assert (again.sentence, again.facts) == (error.sentence, error.facts)
        assert str(again) == str(error) == f"The thing failed. {kind.way_out}"
    assert error.facts["bound"] == 7


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_whoever_raises_may_know_a_way_out_that_fits_better(kind: type[GreenroomError]) -> None:
    """R232: it stands instead of the kind's, travels with the error, and is no fact."""
    error = kind("The thing failed.", way_out="Mend the thing.", thing="this")
    for each in (error, pickle.loads(pickle.dumps(error)), copy(error)):
        assert str(each) == "The thing failed. Mend the thing."
        assert each.facts == error.facts
        assert "way_out" not in each.facts
    assert str(kind("The thing failed.")) == f"The thing failed. {kind.way_out}"


def test_a_sentence_that_ends_with_a_list_gets_no_blank() -> None:
    """R102, R231: the way out stands at the beginning of its line."""
    assert str(Refused("Two faults:\n- a\n- b\n")) == f"Two faults:\n- a\n- b\n{Refused.way_out}"


def test_a_model_failure_says_whether_it_may_pass() -> None:
    """R179: as attributes and as facts."""
    error = ModelFailed("Too many.", temporary=True, retry_after=2.5)
    assert (error.temporary, error.retry_after) == (True, 2.5)
    assert error.facts == {"temporary": True, "retry_after": 2.5}
