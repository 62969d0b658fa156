"""Programs that break readers: cut off, too deep, in odd encodings, from other Pythons, or only
strange. Each is a name and the bytes of a file; nothing in them is run."""

from __future__ import annotations

HEAD = "import torch\nimport torch.nn as nn\n"


def _text(**programs: str) -> dict[str, bytes]:
    return {name: text.encode("utf-8", "surrogatepass") for name, text in programs.items()}


NOT_PYTHON: dict[str, bytes] = {
    "empty": b"",
    "nul": b"x = 1\0\n",
    "only_nul": b"\0" * 1000,
    "binary": bytes(range(256)) * 20,
    "utf16": "x = 1\n".encode("utf-16"),
    "utf32": "x = 1\n".encode("utf-32"),
    "pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93.",
    "zip": b"PK\x03\x04" + b"\x00" * 60,
    "bad_utf8": b"x = '\xff\xfe'\n",
    "bad_cookie": b"# -*- coding: no-such-thing -*-\nx = 1\n",
    "cookie_not_text": b"# -*- coding: rot13 -*-\nk = 1\n",
    "cookie_hex": b"# -*- coding: hex -*-\n78\n",
    "cookie_lies": b"# -*- coding: ascii -*-\nx = '\xc3\xa9'\n",
    "bom_and_cookie": b"\xef\xbb\xbf# -*- coding: latin-1 -*-\nx = 1\n",
    "only_bom": b"\xef\xbb\xbf",
    **_text(
        python2="import torch\nprint 'x'\nexec 'y'\nprint >>f, torch.cuda.device_count()\n",
        python2_octal="x = 0777\nraise E, 'x'\nd = `x`\n",
        jinja="import torch\n{% if cuda %}\nx = torch.zeros({{ n }}).cuda()\n{% endif %}\n",
        cookiecutter="from {{cookiecutter.name}} import x\n",
        conflict="<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n",
        cut_string="x = '''never closed\n" + "y\n" * 50,
        cut_bracket="f(1, [2, {3: (4\n",
        cut_def="def f(",
        cut_class="class A(nn.Module):",
        tabs_and_spaces="if x:\n        a\n\tb\n",
        unindent="if x:\n    a\n  b\n",
        backslash_at_end="x = 1 + \\",
        shell="#!/bin/sh\necho $CUDA_VISIBLE_DEVICES && python train.py\n",
        json='{"cuda": true, "x": null}\n',
        prose="This is not a program, it is a sentence about torch.cuda.\n",
        notebook_magics="%matplotlib inline\n!nvidia-smi\nx = 1\n",
        templates_314='import torch\nx = t"{torch.cuda.Event()}"\n',
        type_params="def f[T: int](x: T) -> T: return x\nclass A[T]: ...\ntype X[T] = list[T]\n",
        except_unparenthesised="try:\n    x\nexcept A, B:\n    pass\n",
        nested_fstring_312='import torch\nx = f"{torch.device(f"{\'cuda\'}")}"\n',
        await_outside="await x\n",
        return_outside="return 1\n",
        starred="*a\n",
        too_many_starred="*a, *b = c\n",
        assign_literal="1 = x\nNone = y\n",
        nonlocal_at_top="nonlocal x\n",
        global_after_use="def f():\n    print(x)\n    global x\n",
        duplicate_argument="def f(a, a): pass\n",
        huge_integer="x = " + "9" * 5000 + "\n",
        huge_hex="x = 0x" + "f" * 20000 + "\n",
        huge_float="x = 1e99999\ny = 1e-99999\nz = 1e400j\n",
    ),
}

