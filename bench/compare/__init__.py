"""Ours beside what other packages print, one file a comparison."""
