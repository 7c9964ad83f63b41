// Charts: specifications that the runtime of their grammar draws when they come into sight, the others when there is time.
(() => {
  'use strict';

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const printing = matchMedia('print');
  /** Between two panels of small multiples, with the axis of the next. */
  const GAP = 70;
  /** Beside panels: the axis of the first. */
  const MARGIN = 90;
  /** A panel is not drawn narrower. */
  const LEAST_PANEL = 130;
  /** More rows of panels than this push what follows off the screen, so panels stand closer. */
  const MOST_ROWS = 2;
  /** Names of rows take no more of the width than this. */
  const MOST_NAMES = 0.45;
  /** About how wide a letter is, in pixels: of a name, and of a head of a panel. */
  const LETTER = 6.5;
  const BOLD_LETTER = 7.2;
  /** More marks than this are painted on a canvas, which is faster; fewer are drawn as shapes, which print better. */
  const MANY_ROWS = 4000;

  const isDark = () => dark.matches && !printing.matches;

  function look() {
    return schedlabLooks[isDark() ? 'dark' : 'light'];
  }

  /** The parts of a specification that have encodings. @param {object} part @returns {object[]} */
  function units(part) {
    const inner = [part.spec, ...(part.layer ?? [])].filter(Boolean).flatMap(units);
    return part.encoding ? [part, ...inner] : inner;
  }

  /** The different values of a field. */
  function values(specification, field) {
    return [...new Set((specification.data?.values ?? []).map((row) => row[field]).filter((value) => value !== undefined))];
  }

  /** How many panels of this width stand side by side: where there are many, as many as fit. */
  function columnsOf(width, wanted, most, panels) {
    const fit = (columns) => (width - MARGIN) / columns - GAP;
    let columns = Math.max(1, Math.min(most, Math.floor((width - MARGIN + GAP) / (wanted + GAP))));
    while (columns < most && panels > MOST_ROWS * columns && fit(columns + 1) >= LEAST_PANEL) columns++;
    return { columns, panel: Math.max(LEAST_PANEL, Math.min(wanted * 1.6, fit(columns))) };
  }

  /** A label of at most so many letters, as an expression: names differ at their ends. */
  function cutWithin(letters) {
    const half = Math.floor((letters - 1) / 2);
    return `length(datum.label) > ${letters} ? slice(datum.label, 0, ${half}) + '…' + slice(datum.label, -${half}) : datum.label`;
  }

  /** Names of rows leave room for what they name. */
  function cutNames(fit, width) {
    const limit = Math.round(MOST_NAMES * width);
    for (const { encoding } of units(fit)) {
      if (!(encoding.y?.axis?.labelLimit > limit)) continue;
      Object.assign(encoding.y.axis, { labelLimit: limit, labelExpr: cutWithin(Math.floor(limit / LETTER)) });
    }
  }

  /** As many entries side by side as fit; above the panels where these are below one another. */
  function legendFor(specification, width, rows) {
    const named = units(specification).map(({ encoding }) => encoding.color).find((color) => color?.type === 'nominal');
    const letters = values(specification, named?.field).map((entry) => String(entry).length);
    const limit = Math.max(60, Math.min(240, width - 60));
    const longest = Math.min(limit, LETTER * Math.max(1, ...letters)) + 46;
    const columns = Math.max(1, Math.min(4, Math.floor(width / longest)));
    return { labelLimit: limit, titleLimit: width, columns, orient: rows > 1 ? 'top' : 'bottom' };
  }

  /** Titles of axes across, in as many lines as a panel of this width needs: longer ones would reach into the next panel. */
  function wrapTitles(fit, width) {
    const most = Math.max(8, Math.floor(width / LETTER));
    for (const { encoding } of units(fit)) {
      if (!encoding?.x?.title) continue;
      const lines = [];
      for (const word of [encoding.x.title].flat().join(' ').split(' ')) {
        const line = `${lines.at(-1)} ${word}`;
        if (lines.length && line.length <= most) lines[lines.length - 1] = line; else lines.push(word);
      }
      encoding.x.title = lines.length > 1 ? lines : lines[0];
    }
  }

  /** The specification for a place of this width: as many panels side by side as fit. */
  function fitted(specification, width) {
    const fit = structuredClone(specification);
    const inner = fit.spec ?? fit;
    const wanted = typeof inner.width === 'number' ? inner.width : 260;
    const facet = fit.facet ?? fit.encoding?.facet;
    fit.config = { ...look(), background: 'transparent' };
    let rows = 1;
    if (facet) {
      const most = fit.columns ?? facet.columns ?? 3;
      const panels = values(specification, facet.field).length;
      const { columns, panel } = columnsOf(width, wanted, most, panels);
      if (fit.facet) fit.columns = columns; else facet.columns = columns;
      inner.width = panel;
      facet.header = { ...facet.header, labelExpr: cutWithin(Math.floor((panel + GAP / 2) / BOLD_LETTER)) };
      rows = Math.ceil(panels / columns);
    } else if (typeof inner.width === 'number') {
      inner.width = Math.max(LEAST_PANEL, Math.min(Math.max(wanted, 560), width - MARGIN));
    }
    cutNames(fit, width);
    if (inner.width) wrapTitles(fit, inner.width);
    fit.config.legend = { ...fit.config.legend, ...legendFor(specification, width, rows) };
    return isDark() ? recoloured(fit) : fit;
  }

  /** With the colours of a dark page. */
  function recoloured(fit) {
    const lighter = fit.usermeta?.dark ?? {};
    for (const { encoding } of units(fit)) {
      for (const { scale } of Object.values(encoding)) {
        if (Array.isArray(scale?.range)) scale.range = scale.range.map((colour) => lighter[colour] ?? colour);
      }
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

  /** How much wider a drawing is than its place. */
  function excess(plot, width) {
    const drawing = plot.querySelector('svg, canvas');
    const own = Number.parseFloat(drawing?.style.width) || Number(drawing?.getAttribute('width'));
    return own - width;
  }

  /** Draws a specification into its place; what is too wide for that is drawn again with narrower panels. */
  async function shown(fit, plot, width, renderer) {
    const inner = fit.spec ?? fit;
    for (let attempt = 0; ; attempt++) {
      const view = new vega.View(vega.parse(vegaLite.compile(fit).spec), { renderer, container: plot, hover: true });
      view.tooltip(tooltip);
      await view.runAsync();
      const over = excess(plot, width) / (fit.facet ? fit.columns : 1);
      if (!(over > 1 && inner.width > LEAST_PANEL) || attempt > 1) return view;
      inner.width = Math.max(LEAST_PANEL, Math.floor(inner.width - over));
      view.finalize();
    }
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
      delete fit.title;
      figure.view?.finalize();
      const view = await shown(fit, plot, width, rows > MANY_ROWS ? 'canvas' : 'svg');
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
