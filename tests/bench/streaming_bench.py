#!/usr/bin/env python3
"""Times the streaming kernels on this machine's GPU and prints the tables of kernels/README.md.

    python3 tests/bench/streaming_bench.py --bench BUILD/pack_bench --pack BUILD/packs/cuda.so [--ncu] [--only q35|decode]

streaming_on_device.sh builds both and starts it.

Each arm is a fresh process; arms alternate, for two rounds, and the median of an arm's medians is printed. The L2 cache
is flushed before every launch. PyTorch's arms (where it is) run by the same protocol, in between. --ncu adds what the
profiler says of the L2 cache, where it is installed.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys

ROUNDS = 2
# Query heads, keys and rows. Four KV heads: K and V of 32,768 keys take 134 MB, twice an H200's L2 cache.
Q35_CASES = ((24, 8192, (1, 16, 128)), (24, 32768, (1, 12, 16, 128)), (24, 131072, (1, 12, 16, 128)),
             (4, 32768, (1, 16, 128)), (4, 131072, (1, 16, 128)))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def arm(options, kernel, **sizes):
    command = [options.bench, options.pack, kernel]
    for name, value in sizes.items():
        if name == "chunks_first":
            command += ["--option", f"chunks_first={value}"]
        else:
            command += ["--" + name.replace("_", "-"), str(value)]
    return command


def torch_arm(back_end, **sizes):
    return [sys.executable, __file__, "--torch-arm", json.dumps(dict(sizes, back_end=back_end))]


def time_torch(sizes):
    """One arm of PyTorch: pack_bench's protocol."""
    import torch  # pylint: disable=import-outside-toplevel
    from torch.nn.attention import SDPBackend, sdpa_kernel  # pylint: disable=import-outside-toplevel

    back_end = getattr(SDPBackend, sizes["back_end"])
    shape = lambda heads, length: (sizes["batch"], heads, length, sizes["head_dim"])  # noqa: E731
    make = lambda *size: torch.randn(size, device="cuda", dtype=torch.bfloat16)  # noqa: E731
    q = make(*shape(sizes["heads"], 1))
    k, v = (make(*shape(sizes["kv_heads"], sizes["keys"])) for _ in range(2))
    flushed = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    with sdpa_kernel(back_end):
        for i in range(24):
            flushed.fill_(i)
            begin.record()
            torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=sizes["heads"] != sizes["kv_heads"])
            end.record()
            end.synchronize()
            if i >= 3:
                times.append(begin.elapsed_time(end))
    bytes_of_caches = 2 * k.numel() * k.element_size()
    print(json.dumps({"median_ms": statistics.median(times), "cache_bytes": bytes_of_caches}))


def compare(arms):
    """The median time of each arm in ms, and its bytes of keys and values. An arm of PyTorch may fail: None."""
    times = {name: [] for name in arms}
    size = {}
    for _ in range(ROUNDS):
        for name, command in arms.items():
            if "--torch-arm" in command:
                done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
                if done.returncode != 0:
                    lines = (done.stderr.strip() or "no output").splitlines()
                    print(f"PyTorch's {name} did not run: {lines[-1]}", file=sys.stderr)
                    continue
                answer = json.loads(done.stdout.splitlines()[-1])
            else:
                answer = json.loads(run(command))
            times[name].append(answer["median_ms"])
            size[name] = answer["cache_bytes"]
    return {name: (statistics.median(of), size[name]) if of else None for name, of in times.items()}


def l2_hits(command):
    """The L2 hit rate in % and the bytes read from memory of the first kernel that is launched."""
    out = run(["ncu", "--csv", "--launch-count", "1", "-k", "regex:entry", "--clock-control", "none", "--metrics",
               "lts__t_sector_hit_rate.pct,dram__bytes_read.sum", "--print-units", "base"] + command)
    values = {}
    for line in out.splitlines():
        fields = [field.strip('"') for field in line.split('","')]
        for metric in ("lts__t_sector_hit_rate.pct", "dram__bytes_read.sum"):
            if metric in fields:
                values[metric] = float(fields[-1].strip('"').replace(",", ""))
    return values.get("lts__t_sector_hit_rate.pct"), values.get("dram__bytes_read.sum")


def q35_table(options):
    print("\nRows-first attention: q35.merge.bf16, Hk = 4, D = 256, one stream. GB/s: K and V once, by the time of "
          "rows-first.\n")
    head = "| heads | keys | rows | rows-first, ms | chunks-first, ms | ratio | GB/s |"
    print(head + (" L2 hits | from memory |" if options.ncu else ""))
    print("|---|---|---|---|---|---|---|" + ("---|---|" if options.ncu else ""))
    for heads, keys, all_rows in Q35_CASES:
        for rows in all_rows:
            sizes = dict(heads=heads, kv_heads=4, head_dim=256, keys=keys, rows=rows, rounds=11)
            arms = {order: arm(options, "q35.merge.bf16", chunks_first=order, **sizes) for order in (0, 1)}
            got = compare(arms)
            (first, size), (chunks, _) = got[0], got[1]
            line = (f"| {heads} | {keys:,} | {rows} | {first:.3f} | {chunks:.3f} | {first / chunks:.2f} | "
                    f"{size / first / 1e6:,.0f} |")
            if options.ncu and rows >= 16:
                hits = [l2_hits(arms[order]) for order in (0, 1)]
                line += " " + ", ".join(f"{of[0]:.1f} %" for of in hits) + " |"
                line += " " + ", ".join(f"{of[1] / 1e9:.2f} GB" for of in hits) + " |"
            elif options.ncu:
                line += " | |"
            print(line, flush=True)


def decode_table(options):
    shape = dict(batch=16, heads=32, kv_heads=8, keys=8192, head_dim=128)
    print("\nDecode: batch 16, 32 heads, 8 KV heads, 8,192 keys, D = 128, bf16. Bandwidth: K and V once.\n")
    print("| | ms | GB/s | of PyTorch's best |\n|---|---|---|---|")
    arms = {kernel: arm(options, kernel, **shape)
            for kernel in ("decode.split.bf16", "paged.decode.bf16", "decode.vec.bf16")}
    arms["PyTorch, flash"] = torch_arm("FLASH_ATTENTION", **shape)
    arms["PyTorch, cuDNN"] = torch_arm("CUDNN_ATTENTION", **shape)
    got = compare(arms)
    theirs = [got[name][0] for name in arms if name.startswith("PyTorch") and got[name]]
    for name, answer in got.items():
        if answer is None:
            print(f"| {name} | did not run | | |")
            continue
        time, size = answer
        share = f"{min(theirs) / time:.2f}" if theirs else ""
        print(f"| {name} | {time:.3f} | {size / time / 1e6:,.0f} | {share} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/device/pack_bench")
    parser.add_argument("--pack", default="build/device/packs/cuda.so")
    parser.add_argument("--ncu", action="store_true", help="also the L2 hit rates, rows-first and chunks-first")
    parser.add_argument("--only", choices=("q35", "decode"))
    parser.add_argument("--torch-arm", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch_arm:
        return time_torch(json.loads(options.torch_arm))
    if options.ncu and shutil.which("ncu") is None:
        sys.exit("--ncu: ncu is not here")
    if options.only != "q35":
        decode_table(options)
    if options.only != "decode":
        q35_table(options)
    return None


if __name__ == "__main__":
    main()
