import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Page, readPage } from '../http/pages.ts';
import { PACKAGE_ROOT } from '../package-root.ts';

/** Only what comes from here is loaded and asked; nothing is framed, embedded, or sent as a form. */
const STRICT =
  "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const CONSOLE = join(PACKAGE_ROOT, 'dist/console');

export const isConsoleBuilt = (): boolean => existsSync(join(CONSOLE, 'index.html'));

/**
 * The console; null: it is not built. Badges are at addresses that administrators chose, so it may load pictures, and nothing else,
 * from any of them: over https, and without saying from where (`Referrer-Policy: no-referrer`).
 */
export const consolePage = (): Page | null =>
  readPage({
    folder: CONSOLE,
    at: '/console',
    views: true,
    policy: `${STRICT}; img-src 'self' data: https:; style-src 'self'`,
  });

/**
 * The reference of a port's own API; null: it is not built. Its viewer makes styles as it goes, whose text depends on its colours,
 * so that they cannot be named one by one; scripts are its own files only, as everywhere.
 */
export const referencePage = (): Page | null =>
  readPage({
    folder: join(PACKAGE_ROOT, 'dist/reference'),
    at: '/reference',
    views: false,
    policy: `${STRICT}; img-src 'self' data:; style-src 'self' 'unsafe-inline'`,
  });
