"""Plays a trace: every line at its time, every turn round by round, all conversations interleaved.

Nothing waits and nothing is asked of a machine: time is the trace's, answers and results are as
long as it says. A turn's later rounds follow at fixed distances, between the lines of others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

import attrs

from greenroom.actors.bench.cache import WIDTH, Breakpoints, Tokens
from greenroom.actors.bench.compacting import compact
from greenroom.actors.bench.composing import (
    KEPT_LEVELS,
    Extra,
    Head,
    Ingredients,
    Kept,
    answered,
    called,
    digests_of,
    returned,
    said_by_person,
)
from greenroom.actors.bench.contender import Setting
from greenroom.actors.bench.conversation import Conversation, Sent, Tokenizer
from greenroom.actors.bench.filler import words
from greenroom.actors.bench.levels import Levels
from greenroom.actors.bench.standing import Standing
from greenroom.actors.bench.trace import (
    BYTES_PER_TOKEN,
    Blocks,
    Compact,
    Edit,
    Expire,
    Line,
    Prompt,
    Switch,
)
from greenroom.actors.tool import Tool
from greenroom.actors.workspace import Workspace
from greenroom.protocol.identity import call_id
from greenroom.protocol.permission import Preset
from greenroom.protocol.placement import Placement

Arrange: TypeAlias = Callable[[Ingredients, Setting], Kept]
"""A way of composing, as a run needs it."""

ROUND_MS: Final = 2_000
"""From one model call of a turn to the next, and from the last to the end of the turn."""
_SECOND: Final = 1_000


class Counting(Protocol):
    """What a pass is for: it is given every request, in the order of time."""

    def take(self, tenant: str, model: str, sent: Sent, at: float) -> None:
        """Count one request, sent at so many seconds."""
        ...

    def expire(self, tenant: str) -> None:
        """The caches of a tenant go cold."""
        ...


@attrs.frozen(eq=False)
class Scene:
    """What is played, whoever composes."""

    lines: Sequence[Line]
    workspace: Workspace
    tools: tuple[Tool[Any], ...]
    extra: tuple[Extra, ...]
    tokenizer: Tokenizer


@attrs.frozen(eq=False)
class _Round:
    """The next model call of a turn, or its end."""

    conversation: Conversation
    prompt: Prompt
    number: int


class Playing:
    """One pass over a trace with one way of composing."""

    def __init__(
        self, scene: Scene, arrange: Arrange, counting: Counting, *, recomposes: bool = False
    ) -> None:
        self.levels = Levels()
        self._scene = scene
        self._arrange = arrange
        self._counting = counting
        self._recomposes = recomposes
        self._standing: dict[str, Standing] = {}
        self._presets: dict[tuple[str, str], Preset] = {}
        self._switched: dict[tuple[str, str], str] = {}
        """Models that were chosen and not used yet."""
        self._live: dict[tuple[str, str], Conversation] = {}
        self._digests: dict[tuple[str, str], dict[Placement, bytes]] = {}
        self._left = Counter(
            (line.tenant, line.session) for line in scene.lines if isinstance(line, Prompt)
        )
        self._due: list[tuple[int, int, _Round]] = []
        self._order = count()

    def play(self, told: Callable[[int], object] = lambda _: None) -> None:
        """Play all of it; ``told`` is given the number of each line that is done."""
        for number, line in enumerate(self._scene.lines, 1):
            self._until(line.at)
            self._take(line)
            told(number)
        self._until(None)

    def _until(self, at: int | None) -> None:
        """Play what is due up to then."""
        while self._due and (at is None or self._due[0][0] <= at):
            due, _, step = heappop(self._due)
            self._go_on(step, due)

    def _take(self, line: Line) -> None:
        if isinstance(line, Prompt):
            self._prompt(line, line.at)
        elif isinstance(line, Edit):
            self._stands(line.tenant).apply(line)
        elif isinstance(line, Switch):
            self._switch(line)
        elif isinstance(line, Compact):
            self._compact(line, line.at)
        elif isinstance(line, Expire):
            self._counting.expire(line.tenant)
        else:
            self._blocks(line)

    # --- lines -----------------------------------------------------------------------------------

    def _prompt(self, line: Prompt, at: int) -> None:
        key = (line.tenant, line.session)
        conversation = self._live.get(key)
        if conversation is None:
            conversation = self._live[key] = self._begun(line, at)
        elif conversation.running:
            conversation.waiting.append(line)
            return
        else:
            self._prepare(conversation, at)
        conversation.running = True
        conversation.preset = self._presets.get(key, conversation.preset)
        conversation.turn = len(conversation.said)
        conversation.say(
            said_by_person(
                line.words(conversation.users),
                line.picks,
                conversation.users,
                at,
                conversation.kept.composition,
                self._stands(line.tenant).pinned,
            )
        )
        conversation.users += 1
        self._go_on(_Round(conversation, line, 0), at)

    def _begun(self, line: Prompt, at: int) -> Conversation:
        standing = self._stands(line.tenant)
        key = (line.tenant, line.session)
        model = self._switched.pop(key, None)
        kept = self._composed(line, at, standing.instructions, model)
        presets = standing.workspace.presets
        preset = standing.workspace.agent(line.agent).preset
        first = presets.strictest if preset is None else presets.get(preset)
        tokenizer = self._scene.tokenizer
        return Conversation(line, standing.instructions, kept, tokenizer, first, model)

    def _prepare(self, conversation: Conversation, at: int) -> None:
        """Compose again before a turn, if the trace or the way of composing asks for it."""
        model = self._switched.pop((conversation.line.tenant, conversation.line.session), None)
        if model is not None:
            conversation.model = model
            conversation.epoch += 1
        if model is not None or self._recomposes:
            conversation.compose(self._composed_again(conversation, at))

    def _switch(self, line: Switch) -> None:
        key = (line.tenant, line.session)
        if line.preset is not None:
            presets = self._stands(line.tenant).workspace.presets
            self._presets[key] = presets.get(line.preset)
        if line.model is not None:
            self._switched[key] = line.model

    def _compact(self, line: Compact, at: int) -> None:
        conversation = self._live.get((line.tenant, line.session))
        if conversation is None:
            return  # it has ended, or has not begun
        if conversation.running:
            conversation.waiting.append(line)
            return
        asked = compact(conversation, line, lambda: self._composed_again(conversation, at))
        self._send(conversation, asked, at)

    def _blocks(self, line: Blocks) -> None:
        """A request of which only the blocks are known: it has no composing to be measured."""
        data = b"".join(number.to_bytes(WIDTH, "little") * line.size for number in line.hashes)
        tokens = Tokens(data[: line.length * WIDTH])
        ends = (*range(line.size, line.length, line.size), line.length)
        sent = Sent(
            tokens=tokens,
            spans=(("message", line.length),),
            breakpoints=Breakpoints(ends, (line.length,)),
            pieces=(),
            head=_NO_HEAD,
            epoch=(0, ""),
            opening=0,
        )
        self._counting.take(line.tenant, "", sent, line.at / _SECOND)

    # --- turns -----------------------------------------------------------------------------------

    def _go_on(self, step: _Round, at: int) -> None:
        conversation, prompt, number = step.conversation, step.prompt, step.number
        if number > len(prompt.results):
            self._end(conversation, at)
            return
        sent = conversation.sent(with_person=prompt.person is not None)
        self._send(conversation, sent, at)
        ordinal = conversation.users
        if number < len(prompt.results):
            call = call_id(ordinal, number + 1, 1)
            size = prompt.results[number] * BYTES_PER_TOKEN
            result = words(f"{prompt.session}.{ordinal}.{number}", size)
            conversation.say(called(call, "look_up", f'{{"order":{ordinal}}}'))
            conversation.say(returned(call, result))
        else:
            size = prompt.answer * BYTES_PER_TOKEN
            conversation.say(answered(words(f"{prompt.session}.{ordinal}", size)))
        following = _Round(conversation, prompt, number + 1)
        heappush(self._due, (at + ROUND_MS, next(self._order), following))

    def _end(self, conversation: Conversation, at: int) -> None:
        line = conversation.line
        key = (line.tenant, line.session)
        conversation.running = False
        self._left[key] -= 1
        while conversation.waiting and not conversation.running:
            waiting = conversation.waiting.popleft()
            if isinstance(waiting, Prompt):
                self._prompt(waiting, at)
            else:
                self._compact(waiting, at)
        if not self._left[key]:
            del self._live[key]
            self._digests.pop(key, None)

    def _send(self, conversation: Conversation, sent: Sent, at: int) -> None:
        line = conversation.line
        digests = self._digests[line.tenant, line.session]
        self.levels.take(line.tenant, digests, sent, conversation.last)
        conversation.last = sent
        model = conversation.kept.composition.model
        self._counting.take(line.tenant, model, sent, at / _SECOND)

    # --- composing -------------------------------------------------------------------------------

    def _composed_again(self, conversation: Conversation, at: int) -> Kept:
        line = conversation.line
        return self._composed(line, at, conversation.instructions, conversation.model)

    def _composed(self, line: Prompt, at: int, instructions: str, model: str | None) -> Kept:
        """Compose for a conversation from what stands now."""
        standing = self._stands(line.tenant)
        ingredients = standing.ingredients(line.agent, line.person, instructions, model)
        self._digests[line.tenant, line.session] = digests_of(ingredients)
        return self._arrange(ingredients, Setting(at, line.session))

    def _stands(self, tenant: str) -> Standing:
        standing = self._standing.get(tenant)
        if standing is None:
            scene = self._scene
            standing = Standing(scene.workspace, scene.tools, scene.extra)
            self._standing[tenant] = standing
        return standing


_NO_HEAD: Final = Head(parts=(), tools=b"", system=b"", ends=dict.fromkeys(KEPT_LEVELS, 0))
