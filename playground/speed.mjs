// The processor time that programs take in the page's engine, without a page: `node speed.mjs [FILE.loom…]` after `npm run build`. Without files, a product and a step of training, each for two
// numbers of repetitions: their difference has no start and no compilation in it. Node 20 multiplies and adds at once, as
// browsers do, with `node --experimental-wasm-relaxed-simd speed.mjs`. `node speed.mjs --write FOLDER` writes these programs, to run them as machine code.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { decompress } from "fzstd";

const here = dirname(fileURLToPath(import.meta.url));
const packed = readFileSync(join(here, "dist/broadloom.wasm.packed"));
const module = new WebAssembly.Module(decompress(packed));

// The worker of the page, which expects to be one.
let receive;
globalThis.self = globalThis;
globalThis.postMessage = (message) => message.event || receive(message);
await import("./src/worker.js");
await globalThis.onmessage({ data: { module } });

async function seconds(text) {
  const begun = process.cpuUsage();
  const answered = new Promise((resolve) => (receive = resolve));
  await globalThis.onmessage({ data: { id: 0, question: { ask: "run", text, seed: 0 } } });
  const { answer, crashed } = await answered;
  if (crashed || answer.failed || answer.mistakes.length) throw new Error(crashed ?? answer.failed ?? answer.mistakes[0].shown);
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1e6;
}

// 512 × 512 by 512 × 512.
const product = (times) => `state a : 512, 512 = 0.01
data w : 512, 512 = uniform(-0.05, 0.05)
repeat ${times}:
  a = einsum("i k; k j => i j", a, w)
`;

// A step of a perceptron with two hidden layers.
const training = (times) => `data x : 128 | 784 = uniform(-1, 1)
data target : 128 | 10 = uniform(0, 1)
let y = x |> linear(256) |> relu |> linear(128) |> relu |> linear(10)
let loss = mean(square(y - target))
repeat ${times}:
  minimise loss by sgd(0.01)
`;

const of = { product, training };
const [FEW, MANY] = [5, 45];
const files = process.argv.slice(2);
if (files[0] === "--write") {
  for (const [name, program] of Object.entries(of))
    for (const times of [FEW, MANY]) writeFileSync(join(files[1], `${name}_${times}.loom`), program(times));
  process.exit();
}
for (const file of files) console.log(`${(await seconds(readFileSync(file, "utf8"))).toFixed(2)} s  ${file}`);
if (!files.length) {
  for (const [name, program] of Object.entries(of)) {
    await seconds(program(FEW));
    const [few, many] = [await seconds(program(FEW)), await seconds(program(MANY))];
    console.log(`${((1000 * (many - few)) / (MANY - FEW)).toFixed(2)} ms  ${name}`);
  }
}
