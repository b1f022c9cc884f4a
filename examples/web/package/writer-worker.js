// A worker with a writer. In: {model}, then {id, prompt, length, options}, a number to stop at.
// Out: {id, text, bytesPerSecond, done} or {error}.
import { Writer } from "./writer.js";

let writer;
let current = 0;

onmessage = async ({ data }) => {
  try {
    if (data.model) {
      writer = new Writer(data.model);
      return;
    }
    current = data.id;
    if (!data.stop) await write(data);
  } catch (error) {
    postMessage({ id: data.id, error: error.message });
  }
};

async function write({ id, prompt, length, options }) {
  const start = performance.now();
  let text = "";
  let characters = 0;
  let shown = start;
  for (const part of writer.write(prompt, options)) {
    text += part;
    characters += part.length;
    const now = performance.now();
    const done = characters >= length;
    if (!done && now - shown < 30) continue;
    postMessage({ id, text, done, charactersPerSecond: (1000 * characters) / (now - start) });
    text = "";
    shown = now;
    if (done) return;
    await new Promise((next) => setTimeout(next)); // messages to stop come in between
    if (current !== id) return;
  }
}
