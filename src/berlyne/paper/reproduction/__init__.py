"""Reproduction of the paper: all figures and claims from one command."""
