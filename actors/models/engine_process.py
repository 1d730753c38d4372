"""The child process that is the engine: llama.cpp's server, until its parent is gone.

Run by its path and not as a module of greenroom: it imports nothing of ours, so it starts wherever
the parent runs from. Its one argument is a JSON object of options, its first line of output the
address that it serves. It ends when its standard input does, so it cannot outlive its parent,
however that ended.
"""

import json
import os
import sys
import urllib.request


def main() -> None:
    """Serve until standard input ends."""
    import xllamacpp  # noqa: PLC0415 - an extra

    params = xllamacpp.CommonParams()
    options = json.loads(sys.argv[1])
    params.model.path = options.pop("path")
    threads = options.pop("threads")
    for computing in (params.cpuparams, params.cpuparams_batch):
        computing.n_threads = threads
    for name, value in options.pop("sampling").items():
        setattr(params.sampling, name, value)
    for name, value in options.items():
        setattr(params, name, value)
    server = xllamacpp.Server(params)
    # Our own address: a proxy that the environment names has no business there.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{server.listening_address}/health", timeout=60):
        sys.stdout.write(f"{server.listening_address}\n")
        sys.stdout.flush()
    sys.stdin.buffer.read()
    # The server's threads may be in the midst of an answer that nobody waits for any more.
    os._exit(0)


if __name__ == "__main__":
    main()
