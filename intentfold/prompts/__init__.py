"""One template per role, rendered by mining, training and runtime through the same functions (design D2)."""
