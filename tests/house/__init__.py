"""Tests of the house itself: its directions, proportions, words and wheel."""
