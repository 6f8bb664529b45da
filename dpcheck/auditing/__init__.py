"""The privacy auditor: what two piles of outputs say against a claimed guarantee, and how surely."""
