"""The report of ``neuronport report``: what the records of a folder say, joined, in no format.

``model.py`` builds it from one file per part; ``markdown.py`` and ``json_.py`` write it, and
:mod:`neuronport.reporting.html` makes the page.
"""
