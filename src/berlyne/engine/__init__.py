"""The compiled engine: the same beliefs, plans and choices as in plain NumPy, in under a microsecond a step.

Each file contains one concept: a record (a NamedTuple of arrays), the functions that build it, and its kernels.
CONTRIBUTING.md lists the files in the order in which they may import one another.

Importing any file but `records` imports Numba, which takes half a second. `import berlyne` does not import Numba.
"""
