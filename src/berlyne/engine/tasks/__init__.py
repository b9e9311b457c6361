"""What models are good for, many of them at once: policies that are best for a model, and how they fare in the world.

Paper: Sec. 3.7. A world has many targets and many reward structures, and an experiment many models of each world.
Twelve problems are worked on side by side (`lanes`). Models that share their prior share their graph (`models`), so
that how to solve linear equations on it (`eliminate`) is found once. The two tasks are to `navigate`, judged by a
`walk` in the world, and to `collect` reward.
"""
