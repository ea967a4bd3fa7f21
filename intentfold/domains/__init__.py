"""The environments that trajectories act in: what an action is, what it satisfies, and a scripted actor."""
