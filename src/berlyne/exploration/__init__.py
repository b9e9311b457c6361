"""Exploration: of one world, of an environment, step by step with an explorer or a lab book, and as a replay."""
