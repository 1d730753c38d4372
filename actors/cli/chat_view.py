"""How a conversation is shown while it goes on: words as they come, all else in dim lines."""

from rich.console import Console

from greenroom.actors.cli.words import plain, short
from greenroom.actors.cli.wrapping import Wrapping, width_of, wrapped
from greenroom.protocol.event import (
    ConversationCompacted,
    Event,
    MessageAbsorbed,
    MessageNotSent,
    SkillsLoaded,
    TextDelta,
    ToolCalled,
    ToolProgress,
    ToolReturned,
    TurnEnded,
)
from greenroom.protocol.receipt import Outcome

ARGUMENTS_SHOWN = 60
RESULT_SHOWN = 100


class View:
    """Prints one session's events."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._block: tuple[int, int] | None = None
        self._in_line = False
        self._wrapping = Wrapping(width_of(console))

    def show(self, event: Event | TextDelta | ToolProgress) -> None:
        """Print one event; most need no line."""
        match event:
            case TextDelta():
                self._delta(event)
            case ToolCalled(tool=tool, arguments=arguments):
                self.note(f"· {tool} {short(arguments, ARGUMENTS_SHOWN)}")
            case ToolProgress(text=text):
                self.note(f"  {short(text, RESULT_SHOWN)}")
            case ToolReturned(state=state, content=content) if state != "done":
                self.note(f"  {state}: {short(content, RESULT_SHOWN)}")
            case SkillsLoaded(skills=skills):
                names = ", ".join(f"{use.slug}@{use.revision[:8]}" for use in skills)
                self.note(f"· with {names}")
            case MessageAbsorbed():
                self.note("· handed over to the running turn")
            case ConversationCompacted(before=before):
                self.note(f"· what was said before message {before} is summarised from now on")
            case MessageNotSent(reason=reason):
                self.note(f"(not sent: {reason})")
            case TurnEnded(outcome=outcome):
                self._ended(outcome)
            case _:
                pass

    def note(self, line: str) -> None:
        """A dim line of its own."""
        self.say(line, "dim")

    def say(self, text: str, style: str) -> None:
        """Lines of their own, broken at word ends."""
        self.fresh_line()
        for line in wrapped(self._console, text):
            self._console.print(line, style=style)

    def fresh_line(self) -> None:
        """End the line of words that stands open."""
        held = self._wrapping.end()
        if self._in_line or held:
            self._console.print(held)
            self._in_line = False

    def _delta(self, delta: TextDelta) -> None:
        block = (delta.turn, delta.block)
        if block != self._block:
            # The block before it may have been given up in mid-word (a retry).
            self.fresh_line()
            self._block = block
        text = self._wrapping.take(plain(delta.text))
        if text:
            self._console.print(text, end="")
            self._console.file.flush()
            self._in_line = not text.endswith("\n")

    def _ended(self, outcome: Outcome) -> None:
        self.fresh_line()
        if outcome.end != "done":
            self.note(f"({outcome.end}: {outcome.reason})")
        elif outcome.reason:
            self.note(f"({outcome.reason})")
