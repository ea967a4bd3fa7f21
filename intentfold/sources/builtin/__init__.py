"""Built-in executable families: unlimited tasks from a seed, with no download."""
