from accelerate import Accelerator
from transformers import AutoModelForCausalLM, TrainingArguments


def main(name):
    accelerator = Accelerator(mixed_precision="bf16")
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa")
    arguments = TrainingArguments("out", bf16=True, optim="adamw_torch", use_cpu=True, deepspeed="z.json")
    return accelerator, model, arguments
