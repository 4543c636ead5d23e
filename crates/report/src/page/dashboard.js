// Replaces the middle of the page with what the server sends, and keeps what the reader chose.
'use strict';
const main = document.querySelector('main');
const state = document.getElementById('state');
let query = new URLSearchParams(location.search);
const hidden = new Set();
let source = null;

const title = figure => figure.querySelector('svg')?.getAttribute('aria-label');

// Lines that were hidden stay so, by chart and name.
function hide() {
  for (const button of main.querySelectorAll('figcaption button')) {
    const figure = button.closest('figure');
    const off = hidden.has(title(figure) + '\n' + button.textContent);
    button.classList.toggle('off', off);
    button.setAttribute('aria-pressed', String(!off));
    for (const line of figure.querySelectorAll(`svg [data-series='${button.dataset.series}']`))
      line.classList.toggle('off', off);
  }
}

function show(html) {
  const active = document.activeElement;
  // While the slider is held it is not replaced.
  if (active && active.matches('input[type=range]') && main.contains(active) && dragging) return;
  const places = [...main.querySelectorAll('a, button, input')];
  const at = places.indexOf(active);
  main.innerHTML = html;
  hide();
  if (at >= 0) [...main.querySelectorAll('a, button, input')][at]?.focus({ preventScroll: true });
}

function connect() {
  source?.close();
  const address = '/events?page=' + encodeURIComponent(location.pathname) + '&' + query;
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

let dragging = false;
main.addEventListener('click', event => {
  const button = event.target.closest('figcaption button');
  if (!button) return;
  const name = title(button.closest('figure')) + '\n' + button.textContent;
  if (!hidden.delete(name)) hidden.add(name);
  hide();
});
main.addEventListener('input', event => {
  if (!event.target.matches('input[name=memory]')) return;
  const { present, steps } = event.target.dataset;
  const power = (event.target.value - steps / 2) / (steps / 4);
  query.set('memory', String(Math.round(present * 2 ** power)));
  history.replaceState(null, '', '?' + query);
  connect();
});
document.addEventListener('pointerdown', event => { dragging = event.target.matches('input[type=range]'); });
document.addEventListener('pointerup', () => { dragging = false; });
document.addEventListener('visibilitychange', () => {
  if (document.hidden) source?.close();
  else connect();
});
hide();
connect();
