"""What callers hand in is looked at here, once: after it everything is what its type says.

A wrong type, a negative place or a name that cannot be stored is refused with a sentence that names
it (R194). What a person sends as content is checked in :mod:`greenroom.actors.content`.
"""

from collections.abc import Mapping

from greenroom.actors.models.port import Capabilities, Model
from greenroom.actors.workspace import Workspace
from greenroom.protocol.errors import InvalidInput, Mismatch, Rewound, SameName
from greenroom.protocol.filter import Filter
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId, check_name, check_text
from greenroom.protocol.limits import Limits
from greenroom.protocol.receipt import Cursor
from greenroom.protocol.titling import is_break
from greenroom.store.contract import Store


def check_names(limits: Limits, **names: str | None) -> None:
    """Check names that may be left out, by what they name (R194).

    Raises:
        InvalidInput, TooLarge: not text, empty, not storable, or too long.
    """
    for what, name in names.items():
        if name is not None:
            check_name(name, what.replace("_", " "), limits)


def check_skills(skills: object) -> tuple[str, ...]:
    """The explicit picks of a message, as they were given.

    Raises:
        InvalidInput: no list or tuple of texts. One text is no list of its letters.
    """
    if not isinstance(skills, list | tuple):
        raise InvalidInput("Skills are a list of ids or slugs.", what="skills")
    for skill in skills:
        if not isinstance(skill, str):
            raise InvalidInput(f"A skill is no {type(skill).__name__}.", what="skills")
        check_name(skill, "skill id")
    return tuple(skills)


def check_labels(labels: object, limits: Limits) -> dict[str, str]:
    """The labels of a session: names with texts, none of them empty.

    Raises:
        InvalidInput, TooLarge: no mapping, or a name or a value that cannot be stored.
    """
    if labels is None:
        return {}
    if not isinstance(labels, Mapping):
        raise InvalidInput("Labels are a mapping of names to texts.", what="labels")
    for each in (*labels, *labels.values()):
        check_name(each, "label", limits)
    return dict(labels)


def check_title(title: object, limits: Limits) -> None:
    """Check a person's title; None is none (R194).

    Raises:
        InvalidInput: no text, a blank one, or one that cannot be shown as it is on one line.
        TooLarge: longer than ``limits.title_bytes_max``.
    """
    if title is None:
        return
    if not isinstance(title, str) or not title.strip():
        raise InvalidInput("A title is a text that is not blank; None is none.", what="title")
    check_text(title, "title", limits.title_bytes_max)
    if any(map(is_break, title)):
        raise InvalidInput("A title is one line, without control characters.", what="title")


def check_filter(
    limits: Limits,
    tenant: str | None,
    *,
    skill: str | None = None,
    labels: object = None,
    **names: str | None,
) -> Filter:
    """Which sessions are meant, by the parts of a :class:`Filter`.

    Raises:
        InvalidInput, TooLarge: a name or a label that cannot be stored.
    """
    check_names(limits, skill=skill, **names)
    # Skills lie below this folder, made in code or not.
    skill = f"skills/{skill}" if skill is not None and "/" not in skill else skill
    return Filter(tenant=tenant, skill=skill, labels=check_labels(labels, limits), **names)


def check_number(number: object, what: str) -> int:
    """A whole number, such as that of a turn. Raises ``InvalidInput``."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidInput(f"The {what} must be a whole number.", what=what)
    return number


def check_cursor(after: object, store: Store) -> None:
    """Check where a reader wants to go on (R222, R237).

    Raises:
        InvalidInput: it is no cursor at all.
        Rewound: it is of another incarnation of the store, or of no commit that it has.
    """
    if after is None:
        return
    if not isinstance(after, Cursor):
        raise InvalidInput("Events are read after a Cursor; Cursor.parse reads one.", what="after")
    incarnation = store.incarnation
    if after.incarnation != incarnation:
        raise Rewound(
            f"The cursor is of {after.incarnation!r}; the store is {incarnation!r} now.",
            incarnation=incarnation,
        )
    number, index = check_number(after.number, "cursor"), check_number(after.index, "cursor")
    if number < 0 or index < 0 or number > store.last_number():
        raise Rewound(f"The store has no commit {number}.", incarnation=incarnation)


def check_models(models: object) -> dict[str, Model]:
    """The models of a host, by the names that agents use.

    Raises:
        InvalidInput: there is none, or one that lacks a part of the port.
        SameName: two models of one provider's name can do different things, so that what is kept
            under that name would be measured by the wrong window.
    """
    if not isinstance(models, Mapping) or not models:
        raise InvalidInput("A host needs models: a mapping of names to them.", what="models")
    seen: dict[str, Capabilities] = {}
    for key, model in models.items():
        check_name(key, "model's name")
        name, can = getattr(model, "name", None), getattr(model, "capabilities", None)
        if not isinstance(can, Capabilities) or not callable(getattr(model, "respond", None)):
            raise InvalidInput(f"What stands under {key!r} is no model.", what="models", model=key)
        check_name(name, "name that a provider gives a model")
        if seen.setdefault(str(name), can) != can:
            raise SameName(f"Two models are named {name!r} and differ.", name=name)
    return dict(models)


def check_workspace(workspace: object) -> None:
    """What agents and skills come from. Raises ``InvalidInput``."""
    if not isinstance(workspace, Workspace):
        raise InvalidInput(
            f"A host is opened over a Workspace, not a {type(workspace).__name__}; "
            "Workspace.folder reads one.",
            what="workspace",
        )


def check_parts(store: object, workspace: object) -> None:
    """What a host is opened over. Raises ``InvalidInput``."""
    check_workspace(workspace)
    if isinstance(store, str):
        check_name(store, "path of the store")
    elif not hasattr(store, "__fspath__") and not hasattr(store, "offer"):
        raise InvalidInput(
            f"A host is opened over a store or the path of one, not a {type(store).__name__}.",
            what="store",
        )


def check_same(session: SessionId, header: Header, agent: str | None, person: str | None) -> None:
    """Raise :class:`Mismatch` for another agent or person than stored (R219)."""
    for what, asked, stored in (
        ("agent", agent, header.agent),
        ("person", person, header.person),
    ):
        if asked is not None and asked != stored:
            raise Mismatch(
                f"The session {session} is of the {what} {stored!r}, not {asked!r}.",
                stored=stored,
                asked=asked,
            )
