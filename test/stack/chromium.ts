import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** An installed browser (none is downloaded); `CHROMIUM` names another one. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser)
  console.log(`There is no browser at ${CHROMIUM} (CHROMIUM names another): tests that need one are left out.`);

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
