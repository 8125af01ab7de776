"""What a notebook shows: cards, and the panel of a running study."""
