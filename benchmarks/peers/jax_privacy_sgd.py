"""JAX-Privacy: DP-SGD with Poisson sampling, last half of the iterates averaged."""

from functools import partial
from importlib.metadata import version

import dp_accounting
import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.batch_selection import pad_to_multiple_of
from jax_privacy.experimental.accounting import dpsgd_event
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig
from protocol import serve


def logistic(weights, row, label):
    """Logistic loss of one row; the label is -1 or +1."""
    return jax.nn.softplus(-label * (row @ weights))


def softmax(weights, row, label):
    """Cross entropy of one row; the label is the number of its class."""
    scores = weights @ row
    return jax.nn.logsumexp(scores) - scores[label]


def calibrate(epsilon, delta, setting, shape):
    """Calibrate with the peer's default accountant and relation (zero-out)."""
    relation = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    return dp_accounting.calibrate_dp_mechanism(
        lambda: dp_accounting.pld.PLDAccountant(relation),
        lambda sigma: dpsgd_event(
            noise_multiplier=sigma, sampling_prob=setting["rate"], iterations=setting["steps"]
        ),
        target_epsilon=epsilon,
        target_delta=delta,
    )


@partial(jax.jit, static_argnums=(0, 1))
def step(gradient, privatise, weights, velocity, state, rows, labels, padding, setting):
    """Make one noisy step with momentum."""
    clipped_mean = gradient(weights, rows, labels, is_padding_example=padding)
    noisy, state = privatise(clipped_mean, state)
    velocity = setting["momentum"] * velocity + noisy
    return weights - setting["step_size"] * velocity, velocity, state


def fit(X, y, noise, setting, seed):
    """Run DP-SGD from zero for a fixed number of steps; several classes get weights each."""
    n, p = X.shape
    steps = setting["steps"]
    if y.max() > 1:
        loss, labels, weights = softmax, y.astype(np.int32), jnp.zeros((int(y.max()) + 1, p))
    else:
        loss, labels = logistic, np.where(y > 0, 1, -1).astype(np.float32)
        weights = jnp.zeros(p)
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
    rows = X.astype(np.float32)
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
