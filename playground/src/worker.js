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

const page = {
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
