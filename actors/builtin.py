"""The tools that greenroom brings: the time, skills, long results, and tools on demand.

They see the session only through :class:`~greenroom.actors.tool.Surroundings`. Their results are
ordinary tool results: no snapshot and no expansion comes of them (R42).
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from greenroom.actors.text_range import LENGTH_DEFAULT, LENGTH_MAX, range_of, shown_range
from greenroom.actors.tool import Output, Surroundings, Tool, ToolContext, declarations, tool
from greenroom.actors.tool_text import check_arguments, in_short
from greenroom.protocol.errors import BadArguments, SkillUnavailable, ToolFailed
from greenroom.protocol.identity import SkillId
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.skill import PinnedSkill, SkillPackage, SkillSummary, package_revision

USE_TOOL: Final = "use_tool"
"""The one tool through which those on demand are called."""
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_PATHS_MAX: Final = 200
"""Further files that are named with a skill."""
_NAMES_MAX: Final = 64
"""Names in one sentence, and places in a path that are tried."""
_SHOWN_MAX: Final = 200
"""Characters of a name that are repeated to the model."""


def builtin_tools(now: Callable[[], int]) -> tuple[Tool[object], ...]:
    """All built-in tools; ``now`` gives milliseconds since 1970 (UTC), as ``World.now`` does."""

    @tool(effect="read")
    async def get_current_time() -> str:
        """Tell the date and time now, in UTC, with the day of the week."""
        moment = _EPOCH + timedelta(milliseconds=now())
        return f"{moment:%Y-%m-%dT%H:%M:%SZ} ({moment:%A})"

    return (get_current_time, load_skill, load_tools, read_object, use_tool)


# --- skills and long results ---------------------------------------------------------------------


@tool(effect="read")
async def load_skill(context: ToolContext[object], name: str) -> Output:
    """Load a skill: its instructions, and the paths of its further files.

    Args:
        name: the skill, as the list of available skills calls it.
    """
    around = _surroundings(context)
    kept = around.kept_skill(name)
    if kept is not None:
        return Output(shown_pinned(kept), skill=kept.id, revision=kept.revision)
    package = await _current(around, _given(around, name))
    revision = package_revision(package.files)
    return Output(shown_package(package), skill=package.summary.id, revision=revision)


def shown_package(package: SkillPackage) -> str:
    """What ``load_skill`` returns of a current revision; an eager load shows the same (R143)."""
    paths = package.files.keys() - {package.main}
    first = f"[skill {package.summary.name}: current revision {package_revision(package.files)}]"
    return _shown(first, package.body, package.summary.location, paths)


def shown_pinned(skill: PinnedSkill) -> str:
    """What ``load_skill`` returns of a skill that is kept or pinned: that very revision (R202)."""
    ahead = {skill.reference.path} if skill.reference else set()
    first = f"[skill {skill.name}: kept revision {skill.revision}]"
    return _shown(first, skill.body, skill.location, ahead | set(skill.paths))


def _shown(first: str, body: str, location: str, paths: Iterable[str]) -> str:
    lines, paths = [first, body], sorted(paths)
    if paths:
        lines += ["", "Further files, for read_object:"]
        lines += [f"- {location}/{path}" for path in paths[:_PATHS_MAX]]
    if len(paths) > _PATHS_MAX:
        lines.append(f"- and {len(paths) - _PATHS_MAX} more")
    return "\n".join(lines)


@tool(effect="read")
async def read_object(
    context: ToolContext[object],
    path: str,
    start: Annotated[int, Meta(ge=0)] = 0,
    length: Annotated[int, Meta(ge=1, le=LENGTH_MAX)] = LENGTH_DEFAULT,
) -> Output:
    """Read a file of a skill, or a long tool result of which only the head was shown.

    Args:
        path: the file as the skill lists it, or the handle that stands with the result's head.
        start: the byte to begin at.
        length: how many bytes to read.
    """
    around = _surroundings(context)
    data, what, skill, revision = around.object(path), path, None, ""
    if data is None:
        data, what, skill, revision = await _skill_file(around, path)
    part = range_of(data, start, length, path)
    return Output(shown_range(part, what), part.mended, skill=skill, revision=revision)


def shown_file(data: bytes, path: str, revision: str) -> str:
    """What ``read_object`` returns of a kept skill's file; an eager load shows the same (R143)."""
    return shown_range(range_of(data, 0, LENGTH_DEFAULT, path), _of_kept(path, revision))


def _of_kept(path: str, revision: str) -> str:
    return f"{path}, kept revision {revision}"


