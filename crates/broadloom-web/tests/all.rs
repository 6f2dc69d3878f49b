//! Questions as a page asks them.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

fn ask(question: &Value) -> Value {
    let answer = broadloom_web::answer(&question.to_string(), &mut |_| {});
    serde_json::from_str(&answer).expect("answers are JSON")
}

fn shown(value: &Value, expected: &Expect) {
    expected.assert_eq(&format!("{}\n", serde_json::to_string_pretty(value).expect("JSON can be written")));
}

const MISTAKE: &str = "# é 😀\ndata x : 32 | 784\nlet y = {w : 10 -> 5} @ x\n";

/// Answers do not depend on what was asked before, and completions say where they begin.
#[test]
fn questions_after_each_other() {
    let spec = "# é 😀\nlet y = einsum(\"ij; jk => i\", 1, 2)\n";
    let at = spec.encode_utf16().take_while(|unit| *unit != u16::from(b'>')).count() + 3;
    let word = "data logits : 3\nlet y = lo";
    let asked = [
        json!({"ask": "edit", "text": word}),
        json!({"ask": "complete", "text": word, "at": word.len()}),
        json!({"ask": "hover", "text": "data x : 3\nlet y = x\n", "at": 5}),
        json!({"ask": "complete", "text": spec, "at": at}),
        json!({"ask": "edit", "text": MISTAKE}),
        json!({"ask": "hover", "text": MISTAKE, "at": 13}),
    ];
    let fresh: Vec<Value> = asked
        .iter()
        .map(|question| std::thread::scope(|scope| scope.spawn(|| ask(question)).join().expect("an answer")))
        .collect();
    for (question, fresh) in asked.iter().zip(&fresh).chain(asked.iter().zip(&fresh).rev()) {
        assert_eq!(ask(question), *fresh, "{question}");
    }
    assert_eq!(fresh[1]["from"], word.len() - 2);
    assert_eq!(fresh[3]["from"], at);
}

