"""Equispaced Fourier modes in the place of a stationary kernel of one to three columns."""
