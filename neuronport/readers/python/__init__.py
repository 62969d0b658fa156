"""Python files → facts, in one pass over the syntax tree and without running anything.

``evaluate.read_module`` turns the text of one file into a :class:`~.facts.ModuleFacts`: what the
file imports, defines and returns, and the *events* a rule could care about (a use of a dotted
name, a method call, a device-like string …), each with symbolic *values*. The facts of a file
depend on that file alone; what needs other files (re-exports, helpers, attributes set in a base
class) stays symbolic and is resolved later by ``neuronport.source``.
"""
