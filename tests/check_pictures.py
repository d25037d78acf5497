#!/usr/bin/env python3
"""The pictures of alignments show the numbers of the CSV, and tokens only ever as text.

    check_pictures.py NMT MODEL [CHROMIUM]

The drawing is read as XML: each cell's tooltip has the CSV's weight. With a browser the page is opened without a window,
its words are clicked and stepped through, sentences searched, and what it shows is read back from the document; nothing
may be complained of on the console.
"""

import csv
import html
import io
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SOURCES = ["one red book", "", "<script>document.title='taken'</script> two \"cats\" & 'more' </script> a]]>b", "two blue cats"]
TARGETS = ["一 本 红 书", "", "<img/src=x/onerror=document.title='taken'> 两 \u2028 السلام", "两 只 蓝 猫"]

# Put before the page's own script, and behind it.
WATCH = "<script>const faults = []; addEventListener('error', (event) => faults.push(event.message));</script>"
DRIVE = """<script>
const seen = { faults, title: document.title, sentences: [], scripts: document.scripts.length, images: document.images.length };
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const cells = () => [...document.querySelectorAll("#heat tr.chosen td.cell")].map((cell) => Number(cell.dataset.weight));
const chosen = () => [...document.querySelectorAll("#target button")].findIndex((word) => word.ariaPressed === "true");
for (let i = 0; i < sentences.length; i++) {
  document.querySelector(`#list button[data-sentence="${i}"]`).click();
  const words = [...document.querySelectorAll("#target button")];
  const hidden = document.getElementById("words").hidden;
  seen.sentences.push({ hidden, source: [...document.querySelectorAll("#source .word")].map((word) => word.textContent),
    reads: hidden ? [] : words.map((word, t) => {
      word.click();
      return { chosen: chosen(), word: word.textContent, row: document.querySelectorAll("#heat tr.chosen").length,
        cells: cells(), table: [...document.querySelectorAll("#table tbody td[title]")].map((cell) => Number(cell.title)),
        lines: document.querySelectorAll("#lines line").length, status: document.getElementById("status").textContent };
    }) });
}
document.querySelector("#list button").click();
press("ArrowRight"); press("ArrowRight"); press("ArrowLeft");
seen.stepped = chosen();
press("j"); press("j"); press("k");
seen.sentence = location.hash + " " + document.getElementById("number").value;
const search = document.getElementById("search");
search.value = "CATS 猫";
search.dispatchEvent(new Event("input"));
seen.found = [...document.querySelectorAll("#list button")].map((entry) => Number(entry.dataset.sentence));
document.getElementById("theme").click();
const one = document.documentElement.dataset.theme;
document.getElementById("theme").click();
seen.themes = [one, document.documentElement.dataset.theme].sort();
const result = document.createElement("pre");
result.id = "result";
result.textContent = JSON.stringify(seen);
document.body.append(result);
</script>"""


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")


def sharpen(model, path):
    """Another model of the same make whose reads differ: the small one has hardly learnt to attend."""
    data = pathlib.Path(model).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    body = bytearray(data[start:])
    chance = random.Random(3)
    for name, tensor in json.loads(data[8:start]).items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            for at in range(*tensor["data_offsets"], 4):
                struct.pack_into("<f", body, at, chance.gauss(0, 1))
    path.write_bytes(data[:start] + body)


def align(nmt, model, directory, form):
    output = directory / form
    subprocess.run([nmt, "align", "--model", model, "--source", directory / "source", "--target", directory / "target",
                    "--format", form, "--output", output], check=True)
    return output.read_text(encoding="utf-8")


def rows_of(table):
    """The matrices of the CSV: by sentence (from 1) and target position, the tokens and weights of its row."""
    rows = {}
    for entry in csv.DictReader(io.StringIO(table, newline="")):
        row = rows.setdefault((int(entry["sentence"]), int(entry["target_index"])), (entry["target"], [], []))
        row[1].append(entry["source"])
        row[2].append(float(entry["weight"]))
    return rows


def check_drawing(drawing, rows):
    root = xml.etree.ElementTree.fromstring(drawing)
    space = "{http://www.w3.org/2000/svg}"
    tooltips = [title.text for rect in root.iter(space + "rect") for title in rect.iter(space + "title")]
    cells = [(target, source, weight) for target, sources, weights in rows.values() for source, weight in zip(sources, weights)]
    expect("cells of the drawing", len(tooltips), len(cells))
    for tooltip, (target, source, weight) in zip(tooltips, cells):
        expect("what a cell says", tooltip.rpartition(": ")[0], f"{target} reads {source}")
        expect("the weight of a cell", float(tooltip.rpartition(": ")[2]), weight)
    expect("elements of the drawing", {element.tag.replace(space, "") for element in root.iter()},
           {"svg", "title", "defs", "linearGradient", "stop", "rect", "g", "text"})


def drive(chromium, page, directory):
    body = page.replace('<script type="application/json"', WATCH + '<script type="application/json"', 1)
    path = directory / "driven.html"
    path.write_text(body.replace("</body>", DRIVE + "</body>"), encoding="utf-8")
    run = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
                          f"--user-data-dir={directory / 'profile'}", path.as_uri()],
                         check=True, capture_output=True, text=True, timeout=240)
    expect("the console", [line for line in run.stderr.splitlines() if "CONSOLE" in line], [])
    result = re.search(r'<pre id="result">(.*?)</pre>', run.stdout, re.DOTALL)
    if result is None:
        sys.exit(f"the page did not get through: {run.stdout[-2000:]}")
    return json.loads(html.unescape(result.group(1)))


def check_page(seen, rows):
    expect("faults of the page", seen["faults"], [])
    expect("the title", seen["title"], "Attention, word by word")
    expect("scripts and images", (seen["scripts"], seen["images"]), (4, 0))
    for i, sentence in enumerate(seen["sentences"], start=1):
        lines = [row for (number, _), row in rows.items() if number == i]
        expect(f"sentence {i} is hidden", sentence["hidden"], not lines)
        expect(f"reads of sentence {i}", len(sentence["reads"]), len(lines))
        for t, (read, (target, sources, weights)) in enumerate(zip(sentence["reads"], lines)):
            expect("source tokens", sentence["source"], sources)
            expect("target token", read["word"], target)
            expect("the chosen word and row", (read["chosen"], read["row"]), (t, 1))
            expect("the highlighted cells", read["cells"], weights)
            expect("the table", read["table"], weights)
            expect("the lines and the status are there", (read["lines"] > 0, f"word {t + 1} of" in read["status"]), (True, True))
    expect("the word after →→←", seen["stepped"], 1)
    expect("the sentence after J J K", seen["sentence"].split()[-1], "2")
    expect("what a search finds", seen["found"], [3])
    expect("themes", seen["themes"], ["dark", "light"])


def main():
    nmt, model = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        for name, lines in (("source", SOURCES), ("target", TARGETS)):
            (directory / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        sharpen(model, directory / "model")
        model = directory / "model"
        rows = rows_of(align(nmt, model, directory, "long"))
        expect("rows that differ", len({tuple(weights) for _, _, weights in rows.values()}), len(rows))
        check_drawing(align(nmt, model, directory, "svg"), rows)
        page = align(nmt, model, directory, "html")
        expect("addresses in the page", re.findall(r"https?://[^\s\"]+", page), ["http://www.w3.org/2000/svg"])
        if len(sys.argv) > 3:
            check_page(drive(sys.argv[3], page, directory), rows)


if __name__ == "__main__":
    main()
