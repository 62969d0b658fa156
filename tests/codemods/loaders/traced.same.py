import torch_neuronx


def build(tokenizer, model):
    example = tokenizer(["a short text"], return_tensors="pt", padding=True)
    return torch_neuronx.trace(model, (example["input_ids"], example["attention_mask"]))
