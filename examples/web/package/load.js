// Fetches the two files of a model, or opens the one file that has both.

/**
 * @param {string | URL} moduleUrl the .wasm file
 * @param {string | URL} weightsUrl the .weights file
 */
export async function loadModel(moduleUrl, weightsUrl) {
  const [code, data] = await Promise.all([get(moduleUrl), get(weightsUrl)]);
  const [module, weights] = await Promise.all([code.arrayBuffer().then((bytes) => WebAssembly.compile(bytes)), data.arrayBuffer()]);
  return { module, weights };
}

/**
 * A module with its weights in it, as a page gets it from a file that a visitor drops.
 * @param {ArrayBuffer} bytes the file
 */
export async function openModel(bytes) {
  const start = String.fromCharCode(...new Uint8Array(bytes, 0, Math.min(4, bytes.byteLength)));
  if (start === "\x89LWA") throw new Error("a .lw file has no code for browsers: make a module of the model folder, as docs/web.md says");
  if (start !== "\0asm") throw new Error("not a WebAssembly module: docs/web.md makes one of a model folder, or of an ONNX graph");
  const module = await WebAssembly.compile(bytes);
  const [weights] = WebAssembly.Module.customSections(module, "longwave.weights");
  if (!weights) throw new Error("the module has no weights in it: take the file with both, speech-whole.wasm");
  return { module, weights };
}

async function get(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}
