//! The schemas of what `study` prints.

use super::words::{Key, document, key, list, maybe, number, object, one_of, or_null, pair, text, truth, whole};
use serde_json::{Value, json};

/// What `study --json` and `overhead --json` print.
pub fn result() -> Value {
    document(
        "schedlab.study/1",
        "What `schedlab study --json` and `schedlab overhead --json` print",
        [
            key("name", "The name of the study.", text()),
            key("title", "Its title.", text()),
            key("source", "The source of the results that are reproduced.", text()),
            key("goal", "Its goal.", text()),
            key("quick", "Whether it is the quick version.", truth()),
            key("version", "The version of schedlab.", text()),
            key("questions", "Each question with what was seen.", list(question())),
            maybe("paper", "What the source prints, item by item.", list(item())),
        ],
    )
}

/// What `study list --json` prints.
pub fn studies() -> Value {
    let study = object([key("name", "Its name.", text()), key("title", "Its title.", text())]);
    document(
        "schedlab.studies/1",
        "What `schedlab study list --json` prints",
        [key("studies", "The shipped studies.", list(study))],
    )
}

/// What `study NAME --questions --json` prints.
pub fn questions() -> Value {
    let question = object([
        key("id", "Its name.", text()),
        key("asks", "The question.", text()),
        key("runs", "How many runs it takes.", whole()),
        key("kept", "How many of them are in the cache.", whole()),
        key("state", "The same in words, or what the runs say.", text()),
    ]);
    document(
        "schedlab.questions/1",
        "What `schedlab study NAME --questions --json` prints",
        [key("study", "The name of the study.", text()), key("questions", "Its questions.", list(question))],
    )
}

fn question() -> Value {
    object([
        key("id", "Its name.", text()),
        key("asks", "The question.", text()),
        key("tables", "What was measured.", list(table())),
        key("statements", "What was found about all rows of a table.", list(text())),
        maybe("refused", "How many estimates are not reported.", whole()),
        key("charts", "Pictures.", list(chart())),
        key("values", "Published values.", list(value())),
        key("found", "What the values come to.", text()),
        key("answer", "What follows; empty where this run does not show it.", text()),
        maybe("unanswered", "Why nothing follows.", text()),
        key("cases", "How each case was run.", list(text())),
        maybe("missing", "Why cases were not run.", list(text())),
    ])
}

fn beside() -> Value {
    one_of(&["seeds", "small_changes", "runs"])
}

fn table() -> Value {
    let map = object([key("map", "A map.", object([key("across", "The path of what is varied across.", text())]))]);
    let overhead = object([
        key("percent", "The column of the overhead in percent.", whole()),
        key("half_width", "The column of half its interval.", or_null(whole())),
    ]);
    let overhead = object([key("overhead", "Estimates of overhead.", overhead)]);
    let row = object([
        key("names", "One for each column of words.", list(text())),
        key("venue", "Where it was run.", text()),
        key("cells", "One for each column of numbers.", list(or_null(number()))),
        maybe("ranges", "The smallest and the largest of each.", list(or_null(pair(number())))),
        maybe("beside", "What differed there.", beside()),
    ]);
    object([
        key("title", "What it shows.", text()),
        key("names", "The heads of the columns of words.", list(text())),
        key("heads", "The heads of the columns of numbers.", list(text())),
        key("kind", "What kind of table it is.", json!({ "oneOf": [one_of(&["cases"]), map, overhead] })),
        key("rows", "The rows.", list(row)),
    ])
}

fn chart() -> Value {
    let point = object([
        key("x", "Where across.", number()),
        maybe("name", "The same in words.", text()),
        key("y", "How high.", number()),
        maybe("range", "The smallest and the largest.", pair(number())),
    ]);
    let series = object([
        key("label", "A policy, a role, a task or a CPU.", text()),
        key("panel", "In which part of the picture; empty where there is one.", text()),
        key("venue", "Where it was run.", text()),
        key("points", "The points, in order.", list(point)),
    ]);
    object([
        key("title", "What it shows.", text()),
        key("place", "Which figure of the source it stands for.", text()),
        key("kind", "What is drawn.", text()),
        maybe("step", "How wide a bar of a histogram is, in milliseconds.", number()),
        key("x", "What goes across, with its unit.", text()),
        key("y", "What goes up, with its unit.", text()),
        key("series", "What is drawn.", list(series)),
    ])
}

fn value() -> Value {
    let firmness = object([
        key("same", "How often the verdict is the same.", whole()),
        key("of", "How often it was looked at.", whole()),
        key("beside", "What differed.", beside()),
        key("low", "The smallest value that was seen.", number()),
        key("high", "The largest.", number()),
    ]);
    object(
        [
            key("unit", "The unit.", text()),
            key("place", "Where it is in the source.", text()),
            maybe("items", "Which items of the source it is.", list(text())),
            key("what", "What it is.", text()),
            key("published", "What the source prints.", text()),
            maybe("own", "The study's own threshold or calculation.", text()),
            maybe("derivation", "Where that comes from.", text()),
            maybe("unverified", "Why the published value could not be checked.", text()),
            key("allowed", "The smallest and the largest that hold.", pair(or_null(number()))),
            key("seen", "What was seen.", or_null(number())),
            key("predicted", "What an equation of the source says.", or_null(number())),
            key("firmness", "How often the verdict is the same.", or_null(firmness)),
        ]
        .into_iter()
        .chain(verdict()),
    )
}

fn verdict() -> [Key; 3] {
    let proof = object([
        key("holds", "Whether the reason shows.", truth()),
        key("seen", "Where that was looked for, and what was seen there.", text()),
    ]);
    let words =
        ["holds", "cannot_tell", "fitted", "differs", "run_smaller", "not_comparable", "not_run"].map(Value::from);
    [
        key("verdict", "The verdict.", json!({ "enum": words })),
        maybe("reason", "Why.", or_null(text())),
        maybe("proof", "What was seen where the reason has to show.", proof),
    ]
}

fn item() -> Value {
    let shown = object([
        key("question", "The question in which it is.", text()),
        key("kind", "What shows it.", text()),
        key("what", "What it is.", text()),
        maybe("verdict", "The verdict, of a value.", text()),
        maybe("reason", "Why it differs or cannot be compared.", text()),
    ]);
    object([
        key("number", "Its number in the list of the study.", whole()),
        key("item", "Its name.", text()),
        key("prints", "What the source prints there.", text()),
        key("here", "Where it is shown.", list(shown)),
        maybe("left_out", "Why it is not.", text()),
    ])
}
