"""Exploring: one run, an explorer that you ask and tell, a replayed history, a lab book, an environment."""
