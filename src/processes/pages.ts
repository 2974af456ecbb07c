import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Page, readPage } from '../http/pages.ts';
import { PACKAGE_ROOT } from '../package-root.ts';

const STRICT =
  "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const CONSOLE = join(PACKAGE_ROOT, 'dist/console');

export const isConsoleBuilt = (): boolean => existsSync(join(CONSOLE, 'index.html'));

/** Reads a page once per process. */
function once(read: () => Page | null): () => Page | null {
  let page: Page | null | undefined;
  return () => (page === undefined ? (page = read()) : page);
}

/**
 * The console; null if it is not built. Administrators choose the addresses of badges, so it may load images (and nothing
 * else) from any origin, over https and without a referrer (`Referrer-Policy: no-referrer`). Style attributes are those of
 * e-mails in a preview, whose frame has this policy, too.
 */
export const consolePage = once(() =>
  readPage({
    folder: CONSOLE,
    at: '/console',
    views: true,
    policy: `${STRICT}; img-src 'self' data: https:; style-src 'self'; style-src-attr 'unsafe-inline'`,
  }),
);

/**
 * The reference of a port's own API; null if it is not built. Its viewer creates styles at run time, whose text depends on
 * its colours, so they cannot be listed by hash. Scripts must come from this origin, as everywhere.
 */
export const referencePage = once(() =>
  readPage({
    folder: join(PACKAGE_ROOT, 'dist/reference'),
    at: '/reference',
    views: false,
    policy: `${STRICT}; img-src 'self' data:; style-src 'self' 'unsafe-inline'`,
  }),
);
