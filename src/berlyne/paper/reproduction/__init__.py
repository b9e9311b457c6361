"""The whole paper: every figure and every claim, from one command."""
