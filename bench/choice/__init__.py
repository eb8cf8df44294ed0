"""Whether the default can be trusted, and what it costs."""
