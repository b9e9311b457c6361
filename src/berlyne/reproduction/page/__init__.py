"""The report's page, one module per section; `berlyne.reproduction.report` puts them together."""
