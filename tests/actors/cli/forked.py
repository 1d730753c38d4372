"""The process that imports the commands once; run as a program, with a socket as its input.

It forks for each command that it is asked for, and tells the number of the fork and how it ended.
"""

import json
import os
import socket
import struct
import sys
from typing import Final

ASKED: Final = b"?"
DESCRIPTORS: Final = 4
NUMBER: Final = struct.Struct("i")


def serve() -> None:
    """Fork for each command, until nobody can ask any more; returns in a fork that became one."""
    with socket.socket(fileno=os.dup(0)) as door:
        while asked := socket.recv_fds(door, len(ASKED), DESCRIPTORS):
            if not asked[0]:
                os._exit(0)
            if not (fork := os.fork()):
                break
            for descriptor in asked[1]:
                os.close(descriptor)
            door.sendall(NUMBER.pack(fork))
            _, status = os.waitpid(fork, 0)
            door.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))
    become(*asked[1])


def become(about: int, *streams: int) -> None:
    """Take the arguments, environment, folder and streams of the command."""
    with os.fdopen(about) as file:
        sys.argv[1:], environment, folder = json.load(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


if __name__ == "__main__":
    from greenroom.actors.cli import main
    from greenroom.actors.cli.app import run_command  # what all commands import  # noqa: F401

    serve()
    sys.exit(main())
