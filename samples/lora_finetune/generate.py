"""Text from the fine-tuned model, a token at a time."""

import argparse

import torch
import torch.nn.functional as F

from data import PROMPT
from modeling import load_base, load_tokenizer


def top_p_filter(logits, top_p):
    """Keeps the fewest tokens whose probabilities sum to top_p."""
    sorted_logits, sorted_index = torch.sort(logits, descending=True)
    cumulative = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative > top_p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    mask = remove.scatter(1, sorted_index, remove)
    logits[mask] = float("-inf")
    return logits


@torch.inference_mode()
def generate(model, tokenizer, prompt, max_new_tokens=128, temperature=0.8, top_p=0.95):
    input_ids = tokenizer(prompt, return_tensors="pt").input_ids.to("cuda")
    generated = input_ids
    past_key_values = None
    for _ in range(max_new_tokens):
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(
                input_ids=input_ids, past_key_values=past_key_values, use_cache=True
            )
        past_key_values = outputs.past_key_values
        logits = top_p_filter(outputs.logits[:, -1, :].float() / temperature, top_p)
        next_token = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
        generated = torch.cat([generated, next_token], dim=-1)
        input_ids = next_token
        if next_token.item() == tokenizer.eos_token_id:
            break
    return tokenizer.decode(generated[0], skip_special_tokens=True)


def main():
    parser = argparse.ArgumentParser(description="Generate with a LoRA adapter")
    parser.add_argument("--model", default="meta-llama/Llama-3.2-1B")
    parser.add_argument("--adapter", default="out")
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    args = parser.parse_args()

    from peft import PeftModel

    tokenizer = load_tokenizer(args.model)
    model = PeftModel.from_pretrained(load_base(args.model), args.adapter)
    model.eval()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    text = generate(
        model, tokenizer, PROMPT.format(instruction=args.prompt, input=""), args.max_new_tokens
    )
    end.record()
    torch.cuda.synchronize()
    print(text)
    print(f"{start.elapsed_time(end) / 1e3:.1f} s")


if __name__ == "__main__":
    main()
