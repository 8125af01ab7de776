"""Ways to run one kind of agent each: they capture and never compute."""
