"""A Markdown file with a head of YAML: who reads it strictly, and who leniently.

What people publish as skills is often not quite YAML (a colon in a description is enough), so a
skill's head is salvaged line by line where YAML gives up. What a workspace's owner writes about an
agent or a person is read strictly: a slip there must not pass for a choice.
"""

import importlib
import re
from typing import Any, Final

import attrs

from greenroom.protocol.errors import ExtraMissing, InvalidInput

HEAD_CHARACTERS_MAX: Final = 65_536
"""A head longer than this is refused: YAML is read slowly."""
_FENCE: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_LINE: Final = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)


@attrs.frozen(slots=True)
class Page:
    """A file as it was read: its head, its body, and whether the head had to be salvaged."""

    head: dict[str, Any]
    body: str
    salvaged: str = ""
    """Why YAML gave up; empty if it did not."""


def decoded(data: bytes) -> str:
    """The text of a file, with lines ended by a line feed. Raises :class:`InvalidInput`."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"It is not UTF-8 text: byte {error.start} fits no character.") from None


def page_of(data: bytes, *, lenient: bool = False) -> Page:
    """Split and read a file; without a head all of it is body.

    Raises:
        InvalidInput: not UTF-8, a head that does not end or is too long, YAML that cannot be read
            (leniently: and no line of it either).
        ExtraMissing: PyYAML is not installed.
    """
    text = decoded(data)
    first = _FENCE.match(text)
    if first is None:
        return Page({}, text.strip("\n"))
    last = _FENCE.search(text, first.end())
    if last is None:
        raise InvalidInput("Its head begins with --- and has no second --- line.")
    head, body = text[first.end() : last.start()], text[last.end() :].strip("\n")
    try:
        return Page(yaml_mapping(head), body)
    except InvalidInput as error:
        salvaged = {key: _unquoted(value) for key, value in _LINE.findall(head)}
        if not lenient or not salvaged or len(head) > HEAD_CHARACTERS_MAX:
            raise
        return Page(salvaged, body, error.sentence)


def yaml_mapping(text: str) -> dict[str, Any]:
    """A YAML text that holds a mapping, or nothing.

    Raises:
        InvalidInput: it is longer than the bound, no YAML, or no mapping of names.
        ExtraMissing: PyYAML is not installed.
    """
    value = yaml_value(text)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("Its YAML is not a mapping of names to values.")
    return value


def yaml_value(text: str, *, unique: bool = False) -> Any:
    """A YAML text of any shape; ``unique``: no key may stand twice, of which the last would hold.

    Raises:
        InvalidInput: it is longer than the bound, no YAML, or has a key twice.
        ExtraMissing: PyYAML is not installed.
    """
    if len(text) > HEAD_CHARACTERS_MAX:
        raise InvalidInput(
            f"Its YAML has {len(text):,} characters; the bound is {HEAD_CHARACTERS_MAX:,}."
        )
    yaml = _yaml()
    try:
        if unique:
            _refuse_doubled(yaml.compose(text, Loader=yaml.SafeLoader))
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"Its YAML cannot be read: {' '.join(str(error).split())}.") from None
    except (ValueError, TypeError, RecursionError, OverflowError, AttributeError) as error:
        # What PyYAML lets through: a date that is none, a key that cannot be one, too deep nesting.
        raise InvalidInput(f"Its YAML cannot be read: {error}.") from None


def _refuse_doubled(root: Any) -> None:
    """Refuse a mapping with one key twice. A node that is reached by an alias is looked at once."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not isinstance(getattr(node, "value", None), list):
            continue
        seen.add(id(node))
        pairs = [part if isinstance(part, tuple) else (None, part) for part in node.value]
        waiting += [value for _, value in pairs]
        keys = [key.value for key, _ in pairs if key is not None and isinstance(key.value, str)]
        for key in keys:
            if keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise InvalidInput(f"Its mapping at line {line} has the key {key!r} twice.")


def _unquoted(value: str) -> str:
    quote = value[0]
    quoted = quote in "'\"" and value.endswith(quote) and len(value) > 1
    return value[1:-1] if quoted else value


def _yaml() -> Any:
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise ExtraMissing(
            "A workspace in a folder is read with PyYAML: pip install 'greenroom[workspace]'."
        ) from None
