"""Construction: source tasks become episodes, with stale items whose consequence is executed."""
