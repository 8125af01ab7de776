"""Synthetic recordings, estimates and a toy driver, for tests, docs and users."""
