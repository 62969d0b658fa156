import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, TrainingArguments
from neuron_device import device_name, on_neuron


def main(name):
    accelerator = Accelerator(mixed_precision="fp16" if device_name() != "neuron" else "bf16")
    quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16) if device_name() != "neuron" else None
    model = AutoModelForCausalLM.from_pretrained(name, quantization_config=quantized)
    large = on_neuron(AutoModelForCausalLM.from_pretrained(name, device_map="auto" if device_name() != "neuron" else None)).eval()
    small = AutoModelForCausalLM.from_pretrained(
        name, quantization_config=BitsAndBytesConfig(load_in_8bit=True) if device_name() != "neuron" else None
    )
    arguments = TrainingArguments("out", fp16=device_name() != "neuron", bf16=device_name() == "neuron", optim="paged_adamw_8bit" if device_name() != "neuron" else "adamw_torch", group_by_length=device_name() != "neuron")
    return accelerator, model, large, small, arguments
