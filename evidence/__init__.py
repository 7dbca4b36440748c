"""A package, so that the tests in it are ``evidence.tests`` and not a second ``tests``."""
