"""An audit to report: two targets, every level, every list filled, and one of hostile text."""

from __future__ import annotations

from dataclasses import replace

from neuronport.findings import (
    Confidence,
    Context,
    Effort,
    Evidence,
    EvidenceKind,
    Finding,
    Fix,
    FixSafety,
    Level,
    Location,
    NotLookedAt,
    Related,
    Role,
    TargetVerdict,
    Verdict,
    fingerprinted,
)
from neuronport.reporting.result import (
    AuditResult,
    Knowledge,
    RuleInfo,
    Tree,
    UnusedSuppression,
)
from neuronport.targets import Target

NATIVE = Target("native", "2.33", ("trn2", "trn3"))
XLA = Target("xla", "2.31", ("inf2",), chip_named=True)

DOCUMENT = Evidence(
    EvidenceKind.DOCUMENTED,
    "frameworks/torch/pytorch-native-overview.rst",
    "placement moves from cuda to neuron",
    "native",
    "2.32",
)
DEDUCED = Evidence(EvidenceKind.INFERRED, "rules", "no CUDA build on the chip", "", "")

SOURCE = {
    "src/train.py": [
        "import torch",
        "model = Net()",
        'model.to("cuda:0")',
        "for batch in loader:",
        "    loss = model(batch.cuda())",
        "    print(loss.item())",
    ],
    "src/größe/modell.py": ["import torch", "名前 = 変換(模型.cuda(), 1)", ""],
    "tests/test_train.py": ["import torch", 'x = torch.zeros(1, device="cuda")'],
}


def judged(
    verdict: Verdict,
    confidence: Confidence = Confidence.CERTAIN,
    replacement: str = "",
    evidence: tuple[Evidence, ...] = (DOCUMENT,),
) -> TargetVerdict:
    return TargetVerdict(verdict, confidence, evidence, replacement)


