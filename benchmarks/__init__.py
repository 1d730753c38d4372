"""This repository's own measurements."""
