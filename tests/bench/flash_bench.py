"""flash of a CUDA pack beside PyTorch's back ends, in one run: flash_bench.py BENCH PACK [KERNEL...]

BENCH is flash_bench, built. Medians of device events behind a warm-up; TFLOP/s count 4 B H Tq Tk D operations, half of
them under causality.
"""
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

BACK_ENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
}
PROBLEMS = [(2, 16, 4096, 128, 0), (2, 16, 4096, 128, 1), (1, 16, 16384, 128, 1)]


def of_torch(back_end, B, H, T, D, causal, repeats=20):
    q, k, v = (torch.randn(B, H, T, D, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    times = []
    with sdpa_kernel(back_end):
        for i in range(repeats + 3):
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before.record()
            F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
            after.record()
            after.synchronize()
            if i >= 3:
                times.append(before.elapsed_time(after))
    return sorted(times)[len(times) // 2]


def main():
    bench, pack, *kernels = sys.argv[1:]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, bf16")
    for B, H, T, D, causal in PROBLEMS:
        operations = 4 * B * H * T * T * D / (2 if causal else 1)
        print(f"B={B} H={H} {T} x {T} D={D}{' causal' if causal else ''}")
        times = {}
        for kernel in kernels or ["flash.mma.bf16"]:
            words = [bench, pack, kernel, *map(str, (B, H, T, T, D, causal))]
            times[kernel] = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        for name, back_end in BACK_ENDS.items():
            try:
                times["PyTorch " + name] = of_torch(back_end, B, H, T, D, causal)
            except RuntimeError as why:
                print(f"  PyTorch {name}: {why}")
        flash = times.get("PyTorch flash")
        for name, ms in times.items():
            share = f"   {flash / ms:5.2f} of PyTorch's flash" if flash else ""
            print(f"  {name:26} {ms:8.3f} ms  {operations / ms / 1e9:6.1f} TFLOP/s{share}")


if __name__ == "__main__":
    main()
