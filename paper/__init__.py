"""A package, so that the tests in it are ``paper.tests`` and not a second ``tests``."""
