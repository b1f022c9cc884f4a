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

/** The text of a C string: labels and messages, which are UTF-8. Other bytes become U+FFFD. */
export function textAt(wasm, address) {
  const bytes = new Uint8Array(wasm.memory.buffer);
  let end = address;
  while (bytes[end] !== 0) end++;
  let text = "";
  for (let at = address; at < end; ) {
    const length = bytes[at] < 0xc0 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
    const character = Array.from(bytes.subarray(at, Math.min(at + length, end)), (byte) => "%" + byte.toString(16).padStart(2, "0"));
    try {
      text += decodeURIComponent(character.join(""));
      at += length;
    } catch {
      text += "\ufffd";
      at++;
    }
  }
  return text;
}
