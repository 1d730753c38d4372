"""What stands in a workspace at a moment of the trace, as edits change it."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from greenroom.actors.bench.composing import Extra, Ingredients, ingredients_of
from greenroom.actors.bench.faults import BrokenTrace
from greenroom.actors.bench.trace import Edit
from greenroom.actors.skill_source import MAIN
from greenroom.actors.tool import Tool
from greenroom.actors.tools import Door
from greenroom.actors.workspace import Workspace
from greenroom.actors.workspace_files import Person
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.skill import PinnedSkill, pin


class Standing:
    """A workspace that is edited while conversations run: each edit makes another one of it."""

    def __init__(
        self, workspace: Workspace, tools: Iterable[Tool[Any]], extra: tuple[Extra, ...] = ()
    ) -> None:
        self.workspace = workspace
        self.instructions = workspace.instructions()
        self._packages = {skill: workspace.read_skill(skill) for skill in workspace.skills}
        self._pinned: dict[str, PinnedSkill] = {}
        files = workspace.files_root is not None
        self._door = Door(tools, DEFAULT_LIMITS, lambda: 0, with_files=files)
        self._extra = extra

    def pinned(self, skill: str) -> PinnedSkill:
        """A skill as it stands now. Raises :class:`BrokenTrace` if there is none of that id.

        A revision is pinned once, however many conversations are composed with it.
        """
        if skill not in self._packages:
            raise BrokenTrace(f"There is no skill {skill!r} in the workspace.", skill=skill)
        known = self._pinned.get(skill)
        if known is None:
            known = self._pinned[skill] = pin(self._packages[skill])
        return known

    def ingredients(
        self, agent: str, person: str | None, instructions: str, model: str | None
    ) -> Ingredients:
        """What a conversation would be composed of now.

        Raises:
            UnknownAgent, UnknownTool: the workspace cannot give what the trace names.
        """
        workspace = self.workspace
        declared = workspace.agent(agent)
        return ingredients_of(
            workspace,
            declared,
            person,
            bound=tuple(self.pinned(skill) for skill in declared.skills),
            instructions=instructions,
            model=model or declared.model,
            tools=self._door.box(declared).encoded,
            extra=self._extra,
        )

    def apply(self, edit: Edit) -> None:
        """Publish an edit.

        Raises:
            BrokenTrace: the workspace has nothing of that name.
        """
        workspace = self.workspace
        agents, persons = dict(workspace.agents), dict(workspace.persons)
        preamble = workspace.preamble
        if edit.part == "preamble":
            preamble = edit.text
        elif edit.part == "instructions":
            self.instructions = edit.text
        elif edit.part == "agent":
            self._known(edit, agents)
            agents[edit.name] = structs.replace(agents[edit.name], prompt=edit.text)
        elif edit.part == "skill":
            self._known(edit, self._packages)
            self._edit_skill(edit)
        else:
            person = persons.get(edit.name, Person(name=edit.name))
            persons[edit.name] = structs.replace(person, text=edit.text)
        self.workspace = Workspace.build(
            agents=agents.values(),
            skills=self._packages.values(),
            persons=persons.values(),
            presets=workspace.presets,
            preamble=preamble,
            files_root=workspace.files_root,
        )

    def _edit_skill(self, edit: Edit) -> None:
        package = self._packages[edit.name]
        files = {**package.files, MAIN: edit.text.encode()}
        self._packages[edit.name] = structs.replace(package, body=edit.text, files=files)
        self._pinned.pop(edit.name, None)

    @staticmethod
    def _known(edit: Edit, there: Mapping[str, object]) -> None:
        if edit.name not in there:
            raise BrokenTrace(
                f"The trace edits the {edit.part} {edit.name!r}, which the workspace lacks.",
                name=edit.name,
            )
