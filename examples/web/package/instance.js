// One WebAssembly instance with its weights. It works in pages, workers and audio worklets, which
// lack fetch and TextDecoder.

/** Opens an instance: copies the weights in and calls its `open` with the given arguments. */
export function openInstance(module, weights, ...settings) {
  const wasm = new WebAssembly.Instance(module).exports;
  const expected = wasm.weights_bytes();
  if (weights.byteLength !== expected)
    throw new Error(`the weights have ${weights.byteLength} bytes, not ${expected}: take both files from one compilation`);
  const at = wasm.weights();
  if (!at) throw new Error(`the browser gave no ${expected} bytes of memory for the weights`);
  new Uint8Array(wasm.memory.buffer, at, expected).set(new Uint8Array(weights));
  check(wasm, wasm.open(...settings));
  return wasm;
}

/** Throws the library's own message if a call failed. */
export function check(wasm, status) {
  if (status !== 0) throw new Error(textAt(wasm, wasm.error()) || `status ${status}`);
}

/** The text of a C string: labels and messages, which are ASCII. */
export function textAt(wasm, address) {
  const bytes = new Uint8Array(wasm.memory.buffer);
  let text = "";
  for (let i = address; bytes[i] !== 0; i++) text += String.fromCharCode(bytes[i]);
  return text;
}
