"""States, edits and verdicts as text, and back."""
