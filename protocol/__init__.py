"""What is said: immutable data and pure functions."""

__all__: list[str] = []