DEEP: dict[str, bytes] = _text(
    parentheses="x = " + "(" * 10_000 + "1" + ")" * 10_000 + "\n",
    open_parentheses="(" * 100_000,
    brackets_150="x = " + "[" * 150 + "]" * 150 + "\n",
    sum_5000=HEAD + "x = " + " + ".join(["torch.zeros(1).cuda()"] * 5_000) + "\n",
    sum_900=HEAD + "x = " + " + ".join(["torch.zeros(1).cuda()"] * 900) + "\n",
    concat_5000="x = " + " + ".join(["'cuda'"] * 5_000) + "\n",
    bool_op_5000="x = " + " and ".join(["a"] * 5_000) + "\n",
    compare_5000="x = " + " < ".join(["a"] * 5_000) + "\n",
    minus_5000="x = " + "-" * 5_000 + "1\n",
    not_5000="x = " + "not " * 5_000 + "1\n",
    calls_900=HEAD + "x = torch" + ".cuda()" * 900 + "\n",
    calls_5000=HEAD + "x = torch" + ".cuda()" * 5_000 + "\n",
    attributes_5000="x = a" + ".b" * 5_000 + "\n",
    subscripts_5000="x = a" + "[0]" * 5_000 + "\n",
    lambdas="x = " + "lambda: " * 1_000 + "1\n",
    conditionals="x = " + "1 if a else " * 2_000 + "2\n",
    functions="".join(f"{' ' * i}def f{i}():\n" for i in range(1_000)) + " " * 1_000 + "pass\n",
    functions_90="".join(f"{' ' * i}def f{i}():\n" for i in range(90)) + " " * 90 + "pass\n",
    ifs="".join(f"{' ' * i}if a{i}:\n" for i in range(1_000)) + " " * 1_000 + "pass\n",
    ifs_90="".join(f"{' ' * i}if a{i}:\n" for i in range(90)) + " " * 90 + "pass\n",
    elifs_3000="if a:\n    x = 'cuda'\n" + "elif b:\n    x = 'cpu'\n" * 3_000,
    classes_90="".join(f"{' ' * i}class A{i}:\n" for i in range(90)) + " " * 90 + "x = x\n",
    comprehensions="x = " + "[" * 80 + "a" + " for a in b]" * 80 + "\n",
    loops_90="".join(f"{' ' * i}for x{i} in y{i}:\n" for i in range(15)) + " " * 15 + "pass\n",
    strings="x = (" + "\n'cuda'" * 20_000 + ")\n",
    fstrings="x = f'" + "{a}" * 5_000 + "'\n",
    decorators="@d\n" * 3_000 + "def f(): pass\n",
    targets=" = ".join(f"x{i}" for i in range(3_000)) + " = 'cuda'\n",
    alternating="x = a\n" + "x = b if c else x\n" * 3_000 + "x.cuda()\n",
    chain=HEAD + "".join(f"x{i + 1} = x{i}\n" for i in range(3_000)) + "x3000.cuda()\n",
    function_chain=HEAD
    + "def f0(x): return x.cuda()\n"
    + "".join(f"def f{i + 1}(x): return f{i}(x)\n" for i in range(1_500))
    + "f1500(torch.zeros(1))\n",
    choices=HEAD
    + "".join(f"d{i + 1} = (d{i} if a{i} else d{i})\n" for i in range(60))
    + "d60.cuda()\n",
    concatenations=HEAD + "d = 'cuda'\n" + "d = d + d\n" * 200 + "torch.device(d)\n",
    repeats=HEAD + "d = 'cuda' * 10 ** 10\ntorch.device(d)\nx = 2 ** 10 ** 10\ny = 1 << 10 ** 12\n",
    growing_format=HEAD + "d = 'a'\n" + "d = f'{d}{d}{d}'\n" * 60 + "torch.device(d)\n",
    doubled_tuples=HEAD + "d = ('cuda',)\n" + "d = (d, d)\n" * 60 + "torch.zeros(1, device=d)\n",
    mutual=HEAD
    + "def f(x): return g(x) or g(x)\ndef g(x): return f(x) or f(x)\nf(torch.zeros(1)).cuda()\n",
)

