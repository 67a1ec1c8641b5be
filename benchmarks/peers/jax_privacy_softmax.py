"""JAX-Privacy: DP-SGD with Poisson sampling on several classes."""

from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.batch_selection import pad_to_multiple_of
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig
from jax_privacy_sgd import calibrate, step
from protocol import serve


def loss(weights, row, label):
    """Cross entropy of one row; the label is the number of its class."""
    scores = weights @ row
    return jax.nn.logsumexp(scores) - scores[label]


def fit(X, y, noise, setting, seed):
    """Run DP-SGD from zero for a fixed number of steps; return the mean of the last half."""
    n, steps = len(y), setting["steps"]
    plan = BandMFExecutionPlanConfig(
        strategy=np.ones(1),
        iterations=steps,
        epsilon=None,
        delta=None,
        noise_multiplier=noise,
        sampling_prob=setting["rate"],
        l2_clip_norm=setting["clip"],
        rescale_to_unit_norm=False,
        normalize_by=setting["rate"] * n,
        noise_seed=seed,
    ).plan
    gradient = plan.clipped_grad(loss, batch_argnums=(1, 2), keep_batch_dim=False)
    privatise = plan.noise_addition_transform.update
    rows, labels = X.astype(np.float32), y.astype(np.int32)
    weights = jnp.zeros((int(y.max()) + 1, X.shape[1]))
    velocity, total = jnp.zeros_like(weights), np.zeros(weights.shape)
    state = plan.noise_addition_transform.init(weights)
    batches = plan.batch_selection_strategy.batch_iterator(n, rng=seed)
    for i, batch in enumerate(batches):
        # Padding to few distinct shapes keeps the number of compilations small.
        batch = pad_to_multiple_of(batch, max(1024, round(0.05 * setting["rate"] * n)))
        weights, velocity, state = step(
            gradient,
            privatise,
            weights,
            velocity,
            state,
            rows[batch],
            labels[batch],
            batch == -1,
            setting,
        )
        if i >= steps // 2:
            total += np.asarray(weights)
    return total / (steps - steps // 2)


if __name__ == "__main__":
    packages = ("jax-privacy", "jax", "dp-accounting")
    serve(calibrate, fit, {name: version(name) for name in packages}, needs=("rate", "steps"))
