"""A Gaussian process: predictions at points that were not tried."""

from __future__ import annotations

import warnings

import numpy as np

from rota.arrays import Floats

AMPLITUDE = (0.01, 1000.0)  # as in scikit-optimize
LENGTHS = (0.01, 100.0)
NOISE = (1e-6, 1.0)


class Surrogate:
    """A Gaussian process with one length-scale per feature (Matérn × amplitude + white noise), whose
    hyper-parameters maximise the marginal likelihood (L-BFGS, with restarts).

    Means and deviations are in units of the values' own standard deviation, from their mean, and describe the
    function itself, without the noise of one more evaluation.

    Args:
        features: One row per tried point, scaled to [0, 1].
        values: What each scored.
        nu: Smoothness of the Matérn kernel.
        restarts: How often the fit starts again from random hyper-parameters.
        seed: Of these restarts.
    """

    def __init__(self, features: Floats, values: Floats, nu: float = 2.5, restarts: int = 2, seed: int = 0) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        self.center = float(values.mean())
        self.scale = float(values.std()) or 1.0
        lengths = np.ones(features.shape[1])
        kernel = ConstantKernel(1.0, AMPLITUDE) * Matern(lengths, LENGTHS, nu=nu) + WhiteKernel(0.01, NOISE)
        self._gp = GaussianProcessRegressor(
            kernel, alpha=1e-10, n_restarts_optimizer=restarts, random_state=seed % 2**32
        )
        # One thread: the matrices are tiny, more threads only wait for each other, and sums come out the same.
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # "close to its bound": the bounds are meant
            self._gp.fit(features, self.normalised(values))

    def normalised(self, values: Floats) -> Floats:
        """Values in the unit of this belief."""
        return (values - self.center) / self.scale

    @property
    def noise(self) -> float:
        """Variance of one evaluation around the function."""
        return float(self._gp.kernel_.k2.noise_level)

    def predict(self, features: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the function at these points."""
        from threadpoolctl import threadpool_limits

        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.filterwarnings("ignore", message="Predicted variances smaller than 0")  # rounding, clipped below
            mean, deviation = self._gp.predict(features, return_std=True)
        variance = np.maximum(deviation**2 - self.noise, 1e-12)  # its prediction is of a noisy evaluation
        return mean, np.sqrt(variance)
