"""One self-contained page about a fit: should I use it on my data, how much does it help, and why."""

from attenua.report.page import Report, report

__all__ = ["Report", "report"]
