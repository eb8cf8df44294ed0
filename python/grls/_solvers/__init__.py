"""The way into the compiled core, and the only one: typed problems in, typed results out."""
