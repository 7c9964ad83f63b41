// What happens when the page is there.
(() => {
  'use strict';

  /** @param {string} id @returns {Promise<Uint8Array>} */
  async function unpacked(id) {
    const packed = schedlabTimeline.fromBase64(document.getElementById(id).textContent.trim());
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** Shows a timeline when it comes into sight. */
  async function show(figure) {
    if (figure.shown) return;
    figure.shown = true;
    const number = figure.dataset.timeline;
    const header = JSON.parse(document.getElementById(`timeline-header-${number}`).textContent);
    const bytes = await unpacked(`timeline-bytes-${number}`);
    const data = schedlabTimeline.decode(header, bytes);
    const options = { label: figure.dataset.label, moved };
    figure.timeline = schedlabTimeline.mount(figure.querySelector('.timeline-view'), data, options);
    figure.classList.add('drawn');
    // One that comes later shows what the others show.
    const other = shown().find((own) => own !== figure.timeline);
    if (other && together.checked) figure.timeline.follow(other.range());
  }

  const figures = [...document.querySelectorAll('figure.timeline')];
  const shown = () => figures.map((figure) => figure.timeline).filter(Boolean);

  /** Whether all timelines move when one does. */
  const together = Object.assign(document.createElement('input'), { type: 'checkbox', checked: true });

  /** Moves all others to where one was moved. */
  function moved(own, range) {
    if (together.checked) shown().filter((other) => other !== own).forEach((other) => other.follow(range));
  }

  if (figures.length > 1) {
    const label = Object.assign(document.createElement('label'), { className: 'together' });
    label.append(together, ' Move all timelines together');
    figures[0].before(label);
  }

  document.querySelectorAll('table').forEach(schedlabTables.equip);
  schedlabCharts.start();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) show(entry.target);
  }, { rootMargin: '200px' });
  figures.forEach((figure) => seen.observe(figure));

  // Paper does not scroll: what it is to have is made when there is time, and drawn whole for it.
  schedlabCharts.oneByOne(figures, show);
  const unfolded = [];
  addEventListener('beforeprint', () => {
    shown().forEach((timeline) => timeline.onPaper());
    // The definitions of a table's numbers belong to it.
    unfolded.push(...document.querySelectorAll('details.definitions:not([open])'));
    unfolded.forEach((part) => { part.open = true; });
  });
  addEventListener('afterprint', () => {
    shown().forEach((timeline) => timeline.backOnScreen());
    unfolded.splice(0).forEach((part) => { part.open = false; });
  });
})();
