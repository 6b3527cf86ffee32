//! The recipes that ship.

use super::Recipe;
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
    ("model-loading", include_str!("../../recipes/model-loading.toml")),
    ("model-checkpoint", include_str!("../../recipes/model-checkpoint.toml")),
];

/// The shipped recipe of this name.
///
/// # Errors
/// If there is none.
pub fn recipe_of_name(name: &str) -> Result<Recipe, TraceError> {
    let Some((_, text)) = RECIPES.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = RECIPES.iter().map(|(known, _)| *known).collect();
        return Err(TraceError::Refused(format!(
            "there is no recipe {name}: the recipes are {}",
            known.join(", ")
        )));
    };
    Recipe::parse(text)
}
