"""Sections of the report, one module each; `berlyne.paper.reproduction.report` joins them into a page."""
