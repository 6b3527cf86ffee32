# %% [markdown]
# # One run
# A test on a simulated drive, its key values, its steps as a table and a plot. On a drive of yours:
# `"/dev/nvme0n1", "--confirm-serial", SERIAL` instead of the simulated one.

# %%
import openpts

run = openpts.run_test("tp", "sim:client-qlc", "--class", "client", "--seed", "1", out="one-run")

# %% [markdown]
# Each measure has key, unit and value, and says whether it is of steady state.

# %%
for measure in openpts.measures(run):
    if measure.is_key and measure.key.startswith("seq"):
        print(f"{measure.label:14} {measure.value:8,.0f} {measure.unit}, {measure.steady}")

# %% [markdown]
# The steps by column: `pandas.DataFrame(steps)`, or polars. Names of columns have their units.

# %%
steps = run.frame("steps")
print(len(steps["step"]), "steps:", ", ".join([*steps][:8]))

# %% [markdown]
# The plots of the report, as Vega-Lite; `altair.Chart.from_dict(plot)` shows one in a notebook.

# %%
plot = openpts.vega_lite(run)["tp-1024-write-plot"]
print(plot["description"])
