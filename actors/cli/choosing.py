"""From options to a model that runs until the block is left."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import trio

from greenroom.actors import Model
from greenroom.actors.cli.demo_model import DemoModel
from greenroom.actors.cli.faults import BadOption
from greenroom.actors.cli.options import ModelChoice
from greenroom.actors.models.local import local
from greenroom.actors.models.openai import openai
from greenroom.protocol.errors import UnknownModel


@asynccontextmanager
async def open_model(
    choice: ModelChoice, default: str, scripted: DemoModel, *, answer_tokens: int = 512
) -> AsyncGenerator[Model]:
    """The model that was chosen, ready to answer; one on this machine in at most so many tokens.

    Raises:
        BadOption: the options do not go together, or the key's variable is not set.
        UnknownModel: there is none of that name.
        ExtraMissing, EngineFailed: it cannot run here.
    """
    name = choice.model or default
    if choice.base_url is not None:
        served = openai(name, base_url=_checked_url(choice.base_url), key=_key(choice))
        try:
            yield served
        finally:
            await served.aclose()
        return
    if choice.key_env is not None:
        raise BadOption("--key-env belongs to --base-url: no other model takes a key.")
    if name == scripted.name:
        yield scripted
        return
    if name != "local" and not await trio.Path(name).is_file():
        raise UnknownModel(
            f"There is no model {name!r}.",
            way_out=f"Give --model local, {scripted.name} or a gguf file; or with --base-url a name"
            " on that server.",
            model=name,
        )
    weights = "smollm2" if name == "local" else Path(name)
    async with local(weights, answer_tokens=answer_tokens) as running:
        yield running


def _checked_url(url: str) -> str:
    """The URL, if it is of the form of one: a slip is told before the first word."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        fits = False
    if not fits:
        raise BadOption(f"--base-url is to be like https://HOST/v1, and not {url!r}.")
    return url


def _key(choice: ModelChoice) -> str | None:
    if choice.model is None:
        raise BadOption("--base-url needs --model: the name under which the server knows it.")
    if choice.key_env is None:
        return None
    key = os.environ.get(choice.key_env)
    if not key:
        raise BadOption(f"The variable {choice.key_env} is to hold the key, and it is not set.")
    return key
