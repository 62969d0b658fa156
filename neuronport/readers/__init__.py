"""Readers: one package or file per file format. A reader knows its format and nothing of Neuron."""
