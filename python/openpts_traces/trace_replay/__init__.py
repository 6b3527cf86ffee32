"""What tests share that replay traces: what is chosen, steps, what a pass measured, tables of fidelity."""
