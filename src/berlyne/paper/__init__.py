"""The paper: its claims, and their reproduction from one command."""
