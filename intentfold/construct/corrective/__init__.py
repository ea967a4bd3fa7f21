"""The corrective-interaction environment: checkable work, a simulated user with a private specification, a scripted agent."""
