//! Pages as a browser shows them.

mod lab;
#[path = "../../../../tests/skip.rs"]
mod skip;

use lab::{HOSTILE, LOST, Look, Viewer, comparison_page, lack_of_browser, study_page};
use skip::skip;
use std::sync::OnceLock;

/// Whether there is a browser; one is started to know.
fn has_browser() -> bool {
    static LACK: OnceLock<Option<String>> = OnceLock::new();
    let lack = LACK.get_or_init(lack_of_browser);
    lack.iter().for_each(|lack| skip(lack));
    lack.is_none()
}

/// All that could go wrong while a page is read to its end.
#[test]
fn the_page_of_a_study_opens_without_errors_and_asks_no_network() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&study_page(), Look::Light, 1200);
    viewer.read_to_the_end();
    let charts = viewer.number("document.querySelectorAll('figure.chart').length");
    assert!(charts >= 3.0, "{charts} charts");
    assert_eq!(viewer.number("document.querySelectorAll('figure.chart.drawn').length"), charts);
    // Every chart has marks: shapes that stand for rows.
    let empty = "[...document.querySelectorAll('figure.chart')].filter((figure) => \
                 figure.querySelectorAll('.plot svg [class*=mark-]:not(.role-axis-tick) path, .plot canvas').length === 0)\
                 .map((figure) => figure.id).join()";
    assert_eq!(viewer.text(empty), "", "charts without marks");
    assert_eq!(viewer.complaints(), Vec::<String>::new());
    assert_eq!(viewer.requests(), 1, "the page itself and nothing else");
}

/// A question's pictures are before its tables, and are drawn without scrolling, since paper does not scroll.
#[test]
fn pictures_come_first_and_need_no_scrolling() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&study_page(), Look::Light, 1200);
    viewer.run(
        "(async () => { for (let i = 0; i < 400 && document.querySelector('figure.chart:not(.drawn)'); i++) \
         await new Promise((done) => setTimeout(done, 50)); })()",
    );
    assert_eq!(viewer.number("scrollY"), 0.0);
    assert_eq!(viewer.number("document.querySelectorAll('figure.chart:not(.drawn)').length"), 0.0);
    let order =
        "[...document.querySelectorAll('#weight > figure')].map((figure) => figure.className.split(' ')[0]).join(' ')";
    assert!(viewer.text(order).starts_with("chart chart chart chart "), "{}", viewer.text(order));
    assert!(!viewer.text(order).contains("table chart"), "{}", viewer.text(order));
    assert_eq!(viewer.text("document.querySelector('#weight-figure-2 figcaption code').textContent"), "CPUs");
}

#[test]
fn marks_tell_their_values_and_tables_are_sorted() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&study_page(), Look::Light, 1200);
    viewer.read_to_the_end();
    viewer.hover("figure.chart .plot svg .mark-rect path, figure.chart .plot svg .mark-symbol path");
    let tip = viewer.text("document.querySelector('.tip')?.textContent ?? ''");
    assert!(tip.contains(": "), "no value at a mark: {tip:?}");
    let column =
        "[...document.querySelectorAll('figure.table:last-of-type tbody tr')].map((row) => row.cells[1].textContent)";
    viewer.run("document.querySelectorAll('figure.table:last-of-type th')[1].firstElementChild.click()");
    let rising = viewer.text(&format!("JSON.stringify({column})"));
    viewer.run("document.querySelectorAll('figure.table:last-of-type th')[1].firstElementChild.click()");
    let falling = viewer.text(&format!("JSON.stringify({column}.reverse())"));
    assert_eq!(rising, falling);
    let markdown = "schedlabTables.markdown(schedlabTables.cells(document.querySelector('table')))";
    assert!(viewer.text(markdown).contains("|---|"));
    let csv = "schedlabTables.csv([['a', 'b,c'], ['\"d\"', 'e']])";
    assert_eq!(viewer.text(csv), "a,\"b,c\"\r\n\"\"\"d\"\"\",e\r\n");
}

#[test]
fn whatever_a_thread_is_called_it_stays_text() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&comparison_page(2_000), Look::Light, 1200);
    viewer.read_to_the_end();
    viewer.run("for (const figure of document.querySelectorAll('figure.timeline')) figure.timeline.hover(300, 40)");
    assert_eq!(viewer.number("document.querySelectorAll('img, iframe, object').length"), 0.0);
    assert_eq!(viewer.text("String(globalThis.hacked)"), "undefined");
    assert!(viewer.text("document.querySelector('main').innerText").contains(HOSTILE), "the name is to be read");
    assert_eq!(viewer.complaints(), Vec::<String>::new());
}

#[test]
fn a_number_to_beware_of_says_so_where_it_stands() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&comparison_page(2_000), Look::Light, 1200);
    viewer.read_to_the_end();
    let row = |row: usize| format!("document.querySelector('#speed table').tBodies[0].rows[{row}]");
    let lost = format!("{LOST} events were lost");
    let noted = |row: &str| viewer.number(&format!("{row}.querySelectorAll('td[data-note]').length"));
    assert!(noted(&row(0)) > 1.0 && noted(&row(1)) == 0.0, "every number of the first policy, none of the second");
    let cell = format!("{}.querySelector('td[data-note]')", row(0));
    assert!(viewer.text(&format!("{cell}.title")).starts_with(&lost));
    let mark = format!("getComputedStyle({cell}, '::after').content");
    assert_ne!(viewer.text(&mark), "none");
    assert!(viewer.text("document.querySelector('#speed .notes li').textContent").starts_with(&lost));
}

