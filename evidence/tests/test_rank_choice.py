"""The script that compares choices of the rank: its losses are literal, and it writes its tables."""

import numpy as np

from attenua_evidence.rank_choice import KINDS, METHODS, draw, losses, main


def test_losses_noise_and_tables(tmp_path):
    # Losses and noise.
    # Losses are distances from the signal.
    rows, signal = draw(KINDS["3 strong"], 12, 9, np.random.default_rng(0))
    u, d, vt = np.linalg.svd(rows, full_matrices=False)
    expected = [np.sum((signal - (u[:, :k] * d[:k]) @ vt[:k]) ** 2) for k in range(10)]
    np.testing.assert_allclose(losses(rows, signal), expected, rtol=1e-9)
    # Noise has unit variance on average.
    random = np.random.default_rng(0)
    for kind in KINDS.values():
        assert abs(np.mean(kind.noise(random, 400, 300) ** 2) - 1) < 0.1
    # Tables are written.
    main(["--draws", "2", "--quick", "--write", str(tmp_path / "page.md")])
    lines = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    assert lines[2] == f"| population | {' | '.join(METHODS)} |"
    strong = next(line for line in lines if line.startswith("| 3 strong |")).split("|")
    assert len(strong) == len(METHODS) + 3
    assert all("%" in cell for cell in strong[2:-1])
    none = next(line for line in lines if line.startswith("| no signal |"))
    assert "+" not in none
