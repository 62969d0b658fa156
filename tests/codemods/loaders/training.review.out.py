from torch.utils.data import DataLoader
from transformers import DataCollatorWithPadding
from neuron_device import device_name


def loaders(train_set, test_set, tokenizer):
    train = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=device_name() == "neuron")
    test_loader = DataLoader(test_set, batch_size=32, shuffle=True)
    collate = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=128 if device_name() == "neuron" else None)
    return train, test_loader, collate


def encode(tokenizer, texts):
    return tokenizer(texts, padding="max_length" if device_name() == "neuron" else True, truncation=True, max_length=512)
