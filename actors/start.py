"""Whether a call began: decided once, by whoever comes first, from any thread."""


class Start:
    """The start of one call: the tool takes it, or the end of its turn gives it up (R175).

    A tool on a thread begins when its thread does. A turn that ends meanwhile tells that the call
    was not run, and then it does not run, even if a thread is found for it afterwards.
    """

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, bool] = {}

    def take(self) -> bool:
        """The tool begins; False if it must not any more."""
        # ``setdefault`` is one step for all threads: one of them decides, the others are told.
        return self._taken.setdefault("", True)

    def give_up(self) -> bool:
        """Whether it never began; then it never will."""
        return not self._taken.setdefault("", False)
