//! A document as the text of a page.

use crate::document::{Document, Section, TimelineView};
use crate::parts::{STYLES, TIMELINE, data_in_script, escaped, in_script, packed};
use crate::sentence::sentence;
use askama::Template;
use schedlab_charts::{Chart, Kind, Look, RUNTIME};

/// What the browser does with the page, before and after the timeline.
const BEFORE: &str = include_str!("../web/tables.js");
const AFTER: [&str; 2] = [include_str!("../web/charts.js"), include_str!("../web/page.js")];

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    document: &'a Document,
    version: &'a str,
    css: String,
    lead: Option<Figure<'a>>,
    parts: Vec<Part<'a>>,
    scripts: Vec<String>,
}

struct Part<'a> {
    section: &'a Section,
    charts: Vec<Figure<'a>>,
    timelines: Vec<Timeline<'a>>,
}

/// A chart with its number on the page.
struct Figure<'a> {
    number: usize,
    id: &'a str,
    title: &'a str,
    caption: &'a str,
    /// Whether the names of its rows take so much room that nothing else fits beside it.
    has_long_names: bool,
    specification: String,
}

struct Timeline<'a> {
    number: usize,
    view: &'a TimelineView,
    header: String,
    bytes: String,
}

impl Document {
    /// The page, all in one text.
    pub fn html(&self) -> String {
        let mut numbers = Numbers::default();
        let lead = self.lead.as_ref().map(|chart| numbers.figure(chart));
        let mut parts = Vec::new();
        for section in &self.sections {
            let charts = section.charts.iter().map(|chart| numbers.figure(chart)).collect();
            let timelines = section.timelines.iter().map(|view| numbers.timeline(view)).collect();
            parts.push(Part { section, charts, timelines });
        }
        let looks = [Look::Light, Look::Dark].map(|look| in_script(look.config()));
        let looks = format!("globalThis.schedlabLooks = {{ light: {}, dark: {} }};", looks[0], looks[1]);
        let runtime = RUNTIME.iter().filter(|_| numbers.charts > 0).map(|text| in_script(text));
        let page = Page {
            document: self,
            version: env!("CARGO_PKG_VERSION"),
            css: STYLES.concat(),
            lead,
            parts,
            scripts: runtime
                .chain([looks])
                .chain([BEFORE].into_iter().chain(TIMELINE).chain(AFTER).map(in_script))
                .collect(),
        };
        page.render().expect("the page is written into memory")
    }
}

/// How many charts and timelines there are on the page so far.
#[derive(Default)]
struct Numbers {
    charts: usize,
    timelines: usize,
}

impl Numbers {
    fn figure<'a>(&mut self, chart: &'a Chart) -> Figure<'a> {
        self.charts += 1;
        let specification = data_in_script(&chart.specification(Look::Light).to_string());
        let Chart { id, title, caption, kind, .. } = chart;
        let has_long_names = matches!(kind, Kind::Deviation | Kind::Published);
        Figure { number: self.charts, id, title, caption, has_long_names, specification }
    }

    fn timeline<'a>(&mut self, view: &'a TimelineView) -> Timeline<'a> {
        self.timelines += 1;
        Timeline { number: self.timelines, view, header: data_in_script(&view.header), bytes: packed(&view.bytes) }
    }
}

/// What templates do with texts.
mod filters {
    use askama::Values;
    use askama::filters::Safe;
    use std::fmt::Display;

    /// A text of ours: what stands between backquotes is code, all else as it is.
    #[askama::filter_fn]
    pub fn marked(text: impl Display, _: &dyn Values) -> askama::Result<Safe<String>> {
        Ok(Safe(super::with_code(&text.to_string())))
    }
}

