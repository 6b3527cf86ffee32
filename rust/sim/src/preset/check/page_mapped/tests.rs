use crate::preset::Preset;

const ENTERPRISE: &str = include_str!("../../../../../../packages/openpts_sim/presets/enterprise-tlc.toml");
const CLIENT: &str = include_str!("../../../../../../packages/openpts_sim/presets/client-qlc.toml");

/// What is said of a preset in which one line reads otherwise.
fn refusal(text: &str, line: &str, otherwise: &str) -> String {
    assert!(text.contains(line), "{line}");
    let error = Preset::parse(&text.replacen(line, otherwise, 1)).expect_err(otherwise);
    error.to_string()
}

#[test]
fn values_out_of_bounds_are_refused_by_their_names() {
    for (line, otherwise, name) in [
        ("dies = 64", "dies = 0", "page_mapped.geometry.dies"),
        ("dies_per_group = 16", "dies_per_group = 24", "page_mapped.geometry.dies_per_group"),
        ("chunk_pages = 4", "chunk_pages = 5", "page_mapped.geometry.chunk_pages"),
        ("physical_per_user = 1.28", "physical_per_user = 0.9", "page_mapped.mapping.physical_per_user"),
        ("program_us = 2880.0", "program_us = nan", "page_mapped.nand.program_us"),
        ("erase_us = 8000.0", "erase_us = -1.0", "page_mapped.nand.erase_us"),
        ("rows_per_erase = 544", "rows_per_erase = 0", "page_mapped.nand.rows_per_erase"),
        ("fixed_read_us = 13.8", "fixed_read_us = 1e12", "page_mapped.controller.fixed_read_us"),
        ("stall_ms = 1.8", "stall_ms = 800.0", "page_mapped.controller.housekeeping.stall_ms"),
        ("read_bytes_per_s = 3.37e9", "read_bytes_per_s = 0.0", "page_mapped.link.read_bytes_per_s"),
        ("program_units_per_die = 2", "program_units_per_die = 0", "program_units_per_die"),
        ("most_valid_share = 0.9", "most_valid_share = 1.1", "page_mapped.idle.most_valid_share"),
        ("deviation_share = 0.05", "deviation_share = -0.05", "page_mapped.wear.deviation_share"),
        ("from_c = 75.0", "from_c = 20.0", "page_mapped.thermal.throttle.from_c"),
        ("controller_share = 0.5", "controller_share = 2", "page_mapped.power.controller_share"),
        ("sector_bytes = 512", "sector_bytes = 520", "sector_bytes"),
    ] {
        let said = refusal(ENTERPRISE, line, otherwise);
        assert!(said.contains(name), "{otherwise}: {said}");
    }
    for (line, otherwise, name) in [
        ("bits = 4", "bits = 1", "page_mapped.slc.bits"),
        ("static_share = 0.047", "static_share = 0.9", "page_mapped.slc.static_share"),
        ("program_unit_pages = 16", "program_unit_pages = 24", "page_mapped.slc.program_unit_pages"),
    ] {
        let said = refusal(CLIENT, line, otherwise);
        assert!(said.contains(name), "{otherwise}: {said}");
    }
}

#[test]
fn heat_needs_what_warms() {
    let text = ENTERPRISE.split("[page_mapped.power]").next().expect("before");
    let error = Preset::parse(text).expect_err("no power");
    assert!(error.to_string().contains("page_mapped.power"), "{error}");
}

#[test]
fn a_write_buffer_that_no_drive_could_have_is_refused() {
    let said = refusal(ENTERPRISE, "program_units_per_die = 2", "program_units_per_die = 65536");
    assert!(said.contains("program_units_per_die"), "{said}");
}
