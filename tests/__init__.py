"""The laws of greenroom, each proved by a test that names it."""
