"""Laws of the demo's plans."""

from greenroom.actors import SAMPLE, Workspace
from greenroom.actors.cli.demo_plan import plan_of
from greenroom.protocol.agent import AgentDeclaration


def test_the_same_seed_plans_the_same() -> None:
    """The same seed, number and turns give the same plan; another seed another one."""
    workspace = Workspace.folder(SAMPLE)
    plans = [plan_of(workspace, 7, number, 6) for number in range(20)]
    assert plans == [plan_of(workspace, 7, number, 6) for number in range(20)]
    assert plans[3].steps != plan_of(workspace, 8, 3, 6).steps


def test_a_demo_has_of_everything() -> None:
    """Steers, picks in mid-turn, invocations, switches, and exactly the turns asked for."""
    workspace = Workspace.folder(SAMPLE)
    plans = [plan_of(workspace, 0, number, 6) for number in range(50)]
    steps = [step for plan in plans for step in plan.steps]
    for what in ("steer", "pick", "skill", "preset"):
        assert any(getattr(step, what) for step in steps), what
    for plan in plans:
        assert sum(1 + (step.pick is not None) for step in plan.steps) == 6
    assert {plan.agent for plan in plans} == set(workspace.agents)


def test_picks_are_skills_that_the_agent_was_given() -> None:
    """R20: a plan never picks what would be refused; a workspace without skills has no picks."""
    workspace = Workspace.folder(SAMPLE)
    for plan in (plan_of(workspace, 0, number, 6) for number in range(50)):
        bound, available = workspace.skills_for(workspace.agent(plan.agent), plan.person)
        given = {skill.id for skill in (*bound, *available)}
        picked = {step.pick[1] for step in plan.steps if step.pick}
        assert picked | {step.skill for step in plan.steps if step.skill} <= given
    bare = Workspace.build(agents=[AgentDeclaration(name="a")])
    assert not any(step.pick or step.skill for step in plan_of(bare, 0, 1, 9).steps)