STRANGE: dict[str, bytes] = _text(
    itself="x = [x]\nx = x\nx = x.x\nx = x(x)\nx: x = x\n",
    itself_attribute="class A:\n    def f(self):\n        self.x = self.x.x\n        self.x.cuda()\n",
    itself_base="class A(A): pass\nclass B(C): pass\nclass C(B): pass\nA().cuda()\nC().cuda()\n",
    itself_decorated="@f\ndef f(f=f): return f(f)\n@A\nclass A(A, metaclass=A): x = A.x\n",
    itself_import="from strange import x\nimport strange\nfrom . import strange as y\nx.cuda()\n",
    swap="a, b = b, a\n(a, *b), [c, d] = d, c\nfor a in a: a = a\n",
    walrus=HEAD + "if (x := torch.zeros(1)) is not (y := x): y.cuda()\n[z := 1 for _ in x]\n",
    match=HEAD
    + "match x:\n    case {'cuda': [torch.Tensor(y), *z], **k} if z: y.cuda()\n"
    + "    case A(b=1 | 2) | [] | None as c: pass\n    case -1.5 | 1+2j | 'a' 'b': pass\n    case _: pass\n",
    asynchronous=HEAD
    + "async def f():\n    async for x in y:\n        async with x as z, z as w:\n            await w.cuda()\n"
    + "    return [await i async for i in f() if await i]\nasync def g():\n    yield f\n",
    decorators=HEAD
    + "@torch.no_grad()\n@(lambda f: f)\n@a.b[0](1).c\n@(x := 1)\ndef f(): pass\n"
    + "@torch.cuda.amp.autocast\nclass A:\n    @property\n    @staticmethod\n    @x.setter\n    def f(): pass\n",
    scopes=HEAD
    + "def f():\n    x = 'cuda'\n    def g():\n        nonlocal x\n        global y\n        x = y = torch.device(x)\n"
    + "    class B:\n        x = x\n        def h(self, d=x): return self.x, d\n        nonlocal x\n    del x\n    return lambda a=x, *b, c=x, **d: (a, b, c, d)\n",
    arguments=HEAD + "def f(a, /, b=1, *c, d: torch.device = 'cuda', **e) -> 'torch.Tensor': pass\n"
    "f(*a, *b, x=1, **c, **{'device': 'cuda'})\ntorch.zeros(*a, **k)\n",
    exceptions="try:\n    import apex\nexcept* (A, B) as e:\n    del e\nelse:\n    pass\nfinally:\n    apex = apex\n",
    star_imports="from torch import *\nfrom torch.cuda import *\nfrom .. import *\nfrom . import *\nfrom .... import x\nEvent()\n",
    odd_imports="import torch.cuda as torch, torch as cuda\nimport torch.cuda.amp\nfrom torch import cuda as torch\nfrom __future__ import annotations\n",
    dunder_all="__all__ = [x for x in y]\n__all__ += __all__\n__all__.extend(z)\ndel __all__\n",
    names="__import__('torch').cuda.Event()\n__debug__\n__name__ = 1\nprint = exec = eval\nprint(exec, eval)\n",
    surrogates="x = '\\ud800'\ny = '\\udfff\\ud800'\ntorch.device('\\ud800cuda')\nz = b'\\xff'\n",
    identifiers="ﬁ = 1\nℌ = 2\nµ = 3\nclass Ⅷ: pass\nπ.cuda()\n变量 = torch.device('cuda')\n",
    bidi="# \u202e\u2066 cuda\nx = '\u202ecuda\u2069'\n\u0645 = 1\n",
    form_feeds="\fimport torch\n\f\nx = 1\f\n\f\fdef f():\n    \f    return torch.cuda.Event()\n",
    separators="x = 1 # a\u2028b\x0bc\x1cd\x85\ny = '\u2029'\nimport torch; torch.cuda.Event()\n",
    no_newline="import torch; torch.zeros(1).cuda()",
    only_comments="# -*- coding: utf-8 -*-\n# neuronport: ignore[x] y\n",
    only_newlines="\n\r\n\r\n\n" * 100,
    crlf="import torch\r\nx = torch.zeros(1).cuda()\r\n'''a\r\nb'''\r\n",
    cr="import torch\rx = torch.zeros(1).cuda()\r",
    mixed="import torch\r\nx = 1\ry = torch.cuda.Event()\nz = '''\r\n\r'''\n",
    tabs="if 1:\n\timport torch\n\tif 2:\n\t\ttorch.cuda.Event()\n",
    continued="import \\\n    torch\ntorch \\\n  . \\\n  cuda . Event ( \\\n)\n",
    semicolons="import torch; x = 1; torch.cuda.Event(); pass;\n",
    literals="x = [0b1, 0o7, 0xF, 1_000, 1e5, 1j, ..., None, True, b'', r'\\d', u'', rb'\\x', f'', f'{x!r:>{y}}' f'{{}}', '''a\nb''']\n",
    slices="x[1:2, ::3, ..., None, *y] = z[a:b:c][:][lambda: 1]\ndel x[0], x.y, (a, [b])\n",
    operators="x @= y @ z\nx //= y ** -z\nx = ~+-x << 1 >> 2 & 3 | 4 ^ 5 % 6 is not 7 in 8\n",
    statements="assert x, y\nraise A from B\npass\nwith a as (b, c), d() as e.f, g as h[0]: ...\nwhile 1:\n    break\nelse:\n    pass\nfor x.y in z:\n    continue\nelse: pass\n",
    yields="def f():\n    x = yield\n    y = yield from f()\n    return (yield x)\n",
    annotations="x: 'torch.device'\ny: 'not ( valid'\nz: list['torch.Tensor'] = []\ndef f(a: '((', b: 1 + 2) -> \"'\": a.cuda()\nclass A:\n    x: 'A[B'\n",
    annotation_bomb="x: '"
    + "(" * 500
    + "'\ny: '"
    + "[" * 150
    + "]" * 150
    + "'\nz: '"
    + "-" * 5000
    + "1'\n",
    formats="'%s' % ()\n'%(a)s:%d' % {'a': x}\n'{} {0} {a.b[c]!r:{d}}'.format(1)\n'cuda:{}'.format(*x)\n'%' % 1\n'{'.format()\nf'cuda:{x}'\n'cuda:%d' % (1, 2)\n",
    subclasses=HEAD
    + "class A(nn.Module, nn.Module, *x, **y):\n    def forward(self): return self.cuda()\nclass B(A(), f(A), A.B[0], 1): pass\n",
    conditions="if torch.cuda.is_available and not () or (): pass\nif __debug__ is None != 1 in x: pass\nwhile not not not x: pass\nassert ()\nx if () else y\n",
    types="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\nelse:\n    torch = None\ntorch.cuda.Event()\n",
    reassigned="import torch\ntorch = torch.cuda\ntorch.cuda = torch\ntorch.cuda.Event()\ndel torch\ntorch.cuda.Event()\n",
    suppressions="# neuronport: ignore[\n# neuronport: ignore[]\n# neuronport: ignore[*]\nx = 1 # neuronport: ignore[a,,b,] \n# neuronport: ignore-file[*] all\n'# neuronport: ignore[*]'\n",
    duplicate_functions=HEAD + "def f(x): return x.cuda()\n" * 300 + "f(f)\n",
    class_in_function=HEAD
    + "def f(d='cuda'):\n    class A(nn.Module):\n        d = d\n        def g(self, d=d):\n            self.d = d\n            return torch.zeros(1, device=self.d)\n    return A\nf()().g()\n",
    lambdas=HEAD
    + "f = lambda d='cuda', *a, **k: torch.zeros(1, device=d)\nf()\n(lambda x: x)(f)('cpu')\n[lambda: i for i in f]\n",
)