#[test]
fn timelines_are_moved_and_zoomed() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&comparison_page(2_000), Look::Light, 1200);
    viewer.read_to_the_end();
    let range = "JSON.stringify(document.querySelector('figure.timeline').timeline.range())";
    let whole = viewer.text(range);
    viewer.wheel("figure.timeline canvas", -400.0);
    let nearer = viewer.text(range);
    assert_ne!(whole, nearer, "the wheel does not zoom");
    viewer.run("document.querySelector('figure.timeline').timeline.panTo(0, 1e6)");
    assert_ne!(viewer.text(range), nearer);
    assert!(viewer.number("document.querySelector('figure.timeline').timeline.frameTimes.length") > 0.0);
}

/// What all timelines show, in ns.
const RANGES: &str =
    "[...document.querySelectorAll('figure.timeline')].map((figure) => figure.timeline.range().join()).join(' ')";

#[test]
fn timelines_move_together_until_they_are_parted() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&comparison_page(2_000), Look::Light, 1200);
    viewer.read_to_the_end();
    let move_first =
        |range: &str| viewer.run(&format!("document.querySelector('figure.timeline').timeline.panTo({range})"));
    move_first("1e6, 2e6");
    assert_eq!(viewer.text(RANGES), "1000000,2000000 1000000,2000000");
    viewer.run("document.querySelector('.together input').click()");
    move_first("3e6, 4e6");
    assert_eq!(viewer.text(RANGES), "3000000,4000000 1000000,2000000");
}

#[test]
fn paper_has_whole_timelines_the_heads_of_tables_and_their_definitions() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&comparison_page(2_000), Look::Dark, 1200);
    viewer.read_to_the_end();
    viewer.run("document.querySelector('figure.timeline').timeline.panTo(1e6, 2e6)");
    let folded = "document.querySelectorAll('details.definitions:not([open])').length";
    let before = (viewer.text(RANGES), viewer.number(folded));
    assert!(before.1 > 0.0);
    viewer.run("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(viewer.number(folded), 0.0);
    let whole = "document.querySelector('figure.timeline').timeline.isWhole() ? 1 : 0";
    assert_eq!(viewer.number(whole), 1.0);
    let rows = viewer.number("document.querySelector('figure.timeline').timeline.visibleRows().length");
    let all = viewer.number("document.querySelector('figure.timeline').timeline.rows.length");
    assert_eq!(rows, all, "lanes that paper lacks");
    viewer.media("print");
    let head = "getComputedStyle(document.querySelector('th button')).display";
    assert_ne!(viewer.text(head), "none", "heads are buttons");
    for of_a_mouse in [".tools", ".hint"] {
        let display = format!("getComputedStyle(document.querySelector({of_a_mouse:?})).display");
        assert_eq!(viewer.text(&display), "none", "{of_a_mouse}");
    }
    viewer.media("screen");
    viewer.run("dispatchEvent(new Event('afterprint'))");
    assert_eq!((viewer.text(RANGES), viewer.number(folded)), before);
    assert_eq!(viewer.complaints(), Vec::<String>::new());
}

#[test]
fn the_first_screen_has_the_answer_how_sure_a_ranking_a_chart_and_what_to_do_next() {
    if !has_browser() {
        return;
    }
    let viewer = Viewer::open(&comparison_page(500), Look::Light, 1280);
    viewer.read_to_the_end();
    viewer.run("scrollTo({ top: 0, behavior: 'instant' })");
    for part in [".verdict", ".confidence", ".answer table", ".answer figure.chart svg", ".answer .next li"] {
        let bottom = viewer.number(&format!("document.querySelector({part:?}).getBoundingClientRect().bottom"));
        assert!(bottom < 900.0, "{part} ends at {bottom}");
    }
}

#[test]
fn a_telephone_has_no_sideways_scrolling_in_either_colours() {
    if !has_browser() {
        return;
    }
    for (page, look) in [(study_page(), Look::Light), (comparison_page(500), Look::Dark)] {
        let viewer = Viewer::open(&page, look, 360);
        viewer.read_to_the_end();
        let width = viewer.number("document.documentElement.scrollWidth");
        assert!(width <= 360.0, "the page is {width} wide");
        let label = viewer.text("getComputedStyle(document.querySelector('.role-axis-label text')).fill");
        assert_eq!(lightness(&label) > 128.0, look == Look::Dark, "labels are {label}");
        assert_eq!(viewer.complaints(), Vec::<String>::new());
    }
}

#[test]
fn dark_pages_are_dark_and_paper_is_white() {
    if !has_browser() {
        return;
    }
    let page = study_page();
    let light = |look| {
        let viewer = Viewer::open(&page, look, 1200);
        lightness(&viewer.text("getComputedStyle(document.body).backgroundColor"))
    };
    assert!(light(Look::Light) > 240.0 && light(Look::Dark) < 60.0);
    let viewer = Viewer::open(&page, Look::Dark, 1200);
    viewer.read_to_the_end();
    let pdf = viewer.pdf();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 10_000, "the page does not print");
}

/// The mean of the three parts of a colour as `rgb(1, 2, 3)`.
fn lightness(colour: &str) -> f64 {
    let parts = colour.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<f64>().ok());
    parts.take(3).sum::<f64>() / 3.0
}
