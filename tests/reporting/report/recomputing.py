"""Every figure of a report worked out a second time, from the records and from nothing else.

Nothing of ``neuronport.reporting`` is used. The report's own data is asked only for names (which
target, which area, which cause stands in which row), never for a number.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

Json = dict[str, Any]

WORDS = [
    "breaks",
    "falls-back",
    "diverges",
    "recompiles",
    "syncs",
    "slow",
    "locks-in",
    "benign",
    "portable",
]
LEVEL = dict(zip(WORDS, ["error"] * 3 + ["warning"] * 3 + ["note", "none", "none"], strict=True))
SURE = ["certain", "likely", "possible"]
KINDS = ["observed", "documented", "source", "measured", "reported", "inferred"]
MINUTES = {"minutes": (1, 15), "hours": (60, 480), "days": (480, 2400)}


class Recomputed:
    def __init__(self, bodies: dict[str, Json], data: Json, earlier: Json | None = None) -> None:
        self.bodies, self.data, self.earlier = bodies, data, earlier
        self.audit = bodies.get("audit.json")
        self.port = bodies.get("port.json")
        self.graphs = [b for n, b in sorted(bodies.items()) if n.startswith("graph")]
        self.compiles = [b for n, b in sorted(bodies.items()) if n.startswith("compile")]

    def __call__(self, path: str) -> Any:
        """The value of a figure; raises KeyError where nothing here knows how to work it out."""
        head, *rest = path.split("/")
        method = getattr(self, f"_{head}", None)
        if method is None:
            raise KeyError(path)
        return method(rest)

    # ---- findings -----------------------------------------------------------------------------

    def counted(self, audit: Json | None = None) -> list[Json]:
        audit = audit or self.audit
        assert audit is not None
        roles = audit["summary"]["fail_roles"]
        return [f for f in audit["findings"] if f["context"]["role"] in roles]

    @staticmethod
    def worst(finding: Json) -> str:
        return min((v["verdict"] for v in finding["by_target"].values()), key=WORDS.index)

    def level(self, finding: Json) -> str:
        return LEVEL[self.worst(finding)]

    def sure(self, finding: Json) -> str:
        worst = self.worst(finding)
        found = [v["confidence"] for v in finding["by_target"].values() if v["verdict"] == worst]
        return min(found, key=SURE.index)

    def written(self) -> set[str]:
        changes = self.port["changes"] + self.port["held_back"] if self.port else []
        return {c["fingerprint"] for c in changes if c["safety"] == "safe"}

    def effort(self, findings: list[Json], key: str) -> int:
        """Low: a cause's mend once; without a cause, one mend per codemod. High: the first place
        of a cause, for each word of effort, at its high end; the rest, and what the tool writes
        safely, at the low end."""
        total = 0
        causes: dict[str, list[Json]] = {}
        for finding in findings:
            causes.setdefault(finding["group"], []).append(finding)
        for group, places in causes.items():
            places = sorted(
                places,
                key=lambda f: (
                    ["error", "warning", "note", "none"].index(self.level(f)),
                    SURE.index(self.sure(f)),
                    WORDS.index(self.worst(f)),
                    not f["context"]["hot"],
                    f["path"],
                    f["line"],
                ),
            )
            one_cause = group != places[0]["rule"]
            mended: set[Any] = set()
            words: set[str] = set()
            for place in places:
                redesign = place["effort"] == "redesign"
                once: Any = (
                    "cause" if one_cause else place["fix"]["codemod"] if place["fix"] else None
                )
                first = once is None or (once, redesign) not in mended
                mended.add((once, redesign))
                if redesign:
                    total += first if key == "redesigns" else 0
                elif key == "low_minutes":
                    total += MINUTES[place["effort"]][0] if first else 0
                elif key == "high_minutes":
                    safe = place["fix"] is not None and place["fix"]["safety"] == "safe"
                    again = place["effort"] in words or safe
                    total += MINUTES[place["effort"]][0 if again else 1]
                if not redesign:
                    words.add(place["effort"])
        return total

    def effort_at(self, level: str, key: str) -> int:
        """Of causes that are of one level: a mixed cause's share of each is not worked out here."""
        found = self.counted()
        for group in {f["group"] for f in found}:
            levels = {self.level(f) for f in found if f["group"] == group}
            assert len(levels) == 1, "the sample has no cause of several levels"
        return self.effort([f for f in found if self.level(f) == level], key)

    # ---- parts of the report --------------------------------------------------------------------

    def _audit(self, rest: list[str]) -> Any:
        assert self.audit is not None
        found, data = self.counted(), self.data["audit"]
        match rest:
            case ["sure_errors"]:
                return sum(self.level(f) == "error" and self.sure(f) != "possible" for f in found)
            case ["possible_errors"]:
                return sum(self.level(f) == "error" and self.sure(f) == "possible" for f in found)
            case ["by_target", target, word]:
                return sum(f["by_target"].get(target, {}).get("verdict") == word for f in found)
            case ["tree", "by_kind" | "not_read_by_kind" as table, kind]:
                return self.audit["tree"][table][kind]
            case ["tree", key]:
                return self.audit["tree"][key]
            case ["apart", i, "number"]:
                role = data["apart"][int(i)]["role"]
                return sum(f["context"]["role"] == role for f in self.audit["findings"])
            case ["suppressed" | "baselined" as key]:
                return len(self.audit[key])
            case ["by_area" | "by_file" as table, i, level]:
                key = "area" if table == "by_area" else "path"
                name = data[table][int(i)][key]
                return sum(f[key] == name and self.level(f) == level for f in found)
            case ["files_with_findings"]:
                return len({f["path"] for f in found})
            case ["evidence", i, "number"]:
                kind = data["evidence"][int(i)]["kind"]
                return sum(self.evidence(f) == kind for f in found)
            case ["by_confidence", word]:
                return sum(self.sure(f) == word for f in found)
            case ["not_looked_at", i, "number"]:
                reason = data["not_looked_at"][int(i)]["reason"]
                return sum(n["reason"] == reason for n in self.audit["not_looked_at"])
            case ["ratio", i, key]:
                return self.ratio(data["ratio"][int(i)]["target"], key)
        raise KeyError(rest)

    def evidence(self, finding: Json) -> str:
        worst = self.worst(finding)
        kinds = [
            e["kind"]
            for v in finding["by_target"].values()
            if v["verdict"] == worst
            for e in v["evidence"]
        ]
        return min(kinds, key=KINDS.index) if kinds else "none"

    def ratio(self, target: str, key: str) -> Any:
        assert self.audit is not None
        roles = self.audit["summary"]["fail_roles"]
        rows = [
            f
            for part in ("findings", "references", "suppressed", "baselined")
            for f in self.audit[part]
            if f["context"]["role"] in roles and target in f["verdict"]
        ]
        works = sum(f["verdict"][target] in ("benign", "portable") for f in rows)
        if key == "percent":
            return 100 * works // len(rows) if rows else None
        return works if key == "works" else len(rows)

    def places(self, i: int | str) -> list[Json]:
        key = self.data["groups"][int(i)]["group"]
        return [f for f in self.counted() if f["group"] == key]

    def _groups(self, rest: list[str]) -> Any:
        places = self.places(rest[0])
        match rest[1:]:
            case ["places"]:
                return len(places)
            case ["worst_places"]:
                words = [self.worst(f) for f in places]
                return words.count(min(words, key=WORDS.index))
            case ["files"]:
                return len({f["path"] for f in places})
            case ["written_by_tool"]:
                return sum(f["fingerprint"] in self.written() for f in places)
            case ["reached"]:
                assert self.audit is not None
                key = self.data["groups"][int(rest[0])]["group"]
                rows = [g for g in self.audit["groups"] if g["group"] == key]
                return len(rows[0]["reaches"])
            case ["to_review"]:
                changes = self.port["changes"] + self.port["held_back"] if self.port else []
                asked = {c["fingerprint"] for c in changes} - self.written()
                return sum(f["fingerprint"] in asked for f in places)
            case ["by_target", target, word]:
                return sum(f["by_target"].get(target, {}).get("verdict") == word for f in places)
            case ["effort", key]:
                return self.effort(places, key)
        raise KeyError(rest)

    def _effort(self, rest: list[str]) -> Any:
        match rest:
            case ["total", key]:
                return self.effort(self.counted(), key)
            case ["by_level", level, key]:
                return self.effort_at(level, key)
            case ["without_what_the_tool_writes", key]:
                left = [f for f in self.counted() if f["fingerprint"] not in self.written()]
                return self.effort(left, key)
        raise KeyError(rest)

    def _waves(self, rest: list[str]) -> Any:
        wave = self.data["waves"][int(rest[0])]
        members = [f for i in wave["groups"] for f in self.places(i)]
        match rest[1:]:
            case ["places"]:
                return len(members)
            case ["causes"]:
                return len({f["group"] for f in members})
            case ["files"]:
                return len({f["path"] for f in members})
            case ["written_by_tool"]:
                return sum(f["fingerprint"] in self.written() for f in members)
            case ["effort", key]:
                return self.effort(members, key)
        raise KeyError(rest)

    def _unknown(self, rest: list[str]) -> Any:
        what = self.data["unknown"][int(rest[0])]["what"]
        if "could not be looked at" in what:
            assert self.audit is not None
            return len(self.audit["not_looked_at"])
        if "does not read" in what:
            assert self.audit is not None
            return self.audit["tree"]["not_read"]
        if "possible" in what:
            return sum(self.sure(f) == "possible" for f in self.counted())
        if "inference" in what:
            return sum(self.evidence(f) in ("inferred", "none") for f in self.counted())
        if "no table has" in what:
            return sum(n.get("unknown", 0) for g in self.graphs for n in g["summary"].values())
        if "could not be traced" in what:
            return sum(len(g["failures"]) for g in self.graphs)
        raise KeyError(what)

    def _records(self, rest: list[str]) -> Any:
        if rest[0] == "rows" and rest[2] == "inputs":
            return None  # these records are the bare output of commands
        raise KeyError(rest)

    def _graphs(self, rest: list[str]) -> Any:
        body, shown = self.graphs[int(rest[0])], self.data["graphs"][int(rest[0])]
        match rest[1:]:
            case ["model", key]:
                return body["model"][key]
            case ["nodes", target, word]:
                return sum(
                    (n["by_target"][target]["eager"]["verdict"] or "unknown") == word
                    for g in body["graphs"]
                    for n in g["nodes"]
                )
            case ["lowering", key]:
                return body["lowering"]["operator_table"][key]
            case ["graphs", j, "cost", key]:
                return body["graphs"][int(j)]["cost"][key]
            case ["graphs", j, "operators", target, "rows", k, "nodes"]:
                row = shown["graphs"][int(j)]["operators"][target]["rows"][int(k)]
                return sum(
                    n["operator"] == row["operator"]
                    and (n["by_target"][target]["eager"]["verdict"] or "unknown") == row["verdict"]
                    for n in body["graphs"][int(j)]["nodes"]
                )
            case ["graphs", j, "modules", target, *way]:
                return self.module(body["graphs"][int(j)], shown["graphs"][int(j)], target, way)
            case ["partitions", j, "host_operators", k, "nodes"]:
                name = shown["partitions"][int(j)]["host_operators"][int(k)]["operator"]
                return body["partitions"][int(j)]["host_operators"][name]
            case ["partitions", j, "replacements", k, key]:
                return body["partitions"][int(j)]["replacements"][int(k)][key]
            case ["partitions" | "fits" as table, j, key]:
                return body[table][int(j)][key]
        raise KeyError(rest)

    @staticmethod
    def module(graph: Json, shown: Json, target: str, way: list[str]) -> Any:
        branch = shown["modules"][target]
        while way[0] == "children":
            branch, way = branch["children"][int(way[1])], way[2:]
        below = [
            n
            for n in graph["nodes"]
            if not branch["path"]
            or n["module"] == branch["path"]
            or n["module"].startswith(branch["path"] + ".")
        ]
        if way == ["repeated"]:
            parent, _, name = branch["path"].rpartition(".")
            names = {
                n["module"].removeprefix(parent).lstrip(".").split(".")[0]
                for n in graph["nodes"]
                if n["module"].startswith(parent)
            }
            assert name.isdigit()
            return len([n for n in names if n.isdigit()])
        word = way[1]
        return sum((n["by_target"][target]["eager"]["verdict"] or "unknown") == word for n in below)

    def _port(self, rest: list[str]) -> Any:
        assert self.port is not None
        match rest:
            case ["changes" | "held_back" as key]:
                return len(self.port[key])
            case ["left"]:
                return sum(r["reason"] not in ("cuda-only", "done") for r in self.port["left"])
            case ["kept_for_cuda"]:
                return sum(r["reason"] == "cuda-only" for r in self.port["left"])
            case ["touched"]:
                return len(self.port["files"])
            case ["written"]:
                return sum(f["written"] for f in self.port["files"])
            case ["left_by_reason", i, "number"]:
                reason = self.data["port"]["left_by_reason"][int(i)]["reason"]
                return Counter(r["reason"] for r in self.port["left"])[reason]
            case ["churn", *way]:
                return self.churned(self.port["churn"], self.data["port"]["churn"], way)
        raise KeyError(rest)

    def _churn(self, rest: list[str]) -> Any:
        return self.churned(self.bodies["churn.json"], self.data["churn"], rest)

    @staticmethod
    def churned(body: Json, shown: Json, way: list[str]) -> Any:
        match way:
            case ["code_base" | "lines" as table, key]:
                return body[table][key]
            case ["converted" | "left" | "new" | "share_converted" as key]:
                return body["references"][key]
            case ["left_as", key]:
                return body["references"]["left_as"][key]
            case ["device_lines", i, key]:
                return body["device_lines"][shown["device_lines"][int(i)]["side"]][key]
            case ["divergence", i, "value"]:
                return body["divergence"][shown["divergence"][int(i)]["side"]]
            case ["by_area", i, key]:
                return body["references"]["by_area"][shown["by_area"][int(i)]["area"]][key]
            case ["files", i, "lines", key]:
                return body["files"][int(i)]["lines"][key]
            case ["files", i, key]:
                return body["files"][int(i)][f"references_{key}"]
        raise KeyError(way)

    def _compile(self, rest: list[str]) -> Any:
        body = self.compiles[int(rest[0])]
        by_neuron = [a for a in body["graphs"] if a["compiler"] == "neuron"]
        match rest[1:]:
            case ["by_neuron"]:
                return len(by_neuron)
            case ["compiled_by_neuron"]:
                return sum(a["status"] == "compiled" for a in by_neuron)
            case ["attempts", i, *way]:
                attempt = body["graphs"][int(i)]
                key = "neuron_seconds" if attempt["compiler"] == "neuron" else "xla_cpu_seconds"
                match way:
                    case ["seconds", phase]:
                        return attempt[key][phase]
                    case ["together", j, "seconds"]:
                        return attempt[key]["not_separable"][int(j)]["seconds"]
                    case ["peak_bytes"]:
                        return attempt["peak_memory"]["bytes"]
                    case ["artifacts", j, "bytes"]:
                        return attempt["artifacts"][int(j)]["bytes"]
        raise KeyError(rest)

    def _comparison(self, rest: list[str]) -> Any:
        assert self.earlier is not None
        assert self.audit is not None
        before, after = self.counted(self.earlier), self.counted()
        old = Counter(f["fingerprint"] for f in before)
        new = Counter(f["fingerprint"] for f in after)
        levels_of = {f["fingerprint"]: self.level(f) for f in (*before, *after)}

        def at(prints: Counter[str], level: str) -> int:
            return sum(n for p, n in prints.items() if levels_of[p] == level)

        match rest:
            case ["findings", "gone"]:
                return (old - new).total()
            case ["findings", "new"]:
                return (new - old).total()
            case ["findings", "same"]:
                return (old & new).total()
            case ["findings", "total_before"]:
                return len(before)
            case ["findings", "total_after"]:
                return len(after)
            case ["findings", "before", level]:
                return sum(self.level(f) == level for f in before)
            case ["findings", "after", level]:
                return sum(self.level(f) == level for f in after)
            case ["findings", "gone_by_level", level]:
                return at(old - new, level)
            case ["findings", "new_by_level", level]:
                return at(new - old, level)
            case ["effort", side, key]:
                return self.effort(before if side == "before" else after, key)
        raise KeyError(rest)
