"""Recovery of evolving intentions and the actions that follow (IntentDelta, section 3.3 and appendices C to F)."""
