"""The common benchmark of explorers that seek no reward."""
