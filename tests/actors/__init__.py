"""Tests of who acts."""
