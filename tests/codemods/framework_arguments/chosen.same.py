import torch
from transformers import AutoModelForCausalLM, TrainingArguments


def main(name, args, **words):
    model = AutoModelForCausalLM.from_pretrained(
        name, attn_implementation="flash_attention_2" if args.flash else "sdpa"
    )
    more = AutoModelForCausalLM.from_pretrained(name, attn_implementation="flash_attention_2", **words)
    arguments = TrainingArguments("out", fp16=args.fp16, bf16=not args.fp16, optim=args.optim)
    return model, more, arguments
