// Fetches the two files of a model.

/**
 * @param {string | URL} moduleUrl the .wasm file
 * @param {string | URL} weightsUrl the .weights file
 */
export async function loadModel(moduleUrl, weightsUrl) {
  const [code, data] = await Promise.all([get(moduleUrl), get(weightsUrl)]);
  const [module, weights] = await Promise.all([code.arrayBuffer().then((bytes) => WebAssembly.compile(bytes)), data.arrayBuffer()]);
  return { module, weights };
}

async function get(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}
