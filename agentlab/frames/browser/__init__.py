"""What a page in a browser did: from a run's events, trace and CPU profiles to rows of tables."""
