"""Draws what a terminal showed as SVG: terminal_picture.py COMMAND <TEXT >PICTURE."""

import html
import sys

SIZE, LINE, MARGIN = 13, 18, 14


def main(command: str) -> None:
    lines = [f"$ {command}", *sys.stdin.read().rstrip("\n").split("\n")]
    # A letter of the usual monospaced fonts is 0.602 of their size wide.
    width = round(max(map(len, lines)) * SIZE * 0.602) + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">')
    print('<rect width="100%" height="100%" rx="8" fill="#161b22"/>')
    print(f'<g font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="{SIZE}" fill="#d5dbe3">')
    for number, line in enumerate(lines):
        y = MARGIN + (number + 1) * LINE - 5
        text = html.escape(line)
        # The name of each figure stands in the first 12 columns.
        if number == 0:
            text = f'<tspan fill="#7ee787">{text}</tspan>'
        elif line[:12].strip() and line[12:14] == "  ":
            text = f'<tspan fill="#79c0ff">{html.escape(line[:12])}</tspan>{html.escape(line[12:])}'
        print(f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{text}</text>')
    print("</g>\n</svg>")


main(sys.argv[1])
