"""The commands of `berlyne`, by what they are about; `cli` puts them together."""
