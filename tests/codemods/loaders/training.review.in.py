from torch.utils.data import DataLoader
from transformers import DataCollatorWithPadding


def loaders(train_set, test_set, tokenizer):
    train = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=32, shuffle=True)
    collate = DataCollatorWithPadding(tokenizer)
    return train, test_loader, collate


def encode(tokenizer, texts):
    return tokenizer(texts, padding=True, truncation=True, max_length=512)
