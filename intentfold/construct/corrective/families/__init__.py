"""Task families: what an agent makes in each state of its requirements, and the code that verifies them."""
