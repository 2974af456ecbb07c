// A static site of the documents, with search. It needs no server and no other site: pages refer to each other by relative paths,
// so it also works from a subfolder and from files.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { Marked, Parser } from 'marked';
import Prism from 'prismjs';
import loadLanguages from 'prismjs/components/index.js';
import { brokenLinks, isExternal, outlineOf, plainText, ROOT, targetOf } from './documents.mjs';
import { escaped, pageHtml } from './page.mjs';

loadLanguages(['bash', 'json', 'typescript', 'tsx', 'python', 'sql', 'csharp', 'gdscript']);

/** Where a file of the project is in the site: `docs` is the site's root, and Markdown becomes HTML. */
export const addressOf = (path) =>
  path
    .replace(/^docs\//, '')
    .replace(/(^|\/)README\.md$/, '$1index.html')
    .replace(/\.md$/, '.html');

/** The address `to`, as seen from the page at `from`. */
const relativeTo = (from, to) => posix.relative(posix.dirname(from), to);

/** Code as HTML, with its words marked if the language is known. */
function code({ text, lang }) {
  const grammar = Prism.languages[lang];
  const html = grammar ? Prism.highlight(text, grammar, lang) : escaped(text);
  return `<pre tabindex="0"><code>${html}\n</code></pre>\n`;
}

/** A converter of one document: links lead to pages of the site, headings have their anchors, HTML is shown as text. */
function converterOf({ path, headings }, codeLinks) {
  const anchors = new Map(headings.map(({ token, anchor }) => [token, anchor]));
  const page = addressOf(path);
  const hrefOf = (link) => {
    if (isExternal(link)) return link;
    const { file, anchor } = targetOf(path, link);
    const isFolder = statSync(join(ROOT, file), { throwIfNoEntry: false })?.isDirectory() ?? false;
    const href = file === path ? '' : relativeTo(page, addressOf(isFolder ? `${file}/README.md` : file));
    return anchor === undefined ? href : `${href}#${anchor}`;
  };
  let isInLink = false;
  return new Marked({
    renderer: {
      codespan({ text }) {
        const target = codeLinks.get(text);
        const html = `<code>${escaped(text)}</code>`;
        if (isInLink || target === undefined || target === path) return html;
        return `<a href="${relativeTo(page, addressOf(target))}">${html}</a>`;
      },
      heading(token) {
        const anchor = anchors.get(token);
        const text = this.parser.parseInline(token.tokens);
        const link =
          token.depth === 1 ? '' : ` <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`;
        return `<h${token.depth} id="${anchor}">${text}${link}</h${token.depth}>\n`;
      },
      link({ href, tokens }) {
        isInLink = true;
        const text = this.parser.parseInline(tokens);
        isInLink = false;
        return `<a href="${escaped(hrefOf(href))}">${text}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escaped(hrefOf(href))}" alt="${escaped(text)}" loading="lazy">`;
      },
      table(token) {
        const cell = ({ header, tokens }) => {
          // An empty heading would be none for a screen reader.
          const tag = header && tokens.length > 0 ? 'th' : 'td';
          return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`;
        };
        const row = (cells) => `<tr>${cells.map(cell).join('')}</tr>`;
        const rows = token.rows.map(row).join('\n');
        return `<div class="scroll" tabindex="0"><table><thead>${row(token.header)}</thead><tbody>\n${rows}\n</tbody></table></div>\n`;
      },
      code,
      html: ({ text }) => escaped(text),
    },
  });
}

/** A document's sections, for the search: the text below each heading. With `search`, one section with that text. */
function sectionsOf({ path, title, tokens, headings, search }) {
  if (search !== undefined) return [{ href: addressOf(path), page: title, heading: '', text: search }];
  const byToken = new Map(headings.map((heading) => [heading.token, heading]));
  const page = addressOf(path);
  const sections = [];
  for (const token of tokens) {
    const heading = byToken.get(token);
    if (heading) sections.push({ href: heading.depth === 1 ? page : `${page}#${heading.anchor}`, heading, texts: [] });
    else sections.at(-1)?.texts.push(plainText([token]));
  }
  return sections.map(({ href, heading, texts }) => ({
    href,
    page: title,
    heading: heading.depth === 1 ? '' : heading.text,
    text: texts.join(' ').replaceAll(/\s+/g, ' ').trim(),
  }));
}

/** Checks the navigation against the documents, and adds the pages that are in the folder of a listed `README.md`. */
function navigationOf(groups, documents) {
  const paths = new Set(documents.map(({ path }) => path));
  const listed = groups.flatMap(({ pages }) => pages);
  const unknown = listed.filter((path) => !paths.has(path));
  if (unknown.length > 0) throw new Error(`The navigation has pages that do not exist: ${unknown.join(', ')}`);
  const isListed = new Set(listed);
  const children = new Map();
  const missing = [];
  for (const { path } of documents) {
    if (isListed.has(path)) continue;
    const parent = join(dirname(path), 'README.md');
    if (!isListed.has(parent)) missing.push(path);
    else children.set(parent, [...(children.get(parent) ?? []), path]);
  }
  if (missing.length > 0) throw new Error(`docs/navigation.json does not list ${missing.join(', ')}`);
  const entry = (path) => ({
    path,
    children: (children.get(path) ?? []).map((child) => ({ path: child, children: [] })),
  });
  return groups.map(({ title, pages }) => ({ title, pages: pages.map(entry) }));
}

/** Files that documents link to and that are not Markdown, as paths from the root; of a folder, all its files. */
function linkedFiles(documents) {
  const paths = new Set(documents.map(({ path }) => path));
  const files = documents.flatMap(({ path, links }) =>
    links.filter((link) => !isExternal(link)).map((link) => targetOf(path, link).file),
  );
  return [...new Set(files)].filter((file) => !paths.has(file));
}

/** A page that lists the files of a folder. */
function listingOf(folder) {
  const files = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length + 1))
    .toSorted();
  return {
    path: `${folder}/README.md`,
    text: `# ${folder}\n\n${files.map((file) => `- [${file}](${file})`).join('\n')}\n`,
  };
}

/**
 * Writes the site. Throws if a link is broken, if the navigation names a page that does not exist, or if it lacks a page.
 * @param options.documents the pages, as `{ path, text, search? }`; `search` is what the search knows of it instead of its text
 * @param options.navigation groups of pages in the reader's order, `{ title, pages }`; pages in the folder of a listed
 *   `README.md` belong to it
 * @param options.codeLinks pages by the code that leads to them, such as `GET /v1/users/{id}`, wherever a document has it
 * @param options.out the folder, which is replaced
 * @returns how many pages were written
 */
export function buildSite({ documents, navigation, codeLinks = new Map(), out }) {
  const broken = documents.flatMap((document) =>
    brokenLinks(document, documents).map((link) => `${document.path}: ${link}`),
  );
  if (broken.length > 0) throw new Error(`Broken links:\n${broken.join('\n')}`);
  const groups = navigationOf(navigation, documents);

  const outlined = (document) => {
    const outline = outlineOf(document.text);
    return { ...document, ...outline, title: outline.headings[0]?.text ?? document.path };
  };
  const pages = documents.map(outlined);
  const isFolder = (file) => statSync(join(ROOT, file)).isDirectory();
  const linked = linkedFiles(pages);
  const listings = linked.filter(isFolder).map((folder) => outlined(listingOf(folder)));
  const copies = new Set([...linked.filter((file) => !isFolder(file)), ...linkedFiles(listings)]);

  rmSync(out, { recursive: true, force: true });
  const write = (address, content) => {
    mkdirSync(join(out, dirname(address)), { recursive: true });
    writeFileSync(join(out, address), content);
  };
  /** Writes a file of the site itself. Its name changes with its content, so that browsers do not keep an old one. */
  const asset = (name, content) => {
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 8);
    const address = `assets/${name.replace('.', `-${hash}.`)}`;
    write(address, content);
    return address;
  };
  const own = (name) => readFileSync(join(import.meta.dirname, name));
  const sections = pages.flatMap(sectionsOf);
  const require = createRequire(import.meta.url);
  const assets = {
    css: asset('page.css', own('page.css')),
    icon: asset('icon.svg', readFileSync(join(ROOT, 'console/laurel.svg'))),
    search: asset('search.js', own('search.js')),
    // Two scripts that the first search loads.
    engine: asset(
      'engine.js',
      readFileSync(join(dirname(require.resolve('minisearch')), '../umd/index.js'), 'utf8').replace(
        /\n\/\/# sourceMappingURL=.*/,
        '',
      ),
    ),
    sections: asset('sections.js', `window.laurelSections = ${JSON.stringify(sections)};\n`),
  };

  const titles = new Map(pages.map(({ path, title }) => [path, title]));
  for (const page of [...pages, ...listings]) {
    const converter = converterOf(page, codeLinks);
    const content = new Parser(converter.defaults).parse(page.tokens);
    const address = addressOf(page.path);
    const to = (target) => relativeTo(address, target);
    const html = pageHtml({ page, content, groups, titles, assets, to, addressOf });
    write(address, html);
  }
  for (const file of copies) {
    mkdirSync(join(out, dirname(addressOf(file))), { recursive: true });
    copyFileSync(join(ROOT, file), join(out, addressOf(file)));
  }
  return pages.length;
}
