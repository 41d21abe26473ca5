"""figure.py KIND COUNT FILE: what a benchmark client wrote of its own figures, in one line of words.

Status 1 if not so many requests were answered (one_batch: tokens came), or one failed.

figure.py beside OURS FILE: the client's means beside those of stepscope's output OURS, in ms. Status 1 if they differ
by over 5 % (busy machines: LOOSE=PERCENT).
"""

import json
import os
import re
import sys


def bench_serving(line):
    failed = [e for e in line.get("errors", []) if e]
    return line["completed"], failed, line["request_throughput"], line["mean_ttft_ms"]


def guidellm(report):
    m = report["benchmarks"][0]["metrics"]
    total = m["request_totals"]
    mean = lambda name: m[name]["successful"]["mean"]  # noqa: E731
    return total["successful"], total["errored"] + total["incomplete"], mean("requests_per_second"), mean("time_to_first_token_ms")


def aiperf(report):
    avg = lambda name: report[name]["avg"]  # noqa: E731
    return avg("request_count"), report["error_summary"], avg("request_throughput"), avg("time_to_first_token")


kind, want, path = sys.argv[1:]
with open(path) as f:
    report = json.loads(f.read().strip().splitlines()[-1]) if path.endswith(".jsonl") else json.load(f)
if kind == "beside":
    ours = dict(re.findall(r"^(mean_\w+_ms) +(\S+)$", open(want).read(), re.M))
    said, most = [], 0.0
    for name in ("ttft", "tpot", "itl"):
        theirs, own = report[f"mean_{name}_ms"], float(ours[f"mean_{name}_ms"])
        said.append(f"{name.upper()} {theirs:.2f} and {own:.2f}")
        most = max(most, abs(own / theirs - 1))
    print(", ".join(said) + f" ms: {most:.1%} apart at most")
    sys.exit(most > float(os.environ.get("LOOSE", 5)) / 100)
if kind == "one_batch":
    if report["total_output_tokens"] != int(want):
        sys.exit(f"{report['total_output_tokens']} of {want} tokens came")
    print(f"{want} tokens, output {report['output_throughput']:.0f} tokens/s, last TTFT {report['last_ttft'] * 1000:.0f} ms")
    sys.exit()
done, failed, rate, ttft = globals()[kind](report)
if failed or done != int(want):
    sys.exit(f"{done:g} of {want} requests answered; failed: {failed}")
print(f"{done:g} requests, {rate:.1f} requests/s, mean TTFT {ttft:.1f} ms")
