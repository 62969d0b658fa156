from diffusers import DiffusionPipeline
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForCausalLM, TrainingArguments, pipeline
from neuron_device import device_name, get_device


def main(name):
    model = AutoModelForCausalLM.from_pretrained(
        name,
        attn_implementation="flash_attention_2" if device_name() == "cuda" else "sdpa",  # long prompts
        device_map=device_name(0),
    )
    old = AutoModelForCausalLM.from_pretrained(name, use_flash_attention_2=device_name() == "cuda")
    arguments = TrainingArguments(
        "out",
        ddp_backend="nccl" if device_name() == "cuda" else None,
        tf32=True if device_name() == "cuda" else None,
        torch_compile=True, torch_compile_backend="neuron" if device_name() == "neuron" else None,
        optim="adamw_apex_fused" if device_name() != "neuron" else "adamw_torch",
        use_liger_kernel=device_name() != "neuron",
    )
    generate = pipeline("text-generation", name, device=get_device(1))
    embed = SentenceTransformer(name, device="neuron" if device_name() == "neuron" else None)
    pipe = DiffusionPipeline.from_pretrained(name)
    if device_name() == "cuda":
        pipe.enable_xformers_memory_efficient_attention()
    return model, old, arguments, generate, embed, pipe
