//! Hands over the profile that this build is of: the code itself can't ask for it.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let (profile, level) = (var("PROFILE").unwrap_or_default(), var("OPT_LEVEL").unwrap_or_default());
    // Cargo calls `dev`, and all that inherits from it, by the name of its folder.
    let profile = if profile == "debug" { "dev" } else { &profile };
    let told = match (profile, level.as_str()) {
        ("release", "3") => "release".to_owned(),
        _ => format!("{profile} (opt-level {level})"),
    };
    println!("cargo::rustc-env=OPENPTS_PROFILE={told}");
}
