//! A report for machines that show it: JUnit's XML and Markdown.

use crate::report::{Report, Row, Verdict};
use schedlab_boundary::markdown;
use std::fmt::Write as _;

impl Report {
    /// As JUnit's XML: a suite for each case, a test for each check.
    pub fn junit(&self) -> String {
        let (failed, errors, skipped) = (self.counts.failed, self.counts.absent, self.counts.inconclusive);
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name={} tests=\"{}\" failures=\"{failed}\" \
             errors=\"{errors}\" skipped=\"{skipped}\">\n",
            attribute(&self.gate),
            self.checks.len()
        );
        let mut cases: Vec<[&str; 3]> = self.checks.iter().map(Row::case).collect();
        cases.sort_unstable();
        cases.dedup();
        for case in cases {
            let rows: Vec<&Row> = self.checks.iter().filter(|row| row.case() == case).collect();
            let of = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
            let name = format!("{} under {} in {}", case[0], case[1], case[2]);
            writeln!(
                text,
                "  <testsuite name={} tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
                attribute(&name),
                rows.len(),
                of(Verdict::Failed),
                of(Verdict::Absent),
                of(Verdict::Inconclusive)
            )
            .expect("a string takes it");
            rows.iter().for_each(|row| text += &test(row, &name, self));
            text += "  </testsuite>\n";
        }
        text + "</testsuites>\n"
    }

    /// As Markdown, for the summary of a job or a comment.
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}\n", markdown::text(&self.headline()));
        let rows: Vec<&Row> = self.checks.iter().filter(|row| row.is_worth_a_look()).collect();
        if !rows.is_empty() {
            text +=
                "\n| | scenario | policy | venue | metric | from | to | change |\n|---|---|---|---|---|--:|--:|--:|\n";
        }
        for row in &rows {
            let cells = [
                row.verdict.words(),
                &row.scenario,
                &row.policy,
                &row.venue,
                &row.metric,
                &row.shown(&row.from),
                &row.shown(&row.to),
                &row.change_words(),
            ];
            let cells: Vec<String> = cells.iter().map(|cell| markdown::text(cell)).collect();
            writeln!(text, "| {} |", cells.join(" | ")).expect("a string takes it");
        }
        for line in self.remarks() {
            write!(text, "\n{}\n", markdown::text(&line)).expect("a string takes it");
        }
        text
    }
}

fn test(row: &Row, class: &str, report: &Report) -> String {
    let head = format!("    <testcase classname={} name={}", attribute(class), attribute(&row.metric));
    let change = format!("from {} to {} ({})", row.shown(&row.from), row.shown(&row.to), row.change_words());
    let why = row.why.join(", ");
    let differences = report.first_differences.iter();
    let since: Vec<String> = differences
        .filter(|difference| [&difference.scenario, &difference.policy, &difference.venue] == row.case())
        .map(|difference| difference.words())
        .collect();
    let body = [change, since.join("\n")].join("\n");
    match row.verdict {
        Verdict::Failed => {
            format!("{head}><failure message={}>{}</failure></testcase>\n", attribute(&why), content(&body))
        }
        Verdict::Absent => format!("{head}><error message={}/></testcase>\n", attribute(&why)),
        Verdict::Inconclusive => {
            format!("{head}><skipped message={}/></testcase>\n", attribute(&format!("inconclusive: {why}")))
        }
        Verdict::Better | Verdict::Within | Verdict::Accepted => {
            format!("{head}><system-out>{}</system-out></testcase>\n", content(&body))
        }
        Verdict::Met | Verdict::Same => format!("{head}/>\n"),
    }
}

/// Text between tags. Characters that XML cannot hold are left out.
fn content(text: &str) -> String {
    let is_fit = |letter: &char| {
        matches!(letter, '\t' | '\n')
            || (*letter >= ' ' && !('\u{7f}'..='\u{9f}').contains(letter) && *letter < '\u{fffe}'
                || *letter > '\u{ffff}')
    };
    let fit: String = text.chars().filter(is_fit).collect();
    fit.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").trim_end().into()
}

/// The value of an attribute, on one line, with its quotation marks.
fn attribute(text: &str) -> String {
    format!("\"{}\"", content(text).replace('\n', "&#10;").replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Value;
    use schedlab_model::metric::Unit;

    fn row(metric: &str, verdict: Verdict) -> Row {
        Row {
            scenario: "de<sk".into(),
            policy: "./a|b.bpf.c".into(),
            venue: "sim".into(),
            metric: metric.into(),
            unit: Unit::Ns,
            against: Some("baseline".into()),
            from: Some(Value::exact(20e6)),
            to: Some(Value::exact(25e6)),
            change: None,
            allowed: None,
            is_out_of_bounds: false,
            verdict,
            why: vec!["worse by more than 1 %\u{1b}[31m".into()],
        }
    }

    fn report() -> Report {
        let verdicts = [Verdict::Same, Verdict::Failed, Verdict::Inconclusive, Verdict::Absent, Verdict::Better];
        let rows = verdicts.iter().map(|verdict| row("roles.a.response_ns.p99", *verdict)).collect();
        Report::new("desk", rows)
    }

    #[test]
    fn junit_is_escaped_and_counts() {
        let text = report().junit();
        assert!(
            text.contains("<testsuites name=\"desk\" tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\">"),
            "{text}"
        );
        assert!(text.contains("de&lt;sk under ./a|b.bpf.c in sim"), "{text}");
        assert!(
            text.contains("<failure message=\"worse by more than 1 %[31m\">from 20 ms to 25 ms (+25.0 %)</failure>"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'));
        assert_eq!(text.matches("<testcase").count(), 5);
    }

    #[test]
    fn markdown_is_text_and_nothing_else() {
        let text = report().markdown();
        assert!(
            text.starts_with("### desk failed: 1 of 5 checks failed, 1 has no value, 1 is inconclusive, 1 improved"),
            "{text}"
        );
        let first = text.lines().find(|line| line.starts_with("| FAILED")).unwrap();
        assert!(
            first.contains("de&lt;sk | ./a\\|b.bpf.c | sim | roles.a.response\\_ns.p99 | 20 ms | 25 ms | +25.0 % |"),
            "{first}"
        );
    }
}
