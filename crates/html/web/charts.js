// Charts: specifications that the runtime of their grammar draws when they come into sight, the others when there is time.
(() => {
  'use strict';

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const printing = matchMedia('print');
  /** Between two panels of small multiples, with the axis of the next. */
  const GAP = 70;
  /** A panel is not drawn narrower. */
  const LEAST_PANEL = 130;
  /** In a narrower place legends are below. */
  const NARROW = 520;
  /** More marks than this are painted on a canvas, which is faster; fewer are drawn as shapes, which print better. */
  const MANY_ROWS = 4000;

  function look() {
    return schedlabLooks[dark.matches && !printing.matches ? 'dark' : 'light'];
  }

  /** The specification for a place of this width: as many panels side by side as fit. */
  function fitted(specification, width) {
    const fit = structuredClone(specification);
    const inner = fit.spec ?? fit;
    const wanted = typeof inner.width === 'number' ? inner.width : 260;
    const margin = 90;
    if (fit.facet || fit.encoding?.facet) {
      const most = fit.columns ?? fit.encoding?.facet?.columns ?? 3;
      const columns = Math.max(1, Math.min(most, Math.floor((width - margin + GAP) / (wanted + GAP))));
      if (fit.facet) fit.columns = columns; else fit.encoding.facet.columns = columns;
      inner.width = Math.max(LEAST_PANEL, Math.min(wanted * 1.6, (width - margin) / columns - GAP));
    } else if (typeof inner.width === 'number') {
      inner.width = Math.max(LEAST_PANEL, Math.min(Math.max(wanted, 560), width - margin));
    }
    return fit;
  }

  /** Untrusted names are shown as text and nothing else. */
  function tooltip(handler, event, item, value) {
    const tip = tooltip.element ??= Object.assign(document.createElement('div'), { className: 'tip' });
    if (value === null || value === undefined || value === '') {
      tip.remove();
      return;
    }
    const text = typeof value === 'object'
      ? Object.entries(value).map(([name, part]) => `${name}: ${part}`).join('\n') : String(value);
    tip.textContent = text;
    document.body.append(tip);
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8))}px`;
  }

  function save(name, content, type) {
    const link = document.createElement('a');
    link.href = typeof content === 'string' && content.startsWith('data:')
      ? content : URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
  }

  /** What of a chart can be taken along. */
  function tools(figure, specification, view) {
    const bar = document.createElement('div');
    bar.className = 'tools';
    const { button, csv } = schedlabTables;
    const name = figure.id || 'chart';
    bar.append(button('SVG', async () => save(`${name}.svg`, await view().toSVG(), 'image/svg+xml')));
    bar.append(button('PNG', async () => save(`${name}.png`, await view().toImageURL('png', 2), 'image/png')));
    const rows = specification.data?.values ?? [];
    const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const table = [heads, ...rows.map((row) => heads.map((head) => String(row[head] ?? '')))];
    bar.append(button('Data', () => save(`${name}.csv`, csv(table), 'text/csv')));
    const json = () => JSON.stringify(specification, null, 1);
    bar.append(button('Specification', () => save(`${name}.vl.json`, json(), 'application/json')));
    figure.append(bar);
  }

  /** Draws one chart, and again when its width or the colours change. */
  async function draw(figure) {
    const plot = figure.querySelector('.plot');
    const specification = figure.specification ??= JSON.parse(figure.querySelector('script').textContent);
    const width = plot.clientWidth;
    if (figure.drawnFor === `${width} ${dark.matches} ${printing.matches}`) return;
    figure.drawnFor = `${width} ${dark.matches} ${printing.matches}`;
    const rows = specification.data?.values?.length ?? 0;
    try {
      const fit = fitted(specification, width);
      fit.config = { ...look(), background: 'transparent' };
      if (width < NARROW) fit.config.legend = { ...fit.config.legend, orient: 'bottom', columns: 2 };
      delete fit.title;
      const compiled = vegaLite.compile(fit).spec;
      figure.view?.finalize();
      const renderer = rows > MANY_ROWS ? 'canvas' : 'svg';
      const view = new vega.View(vega.parse(compiled), { renderer, container: plot, hover: true });
      view.tooltip(tooltip);
      await view.runAsync();
      if (!figure.view) tools(figure, specification, () => figure.view);
      figure.view = view;
      figure.classList.add('drawn');
    } catch (error) {
      plot.textContent = `This chart cannot be drawn: ${error.message}`;
      plot.classList.add('failed');
      console.error(error);
    }
  }

  /** Does something with one figure after the other, whenever the page has nothing else to do. */
  function oneByOne([figure, ...others], act) {
    if (!figure) return;
    const idle = globalThis.requestIdleCallback ?? ((then) => setTimeout(then, 50));
    idle(async () => {
      await act(figure);
      oneByOne(others, act);
    });
  }

  function start() {
    const figures = [...document.querySelectorAll('figure.chart')];
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
    }, { rootMargin: '400px' });
    const again = () => figures.filter((figure) => figure.view).forEach(draw);
    figures.forEach((figure) => seen.observe(figure));
    dark.addEventListener('change', again);
    let waiting = 0;
    new ResizeObserver(() => { clearTimeout(waiting); waiting = setTimeout(again, 150); }).observe(document.body);
    // A print has only what is drawn by then, so drawing must not wait for scrolling.
    oneByOne(figures, draw);
    addEventListener('beforeprint', () => figures.forEach(draw));
  }

  globalThis.schedlabCharts = { start, draw, fitted, oneByOne };
})();
