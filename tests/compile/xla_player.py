"""Plays an interpreter with torch_xla: answers a worker with the rows that were recorded.

Called as ``neuronport/xla_environment/running.py`` calls such an interpreter: the file that starts
workers, the request, the file for rows.
"""

import base64
import json
import os
import sys


def main() -> None:
    _start, ask, rows = sys.argv[1:]
    with open(ask, encoding="utf-8") as stream:
        asked = json.load(stream)
    with open(os.environ["REPLAY_TORCH_XLA"], encoding="utf-8") as stream:
        replay = json.load(stream)
    found = replay["rows"]
    if asked["worker"] == "neuronport.xla_environment.versions":
        found = [replay["versions"]]
    else:
        assert asked["worker"] == "neuronport.compile.workers.lowered"
        request = asked["request"]
        names = [node["name"] for node in request["graph"]["nodes"]]
        assert names == replay["nodes"], names
        if request["hlo"] and replay["hlo"]:
            with open(request["hlo"], "wb") as hlo:
                hlo.write(base64.b64decode(replay["hlo"]))
        if not request["run"]:
            found = [row for row in found if not {"compiled", "again"} & row.keys()]
            found = [row for row in found if row.get("phase") != "compile"]
    with open(rows, "a", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in found)


main()
