"""Masked-target solvers on real covariances: ours against those of pymanopt.

Run from the repository root, with pymanopt installed and the three data files in ``$ATTENUA_DATA`` (or in
``../shared/data``):

    OMP_NUM_THREADS=1 python benchmarks/masked_target_solvers.py --subsamples 3

Every problem is one covariance of 64 or 128 rows, one mask rate, one kind of mask and one of the two starts.
All solvers get the same loss, gradient and starts, stop at a relative tangent-gradient norm of 1e-7 and are
cut off after 800 iterations. pymanopt's trust regions also get products with the Hessian.
"""

import argparse
import os
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from attenua._data.rows import HostRows
from attenua._select.rule import AttenuationRule
from attenua_paper.rivals.manifold import MAX_ITER, TOLERANCE, grassmann_tangent, minimise
from attenua_paper.rivals.masked_loss import MaskedTargetLosses

RATES = np.array([0.25, 0.5, 0.75, 0.9])


def data_sets(rng):
    """Yield name, rows, rank and column groups, as in the paper's study."""
    folder = Path(os.environ.get("ATTENUA_DATA", "../shared/data"))
    images = np.load(folder / "optdigits.npz")["train"].reshape(-1, 8, 8).astype(float)
    corners = rng.integers(0, 6, (len(images), 2))
    patches = [image[i : i + 3, j : j + 3].ravel() for image, (i, j) in zip(images, corners, strict=True)]
    yield "Optdigits", np.stack(patches), 2, np.arange(9) // 3
    yield "Phoneme", np.load(folder / "phoneme.npz")["X_train"], 8, np.arange(256) // 16
    acceleration = np.load(folder / "har.npz")["total_acc_train"].astype(float)
    yield "HAR", np.sqrt((acceleration**2).sum(axis=2)), 16, np.arange(128) // 8


def problems(subsamples, seed):
    """Yield data name, mask kind, losses (one a rate and start) and starts."""
    rng = np.random.default_rng(seed)
    for name, rows, rank, groups in data_sets(rng):
        for n in [64, 128] * subsamples:
            moments = HostRows(rows[rng.choice(len(rows), n, replace=False)]).moments()
            for kind, labels in (("coordinate", None), ("block", groups)):
                rule = AttenuationRule(np.append(0.0, RATES / (1 + RATES)), labels)
                bases = dict(rule.subspaces(moments, rank))
                starts = np.stack([bases[0].basis] * 4 + [bases[k].basis for k in range(1, 5)])
                losses = MaskedTargetLosses(moments.covariance, np.tile(RATES, 2), labels)
                yield name, kind, losses, losses.to_inner(starts)


class One:
    """A single problem of a batch, for solvers that take one."""

    def __init__(self, losses, index):
        self.losses, self.which = losses, np.array([index])

    def value_and_gradient(self, U, which):
        """Return what our solver asks for."""
        return self.losses.value_and_gradient(U, self.which[which])

    def preconditioner(self, U, gradient, which):
        """Return what our solver asks for."""
        return self.losses.preconditioner(U, gradient, self.which[which])

    def value(self, U):
        """Return the loss of one frame."""
        return float(self.losses.value_and_gradient(U[None], self.which)[0][0])

    def gradient(self, U):
        """Return the Euclidean gradient at one frame."""
        return self.losses.value_and_gradient(U[None], self.which)[1][0]

    def hessian(self, U, V):
        """Return the Hessian times V; a central difference of the cubic gradient is right to rounding."""
        h = 1e-4 / max(np.linalg.norm(V), 1e-300)
        both = np.stack([U + h * V, U - h * V])
        up, down = self.losses.value_and_gradient(both, self.which.repeat(2))[1]
        return (up - down) / (2 * h)


def relative_gradient(losses, frames):
    gradient = losses.value_and_gradient(frames, np.arange(len(frames)))[1]
    size = np.linalg.norm(gradient, axis=(1, 2))
    return np.linalg.norm(grassmann_tangent(frames, gradient), axis=(1, 2)) / size


def ours_together(losses, starts):
    found = minimise(losses, starts)
    return found.frames, ~found.converged


def ours_one_by_one(losses, starts):
    found = [minimise(One(losses, k), start[None]) for k, start in enumerate(starts)]
    return np.concatenate([f.frames for f in found]), ~np.concatenate([f.converged for f in found])


def pymanopt_solver(name):
    import pymanopt
    from pymanopt.manifolds import Grassmann
    from pymanopt.optimizers import ConjugateGradient, TrustRegions

    def solve(losses, starts):
        frames, capped = [], []
        for k, start in enumerate(starts):
            one, manifold = One(losses, k), Grassmann(*start.shape)
            parts = {
                "cost": pymanopt.function.numpy(manifold)(one.value),
                "euclidean_gradient": pymanopt.function.numpy(manifold)(one.gradient),
                "euclidean_hessian": pymanopt.function.numpy(manifold)(one.hessian),
            }
            problem = pymanopt.Problem(manifold, **parts)
            options = {
                "max_iterations": MAX_ITER,
                "min_gradient_norm": TOLERANCE * np.linalg.norm(one.gradient(start)),
                "min_step_size": 0,
                "max_time": 60,
                "verbosity": 0,
            }
            solver = ConjugateGradient if name == "conjugate gradient" else TrustRegions
            result = solver(**options).run(problem, initial_point=start)
            frames.append(result.point)
            capped.append(result.iterations >= MAX_ITER)
        return np.stack(frames), np.array(capped)

    return solve


SOLVERS = {
    "ours, rates and starts together": ours_together,
    "ours, one by one": ours_one_by_one,
    "pymanopt trust regions": pymanopt_solver("trust regions"),
    "pymanopt conjugate gradient": pymanopt_solver("conjugate gradient"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subsamples", type=int, default=3, help="subsamples of each size and data set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    options = parser.parse_args()
    seconds, capped, failed, worse = (defaultdict(list) for _ in range(4))
    for name, kind, losses, starts in problems(options.subsamples, options.seed):
        values = {}
        for solver in options.solvers:
            began = time.perf_counter()
            frames, at_cap = SOLVERS[solver](losses, starts)
            key = (name, kind, solver)
            seconds[key].append((time.perf_counter() - began) / len(starts))
            capped[key].extend(at_cap)
            # The start's gradient sets pymanopt's threshold, hence the little slack.
            failed[key].extend(relative_gradient(losses, frames) > 1.5 * TOLERANCE)
            values[solver] = losses.value_and_gradient(frames, np.arange(len(frames)))[0]
        lowest = np.min(list(values.values()), axis=0)
        for solver, found in values.items():
            worse[name, kind, solver].extend(found > lowest + 1e-6 * np.abs(lowest))
    head = f"{'ms a run':>9} {'hit the cap':>12} {'not at 1e-7':>12} {'worse minimum':>14}"
    print(f"{'data':10} {'masks':11} {'solver':33} {head}")
    for key in seconds:
        name, kind, solver = key
        shares = f"{np.mean(capped[key]):12.2%} {np.mean(failed[key]):12.1%} {np.mean(worse[key]):14.1%}"
        print(f"{name:10} {kind:11} {solver:33} {1e3 * np.mean(seconds[key]):9.2f} {shares}")


if __name__ == "__main__":
    main()
