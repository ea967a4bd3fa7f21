"""Mining: traces become supervised examples."""
