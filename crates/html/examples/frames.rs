//! How soon a timeline of a million events is there, and how many frames a second it has while it is moved and zoomed.
//!
//! `cargo run --release -p schedlab-html --example frames` prints both; `bench/README.md` keeps them.

#[path = "../tests/browser/lab.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod lab;

use lab::{Look, Viewer, comparison_page};

/// Decodes, mounts, and waits for the first frame; then moves for three seconds, a step for each frame.
const SCRIPT: &str = "(async () => {
  const part = (name) => document.getElementById(`timeline-${name}-1`).textContent;
  const packed = schedlabTimeline.fromBase64(part('bytes').trim());
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const place = document.querySelector('.timeline-view');
  place.replaceChildren();
  place.scrollIntoView({ behavior: 'instant' });
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  const begin = performance.now();
  const timeline = schedlabTimeline.mount(place, schedlabTimeline.decode(JSON.parse(part('header')), bytes), {});
  await frame();
  timeline.draw();
  await frame();
  const first = performance.now() - begin;
  const [from, to] = [timeline.range()].flatMap((range) => Array.isArray(range) ? range : [range.from, range.to]);
  const length = to - from;
  const rate = async (step) => {
    const start = performance.now();
    let frames = 0;
    for (; performance.now() - start < 3000; frames++) { step(frames); await frame(); }
    return frames / ((performance.now() - start) / 1000);
  };
  const pan = await rate((i) => timeline.panTo(from + length * ((i % 100) / 200), from + length * ((i % 100) / 200 + 0.5)));
  const zoom = await rate((i) => timeline.panTo(from, from + length * Math.pow(0.9, i % 90)));
  return JSON.stringify([first, pan, zoom]);
})()";

fn main() {
    let events = 1_000_000;
    let viewer = Viewer::open(&comparison_page(events), Look::Light, 1200);
    let [first, pan, zoom]: [f64; 3] = serde_json::from_str(&viewer.text(SCRIPT)).expect("three numbers");
    println!(
        "timeline of {events} events: first frame after {first:.0} ms; {pan:.0} frames/s panning, {zoom:.0} zooming"
    );
}
