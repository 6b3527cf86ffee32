# %% [markdown]
# # A stimulus of one's own
# How do rate and response times grow with the queue depth? Each point is one stimulus, every I/O timed,
# without a test around it: no purge, no preconditioning.

# %%
import openpts

for qd in (1, 4, 16, 64):
    found = openpts.measure(
        "sim:enterprise-tlc", "--bs", "4k", "--qd", str(qd), "--seconds", "2", "--seed", "1"
    )
    reads = found["read"]
    print(f"QD {qd:2}: {reads['iops']:9,.0f} IOPS, mean {reads['mean_latency_ns'] / 1000:6.1f} us")
