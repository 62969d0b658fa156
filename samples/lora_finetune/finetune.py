"""QLoRA: a 4-bit base model, float16 adapters, the Trainer."""

import argparse
import os

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from data import InstructionDataset, PaddingCollator
from modeling import add_adapters, load_base, load_tokenizer

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
torch.backends.cuda.matmul.allow_tf32 = True


class MemoryCallback(TrainerCallback):
    """Says how much of the GPU's memory a run has used."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        peak = torch.cuda.max_memory_allocated() / 2**30
        print(f"step {state.global_step}: peak {peak:.1f} GiB")
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description="LoRA fine-tuning of a causal language model")
    parser.add_argument("--model", default="meta-llama/Llama-3.2-1B")
    parser.add_argument("--data", default="data/instructions.jsonl")
    parser.add_argument("--output", default="out")
    parser.add_argument("--max-length", type=int, default=1024)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    if not torch.cuda.is_available():
        raise SystemExit("4-bit training needs a GPU")
    set_seed(args.seed)
    tokenizer = load_tokenizer(args.model)
    model = load_base(args.model)
    model.config.use_cache = False
    model = add_adapters(model, args.rank, alpha=2 * args.rank, dropout=0.05)
    model.print_trainable_parameters()

    training_args = TrainingArguments(
        output_dir=args.output,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=4,
        gradient_checkpointing=True,
        learning_rate=2e-4,
        lr_scheduler_type="cosine",
        warmup_ratio=0.03,
        optim="paged_adamw_8bit",
        fp16=True,
        tf32=True,
        logging_steps=1,
        save_strategy="epoch",
        dataloader_num_workers=2,
        group_by_length=True,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=InstructionDataset(args.data, tokenizer, args.max_length),
        data_collator=PaddingCollator(tokenizer.pad_token_id),
        callbacks=[MemoryCallback()],
    )
    trainer.train()
    model.save_pretrained(args.output)
    tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()
