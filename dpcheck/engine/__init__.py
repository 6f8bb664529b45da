"""Collecting, running, resuming and storing checks."""
