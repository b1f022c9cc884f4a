"""SVG text with one style for light and dark pages. Output depends on the arguments alone."""

from xml.sax.saxutils import escape

STYLE = """
.surface{fill:#ffffff} .ink{fill:#1f2328} .muted{fill:#59636e} .ours{fill:#2a6fc9} .loss{fill:#c9372c}
.theirs{fill:#8c6d1f} .grid{stroke:#d7dce1;stroke-width:1} .axis{stroke:#59636e;stroke-width:1.5}
.line-ours{stroke:#2a6fc9;stroke-width:2;fill:none} .line-theirs{stroke:#8c6d1f;stroke-width:2;fill:none}
.line-muted{stroke:#59636e;stroke-width:1;fill:none} .dash{stroke-dasharray:4 4}
.part1{fill:#2a6fc9} .part2{fill:#3c8a5a} .part3{fill:#8c6d1f} .part4{fill:#7a52b3} .part5{fill:#b3486b}
.band{fill:#eef2f6} .on-fill{fill:#ffffff}
@media (prefers-color-scheme: dark){
.surface{fill:#0d1117} .ink{fill:#e6edf3} .muted{fill:#9da7b3} .ours{fill:#58a0f0} .loss{fill:#f0706a}
.theirs{fill:#d9b44a} .grid{stroke:#30363d} .axis{stroke:#9da7b3}
.line-ours{stroke:#58a0f0} .line-theirs{stroke:#d9b44a} .line-muted{stroke:#9da7b3}
.part1{fill:#58a0f0} .part2{fill:#5fb57f} .part3{fill:#d9b44a} .part4{fill:#a985e0} .part5{fill:#e07a9c}
.band{fill:#161b22} .on-fill{fill:#0d1117}
}
"""
FONT = "font-family=\"system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif\""


def number(value):
    """At most one decimal, without a trailing zero."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else f"{int(value)}"


class Picture:
    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" {FONT} font-size="13">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>{STYLE}</style>",
            f'<rect class="surface" width="{width}" height="{height}"/>',
        ]

    def text(self, x, y, text, style="ink", anchor="start", size=None, bold=False):
        extra = (f' font-size="{size}"' if size else "") + (' font-weight="600"' if bold else "")
        self.parts.append(
            f'<text class="{style}" x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'
        )

    def rect(self, x, y, width, height, style, radius=0):
        extra = f' rx="{radius}"' if radius else ""
        self.parts.append(
            f'<rect class="{style}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}"{extra}/>'
        )

    def line(self, x1, y1, x2, y2, style="grid"):
        self.parts.append(
            f'<line class="{style}" x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"/>'
        )

    def curve(self, points, style):
        self.parts.append(
            f'<polyline class="{style}" points="' + " ".join(f"{number(x)},{number(y)}" for x, y in points) + '"/>'
        )

    def circle(self, x, y, radius, style):
        self.parts.append(f'<circle class="{style}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>')

    def svg(self):
        return "\n".join([*self.parts, "</svg>", ""])
