"""Laws of the places that the commands choose."""

from pathlib import Path

import pytest

from greenroom.actors import Workspace
from greenroom.actors.cli.places import data_folder, default_store, own_sample


def test_the_platform_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_DATA_HOME goes before all; without it the platform's own place is taken."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store() == tmp_path / "greenroom" / "store.greenroom"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / ".local" / "share" / "greenroom"
    monkeypatch.setattr("sys.platform", "darwin")
    assert data_folder() == tmp_path / "Library" / "Application Support" / "greenroom"


def test_the_sample_is_copied_once(tmp_path: Path) -> None:
    """It is a workspace of the person's own from then on: what was changed in it stays."""
    sample = own_sample(tmp_path / "data")
    assert "support" in Workspace.folder(sample).agents
    (sample / "agents" / "support.md").unlink()
    assert own_sample(tmp_path / "data") == sample
    assert "support" not in Workspace.folder(sample).agents
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["sample"]
