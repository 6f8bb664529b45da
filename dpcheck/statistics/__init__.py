"""Statistics with stated failure probabilities: binomials, means of heavy tails, e-values, slopes."""
