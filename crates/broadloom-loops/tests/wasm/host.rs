//! A host for WebAssembly: an interpreter, with memory to which cells are copied and from which they are copied back.

use broadloom_loops::wasm::{self, NestCode};
use broadloom_loops::{Block, Program};
use wasmi::{Config, Engine, Instance, Linker, Memory, MemoryType, Module, Store};

const PAGE: usize = 1 << 16;

/// The bytes behind each buffer that must stay 0.
const GAP: usize = 32;

/// The module of a program, in an interpreter.
pub struct Host {
    store: Store<()>,
    memory: Memory,
    instance: Instance,
    /// For each of the nests, true if there is code for it.
    pub nests: Vec<bool>,
}

impl Host {
    /// A host that multiplies and adds at once, or not. The program gets what its code needs.
    pub fn new(program: &mut Program, fuses: bool) -> Host {
        let wasm::Module { bytes, nests } = wasm::module(program, fuses);
        let mut config = Config::default();
        config.wasm_relaxed_simd(fuses);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, &bytes[..]).expect("the module is valid");
        let mut store = Store::new(&engine, ());
        let memory = Memory::new(&mut store, MemoryType::new(1, None)).expect("there is memory");
        let mut linker = Linker::new(&engine);
        linker.define("host", "memory", memory).expect("memory is new");
        let [unary, binary, uniform, widen, narrow] = wasm::IMPORTS;
        linker.func_wrap("host", unary, wasm::host_unary).expect("it is new");
        linker.func_wrap("host", binary, wasm::host_binary).expect("it is new");
        linker.func_wrap("host", uniform, wasm::host_uniform).expect("it is new");
        linker.func_wrap("host", widen, wasm::host_widen).expect("it is new");
        linker.func_wrap("host", narrow, wasm::host_narrow).expect("it is new");
        let instance = linker.instantiate_and_start(&mut store, &module).expect("all imports are there");
        Host { store, memory, instance, nests }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let needed = (at + bytes.len()).div_ceil(PAGE) as u64;
        let present = self.memory.size(&self.store);
        if needed > present {
            self.memory.grow(&mut self.store, needed - present).expect("memory grows");
        }
        self.memory.write(&mut self.store, at, bytes).expect("there is room");
    }
}

impl NestCode for Host {
    fn has(&self, nest: usize) -> bool {
        self.nests[nest]
    }

    fn run(&mut self, nest: usize, blocks: &mut [&mut Block], symbols: &[i64]) -> bool {
        // The list of addresses, the symbols, and then the cells.
        let symbols_at = (4 * blocks.len()).next_multiple_of(8);
        let mut at = symbols_at + 8 * symbols.len();
        let symbols: Vec<u8> = symbols.iter().flat_map(|symbol| symbol.to_le_bytes()).collect();
        self.write(symbols_at, &symbols);
        let mut places = Vec::new();
        for (buffer, block) in blocks.iter_mut().enumerate() {
            let bytes = block.raw_mut().expect("it has memory of its own").to_vec();
            self.write(at, &bytes);
            self.write(4 * buffer, &(at as u32).to_le_bytes());
            places.push(at);
            at += bytes.len().next_multiple_of(8) + GAP;
        }
        let function = self.instance.get_typed_func::<(u32, u32), u32>(&self.store, &format!("nest{nest}"));
        let function = function.expect("the nest has a function");
        self.write(at, &[0; 64]);
        let stopped = function.call(&mut self.store, (0, symbols_at as u32)).expect("no trap");
        for (block, at) in blocks.iter_mut().zip(places) {
            let bytes = block.raw_mut().expect("it has memory of its own");
            let (cells, after) = self.memory.data(&self.store)[at..].split_at(bytes.len());
            bytes.copy_from_slice(cells);
            assert!(after[..GAP].iter().all(|byte| *byte == 0), "it writes behind a buffer");
        }
        stopped == 0
    }
}
