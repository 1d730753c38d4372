"""How far two requests are alike, as a cache of prefixes finds it."""


def common_bytes(one: bytes, other: bytes) -> int:
    """How many bytes both begin with; by halves, since comparing is fast and a loop is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
