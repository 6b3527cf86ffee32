# %% [markdown]
# # Two drives, three runs of each
# Is one faster, and is that more than chance? Simulated drives, each with a seed of its own.

# %%
import openpts

drives = {f"{preset}-{seed}": f"sim:{preset}?seed={seed}" for preset in ("mlc", "tlc") for seed in (1, 2, 3)}
for folder, drive in drives.items():
    openpts.run_test("tp", drive, "--quick", "--seed", drive[-1], out=folder)

# %% [markdown]
# `labels` make sets of runs: what differs between them is held against what differs within them.

# %%
found = openpts.compare(list(drives), labels={folder: folder[:3] for folder in drives})
print(" and ".join(found.names), "over", len(found.runs), "runs")

# %% [markdown]
# A limit, as in a pipeline. That a run is simulated or shortened is a deviation, which has to be allowed.

# %%
mlc = [folder for folder in drives if folder.startswith("mlc")]
result = openpts.gate(mlc, ["tp.seq_128_kib.read >= 10"], allow=["deviations", "not steady"])
for one in result.judged:
    print(one.judgement, one.name)
