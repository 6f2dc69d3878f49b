//! Gives the module a stack of eight megabytes: programs may be deeply nested, and the linker's megabyte is little for them.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo:rustc-cdylib-link-arg=-zstack-size=8388608");
    }
}
