"""A buyer reads all matching open listings of a gateway: python3 examples/read-all.py http://127.0.0.1:8080 gpu_model=H200"""
import json, sys, urllib.parse, urllib.request

gateway, filters = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
page, complete = {"next_cursor": None}, True
while "next_cursor" in page:
    cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"], safe="") if page["next_cursor"] else ""
    with urllib.request.urlopen(f"{gateway}/listings?limit=200{cursor}&{filters}") as answer:
        page = json.load(answer)
    if "complete" not in page:
        sys.exit("this is a plain Registry: read its pages by offset")
    complete = complete and page["complete"]
    for listing in page["items"]:  # a later page may repeat a listing
        print(listing["listing_id"], listing["_meta"]["registry"], listing["storefront_url"])
sys.exit(0 if complete else "some listings are missing: a source did not answer")