#[test]
fn a_mistake_has_both_ends_where_the_page_counts_them() {
    let answer = ask(&json!({"ask": "edit", "text": MISTAKE}));
    let mistake = &answer["mistakes"][0];
    let units: Vec<u16> = MISTAKE.encode_utf16().collect();
    let part = |label: &Value| {
        let at = |key: &str| label[key].as_u64().expect("an offset") as usize;
        String::from_utf16(&units[at("from")..at("to")]).expect("whole characters")
    };
    let labels: Vec<Value> = mistake["labels"]
        .as_array()
        .expect("labels")
        .iter()
        .map(|label| json!([part(label), label["text"], label["primary"]]))
        .collect();
    shown(
        &json!({"message": mistake["message"], "labels": labels, "help": mistake["help"], "ok": answer["ok"]}),
        &expect![[r#"
            {
              "help": [
                "`@` contracts the input of the left side with the output of the right side: declare `w` as `784 -> 5`, or `... -> 5`, and its input is inferred"
              ],
              "labels": [
                [
                  "{w : 10 -> 5} @ x",
                  "",
                  true
                ],
                [
                  "{w : 10 -> 5}",
                  "10 because of the input axis of `w`",
                  false
                ],
                [
                  "x",
                  "784 because of the output axis of `x`",
                  false
                ]
              ],
              "message": "10 and 784 do not agree",
              "ok": false
            }
        "#]],
    );
}

#[test]
fn a_fix_can_be_carried_out() {
    let text = "data x : 3\nlet y = rleu(x)\n";
    let answer = ask(&json!({"ask": "edit", "text": text}));
    let fix = &answer["mistakes"][0]["fixes"][0];
    let edit = &fix["edits"][0];
    let at = |key: &str| edit[key].as_u64().expect("an offset") as usize;
    let mut mended = text.to_string();
    mended.replace_range(at("from")..at("to"), edit["text"].as_str().expect("a text"));
    assert_eq!(mended, "data x : 3\nlet y = relu(x)\n");
    assert_eq!(ask(&json!({"ask": "edit", "text": mended}))["ok"], json!(true));
}

#[test]
fn shapes_hints_and_colours_of_a_layer() {
    let text = "data x : 32 | 784\nlet y = relu({w} @ x + {b : 64})\n";
    let answer = ask(&json!({"ask": "edit", "text": text}));
    let tensors: Vec<Value> = answer["tensors"]
        .as_array()
        .expect("tensors")
        .iter()
        .map(|tensor| json!([tensor["name"], tensor["shape"]]))
        .collect();
    let tokens = answer["tokens"].as_array().expect("tokens").len();
    shown(
        &json!({"hints": answer["hints"], "tensors": tensors, "tokens": tokens}),
        &expect![[r#"
        {
          "hints": [
            {
              "at": 23,
              "text": ": 32 | 64"
            },
            {
              "at": 33,
              "text": ": 784 -> 64"
            }
          ],
          "tensors": [
            [
              "x",
              "32 | 784"
            ],
            [
              "w",
              "784 -> 64"
            ],
            [
              "b",
              "64"
            ],
            [
              "y",
              "32 | 64"
            ]
          ],
          "tokens": 23
        }
    "#]],
    );
}

#[test]
fn names_are_known_hovered_and_completed() {
    let text = "data logits : 32 | 10\nlet y = softmax(logits)\nlet z = lo";
    let hover = ask(&json!({"ask": "hover", "text": text, "at": 36}));
    shown(
        &hover,
        &expect![[r#"
        {
          "from": 30,
          "markdown": "```loom\ndef softmax(axes)(x)\n```\n\nPositive numbers that sum to 1 over the named axes of a shape: softmax(\"... | v\")(logits),\nsoftmax(\"... | t -> ...\")(scores). The greatest is subtracted first, so that no exponential is too\nlarge.\n",
          "to": 37
        }
    "#]],
    );
    assert_eq!(ask(&json!({"ask": "hover", "text": text, "at": 0})), Value::Null);
    let completions = ask(&json!({"ask": "complete", "text": text, "at": text.len()}));
    assert_eq!(completions["completions"][0]["label"], "logits");
}

#[test]
fn panels_say_what_the_command_says() {
    let text =
        "dim n in 1..64 = 8\ndata x : n | 3\ndef twice(x) = x + x\nlet y = twice({w : ... -> 2} @ x)\n";
    let at = |question: Value| ask(&question)["text"].as_str().expect("a text").to_string();
    let explained = at(json!({"ask": "explain-at", "text": text, "at": text.find("y =")}));
    let explained_by_name = at(json!({"ask": "explain", "text": text, "name": "y"}));
    assert_eq!(explained, explained_by_name);
    let loops = at(json!({"ask": "loops", "text": text}));
    let optimised = at(json!({"ask": "loops", "text": text, "optimised": true}));
    let signatures = at(json!({"ask": "signatures", "text": text}));
    expect![[r#"
        y.batch.0 is n, forced
        1 | dim n in 1..64 = 8
          | ------------------ `n`, a named size in 1..64
        2 | data x : n | 3
          |      - the batch axis of `x`, declared `n | 3`
        4 | let y = twice({w : ... -> 2} @ x)
          |               ------------------
          |               `w @ x`: the batch of `x` becomes its batch
        3 | def twice(x) = x + x
          |                ----- `y`: the batch of `w @ x` becomes its batch
        4 | let y = twice({w : ... -> 2} @ x)
          |     ^ so `y` is `n | 2`

        y.output.0 is 2, forced
        4 | let y = twice({w : ... -> 2} @ x)
          |               -------------- the output axis of `w`, declared `... -> 2`
          |               ------------------
          |               `w @ x`: the output of `w` becomes its output
        3 | def twice(x) = x + x
          |                ----- `y`: the output of `w @ x` becomes its output
        4 | let y = twice({w : ... -> 2} @ x)
          |     ^ so `y` is `n | 2`

        ----
        w @ x = w @ x   # line 4
        for i in 0..n
          for j in 0..2
            for k in 0..3
              result[i, j] += w[j, k] * x[i, k]

        y = y = (w @ x) + (w @ x)   # line 3
        for i in 0..n
          for j in 0..2
            y[i, j] = (w @ x)[i, j] + (w @ x)[i, j]


        ----
        # forward
        kept x: f32[8, 3]
        kept w: f32[2, 3]
        local tmp2: f32[8, 2]
        kept y: f32[8, 2]

        # w @ x
        parallel for i in 0..8
          for j in 0..2
            let t0 = 0
            for k in 0..3
              t0 += w[j, k] * x[i, k]
            tmp2[i, j] = t0

        # y = (w @ x) + (w @ x)
        parallel for i in 0..8
          for j in 0..2
            y[i, j] = tmp2[i, j] + tmp2[i, j]

        ----
        twice(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> ..o..
    "#]]
    .assert_eq(&[explained, loops, optimised, signatures].join("\n----\n"));
    let graph = ask(&json!({"ask": "graph", "text": text}));
    assert!(graph["svg"].as_str().is_some_and(|svg| svg.starts_with("<svg ")));
}

#[test]
fn what_is_under_the_cursor_is_explained() {
    let text = "dim n in 1..64 = 8\ndata x : n | 3\nlet y = einsum(\"b | i; i -> h => b | h\", x, {w : 3 -> 2})\nprint y.h\n";
    let at = |part: &str| {
        let question = json!({"ask": "explain-at", "text": text, "at": text.find(part)});
        ask(&question)["text"].as_str().expect("a text").to_string()
    };
    assert!(at("h => b").starts_with("y.h is 2, forced\n"), "{}", at("h => b"));
    assert_eq!(at("h\n"), at("h => b"));
    assert!(at("n | 3").starts_with("n "), "{}", at("n | 3"));
    assert!(at("x, {w").starts_with("x.batch.0 is n"), "{}", at("x, {w"));
    assert_eq!(at("print"), "");
}

#[test]
fn programs_are_shown_as_code_for_other_tools() {
    let text = "data x : 2 | 3 = [[1, 2, 3], [4, 5, 6]]\nlet loss = mean(square({w : 3 -> 2} @ x))\nrepeat 2:\n  minimise loss by sgd(0.1)\n";
    let emitted = |text: &str, format: &str| ask(&json!({"ask": "emit", "text": text, "format": format}));
    for (format, sign) in [("c", "int64_t step1_run("), ("stablehlo", "stablehlo."), ("lean", "theorem")] {
        let answer = emitted(text, format);
        assert!(answer["text"].as_str().is_some_and(|code| code.contains(sign)), "{format}: {answer}");
        assert_eq!(answer["refused"], Value::Null);
    }
    assert_eq!(emitted("data x : 3\nlet y = z\n", "c")["refused"], "the program has mistakes");
    assert_eq!(emitted("dim n = 3\n", "c")["refused"], "the program computes nothing");
}

#[test]
fn memory_grows_with_a_named_size() {
    let text = "dim n in 1..64 = 8\ndata x : n | 3\nlet y = {w : ... -> 2} @ x\n";
    let answer = ask(&json!({"ask": "memory", "text": text}));
    let points = answer["curves"][0]["points"].as_array().expect("points");
    let sizes: Vec<u64> = points.iter().filter_map(|point| point[0].as_u64()).collect();
    assert_eq!((sizes.len(), sizes.first(), sizes.last()), (24, Some(&1), Some(&64)));
    // Memory is divided into blocks of 64 bytes, so that neighbours may need the same.
    assert!(points.windows(2).all(|two| two[0][1].as_u64() <= two[1][1].as_u64()));
    assert!(points[0][1].as_u64() < points[23][1].as_u64());
}

#[test]
fn a_run_reports_what_it_prints_and_its_losses() {
    let text = "data x : 8 | 1 = [[0], [1], [2], [3], [4], [5], [6], [7]]\n\
                let loss = mean(\"... | ... => 0\", ({a} * x + {b} - (2 * x + 1)) ** 2)\n\
                repeat 3:\n  minimise loss by sgd(0.01)\nprint \"done\"\n";
    let mut events = Vec::new();
    let question = json!({"ask": "run", "text": text, "seed": 7}).to_string();
    let answer = broadloom_web::answer(&question, &mut |event| events.push(event.to_string()));
    assert_eq!(answer, r#"{"mistakes":[]}"#);
    let events: Vec<Value> = events.iter().map(|event| serde_json::from_str(event).expect("JSON")).collect();
    let what: Vec<&str> = events.iter().filter_map(|event| event["what"].as_str()).collect();
    assert_eq!(what, ["compiling", "repeated", "repeated", "repeated", "printed"]);
    assert_eq!((&events[0]["number"], &events[0]["of"]), (&json!(1), &json!(1)));
    let loss = |at: usize| events[at]["losses"][0][1].as_f64();
    assert!(loss(3) < loss(1));
    assert_eq!(events[4]["line"], "done");
}

#[test]
fn a_program_with_a_mistake_is_not_run() {
    let answer = ask(&json!({"ask": "run", "text": MISTAKE}));
    assert_eq!(answer["mistakes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_cannot_be_asked_is_said() {
    shown(
        &ask(&json!({"ask": "everything"})),
        &expect![[r#"
        {
          "failed": "this is no question: unknown variant `everything`, expected one of `edit`, `hover`, `complete`, `format`, `explain`, `explain-at`, `loops`, `graph`, `memory`, `signatures`, `emit`, `run` at line 1 column 19"
        }
    "#]],
    );
    shown(
        &ask(&json!({"ask": "explain", "text": "data x : 3\n", "name": "y"})),
        &expect![[r#"
        {
          "failed": "nothing is called `y`"
        }
    "#]],
    );
}
