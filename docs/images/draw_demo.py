"""Draw demo.png and demo-narrow.png, the pictures of the first page: ``python docs/images/draw_demo.py``."""

from pathlib import Path

from attenua.cli.demo import save_demo_figure
from attenua.cli.demo_runs import demo_data, run_demo

if __name__ == "__main__":
    results = run_demo(demo_data(), 32, 40, seed=0)
    for name in ("demo", "demo-narrow"):
        save_demo_figure(results, 32, Path(__file__).with_name(f"{name}.png"), narrow=name == "demo-narrow")
