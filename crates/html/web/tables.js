// Tables: sorted by a click on a head, copied as Markdown or CSV, each number with its definition.
(() => {
  'use strict';

  /** The cells of a table as they are shown, heads first. @param {HTMLTableElement} table @returns {string[][]} */
  function cells(table) {
    return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  }

  /** @param {string[][]} rows */
  function markdown(rows) {
    const line = (row) => `| ${row.map((cell) => cell.replaceAll('\\', '\\\\').replaceAll('|', '\\|')).join(' | ')} |`;
    return [line(rows[0]), `|${'---|'.repeat(rows[0].length)}`, ...rows.slice(1).map(line)].join('\n') + '\n';
  }

  /** As RFC 4180 has it. @param {string[][]} rows */
  function csv(rows) {
    const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    return rows.map((row) => row.map(quoted).join(',')).join('\r\n') + '\r\n';
  }

  /** What a cell is sorted by: its number, if it has one. */
  function key(text) {
    const number = Number.parseFloat(text.replace(/^−/, '-'));
    return Number.isNaN(number) ? text : number;
  }

  /** Numbers before words, words by the alphabet; what is not known comes last. */
  function order(a, b) {
    if (a === '-' || b === '-') return a === b ? 0 : a === '-' ? 1 : -1;
    const [x, y] = [key(a), key(b)];
    if (typeof x === 'number' && typeof y === 'number') return x - y;
    return typeof x === typeof y ? x.localeCompare(y) : typeof x === 'number' ? -1 : 1;
  }

  /** A name that stands once for several rows belongs to each of them as soon as they move. */
  function repeatNames(body) {
    let above = [];
    for (const row of body.rows) {
      [...row.cells].forEach((cell, index) => {
        if (cell.classList.contains('number') || cell.textContent !== '' || !above[index]) return;
        [cell.textContent, cell.title] = [above[index].textContent, above[index].title];
      });
      above = [...row.cells];
    }
  }

  /** @param {HTMLTableElement} table @param {number} column */
  function sort(table, column) {
    const head = table.tHead.rows[0].cells[column];
    const descending = head.getAttribute('aria-sort') === 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    const body = table.tBodies[0];
    repeatNames(body);
    const text = (row) => row.cells[column].textContent.trim();
    const rows = [...body.rows].sort((a, b) => order(text(a), text(b)));
    body.append(...(descending ? rows.reverse() : rows));
  }

  /** @param {string} text @param {HTMLButtonElement} button */
  async function copy(text, button) {
    const name = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages from disk may not write to the clipboard directly.
      const area = document.createElement('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = name; }, 1200);
  }

  /** @param {string} name @param {(button: HTMLButtonElement) => void} act */
  function button(name, act) {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = name;
    made.addEventListener('click', () => act(made));
    return made;
  }

  /** @param {HTMLTableElement} table */
  function equip(table) {
    const heads = table.tHead.rows[0].cells;
    [...heads].forEach((head, column) => {
      const name = head.textContent;
      head.textContent = '';
      head.append(button(name, () => sort(table, column)));
    });
    const notes = table.closest('figure').querySelectorAll('.notes > li');
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, column) => {
        const note = notes[cell.dataset.note - 1]?.textContent;
        // A name that is cut has itself as its title.
        cell.title = [cell.title, note, heads[column].title].filter(Boolean).join('\n');
      });
    }
    const tools = document.createElement('div');
    tools.className = 'tools';
    tools.append(button('Copy as Markdown', (own) => copy(markdown(cells(table)), own)));
    tools.append(button('Copy as CSV', (own) => copy(csv(cells(table)), own)));
    table.closest('.scroll').after(tools);
  }

  globalThis.schedlabTables = { equip, cells, markdown, csv, order, button };
})();
