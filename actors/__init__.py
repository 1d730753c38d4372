"""Who acts: the host of many sessions, and what an embedder needs to hold one.

Guarantees, in short:

* One turn of a session runs at a time; messages are served in the order in which they became
  durable (R115). Plain words in mid-turn steer; a picked skill waits for a turn of its own (R117).
* Commit, then effect: no model call and no tool starts before the commit it follows is on disk
  (R83). Anything that was acknowledged is durable.
* What a model is sent only grows at its end, byte for byte, until the kept prompt is composed
  again (R57), which a compaction does first; any request that was sent, one for a summary too, can
  be rebuilt from the store to the byte (R196).
* One session's failure is that session's: its waiters are told, the others run on (R168).
* A tenant's quota is reserved before each request is sent and charged after, durably; sessions at
  once never pass it (R233).
* A failed save loses nothing: it is kept, and ``flush()`` writes it without repeating a tool or a
  model call (R85).

``open_host`` is where to begin; models are in :mod:`greenroom.actors.models`.
"""

from greenroom.actors.contributors_listed import ListedContributor, contributors_in
from greenroom.actors.handle import Session
from greenroom.actors.host import Host, open_host
from greenroom.actors.listing import Listing
from greenroom.actors.models.port import (
    Capabilities,
    Model,
    ModelResponse,
    RequestedCall,
    SessionInfo,
    Sink,
)
from greenroom.actors.plugin_files import read_plugin
from greenroom.actors.reloading import Changes
from greenroom.actors.scope import Scope
from greenroom.actors.services import Composer, Policy
from greenroom.actors.spending import SpendReport
from greenroom.actors.subscribers import Events, Feed
from greenroom.actors.tool import Later, Tool, ToolContext, tool
from greenroom.actors.workspace import SAMPLE, Workspace
from greenroom.actors.world import World

__all__ = [
    "SAMPLE",
    "Capabilities",
    "Changes",
    "Composer",
    "Events",
    "Feed",
    "Host",
    "Later",
    "ListedContributor",
    "Listing",
    "Model",
    "ModelResponse",
    "Policy",
    "RequestedCall",
    "Scope",
    "Session",
    "SessionInfo",
    "Sink",
    "SpendReport",
    "Tool",
    "ToolContext",
    "Workspace",
    "World",
    "contributors_in",
    "open_host",
    "read_plugin",
    "tool",
]
