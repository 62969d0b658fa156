"""The report as one HTML file that needs nothing else: no network, no script of others.

``page.py`` fills ``templates/report``; ``island.py`` packs the findings for the page's script;
``frames.py`` reads the lines around them; ``plots.py`` draws.
"""

from neuronport.reporting.html.page import render

__all__ = ["render"]
