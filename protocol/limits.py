"""The upper bound of every queue, count and size, in one frozen value with defaults."""

import msgspec


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
    """Turns running at once in one host; more wait in fair order (R185)."""
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
    project_instructions_bytes_max: int = 262_144
    """Project instruction files of one session, all together."""
    record_bytes_max: int = 67_108_864
    """One commit of one session, encoded."""
    tool_seconds_max: float = 600.0
    """How long one tool call may run unless the tool says otherwise."""
    model_seconds_max: float = 1_800.0
    """How long one model call may take, retries of the provider included."""
    settle_seconds_max: float = 30.0
    """How long a cancelled or stopping turn may take to settle."""
    idle_seconds: float = 300.0
    """After this long without anything to do a session is passivated (R184)."""
    output_tokens_reserve: int = 4_096
    """Room kept in the model's window for its answer (R100)."""
    safety_share: float = 0.05
    """Share of the window kept free because counts are estimates (R100)."""


DEFAULT_LIMITS = Limits()
