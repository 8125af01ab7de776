"""Agents on a terminal: one small recipe a tool, and the catalogue that finds them."""
