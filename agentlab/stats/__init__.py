"""Metrics of tables and intervals over runs: they draw nothing."""