/// A text as markup, with what stands between two backquotes of a line as code.
fn with_code(text: &str) -> String {
    let line = |line: &str| {
        let parts: Vec<&str> = line.split('`').collect();
        let is_paired = parts.len() % 2 == 1;
        let part = |(index, part): (usize, &&str)| match index % 2 {
            1 if is_paired => format!("<code>{}</code>", escaped(part)),
            1 => format!("`{}", sentence(part)),
            _ if index > 0 && !is_paired => format!("`{}", sentence(part)),
            _ => sentence(part),
        };
        parts.iter().enumerate().map(part).collect::<String>()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ColumnView, Listing, TableView};

    /// What an untrusted trace may call a thread.
    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";

    #[test]
    fn whatever_a_thing_is_called_it_stays_text() {
        let table = TableView {
            title: HOSTILE.into(),
            columns: vec![ColumnView {
                head: HOSTILE.into(),
                cells: vec![HOSTILE.into()],
                notes: vec![Some(HOSTILE.into())],
                ..ColumnView::default()
            }],
            terms: vec![(HOSTILE.into(), HOSTILE.into())],
        };
        let section = Section {
            id: "s".into(),
            heading: HOSTILE.into(),
            paragraphs: vec![HOSTILE.into()],
            tables: vec![table],
            timelines: vec![TimelineView {
                label: HOSTILE.into(),
                header: format!("{{\"tasks\":[{:?}]}}", HOSTILE),
                bytes: vec![1, 2, 3],
                remark: Some(HOSTILE.into()),
            }],
            folded: vec![Listing { title: HOSTILE.into(), text: HOSTILE.into() }],
            ..Section::default()
        };
        let document = Document {
            title: HOSTILE.into(),
            answer: HOSTILE.into(),
            cautions: vec![HOSTILE.into()],
            sections: vec![section],
            ..Document::default()
        };
        let html = document.html();
        assert!(!html.contains("<script>alert") && !html.contains("<img"), "a name became markup");
        assert!(html.contains("&#60;script&#62;alert(1)"), "the name is there as text");
        assert!(html.contains("\\u003cscript>alert(1)"), "and in the data");
        // The elements of the page itself and no others.
        let scripts = html.matches("<script").count();
        assert_eq!((scripts, html.matches("</script>").count()), (2 + 1 + 1 + TIMELINE.len() + AFTER.len(), scripts));
    }

    #[test]
    fn code_is_marked_as_code() {
        assert_eq!(with_code("`a<b`: c & `d`"), "<code>a&#60;b</code>: c &#38; <code>d</code>");
        assert_eq!(with_code("one ` alone\n`x`"), "one ` alone\n<code>x</code>");
        let section = Section { paragraphs: vec!["as `rr` does".into()], ..Section::default() };
        let document = Document { sections: vec![section], ..Document::default() };
        assert!(document.html().contains("<p>as <code>rr</code> does</p>"));
    }

    #[test]
    fn names_are_cut_with_themselves_as_titles_and_numbers_have_a_minus() {
        let column = |head: &str, cell: &str, is_numeric| ColumnView {
            head: head.into(),
            cells: vec![cell.into()],
            is_numeric,
            ..ColumnView::default()
        };
        let long = "long ".repeat(24);
        let columns =
            vec![column("role", &long, false), column("question", &long, false), column("off", "-3.1 %", true)];
        let tables = vec![TableView { columns, ..TableView::default() }];
        let html = Document { sections: vec![Section { tables, ..Section::default() }], ..Document::default() }.html();
        assert!(html.contains(&format!("<td class=\"name\" title=\"{long}\">{long}</td><td>{long}</td>")));
        assert!(html.contains("<td class=\"number\">−3.1 %</td>"));
        let sentence =
            TableView { columns: vec![column("published", "the more they differ", true)], ..TableView::default() };
        let section = Section { tables: vec![sentence], ..Section::default() };
        let html = Document { sections: vec![section], ..Document::default() }.html();
        assert!(html.contains("<td class=\"number words\">the more they differ</td>"));
    }

    #[test]
    fn a_page_without_charts_has_no_runtime_for_them() {
        assert!(Document::default().html().len() < 200_000);
    }
}
