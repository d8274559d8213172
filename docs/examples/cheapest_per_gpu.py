"""An example policy in Python: machines by their price per GPU and hour, unpriced ones last.

    entrepot listings --policy-cmd "python3 docs/examples/cheapest_per_gpu.py"

A policy command reads the merged JSON array on stdin and writes a JSON array to stdout; its stderr is shown.
Amounts of different tokens cannot be compared, so this one keeps a single token.
"""

import json
import sys

TOKEN = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"


def price_per_gpu(listing):
    """Base units of TOKEN per GPU and hour, or None for a listing without such a price."""
    gpus = listing["offer_resource"].get("gpu_count") or 1
    for escrow in listing["accepted_escrows"]:
        if escrow.get("literal_fields", {}).get("token") != TOKEN:
            continue
        for rate in escrow.get("rates", []):
            if rate["per"] == "hour":
                return int(rate["value"]) / gpus
    return None


listings = [(price_per_gpu(listing), listing) for listing in json.load(sys.stdin)]
priced = sorted((pair for pair in listings if pair[0] is not None), key=lambda pair: pair[0])
unpriced = [pair for pair in listings if pair[0] is None]
json.dump([listing for _, listing in priced + unpriced], sys.stdout)
