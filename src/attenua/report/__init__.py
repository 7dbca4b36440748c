"""One self-contained page about a fit: should I use it on my data, how much does it help, and why."""

from attenua.report.page import report

__all__ = ["report"]
