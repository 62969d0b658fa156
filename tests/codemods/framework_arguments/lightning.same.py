import lightning as L


def main(model):
    trainer = L.Trainer(accelerator="gpu", devices=8, strategy="ddp", precision="bf16-mixed")
    trainer.fit(model)
