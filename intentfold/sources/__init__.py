"""Source tasks: built-in executable families, and loaders for real benchmarks."""
