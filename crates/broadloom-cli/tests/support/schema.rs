//! A validator for JSON values: the part of JSON Schema
//! (draft 2020-12) that `docs/schema.json` uses.
//!
//! An unknown keyword is an error, so that a schema cannot require more than is checked. (The
//! crates for all of JSON Schema bring thirty others with them.)

use serde_json::{Map, Value};

/// All violations of the schema in a value, each with its place in the value.
pub fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    let mut judge = Judge { root: schema, errors: &mut errors };
    judge.value(schema, value, "$");
    errors
}

struct Judge<'a> {
    root: &'a Value,
    errors: &'a mut Vec<String>,
}

impl Judge<'_> {
    fn wrong(&mut self, at: &str, message: impl std::fmt::Display) {
        self.errors.push(format!("{at}: {message}"));
    }

    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let Some(rules) = schema.as_object() else {
            return self.wrong(at, "the schema is not an object");
        };
        for (keyword, rule) in rules {
            self.keyword(keyword, rule, rules, value, at);
        }
    }

    fn keyword(&mut self, keyword: &str, rule: &Value, rules: &Map<String, Value>, value: &Value, at: &str) {
        let list = || rule.as_array().map(Vec::as_slice).unwrap_or_default();
        match keyword {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let place = rule.as_str().and_then(|place| place.strip_prefix('#')).unwrap_or("?");
                match self.root.pointer(place) {
                    Some(schema) => self.value(schema, value, at),
                    None => self.wrong(at, format_args!("the schema has no {rule}")),
                }
            }
            "const" if rule != value => self.wrong(at, format_args!("{value} is not {rule}")),
            "enum" if !list().contains(value) => self.wrong(at, format_args!("{value} is none of {rule}")),
            "const" | "enum" => {}
            "type" => {
                let wanted = if rule.is_array() { list() } else { std::slice::from_ref(rule) };
                if !wanted.iter().any(|wanted| is(wanted, value)) {
                    self.wrong(at, format_args!("{value} is not {rule}"));
                }
            }
            "minimum" => {
                if value.as_f64().zip(rule.as_f64()).is_some_and(|(value, least)| value < least) {
                    self.wrong(at, format_args!("{value} is less than {rule}"));
                }
            }
            "oneOf" => self.one_of(list(), value, at),
            "properties" => {
                let known = rule.as_object().into_iter().flatten();
                for (key, schema) in known {
                    if let Some(inner) = value.get(key) {
                        self.value(schema, inner, &format!("{at}.{key}"));
                    }
                }
            }
            "required" => {
                for key in list().iter().filter_map(Value::as_str) {
                    if value.as_object().is_some_and(|object| !object.contains_key(key)) {
                        self.wrong(at, format_args!("`{key}` is missing"));
                    }
                }
            }
            "additionalProperties" => {
                let known = rules.get("properties").and_then(Value::as_object);
                for (key, inner) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(key)) {
                        continue;
                    }
                    match rule {
                        Value::Bool(false) => self.wrong(at, format_args!("`{key}` is not known")),
                        schema => self.value(schema, inner, &format!("{at}.{key}")),
                    }
                }
            }
            "items" => {
                let first = rules.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                for (index, inner) in value.as_array().into_iter().flatten().enumerate().skip(first) {
                    self.value(rule, inner, &format!("{at}[{index}]"));
                }
            }
            "prefixItems" => {
                for (index, (schema, inner)) in
                    list().iter().zip(value.as_array().into_iter().flatten()).enumerate()
                {
                    self.value(schema, inner, &format!("{at}[{index}]"));
                }
            }
            "minItems" | "maxItems" => {
                let (bound, length) =
                    (rule.as_u64().unwrap_or(0), value.as_array().map(|array| array.len() as u64));
                let holds = |length| if keyword == "minItems" { length >= bound } else { length <= bound };
                if !length.is_none_or(holds) {
                    self.wrong(at, format_args!("{keyword} is {bound}"));
                }
            }
            other => self.wrong(at, format_args!("the schema uses `{other}`, which is not checked")),
        }
    }

    /// Checks that exactly one schema fits. If none does,
    /// the errors of the nearest one are the most useful.
    fn one_of(&mut self, schemas: &[Value], value: &Value, at: &str) {
        let mut all: Vec<Vec<String>> = schemas
            .iter()
            .map(|schema| {
                let mut errors = Vec::new();
                Judge { root: self.root, errors: &mut errors }.value(schema, value, at);
                errors
            })
            .collect();
        match all.iter().filter(|errors| errors.is_empty()).count() {
            1 => {}
            0 => {
                all.sort_by_key(Vec::len);
                self.errors.extend(all.into_iter().next().unwrap_or_default());
            }
            count => self.wrong(at, format_args!("{count} schemas fit")),
        }
    }
}

fn is(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64() || value.is_i64(),
        _ => false,
    }
}
