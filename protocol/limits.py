"""The upper bound of every queue, count and size, in one frozen value with defaults."""

from typing import Final

import msgspec

from greenroom.protocol.errors import InvalidInput


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a host. A value over its bound is refused with a typed error that names it.

    Units stand last in each name: ``bytes``, ``seconds``, ``tokens`` or a count.
    """

    name_bytes_max: int = 65_536
    """Session keys, tenants, agents, persons, labels: any script, any length up to this (R194)."""
    message_bytes_max: int = 1_048_576
    """One message of a person with all its blocks, as UTF-8."""
    message_parts_max: int = 256
    """Blocks in one message."""
    value_depth_max: int = 64
    """Nesting of any structured value: well under what a JSON decoder survives anywhere."""
    picks_max: int = 8
    """Skills picked with one message (R21)."""
    queued_messages_max: int = 1_000
    """Messages waiting in one session's gateway (R128)."""
    live_sessions_max: int = 100_000
    """Sessions active in memory at once."""
    running_turns_max: int = 20_000
    """Turns running at once in one host; more wait in fair order (R185).

    One whose tools wait for another session is not counted meanwhile, and then goes on at once.
    """
    summary_attempts_max: int = 2
    """How often a model is asked for one summary until it gives one that serves (R109)."""
    title_bytes_max: int = 200
    """A session's title, as UTF-8: a person's over it is refused, one that is made is cut."""
    title_messages_max: int = 3
    """Of how many messages a title is made, the first with words (R95)."""
    title_words_bytes_max: int = 4_096
    """How much of their words, as UTF-8."""
    title_attempts_max: int = 3
    """How often a model is asked for the title of one session in vain (R96)."""
    title_seconds_max: float = 60.0
    """How long it may take to answer."""
    titles_max: int = 4
    """Titles that are asked for at once in one host; the others wait."""
    rounds_max: int = 100
    """Model calls in one turn."""
    steers_max: int = 200
    """Messages that may steer into one turn."""
    calls_max: int = 128
    """Tool calls in one response."""
    response_bytes_max: int = 8_388_608
    """One response of a model, as received."""
    arguments_bytes_max: int = 1_048_576
    """Arguments of one tool call, as received."""
    result_bytes_max: int = 65_536
    """A longer tool result is kept once by content hash; the model gets its head (R193)."""
    result_head_bytes: int = 8_192
    """How much of a spilled result the model sees."""
    object_bytes_max: int = 67_108_864
    """The largest tool result or attachment that is kept at all."""
    reference_bytes_max: int = 16_384
    """Read-ahead of one skill's main reference file (R39)."""
    references_bytes_max: int = 32_768
    """Read-ahead of all skills picked with one message (R39)."""
    skill_bytes_max: int = 16_777_216
    """All files of one skill package."""
    skill_files_max: int = 2_000
    """Files of one skill package."""
    gates_max: int = 1_000
    """Gates of one file, a workspace's or a skill's (R155)."""
    egress_hosts_max: int = 1_000
    """Hosts in a workspace's egress list (R158)."""
    holds_max: int = 1_000
    """Holds in force at once in one store (R159)."""
    recompositions_max: int = 1_000
    """Recompositions at once in one store that sessions may not know of yet (R239)."""
    resumed_per_second: float = 100.0
    """How many sessions with something to do go on in a second after a hold is lifted (R239)."""
    project_instructions_bytes_max: int = 262_144
    """Project instruction files of one session, all together."""
    plugin_bytes_max: int = 16_777_216
    """All files of one plugin, unpacked."""
    plugin_file_bytes_max: int = 1_048_576
    """One file of a plugin: whoever approves it is shown all of it."""
    plugin_files_max: int = 2_000
    """Files and folders of one plugin."""
    plugins_max: int = 256
    """Versions of plugins that one workspace was ever offered."""
    contributors_max: int = 1_000
    """Versions of contributors that one workspace has published."""
    record_bytes_max: int = 67_108_864
    """One commit of one session, encoded."""
    export_line_bytes_max: int = 100_663_296
    """One line of an export that is read: room for any content that is kept, in base64."""
    import_bytes_max: int = 134_217_728
    """All lines of an export that is read (R191).

    It becomes a session in one transaction, behind which the commits of others wait: measured at
    this bound and the next one, 0.8 s where two cores were free, 1.4 s where they were not.
    """
    import_commits_max: int = 50_000
    """Commits in an export that is read: those of more than ten thousand turns."""
    tool_seconds_max: float = 600.0
    """How long one tool call may run unless the tool says otherwise."""
    model_seconds_max: float = 1_800.0
    """How long one model call may take, retries of the provider included."""
    settle_seconds_max: float = 30.0
    """How long a cancelled or stopping turn may take to settle."""
    overdue_seconds: float = 5.0
    """How often it is looked whether a question has waited too long (R223)."""
    idle_seconds: float = 300.0
    """After this long without anything to do a session is passivated (R184)."""
    output_tokens_reserve: int = 4_096
    """Room kept in the model's window for its answer (R100)."""
    safety_share: float = 0.05
    """Share of the window kept free because counts are estimates (R100)."""


DEFAULT_LIMITS = Limits()

_MAY_BE_ZERO: Final = frozenset(
    (
        "picks_max",
        "queued_messages_max",
        "steers_max",
        "calls_max",
        "result_head_bytes",
        "reference_bytes_max",
        "references_bytes_max",
        "project_instructions_bytes_max",
        "output_tokens_reserve",
        "safety_share",
    )
)
"""Bounds that may forbid a thing altogether; a host without any of the others cannot work."""
_COUNT_MAX: Final = 2**53
"""The largest integer that every reader of JSON understands."""


def check_limits(limits: object) -> Limits:
    """Return ``limits`` if a host can be opened with them.

    Raises:
        InvalidInput: no :class:`Limits`, or a field that is no number of its kind, or that is
            negative, zero where that forbids everything, or too large; it is named with its value.
    """
    if not isinstance(limits, Limits):
        raise InvalidInput(f"Limits are a Limits, not a {type(limits).__name__}.", what="limits")
    for field in msgspec.structs.fields(Limits):
        value = getattr(limits, field.name)
        if not _is_bound(field.name, field.type, value):
            raise InvalidInput(
                f"Limits.{field.name} cannot be {str(value)[:80]}.", what=field.name, value=value
            )
    return limits


def _is_bound(name: str, kind: object, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return False
    least_fits = value >= 0 if name in _MAY_BE_ZERO else value > 0
    # Not a number is neither; seconds may be without end, a share of the whole is less than it.
    most_fits = value < 1 if name == "safety_share" else kind is float or value <= _COUNT_MAX
    return least_fits and most_fits
