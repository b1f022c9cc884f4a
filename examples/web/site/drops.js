// Files that a visitor drops anywhere on the page.

/** Calls `take` with each dropped file. */
export function acceptDrops(take) {
  let depth = 0;
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle("dragging", depth > 0);
  };
  addEventListener("dragenter", () => mark(1));
  addEventListener("dragleave", () => mark(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    mark(-depth);
    for (const file of event.dataTransfer.files) take(file);
  });
}
