"""The paper's data sets, the methods it compares with, its simulations and its study."""
