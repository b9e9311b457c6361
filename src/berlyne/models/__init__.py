"""What an explorer believes: the internal model, how uncertain it is, and the histories it learns from (Sec. 2.3)."""
