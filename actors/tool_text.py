"""What goes into a tool as text and what comes out of it as text: bounds, and mending.

A tool may return anything and must not end a turn by it. Text that cannot be stored is made valid
and marked (R194); what no text can be made of is a typed failure that the model is told.
"""

import hashlib
import re
from typing import Final

import attrs
import msgspec

from greenroom.actors.said import plain, words_of
from greenroom.protocol.errors import BadArguments, ToolFailed
from greenroom.protocol.identity import made_valid
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.question import MOMENT_MAX
from greenroom.protocol.skill import cut_text

_AS_SQUARE: Final = str.maketrans("{}", "[]")
_NO_BRACKETS: Final = re.compile(r"[^\[\]]+")
_NO_JSON: Final = (
    TypeError,
    ValueError,
    NotImplementedError,
    RecursionError,
    OverflowError,
    msgspec.MsgspecError,
)
_SAID_MAX: Final = 500
"""Characters of a fault that are repeated."""
_QUESTION_CHARACTERS_MAX: Final = 2_000
"""Characters of what a tool says it waits for that are kept."""


def _plain_text(value: object) -> str:
    """Texts of a subclass, as numpy has them, are the only other values that are taken."""
    if isinstance(value, str):
        return plain(value)
    raise NotImplementedError(f"It holds a {type(value).__name__}")


_encode: Final = msgspec.json.Encoder(order="deterministic", enc_hook=_plain_text).encode
_encode_as_it_comes: Final = msgspec.json.Encoder(enc_hook=_plain_text).encode


@attrs.frozen(slots=True)
class Later:
    """Returned by a tool whose result comes later: the call is parked with a question (R224)."""

    question: str = ""
    """What is waited for, for those who read the open questions."""
    expires: int | None = None
    """Milliseconds since 1970, UTC: after this it is settled as a failure."""


@attrs.frozen(slots=True)
class Output:
    """The result of a call as the model is shown it."""

    text: str
    mended: bool = False
    """The tool returned what cannot be stored, and it was made valid (R194)."""
    later: Later | None = None
    """There is no result yet; ``text`` says so."""
    skill: str | None = None
    """The skill that it brings into the conversation, if it does (R155)."""
    revision: str = ""
    """The revision of that skill (R239)."""


@attrs.frozen(slots=True)
class Kept:
    """A result as the model gets it; of a long one the head, and the whole apart (R193)."""

    shown: str
    object: str | None = None
    """Digest of the whole."""
    data: bytes | None = None

    @property
    def blobs(self) -> dict[str, bytes]:
        """What is stored by content."""
        return {} if self.object is None or self.data is None else {self.object: self.data}


def kept_text(text: str, limits: Limits = DEFAULT_LIMITS) -> Kept:
    """A result that is not longer than its bound as it is; of a longer one the head (R193)."""
    if len(text) <= limits.result_bytes_max // 4 or (
        len(data := text.encode()) <= limits.result_bytes_max
    ):
        return Kept(text)
    digest = hashlib.sha256(data).hexdigest()
    head = cut_text(text, limits.result_head_bytes)
    shown = (
        f'{head}\n[cut here: the result has {len(data):,} bytes; read_object("{digest}") reads on]'
    )
    return Kept(shown, digest, data)


def check_arguments(arguments: str, limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse arguments over their bounds before anything reads them (R194).

    Raises:
        BadArguments: larger than ``arguments_bytes_max``, or deeper than ``value_depth_max``.
    """
    # UTF-8 takes four bytes for a character at most: short arguments are not measured.
    if len(arguments) * 4 > limits.arguments_bytes_max:
        size = len(arguments.encode(errors="replace"))
        if size > limits.arguments_bytes_max:
            raise BadArguments(
                f"The arguments have {size:,} bytes; the bound is {limits.arguments_bytes_max:,}."
            )
    depth_max = limits.value_depth_max
    if arguments.count("[") + arguments.count("{") > depth_max and _is_deep(arguments, depth_max):
        raise BadArguments(f"The arguments are nested deeper than {depth_max} levels.")


def _is_deep(text: str, depth: int) -> bool:
    """Whether brackets outside strings nest deeper than ``depth``: peels one level a pass, in C."""
    outside = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    left = _NO_BRACKETS.sub("", "".join(outside).translate(_AS_SQUARE))
    for _ in range(depth):
        shorter = left.replace("[]", "")
        if len(shorter) == len(left):
            break
        left = shorter
    return bool(left)


def output_of(value: object, limits: Limits = DEFAULT_LIMITS) -> Output:
    """The text of what a tool returned: text as it is, bytes as UTF-8, all else as JSON.

    Raises:
        ToolFailed: it cannot be written as JSON, is larger than ``object_bytes_max``, or is a
            ``Later`` that cannot be asked.
    """
    if isinstance(value, Later):
        return Output("The result of this call comes later.", later=_askable(value))
    later, skill, revision = None, None, ""
    if isinstance(value, Output):
        # Made by the tool itself, of whatever it likes.
        text, mended = _text_of(value.text)
        mended, skill = mended or value.mended is True, value.skill
        revision = value.revision
        later = None if value.later is None else _askable(value.later)
    else:
        text, mended = _text_of(value)
    bound = limits.object_bytes_max
    if len(text) * 4 > bound and len(text.encode()) > bound:
        raise ToolFailed(
            f"The tool returned more than the {bound:,} bytes that are kept of a result."
        )
    return Output(text, mended, later, skill, revision)


def _askable(later: object) -> Later:
    """A ``Later`` as its question can be stored: valid text, and a time if it expires (R194)."""
    if not isinstance(later, Later):
        raise ToolFailed(f"The tool returned a {type(later).__name__} in place of a Later.")
    text, expires = later.question, later.expires
    if not isinstance(text, str):
        raise ToolFailed(f"The question of a Later is a text, not a {type(text).__name__}.")
    if expires is not None and (type(expires) is not int or not 0 <= expires <= MOMENT_MAX):
        raise ToolFailed("A Later expires at a whole number of milliseconds since 1970, or never.")
    return Later(made_valid(plain(text)[:_QUESTION_CHARACTERS_MAX])[0], expires)


def _text_of(value: object) -> tuple[str, bool]:
    """A value as text that can be stored, and whether it had to be mended for that."""
    if isinstance(value, str):
        return made_valid(plain(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return text_of_bytes(bytes(value))
    return _json_of(value)


def in_short(error: BaseException) -> str:
    """A fault as the model is told it: it may quote at length what the model wrote."""
    return words_of(error, _SAID_MAX)


def text_of_bytes(data: bytes) -> tuple[str, bool]:
    """Bytes as text that can be stored, and whether some of it had to be replaced (P128)."""
    try:
        return made_valid(data.decode())
    except UnicodeDecodeError:
        return made_valid(data.decode(errors="replace"))[0], True


def _json_of(value: object) -> tuple[str, bool]:
    """A value as JSON, its sets in a fixed order; invalid text inside is mended."""
    try:
        try:
            return _encode(value).decode(), False
        except UnicodeEncodeError:
            return _encode(_mended(msgspec.to_builtins(value, enc_hook=_plain_text))).decode(), True
        except TypeError:
            # Keys that are not text can be written, but not sorted.
            return _encode_as_it_comes(value).decode(), False
    except _NO_JSON as error:
        raise ToolFailed(
            f"The tool returned a {type(value).__name__}, which is no JSON: {in_short(error)}."
        ) from error


def _mended(value: object) -> object:
    """Plain data with every text in it made valid."""
    if isinstance(value, str):
        return made_valid(value)[0]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value
