import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

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

export const startBrowser = (): Promise<Browser> => chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
