import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSite } from '../../ops/docs/site.mjs';
import { wholeSite } from '../../ops/docs/whole-site.mjs';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { openapiDocument, refusalsOf } from '../../src/operations/openapi.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

// The site that `npm run docs` builds, as a browser reads it: from a folder, without a server.
const folder = mkdtempSync(join(tmpdir(), 'laurel-docs-'));
const site = join(folder, 'site');
afterAll(() => rmSync(folder, { recursive: true }));

const specifications = {
  application: openapiDocument('application', applicationOperations),
  admin: openapiDocument('admin', adminOperations),
};
const whole = wholeSite(specifications);
const { documents } = whole;

const read = (path: string): string => readFileSync(join(site, path), 'utf8');
const attributes = (html: string, pattern: RegExp): string[] =>
  [...html.matchAll(pattern)].map(([, value]) => value!.replaceAll('&amp;', '&'));

describe('the site of the documentation', () => {
  let pages: string[];
  const html = new Map<string, string>();
  const ids = new Map<string, string[]>();

  /** Whether a link of a page leads to a file of the site, and to an ID that it has. */
  function leadsSomewhere(page: string, link: string): boolean {
    const [file, anchor] = decodeURI(link).split('#') as [string, string?];
    const target = file === '' ? page : join(dirname(page), file);
    if (target.startsWith('..') || !existsSync(join(site, target))) return false;
    return anchor === undefined || ids.get(target)!.includes(anchor);
  }

  beforeAll(() => {
    buildSite({ ...whole, out: site });
    pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
    for (const page of pages) {
      html.set(page, read(page));
      ids.set(page, attributes(html.get(page)!, / id="([^"]*)"/g));
    }
  });

  test('has a page for every document, and every link leads to a file and a heading', () => {
    expect(pages.length).toBeGreaterThanOrEqual(documents.length);
    const broken = pages.flatMap((page) =>
      // Not those in the text of an example.
      attributes(html.get(page)!, /(?<=<[a-z][^<>]*) (?:href|src|data-engine|data-sections)="([^"]*)"/g)
        .filter((link) => !/^https?:/.test(link) && !leadsSomewhere(page, link))
        .map((link) => `${page}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('loads nothing from elsewhere, and names no address from the root of a server', () => {
    const loaded = / src="([^"]*)"|<link [^>]*href="([^"]*)"/g;
    for (const [page, text] of html) {
      const addresses = [...text.matchAll(loaded)].map(([, src, href]) => src ?? href!);
      expect(addresses.filter((address) => /^(?:[a-z]+:|\/)/.test(address)).map((one) => `${page}: ${one}`)).toEqual(
        [],
      );
    }
  });

  test('shows the pages in the order of the newcomer, and each has a place', () => {
    const next = (page: string): string | undefined => {
      const [link] = attributes(html.get(page)!, /rel="next" href="([^"]*)"/g);
      return link === undefined ? undefined : join(dirname(page), link);
    };
    const order: string[] = [];
    for (let page: string | undefined = 'index.html'; page !== undefined; page = next(page)) order.push(page);
    expect(order.slice(0, 4)).toEqual(['index.html', 'concepts.html', 'tutorial.html', 'recipes.html']);
    expect(new Set(order).size).toBe(documents.length);
  });

  test('the search knows the sections of every page, with links that lead there', () => {
    const file = readdirSync(join(site, 'assets')).find((name) => name.startsWith('sections'))!;
    const [, json] = /^window\.laurelSections = (.*);$/m.exec(read(join('assets', file)))!;
    const sections = JSON.parse(json!) as { href: string; page: string; heading: string; text: string }[];
    expect(sections.filter(({ href }) => !leadsSomewhere('index.html', href))).toEqual([]);
    expect(new Set(sections.map(({ href }) => href.split('#')[0])).size).toBe(documents.length);
    expect(sections).toContainEqual({
      href: 'operating/backup.html#restore',
      page: 'Backup and restore',
      heading: 'Restore',
      text: expect.stringContaining('Redis lost its data.') as string,
    });
  });

  test('links an operation that a page names to the page of the operation', () => {
    const link =
      '<a href="../reference/admin/metrics/admin_metrics_batch_events.html"><code>POST /v1/metrics/events</code></a>';
    expect(html.get(join('api', 'events.html'))).toContain(link);
  });

  test('copies files that a page links to, and lists those of a folder', () => {
    const kubernetes = join('ops', 'kubernetes', 'index.html');
    expect(html.get(kubernetes)).toContain('href="base/kustomization.yaml"');
    expect(read('ops/kubernetes/base/kustomization.yaml')).toBe(
      readFileSync(join(PACKAGE_ROOT, 'ops/kubernetes/base/kustomization.yaml'), 'utf8'),
    );
  });
});

describe('pages of operations', () => {
  const texts = new Map(documents.map(({ path, text }) => [path, text]));
  const all = [...applicationOperations, ...adminOperations];
  const pageOf = ({ surface, path, id }: (typeof all)[number]): string =>
    texts.get(`docs/reference/${surface}/${path.split('/')[2]}/${id}.md`) ?? '';

  test('every operation has one, with its path, parameters, body, answers and errors', () => {
    const incomplete = all.flatMap((operation) => {
      const { id, method, path, query, body, responses } = operation;
      const fields = (body as { properties?: object } | null)?.properties ?? {};
      const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name!);
      const cells = [...inPath, ...Object.keys(query?.properties ?? {}), ...Object.keys(fields)];
      const parts = [
        `\`${method.toUpperCase()} ${path}\``,
        ...cells.map((name) => `\n| \`${name}\` |`),
        ...Object.keys(responses).map((status) => `\n## Answer ${status}\n`),
        ...refusalsOf(operation).map((status) => `\n| ${status} |`),
        operation.opensStream ? 'A stream: [Live streams](../../../live.md).' : '\n```sh\ncurl -sS ',
        ...(operation.opensStream || operation.scope === 'public' ? [] : ["from 'laurel-client'"]),
      ];
      const page = pageOf(operation);
      return parts.filter((part) => !page.includes(part)).map((part) => `${id}: ${part.trim()}`);
    });
    expect(incomplete).toEqual([]);
  });

  test('say of a field what it may be', () => {
    const page = pageOf(applicationOperations.find(({ id }) => id === 'metrics_event')!);
    expect(page).toContain('| `user.id` | text, 1 to 255 characters, **required** | Your own ID of the user. |');
    expect(page).toContain('| `achievements[].repeat` |');
    expect(page).toContain('"idempotentReplayed"');
  });

  test('show further examples with their titles and requests', () => {
    const page = pageOf(applicationOperations.find(({ id }) => id === 'leaderboards_get')!);
    expect(page).toContain('A final run with rewards, `GET /v1/leaderboards/weekly-cards?run=2026-02-23`:\n\n```json');
    expect(page.match(/^```json$/gm)).toHaveLength(3);
  });

  test('every message to webhooks has one, with an example', () => {
    const { webhooks } = specifications.application as { webhooks: Record<string, object> };
    for (const type of Object.keys(webhooks))
      expect(texts.get(`docs/reference/webhooks/${type}.md`)).toContain(`"type": "${type}"`);
  });
});

describe('the build fails, and names the page,', () => {
  const out = join(folder, 'unfinished');
  const build = (texts: Record<string, string>, pages = Object.keys(texts)): number =>
    buildSite({
      documents: Object.entries(texts).map(([path, text]) => ({ path, text })),
      navigation: [{ title: 'All', pages }],
      out,
    });

  test.each([
    ['a missing page', '[there](missing.md)', 'missing.md'],
    ['a missing picture', '![there](missing.png)', 'missing.png'],
    ['a missing heading of another page', '[there](b.md#other)', 'b.md#other'],
    ['a heading that is only a comment in code', '[there](b.md#not-a-heading)', 'b.md#not-a-heading'],
    ['a missing heading of its own', '[there](#other)', '#other'],
    ['a file outside of the project', '[there](../../etc/passwd)', '../../etc/passwd'],
  ])('if a link leads to %s', (_, text, link) => {
    const b = '# B\n\n## Some heading\n\n```sh\n# Not a heading\n```\n';
    expect(() => build({ 'docs/a.md': `# A\n\n${text}\n`, 'docs/b.md': b })).toThrow(`docs/a.md: ${link}`);
    expect(existsSync(out)).toBe(false);
  });

  test('if the navigation lacks a page, or has one that does not exist', () => {
    const texts = { 'docs/a.md': '# A', 'docs/b.md': '# B' };
    expect(() => build(texts, ['docs/a.md'])).toThrow('docs/navigation.json does not list docs/b.md');
    expect(() => build(texts, ['docs/a.md', 'docs/b.md', 'docs/c.md'])).toThrow('docs/c.md');
  });

  test('and otherwise takes links in code as text, numbers repeated headings, and shows HTML as text', () => {
    const text = '# A\n\n`[x](missing.md)` <script>alert(1)</script> & [second](#twice-1)\n\n## Twice\n\n## Twice\n';
    expect(build({ 'docs/a.md': text })).toBe(1);
    const page = readFileSync(join(out, 'a.html'), 'utf8');
    expect(page).toContain('<h2 id="twice-1">');
    expect(page).toContain('href="#twice-1"');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).not.toContain('<script>');
  });
});
