"""How the profiles of directives differ from the published package, over generated dialogues.

CORTEX_DIRECTIVES_REFERENCE=FOLDER python benchmarks/directives_differential.py
"""

import argparse
import time

from directives_peer import peer
from measure import stamp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    drawn = f"{options.sequences:,} sequences for each profile, seed {options.seed}"
    print(f"{stamp()}; {drawn}; the texts, the equal ones, and the rest by why they differ")
    for one in peer.comparisons():
        began = time.perf_counter()
        found = peer.compare(one, options.sequences, options.seed)
        texts, took_s = found.pop("texts"), time.perf_counter() - began
        equal = texts - sum(found.values())
        print(f"\n{one.name:18}{texts:11,} texts {equal:11,} equal  0 unlisted  {took_s:,.0f} s")
        for reason, count in found.most_common():
            print(f"  {count:9,}  {reason}: {peer.LISTED[reason]}")


if __name__ == "__main__":
    main()
