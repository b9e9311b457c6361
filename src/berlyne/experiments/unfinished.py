"""The error of a piece in which one exploration failed: it carries the explorations that were finished before."""

from __future__ import annotations

from berlyne.env_run import ExplorationError


class UnfinishedPieceError(Exception):
    """An exploration failed, and those before it in the same piece can be written.

    Parameters
    ----------
    error : ExplorationError
        The failure.
    positions : tuple of int
        Positions of the explorations that were finished.
    chunks : dict of str to bytes
        What is stored of them, by the name of the array.
    """

    def __init__(self, error: ExplorationError, positions: tuple[int, ...], chunks: dict[str, bytes]) -> None:
        super().__init__(error, positions, chunks)  # all of it, so that it can be sent from another process
        self.error, self.positions, self.chunks = error, positions, chunks

    def __str__(self) -> str:
        return str(self.error)
