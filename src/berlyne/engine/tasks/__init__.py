"""Navigation and reward acquisition: find the best policies of many models, and evaluate them in the true world.

Paper: Sec. 3.7. A world has many targets and many reward structures, and an experiment has many models of each world.
Twelve problems are solved side by side (`lanes`). Models with the same prior share their graph (`models`), so the order
of elimination for linear equations on it (`eliminate`) is found once. The two tasks are `navigate`, evaluated by a
`walk` in the world, and `collect`.
"""
