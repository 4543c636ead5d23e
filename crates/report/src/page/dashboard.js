// Brings the middle of the page anew once a second, and keeps what the reader chose. Every choice
// is in the query of the address, so a link shows a colleague the same picture.
'use strict';
const main = document.querySelector('main');
const state = document.getElementById('state');
let query = new URLSearchParams(location.search);
let source = null;
// The pointer is held down: the page stays as it is.
let isHeld = false;
// The moment under the pointer, in Unix seconds, and the picture in which the pointer is.
let moment = null;
let pointed = null;

const all = (from, selector) => [...from.querySelectorAll(selector)];
const title = figure => figure.querySelector('svg')?.getAttribute('aria-label');
const hidden = () => new Set((query.get('hide') ?? '').split('\n').filter(Boolean));

// Changes the query, and brings the middle of the page for it.
function choose(change, isNew = true) {
  for (const [name, value] of Object.entries(change))
    if (value === null) query.delete(name);
    else query.set(name, value);
  const address = location.pathname + (query.size ? '?' + query : '');
  if (isNew) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  getSelection().removeAllRanges();
  connect();
}

// Links to other pages keep the stretch of time and the tenant.
function links() {
  const kept = new URLSearchParams(query);
  for (const name of ['sort', 'event', 'memory', 'mib']) kept.delete(name);
  for (const link of all(document, 'header nav a'))
    link.search = kept.toString();
}

// Lines that were hidden stay so, by picture and name.
function hide() {
  const names = hidden();
  for (const button of all(main, 'figcaption button')) {
    const figure = button.closest('figure');
    const off = names.has(title(figure) + ':' + button.firstChild.nextSibling.textContent);
    button.classList.toggle('off', off);
    button.setAttribute('aria-pressed', String(!off));
    for (const line of all(figure, `svg [data-series='${button.dataset.series}']`))
      line.classList.toggle('off', off);
  }
}

const two = number => String(number).padStart(2, '0');
function clock(unix, offset) {
  const at = new Date(1000 * (Math.round(unix) + offset));
  const time = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(':');
  const isToday = new Date(Date.now() + 1000 * offset).getUTCDate() === at.getUTCDate();
  return isToday ? time : `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ${time}`;
}

function add(svg, name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return svg.appendChild(element);
}

// Shows in every picture what each line has at one moment, in the legend beside its name.
function cursor() {
  for (const figure of all(main, 'figure[data-from]')) {
    const svg = figure.querySelector('svg');
    all(svg, '.cursor').forEach(old => old.remove());
    all(figure, 'figcaption b').forEach(value => { value.textContent = ''; });
    const [from, to, left, right, offset] =
      ['from', 'to', 'left', 'right', 'offset'].map(name => Number(figure.dataset[name]));
    if (moment === null || moment < from || moment > to) continue;
    const x = left + (moment - from) / (to - from) * (right - left);
    const height = svg.viewBox.baseVal.height;
    add(svg, 'line', { class: 'cursor', x1: x, x2: x, y1: 34, y2: height - 28 });
    const end = x > (left + right) / 2 ? 'end' : 'start';
    const label = { class: 'cursor', x: end === 'end' ? x - 4 : x + 4, y: 46, 'text-anchor': end };
    add(svg, 'text', label, clock(moment, offset));
    for (const line of all(svg, '[data-v]')) {
      if (line.classList.contains('off')) continue;
      const values = line.dataset.v.split('|');
      let near = null;
      for (let at = 0; at < values.length; at++) {
        const dot = line.points.getItem(at);
        if (!near || Math.abs(dot.x - x) < Math.abs(near.dot.x - x)) near = { dot, value: values[at] };
      }
      // Points may be far apart: each stands for the time halfway to its neighbours.
      const each = (line.points.getItem(values.length - 1).x - line.points.getItem(0).x) / (values.length - 1 || 1);
      if (Math.abs(near.dot.x - x) > Math.max(24, 0.6 * each)) continue;
      const { x: cx, y: cy } = near.dot;
      add(svg, 'circle', { class: 'cursor', cx, cy, r: 3, style: line.getAttribute('style').replace('stroke', 'fill') });
      const button = figure.querySelector(`figcaption button[data-series='${line.dataset.series}']`);
      if (button) button.querySelector('b').textContent = near.value;
    }
  }
}

