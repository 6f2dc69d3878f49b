//! Settings of a run, which are said beside a program, in the words of Python.

use broadloom_diagnostics::Setting;

/// A setting as the package takes it.
pub fn in_python(setting: &Setting) -> String {
    match setting {
        Setting::Size(name, size) => format!("sizes={{\"{name}\": {size}}}"),
        Setting::Data(name) | Setting::Checked(name) => format!("{name}=array"),
        Setting::Values(name) => format!("parameters[\"{name}\"] = array"),
        Setting::Load => "parameters.load(path)".to_string(),
        Setting::Save(stem) => format!("parameters.save(\"{stem}.safetensors\")"),
        Setting::Seed(seed) => format!("seed={seed}"),
        Setting::Backend(name) => format!("backend=\"{name}\""),
        Setting::Mesh(axes) => {
            let axes: Vec<String> = axes.iter().map(|(name, size)| format!("\"{name}\": {size}")).collect();
            format!("mesh={{{}}}", axes.join(", "))
        }
        Setting::Shard(axes, over) => format!("shard={{\"{axes}\": \"{over}\"}}"),
    }
}
