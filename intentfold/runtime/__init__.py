"""The roles at run time: protocols, backends, the state-folding loop and how episodes are run."""
