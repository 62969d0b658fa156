"""Writes corpus.txt: short made-up village tales, the same every time."""

import pathlib
import random

WHO = ["miller", "baker", "weaver", "ferryman", "shepherd", "smith", "gardener", "carter"]
WHERE = ["mill", "bakery", "loom", "river", "hill", "forge", "orchard", "road"]
DID = ["mended", "sold", "lost", "found", "counted", "carried", "hid", "painted"]
WHAT = ["basket", "lantern", "kettle", "ladder", "blanket", "hammer", "bucket", "wheel"]
WHEN = ["At dawn", "At noon", "After the rain", "On market day", "In the first frost", "By lamplight"]
HOW = ["slowly", "with care", "in a hurry", "without a word", "laughing", "as always"]


def tale(rng: random.Random) -> str:
    a, b = rng.sample(WHO, 2)
    thing = rng.choice(WHAT)
    lines = [
        f"{rng.choice(WHEN)} the {a} {rng.choice(DID)} a {thing} at the {rng.choice(WHERE)}.",
        f"The {b} saw it and asked, \"Whose {thing} is this?\"",
        f"\"Mine,\" said the {a} {rng.choice(HOW)}, and went back to the {rng.choice(WHERE)}.",
        f"So the {b} {rng.choice(DID)} {rng.randint(2, 9)} {rng.choice(WHAT)}s instead.",
    ]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    rng = random.Random(7)
    text = "".join(tale(rng) for _ in range(150))
    pathlib.Path(__file__).with_name("corpus.txt").write_text(text, encoding="utf-8")
