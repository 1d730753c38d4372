"""What greenroom promises: every law in one sentence, and the tests that prove it.

`laws.toml` is the specification. A law is named by its number: `R57` for a requirement, `P053`
for a fault that users of such hosts have met and that is to be impossible here. A test proves a
law by naming that number in its docstring, or in a comment inside it or directly above it:

    # R57: later turns send the kept bytes.
    async def test_a_second_turn_sends_the_kept_prompt() -> None: ...

`python -m tests.specification` lists the laws of the milestones reached that no test proves;
`--all` lists those of every law, `--tests` shows each law with its tests. `unproven.txt` is the
committed list, held to the truth by a test; `--write` writes it anew.
"""
