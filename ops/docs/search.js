// The search. It loads its index when somebody first uses it, by script elements, because pages read from files cannot fetch.
const { root, engine, sections } = document.currentScript.dataset;
const MOST_RESULTS = 12;
const EXCERPT_CHARACTERS = 140;
/** Pages for developers of Laurel come after those for its users. */
const FOR_DEVELOPERS = /^(?:decisions\/|CHANGELOG|CONTRIBUTING|architecture)/;

const area = document.querySelector('search');
const input = area.querySelector('input');
const list = area.querySelector('ol');
area.hidden = false;

const loadScript = (src) =>
  new Promise((loaded, failed) => {
    const script = Object.assign(document.createElement('script'), { src, onload: loaded, onerror: failed });
    document.head.append(script);
  });

async function buildIndex() {
  await Promise.all([loadScript(engine), loadScript(sections)]);
  const index = new window.MiniSearch({
    idField: 'href',
    fields: ['heading', 'page', 'text'],
    storeFields: ['heading', 'page', 'text'],
    searchOptions: {
      combineWith: 'AND',
      boost: { heading: 4, page: 3 },
      boostDocument: (href) => (FOR_DEVELOPERS.test(href) ? 0.3 : 1),
      prefix: (word) => word.length > 1,
      fuzzy: (word) => (word.length < 5 ? false : 0.2),
    },
  });
  await index.addAllAsync(window.laurelSections, { chunkSize: 50 });
  return index;
}

let index;
const load = () => (index ??= buildIndex());

/** Adds a text with the found words marked. */
function addMarked(element, text, words) {
  const any = words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
  for (const [at, part] of text.split(new RegExp(`(${any})`, 'i')).entries())
    element.append(at % 2 === 1 ? Object.assign(document.createElement('mark'), { textContent: part }) : part);
}

/** The text around the first of the words. */
function excerptOf(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length);
  const from = first === text.length || first < 60 ? 0 : text.indexOf(' ', first - 60) + 1;
  const rest = text.slice(from);
  const excerpt =
    rest.length > EXCERPT_CHARACTERS ? `${rest.slice(0, EXCERPT_CHARACTERS).replace(/ \S*$/, '')} …` : rest;
  return from > 0 ? `… ${excerpt}` : excerpt;
}

function itemOf({ id, page, heading, text, terms }) {
  const link = Object.assign(document.createElement('a'), { href: root + id });
  const title = document.createElement('b');
  title.textContent = heading === '' ? page : `${page} › ${heading}`;
  const excerpt = document.createElement('span');
  addMarked(excerpt, excerptOf(text, terms), terms);
  link.append(title, excerpt);
  const item = document.createElement('li');
  item.append(link);
  return item;
}

function close() {
  list.hidden = true;
}

async function show() {
  const loaded = await load();
  const query = input.value.trim();
  if (query === '') return close();
  let results = loaded.search(query);
  // No section has all words.
  if (results.length === 0) results = loaded.search(query, { combineWith: 'OR' });
  list.replaceChildren(...results.slice(0, MOST_RESULTS).map(itemOf));
  if (results.length === 0) list.append(Object.assign(document.createElement('li'), { textContent: 'Nothing found' }));
  list.hidden = false;
}

input.addEventListener('focus', () => void load());
input.addEventListener('input', () => void show());
document.addEventListener('click', ({ target }) => {
  if (!area.contains(target) || target.closest('a')) close();
});
document.addEventListener('keydown', (event) => {
  const isTyping = document.activeElement.matches('input');
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    input.focus();
    return;
  }
  if (!area.contains(document.activeElement)) return;
  if (event.key === 'Escape') {
    close();
    input.focus();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || list.hidden) return;
  event.preventDefault();
  const stops = [input, ...list.querySelectorAll('a')];
  stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus();
});
input.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !list.hidden) list.querySelector('a')?.click();
});
