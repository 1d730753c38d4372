"""The README's example runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    """The twenty lines run in an empty folder and print the answer and how the turn ended."""
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    done = subprocess.run(
        [sys.executable, "-c", example[1]],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It left this morning.\n[done, 4 messages]\n"
