"""Draw demo.png and demo-narrow.png, the pictures of the first page: ``python docs/images/draw_demo.py``."""

from pathlib import Path

from attenua.cli.demo import draw, run

if __name__ == "__main__":
    results = run(32, 40)
    for name in ("demo", "demo-narrow"):
        Path(__file__).with_name(f"{name}.png").write_bytes(draw(results, 32, narrow=name == "demo-narrow"))
