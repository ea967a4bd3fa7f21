"""Scores of cases and turns, and the statistics of comparing them."""
