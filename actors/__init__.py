"""Who acts: the host, its sessions and what serves them."""

__all__: list[str] = []
