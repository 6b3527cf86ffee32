use super::*;

/// What ships.
pub(crate) const SHIPPED: [(&str, &str); 9] = [
    ("client-qlc", include_str!("../../../../packages/openpts_sim/presets/client-qlc.toml")),
    ("enterprise-tlc", include_str!("../../../../packages/openpts_sim/presets/enterprise-tlc.toml")),
    ("log-block", include_str!("../../../../packages/openpts_sim/presets/log-block.toml")),
    ("mlc", include_str!("../../../../packages/openpts_sim/presets/mlc.toml")),
    ("oracle", include_str!("../../../../packages/openpts_sim/presets/oracle.toml")),
    ("pslc", include_str!("../../../../packages/openpts_sim/presets/pslc.toml")),
    ("sata-reduction", include_str!("../../../../packages/openpts_sim/presets/sata-reduction.toml")),
    ("theory", include_str!("../../../../packages/openpts_sim/presets/theory.toml")),
    ("tlc", include_str!("../../../../packages/openpts_sim/presets/tlc.toml")),
];

#[test]
fn every_preset_that_ships_is_accepted_under_its_name() {
    for (name, text) in SHIPPED {
        let preset = Preset::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(preset.name, name);
    }
}

#[test]
fn what_is_unknown_is_refused_with_its_line() {
    let text = SHIPPED[0].1.replace("[page_mapped.mapping]", "[page_mapped.mapping]\nspare = 3");
    let error = Preset::parse(&text).unwrap_err().to_string();
    assert!(error.contains("spare") && error.contains("line"), "{error}");
}

const RATE: &str = "[oracle.rate]\nby = 'steps'\nevery = 1\niops = [1.0]";

#[test]
fn a_preset_is_of_one_model() {
    let both = SHIPPED[2].1.replace("[log_block]", &format!("{RATE}\n[log_block]"));
    assert!(Preset::parse(&both).unwrap_err().to_string().contains("exactly one"));
    let none = SHIPPED[4].1.split("[oracle]").next().unwrap_or_default();
    assert!(Preset::parse(none).unwrap_err().to_string().contains("exactly one"));
}
