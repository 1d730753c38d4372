"""A workspace before it is known to be whole: its parts, and every fault between them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs
import msgspec

from greenroom.actors.contributor_files import Declarations, install
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration, parameter_faults
from greenroom.protocol.condition import VersionChanged
from greenroom.protocol.contributor import BUILT_IN, Declaration, EagerLoad, Note, Owner
from greenroom.protocol.errors import BrokenWorkspace, Refused
from greenroom.protocol.identity import SkillId, check_name
from greenroom.protocol.installed import Installed
from greenroom.protocol.permission import PresetTable
from greenroom.protocol.skill import SkillSummary


@attrs.frozen(eq=False)
class Draft:
    """What was declared; skills may still be named by the last part of their ids."""

    agents: tuple[AgentDeclaration, ...]
    skills: tuple[SkillSummary, ...]
    persons: tuple[Person, ...]
    presets: PresetTable
    contributors: Declarations = attrs.field(factory=Declarations)
    installed: Installed = attrs.field(factory=Installed)
    """What they came to; of a draft that was checked."""
    disabled: frozenset[SkillId] = frozenset()
    owners: Mapping[SkillId, Owner] = attrs.field(factory=dict)
    """Of the skills of plugins that only agents or persons get that name them (R165)."""
    faults: tuple[str, ...] = ()
    """Found before, while files were read."""
    left_out: tuple[str, ...] = ()
    """Warnings that say why a skill's folder is none."""

    def checked(self) -> "Draft":
        """The same with every skill named by its id, and its contributors installed.

        Raises:
            BrokenWorkspace: ``facts["faults"]`` lists every fault, each with what it is about.
        """
        declared = self._resolved_contributors()
        installed, refused = install(declared)
        whole = attrs.evolve(
            self,
            contributors=declared,
            installed=installed,
            agents=tuple(self._resolved_agent(agent) for agent in self.agents),
            persons=tuple(
                msgspec.structs.replace(person, skills=self._ids(person.skills))
                for person in self.persons
            ),
        )
        faults = (*self.faults, *refused, *whole._found())  # noqa: SLF001 - another of ourselves
        if faults:
            listed = "\n".join(f"- {fault}" for fault in faults)
            counted = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
            raise BrokenWorkspace(f"The workspace has {counted}:\n{listed}\n", faults=faults)
        return whole

    def _resolved_agent(self, agent: AgentDeclaration) -> AgentDeclaration:
        available = None if agent.available is None else self._ids(agent.available)
        return msgspec.structs.replace(agent, skills=self._ids(agent.skills), available=available)

    def unnamed(self) -> Iterator[str]:
        """What is installed and reaches nobody: no fault, and hardly meant."""
        named = {"author": set[str](), "person": set[str]()}
        for agent in self.agents:
            named["author"].update(agent.contributors)
        for person in self.persons:
            named["person"].update(person.contributors)
        for one in self.installed.active:
            if one.id not in named.get(one.owner, {one.id}):
                yield f"contributors: No {_WHO[one.owner]} names {one.id!r}, so it reaches nobody."
        for agent in self.agents:
            named["author"].update((*agent.skills, *(agent.available or ())))
        for person in self.persons:
            named["person"].update(person.skills)
        for skill, owner in self.owners.items():
            if skill not in named[owner]:
                yield f"plugins: No {_WHO[owner]} names the skill {skill!r}, so it reaches nobody."

    def _resolved_contributors(self) -> Declarations:
        declared = [(place, self._resolved(one)) for place, one in self.contributors.declared]
        return attrs.evolve(self.contributors, declared=tuple(declared))

    def _resolved(self, declared: Declaration) -> Declaration:
        replace = msgspec.structs.replace
        if isinstance(declared, EagerLoad):
            [skill] = self._ids([declared.skill])
            return replace(declared, skill=skill)
        if isinstance(declared, Note) and isinstance(declared.condition, VersionChanged):
            of = self._ids(declared.condition.of)
            return replace(declared, condition=replace(declared.condition, of=of))
        return declared

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
            yield from self._unbound(file, agent.contributors, "author")
            yield from self._not_theirs(file, (*agent.skills, *(agent.available or ())), "author")
            if agent.preset is not None and agent.preset not in self.presets.ids:
                choices = ", ".join(self.presets.ids)
                yield f"{file}: There is no preset {agent.preset!r}; there are: {choices}."
        for person in self.persons:
            file = f"persons/{person.name}.md"
            yield from _unnameable(file, person.name)
            yield from self._unknown(file, person.skills)
            yield from self._unbound(file, person.contributors, "person")
            yield from self._not_theirs(file, person.skills, "person")
        for place, declared in self.contributors.declared:
            yield from self._unwatched(place, declared)

    def _unknown(self, file: str, skills: Iterable[SkillId]) -> Iterator[str]:
        known = {skill.id for skill in self.skills}
        for skill in dict.fromkeys(skills):
            if skill in self.disabled:
                yield f"{file}: The skill {skill!r} is disabled."
            elif skill not in known:
                yield f"{file}: There is no skill {skill!r}{self._why_not(skill, known)}"

    def _why_not(self, skill: SkillId, known: Iterable[SkillId]) -> str:
        """Why its folder is left out; of one that is not there, which skills there are."""
        folder = f"skills/{skill.removeprefix('skills/')}/"
        why = [each for each in self.left_out if each.startswith(folder)]
        return f": {why[0]}" if why else f"; there are: {', '.join(sorted(known)) or 'none'}."

    def _unbound(self, file: str, named: Iterable[str], owner: Owner) -> Iterator[str]:
        """Only what an author or a person owns is bound; the rest is everybody's."""
        owners = {one.id: one.owner for one in self.installed.active}
        for id_ in dict.fromkeys(named):
            if id_ not in owners:
                yield f"{file}: There is no contributor {id_!r} that is installed."
            elif owners[id_] != owner:
                yield f"{file}: The contributor {id_!r} is the {owners[id_]}'s, not the {owner}'s."

    def _not_theirs(self, file: str, skills: Iterable[SkillId], owner: Owner) -> Iterator[str]:
        """Skills of a plugin that reaches others than those who name them here (R165)."""
        for skill in dict.fromkeys(skills):
            if (whose := self.owners.get(skill, owner)) != owner:
                yield f"{file}: The skill {skill!r} is the {whose}'s, not the {owner}'s."

    def _unwatched(self, place: str, declared: Declaration) -> Iterator[str]:
        """What a declaration names of this workspace and is not there."""
        if isinstance(declared, EagerLoad) and declared.skill:
            yield from self._unknown(place, [declared.skill])
        if isinstance(declared, Note) and isinstance(declared.condition, VersionChanged):
            known = {skill.id for skill in self.skills} | set(BUILT_IN)
            known |= {one.id for one in self.installed.active}
            for id_ in declared.condition.of:
                if id_ not in known:
                    yield f"{place}: There is no skill and no contributor {id_!r} to be watched."

    def _bound_twice(self, file: str, agent: AgentDeclaration) -> Iterator[str]:
        """Bodies stand under their names in the kept prompt, so names must differ there (R203)."""
        names = {skill.id: skill.name for skill in self.skills}
        bound = Counter(names[id_] for id_ in agent.skills if id_ in names)
        for name, times in bound.items():
            if times > 1:
                yield f"{file}: {times} skills called {name!r} are bound; one may be."


_WHO: Final[Mapping[Owner, str]] = {"author": "agent", "person": "person"}
"""Who has to name what an owner has, for it to reach anybody."""


def _doubled(what: str, names: Iterable[str]) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"{what}: {times} of them are called {name!r}."


def _unnameable(file: str, name: str) -> Iterator[str]:
    try:
        check_name(name, "name")
    except Refused as error:
        yield f"{file}: {error.sentence}"