async def _skill_file(around: Surroundings, path: str) -> tuple[bytes, str, SkillId, str]:
    """A file of a skill, what to call it, whose and of which revision; a kept one first (R202)."""
    places = [i for i, sign in enumerate(path) if sign == "/"]
    for place in reversed(places[:_NAMES_MAX]):
        skill, file = path[:place], path[place + 1 :]
        kept = around.kept_skill(skill)
        if kept is not None:
            data = around.kept_file(kept, file)
            if data is None:
                raise ToolFailed(_no_file(kept.name, file, kept.paths))
            return data, _of_kept(path, kept.revision), kept.id, kept.revision
        found = _matches(around.skills(), skill)
        if found:
            package = await _current(around, _only(found, skill))
            if file not in package.files:
                raise ToolFailed(_no_file(package.summary.name, file, tuple(package.files)))
            revision = package_revision(package.files)
            what = f"{path}, current revision {revision}"
            return package.files[file], what, package.summary.id, revision
    raise ToolFailed(f"There is no result and no skill file {quoted(path, PATH_MAX)} to read here.")


def _no_file(skill: str, file: str, paths: tuple[str, ...]) -> str:
    known = ", ".join(sorted(paths)[:_NAMES_MAX]) or "none"
    return f"The skill {skill} has no file {quoted(file, PATH_MAX)}; its files are: {known}."


def _given(around: Surroundings, name: str) -> SkillSummary:
    """The one skill that is meant, of those the session was given (R20)."""
    found = _matches(around.skills(), name)
    if not found:
        known = ", ".join(skill.name for skill in around.skills()[:_NAMES_MAX]) or "none"
        raise ToolFailed(f"There is no skill {quoted(name, PATH_MAX)} here; there are: {known}.")
    return _only(found, name)


def _matches(skills: tuple[SkillSummary, ...], name: str) -> list[SkillSummary]:
    """Skills of that id, or else of that slug, or else of that name."""
    for attribute in ("id", "slug", "name"):
        found = [skill for skill in skills if getattr(skill, attribute) == name]
        if found:
            return found
    return []


def _only(found: list[SkillSummary], name: str) -> SkillSummary:
    if len(found) > 1:
        ids = ", ".join(skill.id for skill in found)
        raise ToolFailed(f"Several skills are called {name!r}; name one of them by its id: {ids}.")
    return found[0]


async def _current(around: Surroundings, skill: SkillSummary) -> SkillPackage:
    try:
        return await around.current_skill(skill.id)
    except SkillUnavailable as error:
        raise ToolFailed(error.sentence) from error


# --- tools on demand -----------------------------------------------------------------------------


@tool(effect="read")
async def load_tools(
    context: ToolContext[object], names: Annotated[list[str], Meta(min_length=1, max_length=64)]
) -> str:
    """Get the declarations of further tools. They are then called through use_tool.

    Args:
        names: the tools to get.
    """
    known = _surroundings(context).on_demand()
    missing = [name for name in names if name not in known]
    if missing:
        raise ToolFailed(f"There is no tool {', '.join(missing)[:_SHOWN_MAX]}; {_choices(known)}")
    return shown_tools([known[name] for name in dict.fromkeys(names)])


def shown_tools(tools: list[Tool[Any]]) -> str:
    """What ``load_tools`` returns: canonical bytes, for eager loads too (R195, R214)."""
    return f"Call these with {USE_TOOL}(name, arguments):\n{declarations(tools).decode()}"


@tool(effect="read")
async def use_tool(name: str, arguments: dict[str, Any] | None = None) -> str:
    """Call a tool whose declaration came from load_tools.

    Args:
        name: the tool.
        arguments: its arguments, as it declares them.
    """
    # The door resolves it before anything is decided; it is never run itself (R216).
    del arguments
    raise ToolFailed(f"{USE_TOOL} was not resolved to {quoted(name, PATH_MAX)}.")


class _Used(msgspec.Struct, forbid_unknown_fields=True):
    """A call through ``use_tool``, the inner arguments exactly as the model wrote them."""

    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


_used: Final = msgspec.json.Decoder(_Used)


def resolve(
    called: Tool[Any], arguments: str, on_demand: Mapping[str, Tool[Any]]
) -> tuple[Tool[Any], str]:
    """The tool that is really called, and its arguments: what the door decides about (R216).

    Any tool but ``use_tool`` is itself. Gates, effect, intent and digest are those of what this
    returns; the inner arguments are the bytes that the model wrote.

    Raises:
        BadArguments: no call of a tool, or of one that is not on demand.
    """
    if called is not use_tool:
        return called, arguments
    check_arguments(arguments)
    try:
        used = _used.decode(arguments)
        inner = bytes(used.arguments).decode()
        if inner.startswith('"'):
            # Some models write the inner object as a text of JSON.
            inner = msgspec.json.decode(inner, type=str)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadArguments(f"This is no call of a tool: {in_short(error)}.") from error
    found = on_demand.get(used.name)
    if found is None:
        raise BadArguments(
            f"There is no tool {quoted(used.name, PATH_MAX)} on demand; {_choices(on_demand)}"
        )
    return found, "{}" if inner == "null" else inner


def _choices(known: Mapping[str, object]) -> str:
    names = sorted(known)[:_NAMES_MAX]
    return f"there are: {', '.join(names)}." if names else "there are none."


def _surroundings(context: ToolContext[object]) -> Surroundings:
    if context.surroundings is None:
        raise ToolFailed("This tool works only inside a session.")
    return context.surroundings
