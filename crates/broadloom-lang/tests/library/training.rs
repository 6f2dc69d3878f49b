//! Optimisers and losses.

use super::golden::{array, check, close, compiled, found, number, run};

/// Optimisers after one, two and three steps.
#[test]
fn optimisers() {
    for case in ["sgd", "adam", "adam_decay", "adamw", "adafactor", "adafactor_vector", "muon", "muon_tall"] {
        let setting = |key: &str| number(case, key);
        // Rows of a matrix are outputs, and columns are inputs.
        let shape = match case {
            "adafactor" | "muon" | "muon_tall" => "_ -> _",
            "adafactor_vector" => "_",
            _ => "_, _",
        };
        let rule = match case {
            "adafactor" | "adafactor_vector" => format!(
                "adafactor({}, power = {}, epsilon = {:e}, least = {}, clip = {}, decay = {})",
                setting("lr"),
                setting("power"),
                setting("eps"),
                setting("least"),
                setting("clip"),
                setting("weight_decay")
            ),
            "muon" | "muon_tall" => format!(
                "muon({}, decay = {}, momentum = {}, nesterov = {})",
                setting("lr"),
                setting("weight_decay"),
                setting("momentum"),
                setting("nesterov")
            ),
            "sgd" => format!("sgd({}, {}, {})", setting("lr"), setting("momentum"), setting("weight_decay")),
            _ => {
                let name = if setting("decoupled") == 1.0 { "adamw" } else { "adam" };
                format!(
                    "{name}({}, beta1 = {}, beta2 = {}, epsilon = {:e}, decay = {})",
                    setting("lr"),
                    setting("beta1"),
                    setting("beta2"),
                    setting("eps"),
                    setting("weight_decay")
                )
            }
        };
        for steps in 1..4 {
            let text = format!(
                "let p = {{p : {shape} as f64 = load(\"{case}.npz\", \"parameter\")}}\n\
                 data gradients : _ | {shape} = load(\"{case}.npz\", \"gradients\")\n\
                 repeat t in 0..{steps}:\n  let loss = sum(p * gradients[t])\n  minimise loss by {rule}\n"
            );
            let program = compiled(&text);
            let p = found(&program, "p");
            let (mut session, _) = run(program, Vec::new());
            let wanted = array(case, "parameters").to_f64s();
            let length = wanted.len() / 3;
            let wanted = &wanted[(steps - 1) * length..steps * length];
            close(&format!("{case} after {steps}"), &session.get(p).unwrap().to_f64s(), wanted);
        }
    }
}

#[test]
fn losses() {
    let logits = "data logits : ... | _ = load(\"CASE\", \"logits\")\n";
    let targets = "data targets : ... | = load(\"CASE\", \"targets\")\n";
    let text = format!("{logits}{targets}let y = cross_entropy(logits, targets)\n# flat");
    check("cross_entropy_integer", &text, &[("logits", "logits")]);
    let targets = "data targets : ... | _ = load(\"CASE\", \"targets\")\n";
    let text = format!("{logits}{targets}let y = cross_entropy_one_hot(logits, targets)\n# flat");
    check("cross_entropy_one_hot", &text, &[("logits", "logits")]);
}
