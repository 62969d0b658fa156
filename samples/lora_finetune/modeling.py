"""The base model in 4 bits, with adapters."""

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

try:
    import flash_attn  # noqa: F401

    HAS_FLASH_ATTN = True
except ImportError:
    HAS_FLASH_ATTN = False

try:
    import bitsandbytes as bnb
except ImportError:
    bnb = None


def pick_attention():
    if not HAS_FLASH_ATTN:
        return "sdpa"
    major, _ = torch.cuda.get_device_capability()
    return "flash_attention_2" if major >= 8 else "sdpa"


def load_tokenizer(name):
    tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "right"
    return tokenizer


def load_base(name, four_bit=True):
    quantization = None
    if four_bit:
        quantization = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.float16,
        )
    return AutoModelForCausalLM.from_pretrained(
        name,
        quantization_config=quantization,
        attn_implementation=pick_attention(),
        torch_dtype=torch.float16,
        device_map="auto",
    )


def linear_names(model):
    """The last parts of the names of every 4-bit layer, for LoRA to sit on."""
    kind = bnb.nn.Linear4bit if bnb is not None else torch.nn.Linear
    names = {name.split(".")[-1] for name, module in model.named_modules() if isinstance(module, kind)}
    names.discard("lm_head")
    return sorted(names)


def add_adapters(model, rank, alpha, dropout):
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=True)
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=linear_names(model),
        bias="none",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)
