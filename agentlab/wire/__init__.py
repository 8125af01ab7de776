"""Bytes and processes, without policy: event streams, supervision of children, pressure."""
