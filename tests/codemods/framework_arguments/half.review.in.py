import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, TrainingArguments


def main(name):
    accelerator = Accelerator(mixed_precision="fp16")
    quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained(name, quantization_config=quantized)
    large = AutoModelForCausalLM.from_pretrained(name, device_map="auto").eval()
    small = AutoModelForCausalLM.from_pretrained(
        name, quantization_config=BitsAndBytesConfig(load_in_8bit=True)
    )
    arguments = TrainingArguments("out", fp16=True, optim="paged_adamw_8bit", group_by_length=True)
    return accelerator, model, large, small, arguments
