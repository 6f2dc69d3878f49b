// Questions to the engine. Its module and its worker lie beside this script, whatever page uses it.

import { Decompress } from "fzstd";

let module;

// The compiled engine, fetched once; after a failure the next call tries again.
export function loadModule() {
  module ??= unpacked(new URL("broadloom.wasm.packed", import.meta.url));
  module.catch(() => (module = undefined));
  return module;
}

// The module in a file, compiled while it arrives.
async function unpacked(address) {
  const packed = await fetch(address);
  if (!packed.ok) throw new Error(`${address} could not be loaded: ${packed.status}`);
  const content = packed.body.pipeThrough(unpacking());
  return WebAssembly.compileStreaming(new Response(content, { headers: { "content-type": "application/wasm" } }));
}

// What browsers have for gzip, for Zstandard.
function unpacking() {
  let unpack;
  return new TransformStream({
    start: (controller) => void (unpack = new Decompress((part) => part.length && controller.enqueue(part))),
    transform: (part) => unpack.push(part),
    flush: () => unpack.push(new Uint8Array(0), true),
  });
}

export class Engine {
  #module;
  #worker;
  #waiting = new Map();
  #next = 0;
  #latest = new Map();

  constructor(module) {
    this.#module = module;
    this.onEvent = () => {};
    this.#start();
  }

  #start() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (error) => this.#crashed(error.message);
    this.#worker.postMessage({ module: this.#module });
  }

  #receive({ id, answer, crashed, event }) {
    if (event) return this.onEvent(event);
    if (crashed !== undefined) return this.#crashed(crashed);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (answer && answer.failed !== undefined) waiting?.reject(new Error(answer.failed));
    else waiting?.resolve(answer);
  }

  // After a crash the memory of the module cannot be trusted.
  #crashed(reason) {
    this.#restart(new Error(`Broadloom failed: ${reason}`));
  }

  // Begins anew in another worker; what is under way fails with an error.
  #restart(error) {
    this.#worker.terminate();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#start();
    waiting.forEach(({ reject }) => reject(error));
  }

  ask(question) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, question });
    });
  }

  // Asks only what is still of interest: while an answer is awaited, a newer question of the same kind replaces one that was not asked yet. That one is answered with nothing.
  async askLatest(question) {
    const kind = question.ask;
    const current = this.#latest.get(kind);
    if (current) {
      current.next?.resolve(undefined);
      return new Promise((resolve, reject) => (current.next = { question, resolve, reject }));
    }
    const slot = { next: null };
    this.#latest.set(kind, slot);
    try {
      return await this.ask(question);
    } finally {
      this.#latest.delete(kind);
      const { next } = slot;
      if (next) this.askLatest(next.question).then(next.resolve, next.reject);
    }
  }

  // Ends whatever is under way, and starts afresh.
  stop() {
    this.#restart(new Error("Stopped."));
  }

  // Ends it for good.
  end() {
    this.#worker.terminate();
  }
}
