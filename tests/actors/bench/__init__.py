"""Laws of the benchmark kit."""
