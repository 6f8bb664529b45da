"""Opacus: white-box canaries in a `DPOptimizer`, for `dp.audit_canary_scores`. Needs `dpcheck[torch]`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dpcheck.adapters.canaries import GradientCanaries
from dpcheck.errors import InvalidInput, MissingExtra


def attach(optimizer: Any, *, number: int, rate: float, seed: int = 0) -> GradientCanaries:
    """Puts canaries into the gradients of a DPOptimizer: train as ever, then `.audit(claim)` what is returned.

    Every step adds the canaries of its batch to the clipped sum, before the noise, and reads the released gradient. The
    model learns from them too: it is for auditing.

    Args:
        optimizer: what `PrivacyEngine.make_private` returned, without a step hook of its own.
        number: of canaries; rate: of the data loader, whose batches are Poisson samples.

    Raises:
        MissingExtra: Opacus is not installed. InvalidInput: it is no optimizer of Opacus.
    """
    try:
        import torch
        from opacus.optimizers import DPOptimizer
    except ImportError as error:
        raise MissingExtra("canaries in an optimizer of Opacus", "torch") from error
    if not isinstance(optimizer, DPOptimizer):
        raise InvalidInput(f"canaries go into an optimizer of Opacus (DPOptimizer), got {type(optimizer).__name__}")
    sizes = [p.numel() for p in optimizer.params]
    ends = np.cumsum(sizes)
    canaries = GradientCanaries(number, size=int(ends[-1]), clip=optimizer.max_grad_norm, rate=rate, seed=seed)
    add_noise, known = optimizer.add_noise, np.zeros(int(ends[-1]))

    def with_canaries(self: Any) -> None:
        """Once a step, however many batches it was accumulated from."""
        known[:] = torch.cat([p.summed_grad.reshape(-1) for p in self.params]).cpu().numpy()
        places = canaries.drawn()
        owners = np.searchsorted(ends, places, side="right")
        for k, p in enumerate(self.params):
            inside = places[owners == k] - (ends[k] - sizes[k])
            p.summed_grad.view(-1)[torch.as_tensor(inside, device=p.device)] += canaries.clip
        add_noise()

    def observe(self: Any) -> None:
        released = torch.cat([p.grad.detach().reshape(-1) for p in self.params]).cpu().numpy()
        mean = self.loss_reduction == "mean"
        scale = self.expected_batch_size * self.accumulated_iterations if mean else 1.0
        canaries.observe(released * scale, known)

    optimizer.add_noise = types.MethodType(with_canaries, optimizer)
    optimizer.attach_step_hook(observe)
    return canaries
