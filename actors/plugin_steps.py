"""What a person does with the plugins of a workspace's folder: each step whole, or not at all.

A step is taken only if the workspace can be loaded after it; else it is refused with what would be
broken, such as an agent that names what would be gone. A host that runs has the step when its
workspace is reloaded. Whoever may write the folder is trusted with every owner's authority, and who
took the step is on record (R135).
"""

from pathlib import Path

from greenroom.actors.contributor_files import check_zones
from greenroom.actors.plugin_folder import Shelf, change
from greenroom.actors.workspace import Workspace
from greenroom.protocol.catalog import Catalog
from greenroom.protocol.contributor import Owner
from greenroom.protocol.errors import BrokenWorkspace
from greenroom.protocol.installed import TRUSTED, Terms
from greenroom.protocol.plugin import Plugin
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.refusal import UnknownPlugin


def propose(root: Path, plugin: Plugin, *, owner: Owner, by: str, at: int) -> Catalog:
    """Put a plugin into the folder as a proposal; nothing of it is in use before it is approved.

    A later version that asks for no more than the one in use is in use at once (R164).

    Raises:
        BrokenWorkspace: the workspace cannot be loaded, or could not be any more.
        Refused: see :meth:`Catalog.propose`; a time zone that this machine does not know.
    """

    def step(shelf: Shelf) -> Catalog:
        _refuse_broken(root, shelf)
        after = shelf.catalog.propose(plugin, _terms(by), owner=owner, at=at)
        for declaration in after.proposal(plugin.key).contributors:
            check_zones(declaration)
        Workspace.folder(root, plugins=after)
        return after

    return change(root, step)


def approve(root: Path, key: str, digest: str, *, by: str, at: int) -> Catalog:
    """Take what is proposed as ``id@version`` into use, if its digest is the one that was shown.

    Raises:
        BrokenWorkspace: the workspace could not be loaded with it.
        Refused: see :meth:`Catalog.approve`.
    """

    def step(shelf: Shelf) -> Catalog:
        _refuse_broken(root, shelf)
        after = shelf.catalog.approve(key, digest, _terms(by), at=at)
        Workspace.folder(root, plugins=after)
        return after

    return change(root, step)


def reject(root: Path, key: str, *, by: str, at: int) -> Catalog:
    """Turn down what is proposed as ``id@version``. Raises as :meth:`Catalog.reject`."""
    return change(root, lambda shelf: shelf.catalog.reject(key, _terms(by), at=at))


def remove(root: Path, plugin: str, version: str | None = None, *, by: str, at: int) -> Catalog:
    """Take one version of a plugin out of use, or all of them; they stay readable.

    Raises:
        UnknownPlugin: it is not in use.
        BrokenWorkspace: the workspace would lack what its agents or persons name.
    """

    def step(shelf: Shelf) -> Catalog:
        before = after = shelf.catalog
        standing = [
            key
            for key, state in before.states.items()
            if state in {"active", "superseded"} and before.decision(key).plugin == plugin
        ]
        for key in standing if version is None else [f"{plugin}@{version}"]:
            after = after.remove(key, _terms(by), at=at)
        if after is before:
            raise UnknownPlugin(f"No version of {quoted(plugin, PATH_MAX)} is in use.", key=plugin)
        _refuse_new_faults(root, shelf, after)
        return after

    return change(root, step)


def _terms(by: str) -> Terms:
    return Terms(by=by, authorities=TRUSTED)


def _refuse_broken(root: Path, shelf: Shelf) -> None:
    """Nothing is added to what is not as it was decided."""
    if shelf.faults:
        Workspace.folder(root)  # refused, with these faults and all others


def _refuse_new_faults(root: Path, shelf: Shelf, after: Catalog) -> None:
    """Taking out may not break what was whole; what was broken before may be why it is done."""
    known = {*shelf.faults, *_faults(root, shelf.catalog)}
    new = tuple(fault for fault in _faults(root, after) if fault not in known)
    if new:
        listed = "".join(f"- {fault}\n" for fault in new)
        raise BrokenWorkspace(
            f"The workspace would be broken:\n{listed}",
            way_out="Mend what is named first, then take it out.",
            faults=new,
        )


def _faults(root: Path, catalog: Catalog) -> tuple[str, ...]:
    try:
        Workspace.folder(root, plugins=catalog)
    except BrokenWorkspace as error:
        found = error.facts["faults"]
        assert isinstance(found, tuple)
        return found
    return ()
