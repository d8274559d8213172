"""A buyer reads all matching open listings of a gateway: python3 examples/read-all.py http://127.0.0.1:8080 gpu=H200

READ_KEY in the environment is the reader's key."""
import json, os, sys, urllib.error, urllib.parse, urllib.request

headers = {"Authorization": f"Bearer {os.environ['READ_KEY']}"} if os.environ.get("READ_KEY") else {}
gateway, filters = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
page, complete = {"next_cursor": None}, True
while "next_cursor" in page:
    cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"], safe="") if page["next_cursor"] else ""
    request = urllib.request.Request(f"{gateway}/listings?limit=200{cursor}&{filters}", headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            page = json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {json.load(error)['detail']}")
    if "complete" not in page:
        sys.exit("this is a plain Registry: read its pages by offset")
    complete = complete and page["complete"]
    for listing in page["items"]:  # a later page may repeat a listing
        print(listing["listing_id"], listing["_meta"]["registry"], listing["storefront_url"])
sys.exit(0 if complete else "some listings are missing: a source did not answer")
