"""The explorer compiled: the same beliefs, plans and choices as in plain NumPy, in under a microsecond a step.

Each file is one concept whole: its record (a NamedTuple of arrays), how it is built, and its kernels. Each says what it
is for; their order, in which alone they may import one another, is in CONTRIBUTING.md.

Importing any of them but `records` imports Numba, which takes half a second; `import berlyne` does not.
"""
