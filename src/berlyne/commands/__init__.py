"""The commands of `berlyne`, one module per topic; `cli` registers them."""
