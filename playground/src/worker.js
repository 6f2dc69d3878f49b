// The engine in a thread of its own: questions come in, answers and events go out. See crates/broadloom-web/src/abi.rs.

let engine;

const read = (address, length) =>
  new TextDecoder().decode(new Uint8Array(engine.memory.buffer, address, length));

function ask(question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const address = engine.allocate(bytes.length);
  new Uint8Array(engine.memory.buffer, address, bytes.length).set(bytes);
  const answer = engine.ask();
  return JSON.parse(read(answer, engine.answer_length()));
}

// Modules of nests, which work on the memory of the engine.
const loaded = new Map();
let next = 0;

function load(address, length) {
  const { memory, host_unary: unary, host_binary: binary, host_uniform: uniform, host_widen: widen, host_narrow: narrow } = engine;
  try {
    const module = new WebAssembly.Module(new Uint8Array(memory.buffer, address, length));
    loaded.set(next, new WebAssembly.Instance(module, { host: { memory, unary, binary, uniform, widen, narrow } }).exports);
    return next++;
  } catch {
    // The evaluator runs what the browser cannot load.
    return -1;
  }
}

// A module with one function, which multiplies and adds at once: `f32x4.relaxed_madd` of three vectors. Not every browser has the instruction.
const FUSED = [
  [0, 97, 115, 109, 1, 0, 0, 0], // "\0asm", version 1
  [1, 8, 1, 96, 3, 123, 123, 123, 1, 123], // a type: three vectors make one
  [3, 2, 1, 0], // a function of this type
  [10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2, 253, 133, 2, 11], // its code
];
const fuses = Number(WebAssembly.validate(new Uint8Array(FUSED.flat())));

const page = {
  fuses: () => fuses,
  report: (address, length) => postMessage({ event: JSON.parse(read(address, length)) }),
  load,
  unload: (number) => void loaded.delete(number),
  run_nest: (number, nest, buffers, symbols) => loaded.get(number)[`nest${nest}`](buffers, symbols),
};

self.onmessage = async ({ data }) => {
  if (data.module) {
    engine = (await WebAssembly.instantiate(data.module, { page })).exports;
    return;
  }
  try {
    postMessage({ id: data.id, answer: ask(data.question) });
  } catch (error) {
    postMessage({ id: data.id, crashed: String(error) });
  }
};
