"""The rulebook: rules and API tables as data, matched against facts.

``model``      the form of a rule, a row, a condition, a verdict window
``load``       reads ``rules/`` (through a cache keyed by its digest) and checks the form
``interest``   what a reader has to look for, derived from the rules
``match``      which row or detector speaks at an event
``judge``      from a match to a finding: targets, guards, confidence
``suppress``   ``# neuronport: ignore[rule] reason`` comments
"""
