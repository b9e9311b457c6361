"""Figures of the paper, one module each. Importing one imports matplotlib."""
