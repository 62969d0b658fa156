"""Write text with a trained checkpoint: python sample.py --prompt "The miller" --device cpu"""

import argparse

import torch

from data import Vocabulary
from model import GPT, GPTConfig


def load_model(path: str, device: str):
    state = torch.load(path, map_location="cpu", weights_only=False)
    cfg = state["config"]
    with open(cfg["corpus"], encoding="utf-8") as file:
        vocab = Vocabulary(file.read())
    model = GPT(
        GPTConfig(
            vocab_size=len(vocab),
            **{k: cfg[k] for k in ("block_size", "n_layer", "n_head", "n_embd", "bias", "flash")},
        )
    )
    model.load_state_dict(state["model"])
    model.eval()
    if device == "cuda":
        model.half()
    return model.to(device), vocab


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", default="out/ckpt.pt")
    parser.add_argument("--prompt", default="The ")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top-k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed(args.seed)
    model, vocab = load_model(args.checkpoint, args.device)
    idx = torch.tensor([vocab.encode(args.prompt)], dtype=torch.long).to(args.device)
    out = model.generate(idx, args.tokens, temperature=args.temperature, top_k=args.top_k)
    print(vocab.decode(out[0].cpu().numpy()))


if __name__ == "__main__":
    main()
