import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';

/** How many times slower scripts run, if `SLOW_BROWSER` is set. */
const RATE = Number(process.env['SLOW_BROWSER'] ?? 1);
const isSlow = RATE > 1;

/** Most answers come late, and a few so late that a later request is answered before. */
const LATE_MS = { from: 50, to: 400 };
const VERY_LATE_MS = { from: 1_000, to: 3_000 };
const VERY_LATE_SHARE = 0.1;

/** A sequence between 0 and 1 that a seed determines. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const sessions = new WeakMap<Page, CDPSession>();

const throttle = (page: Page, rate: number) => sessions.get(page)?.send('Emulation.setCPUThrottlingRate', { rate });

/** Runs what a test does within a page at full speed, at the state in which a slow page is. */
export async function atFullSpeed<Result>(page: Page, act: () => Promise<Result>): Promise<Result> {
  await throttle(page, 1);
  try {
    return await act();
  } finally {
    await throttle(page, RATE);
  }
}

/** Throttles the pages of a browser and delays the answers and the parts of the console that they get, if `SLOW_BROWSER` is set. */
export function slowed<Slowed extends Browser | BrowserContext>(browser: Slowed): Slowed {
  if (!isSlow) return browser;
  if ('contexts' in browser) browser.on('context', slow);
  else slow(browser);
  return browser;
}

function slow(context: BrowserContext): void {
  const random = sequence(Number(process.env['SEED']));
  const begin = async (page: Page): Promise<void> => {
    sessions.set(page, await context.newCDPSession(page));
    await throttle(page, RATE);
  };
  // A page that is closed at once needs no throttle, and a request of a closed page no answer.
  const closed = (): undefined => undefined;
  context.on('page', (page) => void begin(page).catch(closed));
  for (const page of context.pages()) void begin(page).catch(closed);
  void context.route(/\/(v1|assets)\//, async (route) => {
    const { from, to } = random() < VERY_LATE_SHARE ? VERY_LATE_MS : LATE_MS;
    await sleep(from + random() * (to - from));
    await route.fallback().catch(closed);
  });
}
