"""The paper: its claims and its reproduction from one command."""
