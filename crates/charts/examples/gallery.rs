//! Draws an example of every kind in every look: `cargo run -p schedlab-charts --example gallery -- FOLDER`.

mod rows;

use schedlab_charts::{Kind, Look, png, svgs};
use std::{error::Error, fs, path::PathBuf};

/// A dark page, without which light text would be on nothing.
const DARK_PAGE: &str = "#14171c";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("say into which folder")?);
    fs::create_dir_all(&folder)?;
    for look in Look::ALL {
        let charts = Kind::ALL.map(|kind| rows::example(kind, "rr:quantum=5ms"));
        let mut specifications = charts.each_ref().map(|chart| chart.specification(look));
        if look == Look::Dark {
            specifications.iter_mut().for_each(|whole| whole["config"]["background"] = DARK_PAGE.into());
        }
        let drawings = svgs(&specifications)?;
        for (chart, drawing) in charts.iter().zip(drawings) {
            let drawing = drawing.map_err(|why| format!("{}: {why}", chart.id))?;
            let path = folder.join(format!("{}-{look:?}.png", chart.id).to_lowercase());
            fs::write(&path, png(&drawing, 1.5)?)?;
            fs::write(path.with_extension("svg"), drawing)?;
        }
    }
    Ok(())
}
