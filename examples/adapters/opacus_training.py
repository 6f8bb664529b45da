"""A model trained by Opacus, with canaries in its gradients, and with a line that halves the noise.

pip install '../..[torch]' && python opacus_training.py
"""

import warnings

import torch
from opacus import PrivacyEngine

import dpcheck as dp
from dpcheck.adapters import opacus

NOISE, EPOCHS, RECORDS = 2.0, 6, 256


def trained(noise: float, *, rate: float = 1.0, number: int = 1000, seed: int = 0) -> opacus.GradientCanaries:
    """White-box canaries of one run; `rate` of the records in a batch."""
    torch.manual_seed(seed)
    features, labels = torch.randn(RECORDS, 64), torch.randint(2, (RECORDS,))
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(features, labels), batch_size=round(rate * RECORDS)
    )
    engine = PrivacyEngine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=loader,
            noise_multiplier=noise,
            max_grad_norm=1.0,
            poisson_sampling=rate < 1,
        )
        canaries = opacus.attach(optimizer, number=number, rate=rate, seed=seed)
        for _ in range(EPOCHS):
            for batch, target in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(batch), target).backward()
                optimizer.step()
    return canaries


if __name__ == "__main__":
    claim = dp.GaussianDP(EPOCHS**0.5 / NOISE)
    print(trained(NOISE).audit(claim, name="Opacus"))
    print(trained(NOISE / 4).audit(claim, name="Opacus with a quarter of the noise"))
