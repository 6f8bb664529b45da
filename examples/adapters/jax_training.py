"""A training loop in JAX, gradients by `vmap(grad)`, as JAX Privacy writes it, with canaries in its gradients.

pip install '../..[jax]' && python jax_training.py
"""

import jax
import jax.numpy as jnp

import dpcheck as dp
from dpcheck.adapters.canaries import GradientCanaries

CLIP, NOISE, STEPS, SIZE = 1.0, 2.0, 8, 600


def loss(weights, record, label):
    return jnp.logaddexp(0.0, -label * record @ weights)


@jax.jit
def clipped_sum(weights, records, labels):
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(weights, records, labels)
    norms = jnp.linalg.norm(gradients, axis=1, keepdims=True)
    return (gradients * jnp.minimum(1.0, CLIP / norms)).sum(axis=0)


def trained(noise: float, *, number: int = 500, seed: int = 0) -> GradientCanaries:
    """White-box canaries of one run of full batches."""
    canaries = GradientCanaries(number, size=SIZE, clip=CLIP, seed=seed)
    key = jax.random.PRNGKey(seed)
    records, labels = jax.random.normal(key, (128, SIZE)), jnp.sign(jax.random.normal(key, (128,)))
    weights = jnp.zeros(SIZE)
    for step in range(STEPS):
        total = clipped_sum(weights, records, labels)
        noisy = total + noise * CLIP * jax.random.normal(jax.random.fold_in(key, step), (SIZE,))
        noisy = noisy.at[jnp.asarray(canaries.drawn())].add(CLIP)
        canaries.observe(noisy, known=total)
        weights -= 0.1 * noisy / len(records)
    return canaries


if __name__ == "__main__":
    claim = dp.GaussianDP(STEPS**0.5 / NOISE)
    print(trained(NOISE).audit(claim, name="a JAX loop"))
    print(trained(NOISE / 4).audit(claim, name="a JAX loop with a quarter of the noise"))
