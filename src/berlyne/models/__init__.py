"""Internal model of the explorer, its uncertainty, and the histories that it learns from (Sec. 2.3)."""
