//! Models whose items are drawn again, in blocks.

use schedlab_infer::Model;
use schedlab_metrics::statistics::block;
use schedlab_model::recorded::{Act, Item, Lists, Op, StepFile};
use schedlab_model::rng::Rng;
use schedlab_model::scenario::{Scenario, Text};
use schedlab_model::time::Time;
use std::collections::BTreeMap;

/// Whether there is anything to be drawn: items of a list that has several, or gaps between arrivals.
pub fn is_drawn(model: &Model) -> bool {
    let several = |list: &Vec<Item>| list.len() > 1;
    model.lists.values().flatten().any(several)
        || model.scenario.sources.iter().any(|source| source.at.is_some())
        || model.scenario.tasks.iter().any(|task| task.at.is_some())
}

/// The model with items and gaps drawn again; the same number gives the same ones.
pub fn resampled(model: &Model, number: u32) -> Scenario {
    let mut scenario = model.scenario.clone();
    let rng = |what: &str| Rng::split(u64::from(number), &format!("resample/{what}"));
    let tables: BTreeMap<String, Lists> =
        model.lists.iter().map(|(name, lists)| (name.clone(), drawn(lists, &mut rng(name)))).collect();
    let files: Vec<String> = scenario.step_files().into_iter().map(String::from).collect();
    for file in files {
        scenario.attach(&file, StepFile::new(model.names.clone(), tables.clone()));
    }
    for source in &mut scenario.sources {
        source.at.iter_mut().for_each(|times| gaps(times, &mut rng(&source.channel)));
    }
    for task in &mut scenario.tasks {
        task.at.iter_mut().for_each(|times| gaps(times, &mut rng(&task.name)));
    }
    scenario
}

fn drawn(lists: &Lists, rng: &mut Rng) -> Lists {
    let one = |list: &Vec<Item>| match list.len() {
        0 | 1 => list.clone(),
        n => {
            let work: Vec<f64> = list.iter().map(work).collect();
            let length = block::lengths(&work).map_or(1.0, |lengths| lengths.stationary);
            block::stationary(n, length, rng).into_iter().map(|place| list[place].clone()).collect()
        }
    };
    lists.iter().map(one).collect()
}

fn work(item: &Item) -> f64 {
    item.iter().filter(|act| act.op == Op::Compute).map(|act: &Act| act.value as f64).sum()
}

/// Arrivals with the gaps between them drawn again.
fn gaps(times: &mut [Text<Time>], rng: &mut Rng) {
    let first = times.first().map_or(0, |time| time.0.ns());
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].0.ns() - pair[0].0.ns()).collect();
    let lengths = block::lengths(&gaps.iter().map(|gap| *gap as f64).collect::<Vec<_>>());
    let places = block::stationary(gaps.len(), lengths.map_or(1.0, |lengths| lengths.stationary), rng);
    let mut now = first;
    for (time, place) in times.iter_mut().skip(1).zip(places) {
        now += gaps[place];
        *time = Text(Time(now));
    }
}