def finding(
    rule: str = "hardcoded-cuda-device",
    path: str = "src/train.py",
    span: tuple[int, int, int] = (3, 10, 18),
    verdict: Verdict = Verdict.BREAKS,
    **changes: object,
) -> Finding:
    line, column, end = span
    lines = SOURCE.get(path, [])
    base = Finding(
        rule=rule,
        area="device",
        location=Location(path, line, column, line, end),
        message="The device is written into the code.",
        why="The chip is not a CUDA device.\n\nMore of it.",
        effort=Effort.MINUTES,
        by_target={str(NATIVE): judged(verdict), str(XLA): judged(verdict)},
        snippet=lines[line - 1] if line <= len(lines) else "x.cuda()",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def rule(id: str, title: str, area: str = "device", effort: Effort = Effort.MINUTES) -> RuleInfo:
    return RuleInfo(
        id,
        title,
        area,
        f"{title}: why it matters.\n\n```python\nx.cuda()\n```\n",
        effort,
        verdict={"native": Verdict.BREAKS},
        evidence=(DOCUMENT,),
    )


RULES = {
    r.id: r
    for r in (
        rule("hardcoded-cuda-device", "A CUDA device is written into the code"),
        rule("api/torch.Tensor.cuda", "`torch.Tensor.cuda` moves to a CUDA device", "runtime"),
        rule("item-in-hot-loop", "A value is fetched from the device every step", "runtime"),
        rule("operators/nonzero", "An operator runs on the CPU", "operators", Effort.DAYS),
        rule("nccl-only", "The process group is NCCL's", "distributed", Effort.HOURS),
        rule("cuda-kernel", "A CUDA kernel is compiled", "libraries", Effort.REDESIGN),
    )
}


def sample() -> AuditResult:
    fix = Fix("device-seam", FixSafety.SAFE, "Take the device from one place")
    elsewhere = 'device from one place; torch.device("neuron")'
    findings = [
        finding(
            by_target={
                str(NATIVE): judged(
                    Verdict.BREAKS, replacement=elsewhere, evidence=(DEDUCED, DOCUMENT)
                ),
                str(XLA): judged(Verdict.BREAKS, replacement="xm.xla_device()"),
            },
            fix=fix,
        ),
        finding(
            "api/torch.Tensor.cuda",
            span=(5, 18, 30),
            area="runtime",
            message="batch.cuda() moves to a CUDA device.",
            context=Context("", hot=True),
            related=(Related("src/train.py", 4, "batch comes from the loader"),),
            fix=fix,
        ),
        finding(
            "api/torch.Tensor.cuda",
            "src/größe/modell.py",
            (2, 9, 18),
            area="runtime",
            message="模型.cuda() moves to a CUDA device.",
            context=Context("Modell.größe", guarded_by="torch.cuda.is_available()"),
            by_target={
                str(NATIVE): judged(Verdict.LOCKS_IN),
                str(XLA): judged(Verdict.BREAKS, Confidence.LIKELY),
            },
        ),
        finding(
            "item-in-hot-loop",
            span=(6, 11, 22),
            verdict=Verdict.SYNCS,
            area="runtime",
            message="loss.item() waits for the device.",
            context=Context("", hot=True),
        ),
        finding(
            "operators/nonzero",
            span=(5, 12, 31),
            area="operators",
            message="aten.nonzero runs on the CPU.",
            effort=Effort.DAYS,
            by_target={
                str(NATIVE): TargetVerdict(
                    Verdict.FALLS_BACK,
                    Confidence.POSSIBLE,
                    (DEDUCED,),
                    stages={"eager": {"forward": Verdict.FALLS_BACK}},
                ),
                str(XLA): judged(Verdict.PORTABLE),
            },
        ),
        *(
            finding(
                "nccl-only",
                f"src/launch_{n}.py",
                (1, 1, 9),
                area="distributed",
                effort=Effort.HOURS,
                group="init_process_group in launch",
            )
            for n in range(5)
        ),
        finding(
            "cuda-kernel",
            "src/kernel.cu",
            (1, 1, 9),
            area="libraries",
            effort=Effort.REDESIGN,
            snippet="__global__ void add(float *x) {",
        ),
        finding(path="tests/test_train.py", span=(2, 19, 32), context=Context("", role=Role.TEST)),
        finding(path="third_party/x.py", span=(7, 1, 9), context=Context("", role=Role.VENDORED)),
    ]
    references = [
        finding("portable-device", span=(2, 1, 8), verdict=Verdict.PORTABLE),
        finding("is-available", span=(1, 1, 8), verdict=Verdict.BENIGN),
    ]
    return AuditResult(
        tool_version="1.2.3",
        rules_version="0123456789abcdef0123456789abcdef",
        tree=Tree("project", 20, 14, 1234, {"python": 12, "cuda": 1, "requirements": 1}),
        targets=(NATIVE, XLA),
        findings=fingerprinted(findings),
        references=fingerprinted(references),
        suppressed=fingerprinted([finding(span=(1, 1, 7), suppressed="only for development")]),
        baselined=fingerprinted([finding(span=(2, 1, 6), suppressed="known since May")]),
        unused_suppressions=(UnusedSuppression("src/a.py", 9, "# neuronport: ignore[x] why"),),
        not_looked_at=(
            NotLookedAt("src/old.py", "syntax-error", "print without parentheses", 3),
            NotLookedAt("data/weights.py", "too-large", "12 MB"),
        ),
        rules=RULES,
        knowledge=(Knowledge("native", "2.33", "2.33"), Knowledge("xla", "2.31")),
        fail_on=Level.ERROR,
        exit_code=1,
        command=("project", "--target", "native", "--target", "xla:inf2"),
    )


def nothing(**changes: object) -> AuditResult:
    base = AuditResult(
        tool_version="1.2.3",
        rules_version="0123456789abcdef0123456789abcdef",
        tree=Tree("project", 4, 3, 90, {"python": 3}),
        targets=(NATIVE,),
        knowledge=(Knowledge("native", "2.33", "2.33"),),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


HOSTILE = (
    "\x1b[31m\x1b]8;;http://evil\x07 \u202erl\u202c \udc80 | `x` ``` </script><b onclick='x'>"
    " @someone #12 GH-34 [a](http://evil) {0} ::error::x ##[error]x %0A ,: \u200b\x00 \r\n::warning::y"
)


def hostile() -> AuditResult:
    """Every text field that an audited tree or a rule can fill."""
    proof = Evidence(EvidenceKind.REPORTED, HOSTILE, HOSTILE, "native", "2.33")
    bad = Finding(
        rule="hostile",
        area=HOSTILE,
        location=Location(f"src/{HOSTILE}.py", 2, 3, 2, 9),
        message=HOSTILE,
        why=HOSTILE,
        effort=Effort.HOURS,
        by_target={
            str(NATIVE): TargetVerdict(Verdict.BREAKS, Confidence.LIKELY, (proof,), HOSTILE)
        },
        context=Context(HOSTILE, True, HOSTILE),
        group=HOSTILE,
        related=(Related(f"src/{HOSTILE}.py", 1, HOSTILE),),
        fix=Fix(HOSTILE, FixSafety.REVIEW, HOSTILE),
        snippet=HOSTILE,
        node=HOSTILE,
    )
    return AuditResult(
        tool_version="1.2.3",
        rules_version="0123456789abcdef",
        tree=Tree(HOSTILE, 3, 2, 90, {HOSTILE: 2}),
        targets=(NATIVE,),
        findings=fingerprinted([bad]),
        references=fingerprinted([replace(bad, by_target={str(NATIVE): judged(Verdict.BENIGN)})]),
        suppressed=fingerprinted([replace(bad, suppressed=HOSTILE)]),
        baselined=fingerprinted([replace(bad, suppressed=HOSTILE)]),
        unused_suppressions=(UnusedSuppression(HOSTILE, 1, HOSTILE),),
        not_looked_at=(NotLookedAt(HOSTILE, "syntax-error", HOSTILE, 1),),
        rules={"hostile": RuleInfo("hostile", HOSTILE, HOSTILE, HOSTILE, Effort.HOURS)},
        knowledge=(Knowledge("native", "2.33", HOSTILE),),
        exit_code=1,
        command=(HOSTILE,),
    )
