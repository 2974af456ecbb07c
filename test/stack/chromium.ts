import { existsSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext } from 'playwright-core';
import { slowed } from './slow-browser.ts';

/** An installed browser (none is downloaded); `CHROMIUM` names another one. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser)
  console.log(`There is no browser at ${CHROMIUM} (CHROMIUM names another): tests that need one are left out.`);

/**
 * Features that Playwright 1.65 switches off. Chromium obeys only the last `--disable-features`, which would otherwise be
 * Playwright's.
 */
const OFF_IN_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

/**
 * Suggestions below the address bar, which no test sees. They are web pages in a process of their own: each browser context
 * took 1.0 s of CPU with them and 0.25 without.
 */
const SUGGESTIONS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'];

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...SUGGESTIONS].join(',')}`,
];

const OPTIONS = { executablePath: CHROMIUM, args: ARGUMENTS };

export const startBrowser = async (): Promise<Browser> => slowed(await chromium.launch(OPTIONS));

/** Starts a browser that keeps what pages store in a folder, for the next one. */
export const startBrowserIn = async (folder: string): Promise<BrowserContext> =>
  slowed(await chromium.launchPersistentContext(folder, OPTIONS));

/** Kills the browser of a folder. Chromium's lock there names its process. */
export async function killBrowserIn(folder: string): Promise<void> {
  const lock = await readlink(join(folder, 'SingletonLock'));
  process.kill(Number(lock.slice(lock.lastIndexOf('-') + 1)), 'SIGKILL');
}
