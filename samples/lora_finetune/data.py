"""Instructions to tokens, tokens to batches."""

import json

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

PROMPT = "### Instruction:\n{instruction}\n\n### Input:\n{input}\n\n### Response:\n"
IGNORE = -100


class InstructionDataset(Dataset):
    def __init__(self, path, tokenizer, max_length):
        with open(path, encoding="utf-8") as file:
            self.rows = [json.loads(line) for line in file if line.strip()]
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        prompt = PROMPT.format(**row)
        source = self.tokenizer(prompt, truncation=True, max_length=self.max_length)
        full = self.tokenizer(
            prompt + row["output"] + self.tokenizer.eos_token,
            truncation=True,
            max_length=self.max_length,
        )
        ids = torch.tensor(full["input_ids"], dtype=torch.long)
        labels = ids.clone()
        labels[: len(source["input_ids"])] = IGNORE
        return {"input_ids": ids, "labels": labels}


class PaddingCollator:
    """Pads every batch to its longest row."""

    def __init__(self, pad_token_id):
        self.pad_token_id = pad_token_id

    def __call__(self, rows):
        ids = pad_sequence(
            [row["input_ids"] for row in rows], batch_first=True, padding_value=self.pad_token_id
        )
        labels = pad_sequence(
            [row["labels"] for row in rows], batch_first=True, padding_value=IGNORE
        )
        return {"input_ids": ids, "labels": labels, "attention_mask": ids.ne(self.pad_token_id)}
