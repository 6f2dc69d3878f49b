//! Random numbers: Threefry-2x32 with 20 rounds as integer arithmetic, so that draws are equal to those of the other backends.

use broadloom_loops::LoopSum;

use crate::function::{Symbol, Writer};
use crate::nest::{Nest, Over, union};
use crate::tensor::Element;
use crate::write::Text;

/// Rotations of the eight rounds that repeat.
const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];

impl Writer<'_> {
    /// Random numbers in `[0, 1)`, at positions that are sums of loops.
    pub fn uniform(&mut self, nest: &Nest<'_>, key: u32, stream: u64, at: &LoopSum) -> Result<Over, String> {
        let Symbol::Key(key) = self.symbol(key)? else {
            return Err("its random numbers have no key".into());
        };
        let sum = nest.affine(at)?;
        let (least, greatest) = sum.range(nest);
        if least < 0 || greatest > i64::from(i32::MAX) {
            return Err("it draws more random numbers than 31 bits count".into());
        }
        let loops = union([&sum.terms.iter().map(|(_, each)| *each).collect::<Vec<_>>()[..]]);
        let at = self.sum_of_loops(nest, &sum, &loops, Element::I32)?;
        let at = self.text.convert(&at, Element::U32);
        let mixed = |of: &mut Self, word: u64, stream: u32| {
            let part = of.text.slice(&key, &[(word, word + 1, 1)]);
            let part = of.text.reshape(&part, &[]);
            let stream = of.text.word(stream, &[]);
            of.text.each("xor", &[&part, &stream])
        };
        let (low, high) = (mixed(self, 0, stream as u32), mixed(self, 1, (stream >> 32) as u32));
        let name = draws(&mut self.text, &at.sizes);
        let tensor = self.text.call(&name, &[&low, &high, &at], &at.sizes, Element::F32);
        Ok(Over { tensor, loops })
    }
}

/// The name of the function that draws numbers for positions of some sizes, which is written if it is not there.
fn draws(text: &mut Text, sizes: &[u64]) -> String {
    let sized: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let name = if sized.is_empty() { "uniform".to_string() } else { format!("uniform_{}", sized.join("x")) };
    if !text.helpers.contains_key(&name) {
        let helper = threefry(&name, sizes);
        text.helpers.insert(name.clone(), helper);
    }
    name
}

/// A function from the two words of a key and positions to numbers with 24 random bits.
fn threefry(name: &str, sizes: &[u64]) -> String {
    let mut text = Text::default();
    let mut argument = |name: &str, sizes: &[u64]| text.argument(name, sizes, Element::U32);
    let (low, high, at) = (argument("low", &[]), argument("high", &[]), argument("at", sizes));
    let parity = text.word(0x1BD1_1BDA, &[]);
    let third = text.each("xor", &[&low, &high]);
    let third = text.each("xor", &[&third, &parity]);
    let keys = [&low, &high, &third].map(|key| text.broadcast(key, sizes, &[]));
    // The high word of a position is 0.
    let mut x = [text.each("add", &[&at, &keys[0]]), keys[1].clone()];
    for round in 0..20 {
        x[0] = text.each("add", &[&x[0], &x[1]]);
        let by = ROTATIONS[round % 8];
        let (left, right) = (text.word(by, sizes), text.word(32 - by, sizes));
        let left = text.each("shift_left", &[&x[1], &left]);
        let right = text.each("shift_right_logical", &[&x[1], &right]);
        let turned = text.each("or", &[&left, &right]);
        x[1] = text.each("xor", &[&turned, &x[0]]);
        if round % 4 == 3 {
            let turn = round / 4 + 1;
            x[0] = text.each("add", &[&x[0], &keys[turn % 3]]);
            let number = text.word(turn as u32, sizes);
            let key = text.each("add", &[&keys[(turn + 1) % 3], &number]);
            x[1] = text.each("add", &[&x[1], &key]);
        }
    }
    let eight = text.word(8, sizes);
    let bits = text.each("shift_right_logical", &[&x[0], &eight]);
    let number = text.convert(&bits, Element::F32);
    let scale = text.splat(1.0 / f64::from(1u32 << 24), sizes, Element::F32);
    let drawn = text.each("multiply", &[&number, &scale]);
    let (word, words, made) = (low.text(), at.text(), drawn.text());
    text.line(&format!("return {} : {made}", text.name_of(&drawn)));
    let (lines, _) = text.finish();
    format!(
        "  func.func private @{name}(%low: {word}, %high: {word}, %at: {words}) -> {made} {{\n{lines}  }}\n"
    )
}
