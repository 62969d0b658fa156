from diffusers import DiffusionPipeline
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForCausalLM, TrainingArguments, pipeline


def main(name):
    model = AutoModelForCausalLM.from_pretrained(
        name,
        attn_implementation="flash_attention_2",  # long prompts
        device_map="cuda:0",
    )
    old = AutoModelForCausalLM.from_pretrained(name, use_flash_attention_2=True)
    arguments = TrainingArguments(
        "out",
        ddp_backend="nccl",
        tf32=True,
        torch_compile=True,
        optim="adamw_apex_fused",
        use_liger_kernel=True,
    )
    generate = pipeline("text-generation", name, device=1)
    embed = SentenceTransformer(name)
    pipe = DiffusionPipeline.from_pretrained(name)
    pipe.enable_xformers_memory_efficient_attention()
    return model, old, arguments, generate, embed, pipe
