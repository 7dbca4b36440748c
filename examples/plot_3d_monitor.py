"""
Which rows are unusual: T2 and Q
================================

Wines of one grower are fitted; new wines of the same and of other growers are compared with the limits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from attenua import CorrectedPCA

X, kind = load_wine(return_X_y=True)
X = X / X.std(axis=0)
same, others = X[kind == 0], X[kind != 0]
fitted, new = same[:40], same[40:]
model = CorrectedPCA(3).fit(fitted)
limits = model.control_limits(fitted)

# %%
# T2 is the distance from the centre inside the subspace, Q the squared distance from the subspace. Fitted
# rows are drawn where a fit without them puts them, so that the limits hold for all rows alike.

rows = {
    "fitted, held out": (limits.t2_rows, limits.q_rows, "0.55", "o"),
    "new, same kind": (model.t2(new), model.q(new), "#0b7285", "s"),
    "new, other kinds": (model.t2(others), model.q(others), "#c2410c", "^"),
}
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, (t2, q, colour, marker) in rows.items():
    ax.scatter(t2, q, s=26, c=colour, marker=marker, label=f"{name} ({len(q)})", alpha=0.8, linewidths=0)
for level, style in ((0.95, ":"), (0.99, "--")):
    ax.axvline(limits.t2(level), color="black", ls=style, lw=1, label=f"limits of {level:.0%}")
    ax.axhline(limits.q(level), color="black", ls=style, lw=1)
ax.set(xscale="log", yscale="log", xlabel="T2", ylabel="Q")
ax.legend(fontsize=9, loc="lower right")

# %%
# The textbook's limits, from the fitted rows, are wider for T2 and tighter for Q.

textbook = model.control_limits(fitted, held_out=False)
for name, each in (("held out", limits), ("textbook", textbook)):
    beyond = np.mean((model.t2(new) > each.t2()) | (model.q(new) > each.q()))
    print(f"{name}: T2 {each.t2():.1f}, Q {each.q():.1f} at 95%; {beyond:.0%} of new rows beyond")

plt.show()
