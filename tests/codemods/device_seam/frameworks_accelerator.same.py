import lightning as L

fabric = L.Fabric(accelerator="cuda", devices=1)
