// Text of the module as the page reads it (examples/web/package/instance.js), against TextDecoder,
// which audio worklets lack. It runs in Node.
import assert from "node:assert";
import { textAt } from "../../examples/web/package/instance.js";

function read(bytes) {
  const buffer = new ArrayBuffer(bytes.length + 3);
  new Uint8Array(buffer).set(bytes, 2);
  return textAt({ memory: { buffer } }, 2);
}

const texts = ["", "yes", "größe", "да", "はい", "हाँ", "نعم", "👍🏽", "a\u0301", "\u{10ffff}", "%41%", "\u200d"];
for (let code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 97) if (code < 0xd800 || code > 0xdfff) texts.push(String.fromCodePoint(code));
const encoder = new TextEncoder();
for (const text of texts) assert.strictEqual(read(encoder.encode(text)), text);

// Other bytes never throw, and what surrounds them stays.
for (const bytes of [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf8, 0x88], [0x80]]) {
  const text = read([65, ...bytes, 66]);
  assert.ok(text.startsWith("A") && text.endsWith("B") && text.includes("\ufffd"), JSON.stringify(text));
}
console.log(`${texts.length} texts as TextDecoder reads them`);
