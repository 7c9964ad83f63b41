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
    figure.timeline = schedlabTimeline.mount(figure.querySelector('.timeline-view'), data, { label: figure.dataset.label });
    figure.classList.add('drawn');
  }

  document.querySelectorAll('table').forEach(schedlabTables.equip);
  schedlabCharts.start();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) show(entry.target);
  }, { rootMargin: '200px' });
  document.querySelectorAll('figure.timeline').forEach((figure) => seen.observe(figure));
})();
