"""What a line of a chat means: words for the agent, or a command of the chat itself."""

from typing import Final, TypeAlias

import attrs

HELP: Final = """\
/skill NAME words…   send the words with a skill; $name in a text does the same
/skills              the skills of this agent, and how to pick them
/preset [NAME]       put another permission preset in force; without a name: which there are
/flush               write what could not be written
/help                this
/quit                leave; the conversation is kept
Ctrl-C cancels an answer; at the prompt it leaves. A line that begins with // is sent as /…"""


@attrs.frozen
class Say:
    """Words to send, perhaps with a skill."""

    text: str
    skills: tuple[str, ...] = ()


@attrs.frozen
class Order:
    """A command of the chat, with what stands behind it."""

    name: str
    rest: str = ""


Line: TypeAlias = Say | Order | None

ORDERS: Final = ("skills", "preset", "flush", "help", "quit")


def read_line(text: str) -> Line:
    """What a typed line asks for; None: nothing."""
    line = text.strip()
    if not line:
        return None
    if not line.startswith("/"):
        return Say(text.rstrip("\r\n"))
    if line.startswith("//"):
        return Say(line[1:])
    name, _, rest = line[1:].partition(" ")
    rest = rest.strip()
    if name == "skill":
        skill, _, words = rest.partition(" ")
        return Say(words.strip(), (skill.removeprefix("$"),)) if skill else Order("skills")
    return Order(name if name in ORDERS else "unknown", rest if name in ORDERS else name)
