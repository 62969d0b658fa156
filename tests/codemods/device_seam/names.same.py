import csv

BARRACUDA_COLUMNS = ["barracuda_id", "cuda_street", "pecuda"]
HELP = "results were computed on CUDA 11 by the authors"


def read(path):
    with open(path) as f:
        rows = list(csv.DictReader(f, fieldnames=BARRACUDA_COLUMNS))
    return [r["cuda_street"] for r in rows if r["barracuda_id"]]
