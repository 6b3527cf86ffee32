//! The recipes that ship.

use std::path::Path;

use crate::error::TraceError;

/// Names and texts, in the order of lists.
pub static RECIPES: &[(&str, &str)] = &[
    ("boot", include_str!("../../recipes/boot.toml")),
    ("application-start", include_str!("../../recipes/application-start.toml")),
    ("like:office", include_str!("../../recipes/office.toml")),
    ("like:photo-editing", include_str!("../../recipes/photo-editing.toml")),
    ("like:video-editing", include_str!("../../recipes/video-editing.toml")),
    ("like:game-load", include_str!("../../recipes/game-load.toml")),
    ("game-update", include_str!("../../recipes/game-update.toml")),
    ("database", include_str!("../../recipes/database.toml")),
    ("mail", include_str!("../../recipes/mail.toml")),
    ("virtual-desktops", include_str!("../../recipes/virtual-desktops.toml")),
    ("backup", include_str!("../../recipes/backup.toml")),
    ("like:model-loading", include_str!("../../recipes/model-loading.toml")),
    ("model-checkpoint", include_str!("../../recipes/model-checkpoint.toml")),
    ("like:vector-search", include_str!("../../recipes/vector-search.toml")),
];

/// Before the name of a shipped recipe, in place of a file.
const PREFIX: &str = "recipe:";

/// The text of the shipped recipe that a path names as `recipe:NAME`; `None` for any other path.
///
/// # Errors
/// If there is no recipe of this name.
pub fn shipped(path: &Path) -> Result<Option<&'static str>, TraceError> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix(PREFIX)) else { return Ok(None) };
    let Some((_, text)) = RECIPES.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = RECIPES.iter().map(|(known, _)| *known).collect();
        return Err(TraceError::Refused(format!(
            "there is no recipe {name}: the recipes are {}",
            known.join(", ")
        )));
    };
    Ok(Some(text))
}