// The moment at a place of a picture; null outside of the plot.
function momentAt(figure, clientX) {
  const svg = figure.querySelector('svg');
  const box = svg.getBoundingClientRect();
  const x = (clientX - box.left) / box.width * svg.viewBox.baseVal.width;
  const { from, to, left, right } = figure.dataset;
  const share = (x - left) / (right - left);
  return share < -0.02 || share > 1.02 ? null : Number(from) + Math.min(1, Math.max(0, share)) * (to - from);
}

// Buttons that save a picture stand at its corner.
function savers() {
  for (const figure of all(main, 'figure')) {
    if (!figure.querySelector('svg') || figure.querySelector('.save')) continue;
    const box = document.createElement('span');
    box.className = 'save';
    for (const kind of ['PNG', 'SVG']) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = kind;
      button.dataset.save = kind;
      button.title = `save this picture as ${kind}`;
      box.append(button);
    }
    figure.prepend(box);
  }
}

// The picture as a file of its own: with the colours that the page gives it, and its legend.
function alone(figure) {
  const svg = figure.querySelector('svg');
  const copy = svg.cloneNode(true);
  const sources = all(svg, '*');
  all(copy, '*').forEach((element, at) => {
    const style = getComputedStyle(sources[at]);
    const names = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'display', 'font-size', 'font-weight', 'font-family'];
    for (const name of names) element.style.setProperty(name, style.getPropertyValue(name));
    element.removeAttribute('data-v');
  });
  const { width, height } = svg.viewBox.baseVal;
  let [x, y] = [8, height + 14];
  const ink = getComputedStyle(document.body);
  for (const button of all(figure, 'figcaption button:not(.off)')) {
    const name = button.firstChild.nextSibling.textContent;
    const room = 7 * name.length + 34;
    if (x + room > width) [x, y] = [8, y + 18];
    const fill = getComputedStyle(button.querySelector('i')).backgroundColor;
    add(copy, 'rect', { x, y: y - 10, width: 10, height: 10, rx: 2, fill });
    add(copy, 'text', { x: x + 15, y, fill: ink.color, 'font-size': 12, 'font-family': 'sans-serif' }, name);
    x += room;
  }
  const whole = y + 10;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `0 0 ${width} ${whole}`);
  copy.setAttribute('width', width);
  copy.setAttribute('height', whole);
  const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [key, value] of Object.entries({ width, height: whole, fill: ink.backgroundColor })) paper.setAttribute(key, value);
  copy.prepend(paper);
  return { text: new XMLSerializer().serializeToString(copy), width, height: whole };
}

function save(figure, kind) {
  const { text, width, height } = alone(figure);
  const give = (address, end) => {
    const link = document.createElement('a');
    link.href = address;
    link.download = title(figure).toLowerCase().replace(/[^a-z0-9]+/g, '-') + end;
    link.click();
  };
  const address = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  if (kind === 'SVG') return give(address, '.svg');
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [2 * width, 2 * height];
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    give(canvas.toDataURL('image/png'), '.png');
  };
  image.src = address;
}

function copy(button) {
  const text = button.dataset.copy;
  const done = () => { button.textContent = 'copied'; };
  // Browsers give the clipboard to pages of HTTPS and of this machine only.
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(done, () => {});
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  if (document.execCommand('copy')) done();
  area.remove();
}

function show(html) {
  const isReading = !getSelection().isCollapsed;
  const active = document.activeElement;
  const isTyping = active && main.contains(active) && active.matches('input[type=number]');
  if (isHeld || isReading || isTyping) return;
  const places = all(main, 'a, button, input, summary');
  const at = places.indexOf(active);
  const open = new Set(all(main, 'details').flatMap((one, at) => one.open ? [at] : []));
  main.innerHTML = html;
  all(main, 'details').forEach((one, at) => { one.open = open.has(at); });
  savers();
  hide();
  cursor();
  if (at >= 0) all(main, 'a, button, input, summary')[at]?.focus({ preventScroll: true });
}

function connect() {
  source?.close();
  links();
  // Charts are drawn as wide as they stand here, so that letters keep their size.
  const width = Math.round(main.querySelector('figure')?.clientWidth || main.clientWidth);
  const address = '/events?page=' + encodeURIComponent(location.pathname) + '&width=' + width + '&' + query;
  source = new EventSource(address);
  source.onmessage = event => {
    const { html, when } = JSON.parse(event.data);
    show(html);
    state.textContent = 'As of ' + when;
    state.classList.remove('old');
  };
  source.onerror = () => {
    state.textContent = 'The server does not answer; this is what it said last.';
    state.classList.add('old');
  };
}

