// The HTML around a document: search, navigation, contents, and the pages before and after it.

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escaped = (text) => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]);

/** A title in the navigation: without what follows a colon. */
const shortened = (title) => title.split(':')[0];

/** The navigation. A group is open if it has the page, and pages below another appear only there. */
function navigationHtml({ page: { path }, groups, titles, to, addressOf }) {
  const item = ({ path: target, children }) => {
    const isCurrent = target === path;
    const link = `<a href="${to(addressOf(target)) || '#'}"${isCurrent ? ' aria-current="page"' : ''}>${escaped(shortened(titles.get(target)))}</a>`;
    const isOpen = isCurrent || children.some((child) => child.path === path);
    return `<li>${link}${isOpen && children.length > 0 ? `<ul>${children.map(item).join('')}</ul>` : ''}</li>`;
  };
  return groups
    .map(({ title, pages }, index) => {
      const has = pages.some((one) => one.path === path || one.children.some((child) => child.path === path));
      return `<details${has || index === 0 ? ' open' : ''}><summary>${escaped(title)}</summary><ul>${pages.map(item).join('')}</ul></details>`;
    })
    .join('\n');
}

const contentsHtml = ({ headings }) => {
  const sections = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (sections.length < 2) return '';
  const items = sections.map(
    ({ depth, anchor, text }) => `<li class="depth-${depth}"><a href="#${anchor}">${escaped(text)}</a></li>`,
  );
  return `<aside aria-label="On this page"><b>On this page</b><ul>${items.join('')}</ul></aside>`;
};

/** Links to the pages before and after, in the order of the navigation. */
function neighboursHtml({ page: { path }, groups, titles, to, addressOf }) {
  const order = groups.flatMap(({ pages }) =>
    pages.flatMap((one) => [one.path, ...one.children.map((child) => child.path)]),
  );
  const at = order.indexOf(path);
  if (at === -1) return '';
  const link = (target, label, rel) =>
    target === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${to(addressOf(target))}"><small>${label}</small>${escaped(shortened(titles.get(target)))}</a>`;
  return `<footer>${link(order[at - 1], 'Previous', 'prev')}${link(order[at + 1], 'Next', 'next')}</footer>`;
}

/**
 * A whole page.
 * @param of.page the document with its title and headings
 * @param of.content the document as HTML
 * @param of.to the path from this page to an address of the site
 */
export function pageHtml(of) {
  const { page, content, assets, to, addressOf } = of;
  const home = to(addressOf('README.md')) || 'index.html';
  const title = page.path === 'README.md' ? 'Laurel' : `${page.title} · Laurel`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${to(assets.icon)}" type="image/svg+xml">
<link rel="stylesheet" href="${to(assets.css)}">
<script defer src="${to(assets.search)}" data-root="${to('index.html').replace('index.html', '')}" data-engine="${to(assets.engine)}" data-sections="${to(assets.sections)}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="menu" href="#pages">Menu</a>
<a class="home" href="${home}"><img src="${to(assets.icon)}" alt="" width="22" height="22">Laurel</a>
<search hidden><input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false"><ol hidden></ol></search>
</header>
<div class="columns">
<nav id="pages" aria-label="Pages"><a class="close" href="#content">Close</a>
${navigationHtml(of)}
</nav>
<main id="content" tabindex="-1">
<article>
${content}</article>
${neighboursHtml(of)}
</main>
${contentsHtml(page)}
</div>
</body>
</html>
`;
}
