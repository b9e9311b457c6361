"""Data of the report's sections, and the environment that renders their templates."""
