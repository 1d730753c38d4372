"""Skills: what one is, its revision, and what of it is pinned when it is picked.

A skill is a package of files with a body (SKILL.md without its front matter). Its revision is the
digest of the whole package, so an edit of any file is another revision (R25). A skill that is bound
or picked is *pinned*: read once, whole, and shown from that reading ever after.
"""

import hashlib
from collections.abc import Mapping

import msgspec
from msgspec import structs

from greenroom.protocol.errors import InvalidInput, TooLarge
from greenroom.protocol.identity import SkillId, Slug, check_name, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.wording import Wording, one_line

INDEX = "index.md"
"""The main reference file of a package that has one (R39)."""


class SkillSummary(msgspec.Struct, frozen=True):
    """A skill as a picker and the catalog show it: no body (R69, R99)."""

    id: SkillId
    slug: Slug
    name: str
    description: str
    location: str = ""
    """Where the package lies, as the model is told: within the workspace, never a machine path."""


class SkillPackage(msgspec.Struct, frozen=True):
    """A skill read from its source: every file of the package, once."""

    summary: SkillSummary
    body: str
    """Instructions: the main file without its front matter."""
    files: Mapping[str, bytes]
    """Path within the package → bytes; the main file is among them."""
    main: str = "SKILL.md"
    """The path of the main file, which the body came from."""


class Reference(msgspec.Struct, frozen=True, gc=False):
    """The main reference file, read ahead (R39)."""

    path: str
    text: str
    cut: bool = False


class PinnedSkill(msgspec.Struct, frozen=True):
    """One skill as a composition or a snapshot keeps it: all that R33 to R41 need."""

    id: SkillId
    slug: Slug
    name: str
    location: str
    revision: str
    """SHA-256 of the package, hexadecimal."""
    body: str
    body_digest: str
    reference: Reference | None
    paths: tuple[str, ...]
    """The other files, by path, for read_object (R40)."""
    files: str = ""
    """The digest of the stored package manifest (path → blob digest), for R202."""


def package_revision(files: Mapping[str, bytes]) -> str:
    """SHA-256 over the canonical list of (path, bytes) of a whole package (R25)."""
    digest = hashlib.sha256()
    for path in sorted(files):
        name, data = path.encode(), files[path]
        digest.update(b"%d:%b%d:" % (len(name), name, len(data)))
        digest.update(data)
    return digest.hexdigest()


def package_manifest(files: Mapping[str, bytes]) -> bytes:
    """The canonical list of a package's files: path → SHA-256 of its bytes, as JSON (R202)."""
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    return msgspec.json.encode(digests, order="deterministic")


def pin(package: SkillPackage, limits: Limits = DEFAULT_LIMITS, *, spent: int = 0) -> PinnedSkill:
    """Pin a package as it was read: body, main reference file, and the paths of the rest.

    The body is kept without the white space around it.

    Args:
        package: every file of the skill.
        limits: bounds of package and read-ahead.
        spent: bytes of read-ahead that skills before this one took of the message's bound (R39).

    Raises:
        InvalidInput: a body, name or path that cannot be stored.
        TooLarge: more files or bytes than the bounds allow.
    """
    summary, files = package.summary, package.files
    body = package.body.strip()
    _check(package, limits)
    reference = _main_reference(package)
    shown = {package.main, reference.path if reference else package.main}
    pinned = PinnedSkill(
        id=summary.id,
        slug=summary.slug,
        name=summary.name,
        location=summary.location,
        revision=package_revision(files),
        body=body,
        body_digest=hashlib.sha256(body.encode()).hexdigest(),
        reference=reference,
        paths=tuple(path for path in sorted(files) if path not in shown),
        files=hashlib.sha256(package_manifest(files)).hexdigest(),
    )
    return capped(pinned, limits, spent=spent)


def capped(skill: PinnedSkill, limits: Limits = DEFAULT_LIMITS, *, spent: int = 0) -> PinnedSkill:
    """``skill`` with its read-ahead cut to its own bound and to what is left of the message's.

    A file of which nothing is left is listed with the others instead (R39, R200).
    """
    reference = skill.reference
    if reference is None:
        return skill
    room = min(limits.reference_bytes_max, limits.references_bytes_max - spent)
    text = cut_text(reference.text, room)
    if len(text) == len(reference.text):
        return skill
    if not text:
        paths = tuple(sorted((*skill.paths, reference.path)))
        return structs.replace(skill, reference=None, paths=paths)
    return structs.replace(skill, reference=Reference(reference.path, text, cut=True))


def cut_text(text: str, bytes_max: int) -> str:
    """The longest beginning of ``text`` that has at most ``bytes_max`` bytes of UTF-8 (P126)."""
    if bytes_max <= 0:
        return ""
    if len(text) * 4 <= bytes_max:
        return text
    data = text.encode()
    # Only a character that the cut went through can be ignored: the text itself was valid.
    return text if len(data) <= bytes_max else data[:bytes_max].decode(errors="ignore")


def is_listable(path: str) -> bool:
    """Whether a path can be shown as it is, and be read back by what was shown (R40)."""
    return one_line(path) == path


def render_block(skill: PinnedSkill, wording: Wording) -> str:
    """The ``<skill>`` block that is shown before the person's words (R33).

    Attribute values are escaped, the body is carried as it is: whatever tags it holds are text,
    for nothing ever reads a rendered block back (R4).
    """
    return wording.skill_block.format(
        name=escaped(skill.name), location=escaped(skill.location), body=skill.body
    )


def escaped(value: str) -> str:
    """``value`` as it may stand between the quotes of an attribute."""
    return value.translate(_ESCAPES)


_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\n": "&#10;",
        "\r": "&#13;",
        "\t": "&#9;",
    }
)


def _main_reference(package: SkillPackage) -> Reference | None:
    """The whole text of the file to read ahead: the index, or else what the body names first."""
    candidates = sorted(
        (offset, -len(path), path)
        for path in package.files
        if path != package.main and (offset := _offset_of(path, package.body)) is not None
    )
    for _, _, path in candidates:
        text = _as_text(package.files[path])
        if text is not None:
            return Reference(path, text)
    return None


def _offset_of(path: str, body: str) -> int | None:
    """Where ``body`` names ``path``; the index stands before everything."""
    if path == INDEX:
        return -1
    offset = body.find(path)
    return None if offset < 0 else offset


def _as_text(data: bytes) -> str | None:
    """``data`` as text that a message can carry, if it is that."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _check(package: SkillPackage, limits: Limits) -> None:
    """Refuse a package that cannot be kept."""
    what = f"package of skill {package.summary.id!r}"
    count, size = len(package.files), sum(map(len, package.files.values()))
    if count > limits.skill_files_max:
        raise TooLarge(
            f"The {what} has {count:,} files; the bound is {limits.skill_files_max:,}.",
            files=count,
            bound=limits.skill_files_max,
        )
    if size > limits.skill_bytes_max:
        raise TooLarge(
            f"The {what} has {size:,} bytes; the bound is {limits.skill_bytes_max:,}.",
            bytes=size,
            bound=limits.skill_bytes_max,
        )
    if package.files and package.main not in package.files:
        raise InvalidInput(f"The {what} lacks its main file {package.main!r}.", what=what)
    check_text(package.body, f"body in the {what}", limits.skill_bytes_max)
    for path in (package.summary.name, package.summary.slug, *package.files):
        check_name(path, f"name in the {what}", limits)
    for path in (package.summary.id, package.summary.location, *package.files):
        if not is_listable(path):
            raise InvalidInput(
                f"The path {path!r} in the {what} does not stand on one line as it is.", what=what
            )
