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

self.onmessage = async ({ data }) => {
  if (data.module) {
    const page = { report: (address, length) => postMessage({ event: JSON.parse(read(address, length)) }) };
    engine = (await WebAssembly.instantiate(data.module, { page })).exports;
    return;
  }
  try {
    postMessage({ id: data.id, answer: ask(data.question) });
  } catch (error) {
    postMessage({ id: data.id, crashed: String(error) });
  }
};
