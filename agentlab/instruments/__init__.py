"""What can be attached to any run."""
