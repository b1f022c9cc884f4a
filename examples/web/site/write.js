// The second half of the page: a prompt, and text that a worker writes after it.
import { WritingWorker } from "./longwave-web/index.js";

const find = (id) => document.getElementById(id);

export function startWriting(model) {
  const worker = new WritingWorker(model);
  const button = find("write-button");
  const status = find("write-status");
  let writing = false;

  find("temperature").oninput = ({ target }) => (find("temperature-value").textContent = Number(target.value).toFixed(1));

  find("prompt-form").onsubmit = async (event) => {
    event.preventDefault();
    if (writing) return worker.stop();
    writing = true;
    button.textContent = "Stop";
    status.classList.remove("failed");
    const prompt = find("prompt").value;
    const begun = document.createElement("b");
    begun.textContent = prompt;
    const text = document.createTextNode("");
    find("text").replaceChildren(begun, text);
    let speed = 0;
    try {
      await worker.write(prompt, {
        temperature: Number(find("temperature").value),
        seed: Math.floor(Math.random() * 2 ** 32),
        onText: (part, charactersPerSecond) => {
          text.appendData(part);
          speed = charactersPerSecond;
          status.textContent = `${text.length} characters · ${Math.round(speed)} per second`;
        },
      });
    } catch (error) {
      status.textContent = error.message;
      status.classList.add("failed");
    }
    writing = false;
    button.textContent = "Write";
  };
  button.disabled = false;
  status.textContent = "Ready.";
}
