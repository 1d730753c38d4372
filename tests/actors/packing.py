"""Packs archives as programs do, and as no honest program would."""

import gzip
import io
import tarfile
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MANIFEST = """\
id: reviewer
version: "1"
description: A reviewer's stance.
tools: {look: read}
skills: [review]
contributors:
  - {kind: text, id: stance, version: "1", placement: agent, text: Challenge premises.}
  - {kind: eager_run, id: clock, version: "1", placement: conversation, tool: look}
"""
SKILL = "---\ndescription: How to review.\n---\nRead twice.\n"
FILES = {"plugin.yaml": MANIFEST, "review/SKILL.md": SKILL, "review/index.md": "Index.\n"}

Content = Mapping[str, Any] | Iterable[tuple[str, Any]]
"""Names with texts or bytes."""


def pairs(files: Content) -> list[tuple[str, bytes]]:
    """Names with bytes; of a list one name may stand twice."""
    listed = files.items() if isinstance(files, Mapping) else files
    return [(name, each.encode() if isinstance(each, str) else each) for name, each in listed]


def lying(root: Path, files: Content) -> Path:
    """The files as a folder."""
    for name, data in pairs(files):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def zipped(files: Content, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip, whatever its entries are called."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        for name, data in pairs(files):
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = how
            with warnings.catch_warnings(action="ignore"):  # of a name that stands twice
                archive.writestr(info, data)
    return made.getvalue()


def tarred(files: Content, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar, whatever its entries are called."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, data in pairs(files):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def tarred_as(kind: bytes, name: str = "review/odd", target: str = "plugin.yaml") -> bytes:
    """A tar with one entry of another kind behind what is in order."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for each, data in pairs(FILES):
            info = tarfile.TarInfo(each)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        odd = tarfile.TarInfo(name)
        odd.type, odd.linkname = kind, target
        archive.addfile(odd)
    return made.getvalue()


def zipped_as(mode: int, name: str = "review/odd") -> bytes:
    """A zip with one entry of another mode behind what is in order."""
    made = io.BytesIO(zipped(FILES))
    with zipfile.ZipFile(made, "a") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, "plugin.yaml")
    return made.getvalue()


def gzipped(data: bytes) -> bytes:
    """Bytes packed by gzip."""
    return gzip.compress(data)
