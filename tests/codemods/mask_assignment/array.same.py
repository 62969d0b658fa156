import numpy as np


def f(a):
    a = np.asarray(a)
    a[a < 0] = 0
    a[np.isnan(a)] = 0
    return a
