"""The explorer compiled: the same beliefs, plans and choices as in plain NumPy, in under a microsecond a step.

Each file is one concept whole: its record (a NamedTuple of arrays), how it is built, and its kernels.

| file | concept |
|---|---|
| `compile` | how kernels are compiled and cached |
| `vector` | four doubles at a time |
| `graph` | the outcomes of every state, in slots |
| `special` | closed forms, compiled |
| `belief` | what is known of every row; the only file that knows families of priors |
| `plan` | value iteration around the agent |
| `choose` | how an action is chosen; the only file that knows methods of coordination |
| `truth` | the world as the loop sees it, and what is measured against it |
| `loop` | choose, transition, learn, measure |
| `mind` | an explorer: built, run, saved, restored |
| `learned` | the loop with a concentration that is learned on the way |
| `prediction` | predicted against realised gain |
| `tasks/` | policies and losses of many models at once |

Importing any of them imports Numba, which takes half a second; `import berlyne` does not.
"""
