"""Pictures and tables for notebooks: HTML and SVG made of plain numbers and texts.

The classes of the package have a ``_repr_html_`` that hands their numbers to these functions. What
comes out is small, needs no script and no network, and has the colours of the page around it, light
or dark. All texts are escaped.
"""
