"""From evidence to tables: literal definitions, one builder per grain."""
