"""Conformal bands beside split conformal prediction: coverage in groups, width, time."""
