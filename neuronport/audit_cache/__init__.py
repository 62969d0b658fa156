"""What an audit remembers between runs: it changes time, never findings.

``store``    one SQLite file in the user's cache folder: checked blobs by key
``results``  findings as plain data and back
``memory``   what is kept of a file: what was read from it, whom it calls, what was found in it, each
             with everything that it depended on

What was read from a file depends on its bytes, its path, this program and what the rules look for;
what was found in it also on the rules, the targets and the answers that the index of the tree gave
(``source.recording``). An answer that has changed, or that nobody gave then, makes it anew.
"""
