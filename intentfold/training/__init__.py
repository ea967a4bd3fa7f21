"""Training: supervised fine-tuning, on-policy distillation, their proofs before the first step, adapter export."""
