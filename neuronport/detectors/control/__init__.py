"""Control flow and synchronisation: where the host has to wait for the device."""
