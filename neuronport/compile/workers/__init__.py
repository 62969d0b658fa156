"""What other interpreters run: see ``neuronport/xla_environment``.

Rows of a worker that compiles a model, numbered by call of the model:

* ``{"plan": [{"graph", "mode", "inputs"}, …]}``: what is going to be compiled;
* ``{"files": [FILE, …]}``: the user's code that was imported;
* ``{"call": N, "phase": WORD}``: it has come so far;
* ``{"call": N, "done": {…}}`` or ``{"call": N, "failed": {"error", "text", "phase"}}``;
* ``{"fatal": TEXT}``: there is no model.
"""
