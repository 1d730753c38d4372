"""Laws of the door for programs that do not run trio."""