TREES: dict[str, dict[str, str]] = {
    "cyclic_imports": {
        "a.py": "import b\nfrom b import x, y as z\nx.cuda()\ndef f(): return b.g()\n",
        "b.py": "import a\nfrom a import z as y, f\nx = a.x\ndef g(): return a.f().cuda()\n",
    },
    "star_cycle": {
        "a.py": "from b import *\nfrom torch import *\ncuda.Event()\n",
        "b.py": "from c import *\n__all__ = ['x', *c.__all__]\n",
        "c.py": "from a import *\nfrom c import *\nx = x\n",
    },
    "reexport_cycle": {
        "p/__init__.py": "from .q import Event\nfrom . import q\n",
        "p/q.py": "from . import Event as Event\nfrom p import Event\nEvent()\n",
        "main.py": "from p import Event\nimport p.q.p.q.Event as e\nEvent(); e()\n",
    },
    "long_reexport": {
        **{f"m{i}.py": f"from m{i + 1} import Event, x\n" for i in range(200)},
        "m200.py": "from torch.cuda import Event\nx = 'cuda'\n",
        "main.py": "from m0 import Event, x\nimport torch\nEvent(); torch.zeros(1, device=x)\n",
    },
    "cyclic_classes": {
        "a.py": "from b import B\nclass A(B):\n    def f(self): return self.x.cuda()\n",
        "b.py": "from a import A\nclass B(A):\n    def g(self): self.x = self.f(); self.x.cuda()\n",
    },
    "cyclic_functions": {
        "a.py": "from b import g\nimport torch\ndef f(d='cuda'): return torch.zeros(1, device=g(d))\n",
        "b.py": "import a\ndef g(d): return a.f(a.f(d))\ng('cuda')\n",
    },
    "shadowing": {
        "torch.py": "cuda = 1\n",
        "torch/__init__.py": "from torch import *\n",
        "torch/cuda.py": "import torch.cuda\nclass Event: pass\n",
        "main.py": "import torch\ntorch.cuda.Event()\n",
    },
    "odd_names": {
        "a b.py": "import torch\ntorch.cuda.Event()\n",
        "1.py": "x = 1\n",
        "class.py": "x = 1\n",
        "é.py": "x = 1\n",
        ".hidden.py": "x = 1\n",
        "a.b.py": "x = 1\n",
        "-rf.py": "x = 1\n",
        "__init__.py": "from . import *\n",
        "x/__main__.py": "from .. import *\n",
    },
}

ENCODINGS = (
    "utf-8", "latin-1", "cp1252", "koi8-r", "shift_jis", "euc-jp", "gbk", "gb18030", "big5",
    "iso2022_jp", "utf-7", "cp437", "mac_roman", "utf-8-sig", "ascii",
)  # fmt: skip


def encoded(encoding: str) -> bytes:
    """A program that declares its encoding and uses it."""
    words = {
        "ascii": "plain",
        "shift_jis": "日本",
        "euc-jp": "日本",
        "gbk": "中文",
        "gb18030": "中文",
    }
    words |= {"big5": "中文", "iso2022_jp": "日本", "koi8-r": "слово"}
    word = words.get(encoding, "é")
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    text = f"# -*- coding: {declared} -*-\nimport torch\nx = '{word}'; torch.cuda.amp.autocast()  # {word}\n"
    return text.encode(encoding)
