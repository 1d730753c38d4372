"""Laws of the model port's providers."""
