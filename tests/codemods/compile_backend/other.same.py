import re

pattern = re.compile("cuda")
compile("1 + 1", "x", "eval")
