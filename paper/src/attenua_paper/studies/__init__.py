"""Studies: attenuation and its rivals on the same rows and the same folds."""

from attenua_paper.studies.compare import METHODS, Method, Setting, compare

__all__ = ["METHODS", "Method", "Setting", "compare"]
