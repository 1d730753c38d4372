"""A workspace before it is known to be whole: its parts, and every fault between them."""

from collections import Counter
from collections.abc import Iterable, Iterator

import attrs
import msgspec

from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration, parameter_faults
from greenroom.protocol.errors import BrokenWorkspace, Refused
from greenroom.protocol.identity import SkillId, check_name
from greenroom.protocol.permission import PresetTable
from greenroom.protocol.skill import SkillSummary


@attrs.frozen(eq=False)
class Draft:
    """What was declared; skills may still be named by the last part of their ids."""

    agents: tuple[AgentDeclaration, ...]
    skills: tuple[SkillSummary, ...]
    persons: tuple[Person, ...]
    presets: PresetTable
    disabled: frozenset[SkillId] = frozenset()
    faults: tuple[str, ...] = ()
    """Found before, while files were read."""

    def checked(self) -> "Draft":
        """The same with every skill named by its id.

        Raises:
            BrokenWorkspace: ``facts["faults"]`` lists every fault, each with what it is about.
        """
        whole = attrs.evolve(
            self,
            agents=tuple(self._resolved_agent(agent) for agent in self.agents),
            persons=tuple(
                msgspec.structs.replace(person, skills=self._ids(person.skills))
                for person in self.persons
            ),
        )
        faults = (*self.faults, *whole._found())  # noqa: SLF001 - another of ourselves
        if faults:
            listed = "\n".join(f"- {fault}" for fault in faults)
            counted = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
            raise BrokenWorkspace(f"The workspace has {counted}:\n{listed}\n", faults=faults)
        return whole

    def _resolved_agent(self, agent: AgentDeclaration) -> AgentDeclaration:
        available = None if agent.available is None else self._ids(agent.available)
        return msgspec.structs.replace(agent, skills=self._ids(agent.skills), available=available)

    def _ids(self, named: Iterable[str]) -> tuple[SkillId, ...]:
        """Ids for skills that are named by an id, or by what follows ``skills/`` in it."""
        known = {skill.id for skill in self.skills} | self.disabled
        return tuple(
            name if name in known or f"skills/{name}" not in known else f"skills/{name}"
            for name in named
        )

    def _found(self) -> Iterator[str]:
        if not self.agents and not self.faults:
            yield "agents: There is none; write one as agents/NAME.md."
        yield from _doubled("agents", (agent.name for agent in self.agents))
        yield from _doubled("persons", (person.name for person in self.persons))
        yield from _doubled("skills", (skill.id for skill in self.skills))
        for agent in self.agents:
            file = f"agents/{agent.name}.md"
            yield from _unnameable(file, agent.name)
            yield from (f"{file}: {fault}" for fault in parameter_faults(agent.parameters))
            yield from self._unknown(file, (*agent.skills, *(agent.available or ())))
            yield from self._bound_twice(file, agent)
            if agent.preset is not None and agent.preset not in self.presets.ids:
                choices = ", ".join(self.presets.ids)
                yield f"{file}: There is no preset {agent.preset!r}; there are: {choices}."
        for person in self.persons:
            file = f"persons/{person.name}.md"
            yield from _unnameable(file, person.name)
            yield from self._unknown(file, person.skills)

    def _unknown(self, file: str, skills: Iterable[SkillId]) -> Iterator[str]:
        known = {skill.id for skill in self.skills}
        for skill in dict.fromkeys(skills):
            if skill in self.disabled:
                yield f"{file}: The skill {skill!r} is disabled."
            elif skill not in known:
                choices = ", ".join(sorted(known)) or "none"
                yield f"{file}: There is no skill {skill!r}; there are: {choices}."

    def _bound_twice(self, file: str, agent: AgentDeclaration) -> Iterator[str]:
        """Bodies stand under their names in the kept prompt, so names must differ there (R203)."""
        names = {skill.id: skill.name for skill in self.skills}
        bound = Counter(names[id_] for id_ in agent.skills if id_ in names)
        for name, times in bound.items():
            if times > 1:
                yield f"{file}: {times} skills called {name!r} are bound; one may be."


def _doubled(what: str, names: Iterable[str]) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"{what}: {times} of them are called {name!r}."


def _unnameable(file: str, name: str) -> Iterator[str]:
    try:
        check_name(name, "name")
    except Refused as error:
        yield f"{file}: {error.sentence}"
