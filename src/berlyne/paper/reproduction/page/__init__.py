"""The report's page, one module per section; `berlyne.paper.reproduction.report` puts them together."""
