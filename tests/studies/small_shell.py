"""The shell with settings that take seconds: ``python -m tests.studies.small_shell study --quick ...``."""

from attenua.__main__ import main
from attenua.studies import budget, simulations

SMALL = budget.StudySettings(n_subsamples=3, n_versions={"optdigits": 2}, budgets=(32, 64))
TINY = simulations.Settings(replicates=40, audit_replicates=40, audit_sizes=(64, 256), pilot_rows=2_000)

if __name__ == "__main__":
    budget.QUICK, simulations.QUICK = SMALL, TINY
    main()
