"""What a training run costs, from first principles: memory, tokens, FLOPs, seconds. Pure Python, no torch."""
