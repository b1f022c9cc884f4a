// Text from a worker, so that the page stays responsive.

export class WritingWorker {
  #worker = new Worker(new URL("./writer-worker.js", import.meta.url), { type: "module" });
  #id = 0;

  constructor(model) {
    this.#worker.postMessage({ model });
  }

  /** Writes `length` characters after the prompt. `onText` gets them as they come. Resolves at the
   * end, or when stopped. */
  write(prompt, { length = 600, onText, ...options } = {}) {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#worker.onerror = (event) => reject(new Error(event.message));
      this.#worker.onmessage = ({ data }) => {
        if (data.id !== id && data.id !== undefined) return;
        if (data.error) return reject(new Error(data.error));
        onText?.(data.text, data.charactersPerSecond);
        if (data.done) resolve();
      };
      this.stop = () => {
        this.#worker.postMessage({ id: -1, stop: true });
        this.#worker.onmessage = null;
        resolve();
      };
      this.#worker.postMessage({ id, prompt, length, options });
    });
  }

  stop() {}
  close() {
    this.#worker.terminate();
  }
}
