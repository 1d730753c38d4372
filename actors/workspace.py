"""A workspace: the agents, skills, persons and presets that sessions are made from.

It is validated whole, in memory and immutable; a reload makes another one. Only two things are
read when they are needed: a skill's package, so that an edit reaches the next pick (R26), and the
project instruction files, once for each new session (R68). Both wait for the disk: call them in a
thread.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import attrs

from greenroom.actors.contributor_files import given_in_code
from greenroom.actors.gate_files import gates_given
from greenroom.actors.plugin_files import Brought, skills_brought
from greenroom.actors.plugin_folder import Shelf, faults_told
from greenroom.actors.skill_source import read_package
from greenroom.actors.workspace_draft import Draft
from greenroom.actors.workspace_files import Person, read_folder, read_instructions
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.catalog import Catalog
from greenroom.protocol.contributor import Declaration
from greenroom.protocol.errors import SkillUnavailable, UnknownAgent
from greenroom.protocol.gate import Gate, GateTable
from greenroom.protocol.identity import SkillId
from greenroom.protocol.installed import Installed
from greenroom.protocol.permission import PRESETS, PresetTable
from greenroom.protocol.skill import SkillPackage, SkillSummary

SAMPLE: Final = Path(__file__).parent / "sample"
"""The workspace that is shipped, to try things with."""


class Source(Protocol):
    """Where a workspace reads what is read late. Its methods may wait for a disk."""

    def instructions(self) -> str:
        """The project instructions as they are now."""
        ...

    def package(self, skill: SkillId, /) -> SkillPackage:
        """The package of a skill as it is now. Raises ``SkillUnavailable``."""
        ...


@attrs.frozen(eq=False)
class Workspace:
    """Made by :meth:`folder` or :meth:`build`, which both validate all of it."""

    agents: Mapping[str, AgentDeclaration]
    """By name; skills are named by their ids."""
    skills: Mapping[SkillId, SkillSummary]
    """All that are not disabled, by id."""
    persons: Mapping[str, Person]
    contributors: Installed
    """Every one that is installed, and what is switched off."""
    plugins: Catalog
    """Every one that was proposed; what those in use bring is among the others."""
    presets: PresetTable
    gate_table: GateTable
    """Policy on calls, its own and of its skills, as it stood when it was read (R155)."""
    preamble: str | None
    """Replaces the platform preamble; None: the shipped one (R66)."""
    files_root: Path | None
    """The folder of the file tools; None: there are no files."""
    warnings: tuple[str, ...]
    """What was odd and was loaded, or was left out, all the same."""
    root: Path | None
    """The folder that it was read from; None: it was made in code."""
    _source: Source
    _brought: Brought

    @classmethod
    def folder(cls, path: str | Path, *, plugins: Catalog | None = None) -> "Workspace":
        """Read the workspace in a folder; see :mod:`greenroom.actors.workspace_files` for its form.

        Args:
            path: the folder.
            plugins: in place of those in the folder, to see what would become of it with them.

        Raises:
            BrokenWorkspace: with every fault and its file.
            ExtraMissing: PyYAML is not installed.
        """
        root = Path(path)
        found = read_folder(root)
        shelf = found.shelf if plugins is None else Shelf(plugins, faults_told(plugins.faults()))
        brought = skills_brought(shelf.catalog)
        own = tuple(read.summary for read in found.skills.values() if not read.disabled)
        disabled = frozenset(id_ for id_, read in found.skills.items() if read.disabled)
        draft = Draft(
            agents=tuple(found.agents),
            skills=(*own, *brought.summaries),
            persons=tuple(found.persons),
            contributors=attrs.evolve(found.contributors, catalog=shelf.catalog),
            presets=found.presets or PRESETS,
            disabled=disabled | brought.disabled,
            owners=brought.owners,
            faults=(*found.faults, *shelf.faults, *brought.faults),
            left_out=tuple(found.warnings),
        )
        table = GateTable(
            found.gates.gates,
            brought.opening(found.gates.egress),
            {**found.gates_of_skills, **brought.gates},
        )
        warnings = (*found.warnings, *shelf.warnings, *brought.warnings)
        source = _Folder(root)
        return cls._made(draft, found.preamble, found.files_root, warnings, source, table, brought)

    @classmethod
    def build(
        cls,
        *,
        agents: Iterable[AgentDeclaration],
        skills: Iterable[SkillPackage] = (),
        persons: Iterable[Person] = (),
        contributors: Iterable[Declaration] = (),
        switched_off: Iterable[str] = (),
        approved: Iterable[str] = (),
        plugins: Catalog = Catalog(),  # noqa: B008 - frozen
        presets: PresetTable = PRESETS,
        preamble: str | None = None,
        instructions: str | Callable[[], str] = "",
        files_root: Path | None = None,
        gates: Iterable[Gate] = (),
        egress: Iterable[str] | None = None,
    ) -> "Workspace":
        """Make a workspace in code, under the same rules (R231).

        Args:
            agents: at least one.
            skills: packages; the gates in their ``gates.yaml`` are in force too.
            persons: what agents are told about them.
            contributors: what shapes prompts beside them.
            switched_off: ids of contributors, built-in ones too (R141).
            approved: ``id@version`` of runs that may call a tool that writes (R149).
            presets: another table of permission presets.
            plugins: what was proposed and approved; what is in use of it is installed.
            preamble: another platform preamble.
            instructions: project instructions, or what reads them for each new session.
            files_root: the folder of the file tools.
            gates: policy on calls (R155).
            egress: the hosts that calls may name; None: any (R158).

        Raises:
            BrokenWorkspace: with every fault.
        """
        packages = tuple(skills)
        given, odd, faults = gates_given(gates, egress, packages)
        brought = skills_brought(plugins)
        draft = Draft(
            agents=tuple(agents),
            skills=(*(package.summary for package in packages), *brought.summaries),
            persons=tuple(persons),
            contributors=given_in_code(contributors, switched_off, approved, plugins),
            presets=presets,
            disabled=brought.disabled,
            owners=brought.owners,
            faults=(*faults, *faults_told(plugins.faults()), *brought.faults),
        )
        egress_list = brought.opening(given.egress)
        table = GateTable(given.gates, egress_list, {**given.skills, **brought.gates})
        by_id = {package.summary.id: package for package in packages}
        source = _Given(by_id, instructions)
        warnings = (*odd, *brought.warnings)
        return cls._made(draft, preamble, files_root, warnings, source, table, brought)

    @classmethod
    def _made(
        cls,
        draft: Draft,
        preamble: str | None,
        files_root: Path | None,
        warnings: Iterable[str],
        source: Source,
        table: GateTable,
        brought: Brought,
    ) -> "Workspace":
        whole = draft.checked()
        return cls(
            agents=MappingProxyType({agent.name: agent for agent in whole.agents}),
            skills=MappingProxyType({skill.id: skill for skill in whole.skills}),
            persons=MappingProxyType({each.name: each for each in whole.persons}),
            contributors=whole.installed,
            plugins=whole.contributors.catalog,
            presets=draft.presets,
            gate_table=table,
            preamble=preamble,
            files_root=files_root,
            warnings=(*warnings, *whole.unnamed()),
            root=source.root if isinstance(source, _Folder) else None,
            source=source,
            brought=brought,
        )

    def again(self) -> "Workspace":
        """The same workspace, read anew where it came from; one made in code stays what it is.

        Raises:
            BrokenWorkspace: with every fault.
        """
        return self if self.root is None else Workspace.folder(self.root)

    def agent(self, name: str) -> AgentDeclaration:
        """The agent of that name. Raises :class:`UnknownAgent`, which names the choices."""
        try:
            return self.agents[name]
        except KeyError:
            choices = ", ".join(sorted(self.agents))
            raise UnknownAgent(
                f"There is no agent {name!r}; there are: {choices}.", agent=name
            ) from None

    def skills_for(
        self, agent: AgentDeclaration, person: str | None = None
    ) -> tuple[tuple[SkillSummary, ...], tuple[SkillSummary, ...]]:
        """The skills bound to an agent in their order, and those available beside them by id.

        What a person adds to the second is what the answer has more with them than without (R63).
        """
        # An agent that the workspace lost meanwhile may be bound to a skill that it lost too.
        bound = tuple(self.skills[id_] for id_ in agent.skills if id_ in self.skills)
        everyones = self.skills.keys() - self._brought.owners.keys()
        given = everyones if agent.available is None else set(agent.available)
        own = self.persons[person].skills if person is not None and person in self.persons else ()
        available = {*given, *own} & self.skills.keys() - set(agent.skills)
        return bound, tuple(self.skills[id_] for id_ in sorted(available))

    def contributors_for(
        self, agent: AgentDeclaration, person: str | None = None
    ) -> tuple[Declaration, ...]:
        """What is installed for an agent and a person, switched on or off (R63).

        What the operator or the workspace owns is everybody's; what an author owns is part of the
        agents that name it, and what a person owns reaches the persons that name it.
        """
        known = self.persons.get(person) if person is not None else None
        named = {"author": agent.contributors, "person": known.contributors if known else ()}
        return tuple(
            one
            for one in self.contributors.active
            if one.owner not in named or one.id in named[one.owner]
        )

    def person_text(self, person: str) -> str:
        """What the workspace says about a person; empty if it says nothing."""
        known = self.persons.get(person)
        return known.text if known else ""

    def instructions(self) -> str:
        """The project instruction files, read now: once for each new session (R68).

        Raises:
            Refused: a file of them was made unreadable since the workspace was loaded.
        """
        return self._source.instructions()

    def read_skill(self, skill: SkillId) -> SkillPackage:
        """A skill's package, read now.

        Raises:
            SkillUnavailable: it is unknown, gone, broken, disabled or over its bounds (R27).
        """
        if skill not in self.skills:
            # Never taken for a path: only what loading found is read (S10).
            raise SkillUnavailable(f"There is no skill {skill!r} in the workspace.", skill=skill)
        brought = self._brought.skills.get(skill)
        # What a plugin brings is what was approved, whatever lies in its folder by now.
        return self._source.package(skill) if brought is None else brought.package


@attrs.frozen(eq=False)
class _Folder:
    """Reads late from a folder."""

    root: Path

    def instructions(self) -> str:
        return read_instructions(self.root)

    def package(self, skill: SkillId, /) -> SkillPackage:
        return read_package(self.root, skill)


@attrs.frozen(eq=False)
class _Given:
    """Holds what was given in code."""

    packages: Mapping[SkillId, SkillPackage]
    text: str | Callable[[], str]

    def instructions(self) -> str:
        return self.text if isinstance(self.text, str) else self.text()

    def package(self, skill: SkillId, /) -> SkillPackage:
        return self.packages[skill]
