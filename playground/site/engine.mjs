// The engine in Node, for colours and shapes that stand in the pages before anybody edits them. It only reads programs: runs need the page.

import { readFileSync } from "node:fs";

export async function engineOf(file) {
  const page = { report() {}, fuses: () => 0, load: () => -1, unload() {}, run_nest: () => 1 };
  const { instance } = await WebAssembly.instantiate(readFileSync(file), { page });
  const { memory, allocate, ask, answer_length: answerLength } = instance.exports;
  return (question) => {
    const bytes = new TextEncoder().encode(JSON.stringify(question));
    // The memory may grow while room is made, so its buffer is looked up afterwards.
    const address = allocate(bytes.length);
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
    const answer = ask();
    const found = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, answer, answerLength())));
    if (found.failed !== undefined) throw new Error(found.failed);
    return found;
  };
}
