"""What shaped a turn: its record, filled with what its kept prompts hold (R76, R77, R78).

Records name a kept prompt by its digest; what it holds is read from the store when somebody asks,
so that no turn pays for it.
"""

from collections.abc import Callable, Iterator

from msgspec import structs

from greenroom.protocol.composition import Composition
from greenroom.protocol.projection import skills_used
from greenroom.protocol.turn import KeptPromptUse, SkillUse, TurnRecord


def shaped(turn: TurnRecord, composition_of: Callable[[str], Composition]) -> TurnRecord:
    """The same record with every skill and contributor of its kept prompts, at its version.

    Args:
        turn: as :func:`~greenroom.protocol.account.turns_of` reads it from records alone.
        composition_of: reads a kept prompt by its digest; what it raises is passed on.
    """
    skills: list[SkillUse] = []
    prompts: list[KeptPromptUse] = []
    for use in turn.prompts:
        composition = composition_of(use.composition)
        skills += skills_used(composition, None)
        prompts.append(
            structs.replace(
                use,
                contributors=tuple(reaching(composition, with_person=turn.with_person)),
                left_out=(*composition.left_out, *use.left_out),
            )
        )
    return structs.replace(
        turn, prompts=tuple(prompts), skills=tuple(dict.fromkeys([*skills, *turn.skills]))
    )


def reaching(composition: Composition, *, with_person: bool) -> Iterator[str]:
    """``id@version`` of what of a kept prompt reaches a turn, whether or not a note is due.

    A turn without a person is sent nothing of the person's part (R57, R137).
    """
    for section in composition.sections:
        if with_person or section.placement != "person":
            yield section.contributor
    for section in composition.opening:
        yield section.contributor
    for declared in composition.eager:
        yield declared.key
