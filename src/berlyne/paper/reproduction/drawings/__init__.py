"""Drawings of the figures of the paper, one module for each kind, so that each depends only on what it draws."""
