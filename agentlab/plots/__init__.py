"""Figures of tables and estimates, and their files: they define no number."""
