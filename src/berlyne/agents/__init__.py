"""One explorer's beliefs, values and choices: compiled, in plain NumPy, or with states that are discovered."""
