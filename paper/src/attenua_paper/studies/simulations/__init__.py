"""The paper's simulations: expected excess risk by Monte Carlo, and by the theory."""

from attenua_paper.studies.simulations.simulate import FULL, QUICK, Settings, Simulations, run_simulations

__all__ = ["FULL", "QUICK", "Settings", "Simulations", "run_simulations"]
