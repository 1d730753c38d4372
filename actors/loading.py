"""Eager loads: what stands loaded in the opening of every conversation of a composition.

A load shows what the agent's own fetch would return, to the byte, and costs no round (R142, R143).
It is made when the prompt is composed and is part of the composition, so it is stored once and is
the same for all conversations that share it (R214).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from greenroom.actors.builtin import shown_file, shown_pinned, shown_tools
from greenroom.actors.tool import Tool
from greenroom.actors.tools import LOAD_TOOLS, Toolbox
from greenroom.protocol.composition import Composition, Loaded
from greenroom.protocol.contributor import EagerLoad, EagerRun
from greenroom.protocol.eager import LeftOut
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.opening import called, exchange
from greenroom.protocol.skill import SkillPackage
from greenroom.protocol.tokens import TokenCounter


def with_loads(
    composition: Composition,
    box: Toolbox,
    packages: Sequence[SkillPackage],
    counter: TokenCounter,
) -> Composition:
    """The composition with what its loads bring; one over its budget is left out whole (R103)."""
    eager: list[EagerLoad | EagerRun] = []
    loaded: list[Loaded] = []
    left_out = list(composition.left_out)
    files = {package.summary.id: package.files for package in packages}
    for each in composition.eager:
        if isinstance(each, EagerRun):
            eager.append(each)
            continue
        made = _loaded(each, composition, box.on_demand, files)
        tokens = sum(map(counter.tokens, made.messages))
        if tokens > each.budget:
            sentence = f"It brought {tokens:,} tokens; its budget is {each.budget:,}."
            left_out.append(LeftOut(each.key, "over_budget", sentence, tokens, each.budget))
        else:
            eager.append(each)
            # By usage, where nothing was called yet, there is nothing to load.
            loaded += [made] if made.messages else []
    return structs.replace(
        composition, eager=tuple(eager), loaded=tuple(loaded), left_out=tuple(left_out)
    )


def _loaded(
    load: EagerLoad,
    composition: Composition,
    on_demand: Mapping[str, Tool[Any]],
    files: Mapping[str, Mapping[str, bytes]],
) -> Loaded:
    wanted: list[tuple[str, str, str]] = []
    if load.tools:
        shown = shown_tools([on_demand[name] for name in load.tools])
        wanted.append((LOAD_TOOLS, _json({"names": load.tools}), shown))
    skill = composition.skill(load.skill) if load.skill else None
    if skill is not None:
        wanted.append(("load_skill", _json({"name": skill.id}), shown_pinned(skill)))
        for path in load.files:
            place = f"{skill.location}/{path}"
            shown = shown_file(files[skill.id][path], place, skill.revision)
            wanted.append(("read_object", _json({"path": place}), shown))
    calls = called(load.key, [(tool, arguments) for tool, arguments, _ in wanted])
    if not calls:
        return Loaded(load.key, ())
    results = [shown for _, _, shown in wanted]
    return Loaded(load.key, exchange(list(zip(calls, results, strict=True))))


def _json(value: object) -> str:
    return encode_sorted(value).decode()
