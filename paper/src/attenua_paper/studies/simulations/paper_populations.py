"""The populations and the grids of strengths that the paper simulates."""

import numpy as np
from scipy.linalg import hadamard

from attenua._correct.attenuation import NAMED_ALPHAS
from attenua_paper.theory import Population

# Panels (a), (b) and the audit beyond Gaussian rows; panel (c) names its finer grid.
STRENGTHS = NAMED_ALPHAS["direct"]
FINE_STRENGTHS = np.sort(np.append(np.arange(41) / 40, 0.49))

# Rows of a sample in panels (a) and (b), and in panel (c).
PRESERVED_SIZE = 256
MOVING_SIZE = 64

# Angles of the rotating family, in degrees.
ANGLES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5)

UNEQUAL_COVARIANCE = np.array(
    [[4, 2, 0.75, 0.25], [2, 4, 0.25, 0.75], [0.75, 0.25, 2.5, 1.5], [0.25, 0.75, 1.5, 2.5]]
)


def balanced_design() -> Population:
    r"""Return :math:`I_{16} + \sum_r \theta_r u_r u_r^\top`, spikes (8, 4, 2) on Hadamard columns, rank 3.

    The paper does not say which columns. The first three are used; in the theory for Gaussian rows every
    choice has the same risk curve.
    """
    spikes = hadamard(16)[:, :3] / 4
    return Population(np.eye(16) + (spikes * [8, 4, 2]) @ spikes.T, n_components=3)


def unequal_design() -> Population:
    """Return the 4 x 4 covariance of unequal variances that preserve the target (eq. unequal-example)."""
    return Population(UNEQUAL_COVARIANCE, n_components=2)


def rotating_design(angle: float) -> Population:
    r"""Return :math:`R_{\pi/4-\phi} \operatorname{diag}(5, 1) R_{\pi/4-\phi}^\top` at rank 1.

    (eq. moving-experiment-family). Attenuation moves its target the further, the larger the coupling
    :math:`\|P_*^\perp D P_*\|_F = \sin 4 \phi`.

    Parameters
    ----------
    angle : float
        :math:`\phi` in degrees.
    """
    theta = np.pi / 4 - np.deg2rad(angle)
    rotation = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    return Population(rotation @ np.diag([5.0, 1.0]) @ rotation.T, n_components=1)
