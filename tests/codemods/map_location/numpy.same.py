import numpy as np

x = np.load("x.npy")
