//! Pictures of a page for the documentation: `pictures PAGE.html FOLDER NAME SELECTOR…` saves the window with each of these
//! elements at its top, in both colours.

#[path = "../tests/browser/lab.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod lab;

use lab::{Look, Viewer};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, folder, name, selectors @ ..] = &arguments[..] else {
        panic!("usage: pictures PAGE.html FOLDER NAME SELECTOR…");
    };
    let page = std::fs::read_to_string(page).expect("the page can be read");
    for (look, colours) in [(Look::Light, "light"), (Look::Dark, "dark")] {
        let viewer = Viewer::open(&page, look, 1100);
        viewer.read_to_the_end();
        for (index, selector) in selectors.iter().enumerate() {
            viewer.run(&format!("document.querySelector({selector:?}).scrollIntoView({{ behavior: 'instant' }})"));
            viewer.run("new Promise((done) => setTimeout(done, 500))");
            let path = Path::new(folder).join(format!("{name}-{}-{colours}.png", index + 1));
            std::fs::write(&path, viewer.picture()).expect("the picture can be written");
            println!("{}", path.display());
        }
    }
}
