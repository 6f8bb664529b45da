"""Outputs that were recorded: audits of samples, files that hold them, one-run audits of scores, and plans."""
