"""Libraries' mechanisms and training loops as what the auditor takes; each module needs its library, and names it."""