main.addEventListener('click', event => {
  const button = event.target.closest('button');
  const link = event.target.closest('a');
  if (button?.dataset.save) return save(button.closest('figure'), button.dataset.save);
  if (button?.dataset.copy) return copy(button);
  if (button?.closest('figcaption')) {
    const names = hidden();
    const name = title(button.closest('figure')) + ':' + button.firstChild.nextSibling.textContent;
    if (!names.delete(name)) names.add(name);
    hide();
    return choose({ hide: names.size ? [...names].join('\n') : null }, false);
  }
  const href = link?.getAttribute('href');
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (!href || !isPlain || new URL(href, location).pathname !== location.pathname) return;
  event.preventDefault();
  query = new URLSearchParams(new URL(href, location).search);
  choose({});
  if (link.classList.contains('mark')) scrollTo({ top: 0 });
});

// A drag over a picture of time zooms all of them.
let drag = null;
main.addEventListener('pointerdown', event => {
  isHeld = event.target.matches('input[type=range]');
  const figure = event.target.closest('figure[data-from]');
  if (!figure || !event.target.closest('svg') || event.target.closest('a') || event.button !== 0) return;
  const start = momentAt(figure, event.clientX);
  if (start === null) return;
  drag = { figure, start, x: event.clientX };
  moment = start;
  cursor();
  isHeld = event.pointerType === 'mouse';
  if (isHeld) event.preventDefault();
});
// A drag over a picture selects no text: the page would wait until the reader has read it.
main.addEventListener('mousedown', event => {
  if (event.target.closest('figure svg') && !event.target.closest('a')) event.preventDefault();
});
document.addEventListener('pointermove', event => {
  pointed = event.target.closest?.('figure[data-from]');
  const figure = drag?.figure ?? pointed;
  moment = figure ? momentAt(figure, event.clientX) : null;
  cursor();
  if (!drag || event.pointerType !== 'mouse') return;
  const svg = drag.figure.querySelector('svg');
  const scale = svg.viewBox.baseVal.width / svg.getBoundingClientRect().width;
  const x = (Math.min(drag.x, event.clientX) - svg.getBoundingClientRect().left) * scale;
  const width = Math.abs(event.clientX - drag.x) * scale;
  add(svg, 'rect', { class: 'cursor zoom', x, width, y: 34, height: svg.viewBox.baseVal.height - 62 });
});
document.addEventListener('pointerup', event => {
  const held = drag;
  [isHeld, drag] = [false, null];
  if (!held || event.pointerType !== 'mouse' || Math.abs(event.clientX - held.x) < 8) return;
  const end = momentAt(held.figure, event.clientX);
  if (end === null) return;
  const [from, to] = [held.start, end].sort((a, b) => a - b).map(Math.round);
  if (to - from >= 10) choose({ from, to });
});
document.addEventListener('pointercancel', () => { [isHeld, drag] = [false, null]; });
main.addEventListener('dblclick', event => {
  if (event.target.closest('figure[data-from] svg')) choose({ from: null, to: null });
});

main.addEventListener('input', event => {
  if (!event.target.matches('input[type=range]')) return;
  const { present, steps, doublings } = event.target.dataset;
  const power = doublings * (event.target.value - steps / 2) / (steps / 2);
  choose({ memory: Math.round(present * 2 ** power), mib: null }, false);
});
main.addEventListener('change', event => {
  if (!event.target.matches('input[type=number]') || !(event.target.value > 0)) return;
  event.target.blur();
  if (event.target.name === 'misses') return choose({ misses: event.target.value }, false);
  const memory = Math.round(event.target.value * 1048576);
  choose({ memory, mib: null }, false);
});
main.addEventListener('submit', event => {
  event.preventDefault();
  event.target.querySelector('input[type=number]')?.blur();
});
window.addEventListener('popstate', () => {
  query = new URLSearchParams(location.search);
  connect();
});
let resizing = null;
window.addEventListener('resize', () => {
  clearTimeout(resizing);
  resizing = setTimeout(connect, 200);
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) source?.close();
  else connect();
});
savers();
hide();
// A narrow screen shows the parts of a long page closed.
if (matchMedia('(max-width: 46rem)').matches) all(main, 'details.part').forEach(one => { one.open = false; });
connect();
