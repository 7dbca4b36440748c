"""The numbers that the solver was tuned with, and the benchmark that shows what another value does.

Each comment ends with a benchmark: run that script before and after a change.

- cost: ``benchmarks/cost.py``, time and memory of fits at many shapes and spectra;
- accuracy: ``benchmarks/cost.py --accuracy``, and ``corrected_cost.py --accuracy`` for candidates that begin
  from another: what fits explain, compared with LAPACK;
- corrected: ``benchmarks/corrected_cost.py``, the search over all corrections;
- growth: ``benchmarks/growth.py``, time and memory as the data grow;
- gpu: ``benchmarks/gpu.py``, on a device.
"""

# A private switch of benchmarks/record.py: whole decompositions only, and candidates compared by all splits.
EXACTLY = False

# --- Accuracy that is demanded -----------------------------------------------------------------------------
# What the explained variance of a subspace may fall short, as a part of the total variance. [accuracy]
SHORTFALL = 1e-8
# Largest residual, relative to the distance from the mean of the unwanted eigenvalues: [accuracy]
FINE = 1e-10  # of an exact answer, whose angles are to be accurate too
# of an exact answer where nearly the whole space of few rows is wanted: angles as accurate as elsewhere would
# cost more than all the rest, and the explained variance is as accurate all the same
FINE_AT_HIGH_RANK = 3e-5
ROUGH = 1e-2  # to compare candidates, times the distance by which they differ
# The distance by which candidates differ counts at least and at most this much. [accuracy]
DIFFERENCE = (1e-6, 1.0)
# The difference that is assumed of a single candidate. [accuracy]
DIFFERENCE_ALONE = 1e-3
# The same for block Lanczos: the root mean square angle to the exact vectors, and the same as a part of the
# angle to the candidate it began from; or the variance that is missed, as a part of what the subspace leaves.
# A gain that matters is a larger part. [accuracy]
ANGLE_ALONE, ANGLE_FROM_NEAR, MISSED_OF_REST = 1e-4, 1e-2, 1e-6
# Looks after which the difference of the members is measured well enough. [accuracy]
MEASUREMENTS = 2
# Largest residual of a direction without variance, relative to the median variance, to compare. [accuracy]
EMPTY = 0.1
# The distance from the unwanted eigenvalues counts at least this part of the median variance. [accuracy]
LEAST_DISTANCE = 1e-2
# An exact answer is improved until the sine of its angle to the exact subspace is this, as long as a round
# reduces the residual by this factor. [accuracy]
SINE, FAST = 1e-7, 5.0
# A gap of fewer rounding errors than this is left to a whole decomposition, which may see it. [accuracy]
CLEAR_GAP = 100
# Vectors of inner products of rows are inaccurate if their eigenvalue is a smaller part of the largest.
# [accuracy]
CLEAR_PRODUCTS = 1e-9
# New columns are left out if the square of what they add to the basis is below this; the second for
# residuals, which are often nearly alike. [accuracy]
DEPENDENT, ALIKE = 1e-12, 1e-8
# A filtered vector may outgrow another by this factor before the other is taken out of it. [accuracy]
LARGEST_GROWTH = 1e10

# --- Whole decompositions or an iteration ------------------------------------------------------------------
# Whole decompositions are faster up to this size. [cost]
DIRECT_SIZE = 128
# A few exact ones up to this size: no iteration is as accurate, and one towards a cut without a gap takes
# many times as long. [corrected]
EXACT_SIZE, EXACT_MEMBERS = 768, 4
# Inner products of n rows solve a candidate faster than Lanczos from another, if n^2 is at most this many
# times the columns, and n at most this if they must be formed first. [corrected]
ROWS_SQUARED_PER_COLUMN, ROWS_FORMED = 14, 144
# A matrix that is not formed yet may be formed up to this size. [cost]
DENSE_LIMIT = 5_000
# Matrices that are decomposed in one call take no more than this. [cost]
CALL_BYTES = 64 * 2**20
# Decompositions between these sizes have one thread: more are slower, and much slower where cores are shared.
# Smaller ones have one thread anyway. [cost]
ONE_THREAD_SIZES = (64, 512)
# The same for iterations in which a product with a vector takes fewer multiplications than this. [cost]
ONE_THREAD_PRODUCT = 2_000_000

# --- How a basis grows -------------------------------------------------------------------------------------
# Vectors beyond the rank, at least: the filter damps what lies below the last of them. [cost]
LEAST_GUARD = 6
# Largest degree of a filter; higher where a product takes no more than CHEAP_PRODUCT multiplications [cost],
# and on a device, where products cost little next to what follows them. [gpu]
LARGEST_DEGREE, LARGEST_DEGREE_CHEAP, LARGEST_DEGREE_DEVICE = 10, 20, 30
CHEAP_PRODUCT = 500_000
# Block Lanczos: products before the first assessment, products in all, blocks in its basis, and random
# columns in the first of them. [corrected]
LEAST_PRODUCTS, MOST_PRODUCTS, MOST_BLOCKS, RANDOM_COLUMNS = 3, 40, 8, 2
# Skip vectors whose residual is this many times smaller than the worst. [cost]
SKIPPED_RESIDUAL = 100.0
# Memory for the basis and its image. [growth]
BASIS_BYTES = 400 * 2**20
# Up to this many rows their whole space may be taken into the basis, whatever the rank. [cost]
FEW_ROWS = 600
# From this rank on it is expensive to check the residuals of a member. [cost]
HIGH_RANK = 64
# If residuals are at most this many times too large, one block of new columns is enough. [cost]
ONE_BLOCK = 200.0
# To check a basis of this many columns costs about as much as one new column. [cost]
COLUMNS_PER_CHECK = 64
# Up to this width of the basis every member is decomposed within it. [cost]
NARROW = 100
# Steps after which the subspace of a nearby member is computed from scratch. [cost]
MOST_STEPS = 12
# Rounds after which the basis is taken as it is. [cost]
MOST_ROUNDS = 60
# Random columns, and their products, that look for directions which S hides. [cost], and fuzz/structured.py
PROBES, PROBE_STEPS = 2, 3


def tracked(rank: int, size: int) -> int:
    """Return the number of vectors that are tracked: the wanted ones and some beyond the rank."""
    return min(rank + max(LEAST_GUARD, rank // 4), size - 1)
