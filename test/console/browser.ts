import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request, Route } from 'playwright-core';
import { onTestFinished, TestRunner } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import type { TestLaurel } from '../laurel.ts';
import { atFullSpeed } from '../stack/slow-browser.ts';

/** The folder for screenshots that people look at; they are taken only if `SCREENSHOTS` is set. */
const ARTEFACTS = join(PACKAGE_ROOT, 'artefacts/console');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

/** How long something may take to appear on a busy machine. */
const PATIENCE_MS = 120_000;

/** The limit of tests that follow a person through many screens: each of their waits ends after `PATIENCE_MS`. */
export const LONG_MS = 600_000;

/** A page that has everything makes no request for this long. */
const QUIET_MS = 120;

/** Lets a page live for this long, and draw what it did. */
const A_MOMENT = `new Promise((drawn) => setTimeout(() => requestAnimationFrame(() => setTimeout(drawn)), ${QUIET_MS}))`;

export const WIDTHS = { desk: { width: 1280, height: 800 }, phone: { width: 375, height: 812 } } as const;

/** Errors in a page. */
export interface Watched {
  context: BrowserContext;
  page: Page;
  /** Requests to another origin. */
  elsewhere: string[];
  /** Uncaught errors, and violations of the content security policy. */
  errors: string[];
  /**
   * Resolves when the page has asked for nothing for a moment. Streams, which stay open, do not count, nor does a request that the
   * page has already had answered: it polls, and on a busy machine a poll may always be in flight.
   */
  quiet: () => Promise<void>;
}

/** Opens an empty page and records its errors. A page that a test opens is closed with it, also if it fails. */
export async function watchedPage(
  browser: Browser,
  origin: string,
  { size = WIDTHS.desk, dark = false }: { size?: { width: number; height: number }; dark?: boolean } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: dark ? 'dark' : 'light',
    locale: 'en-GB',
    // Colours half-way between two states would count as too little contrast.
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(PATIENCE_MS);
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => context.close());
  const page = await context.newPage();
  const elsewhere: string[] = [];
  const errors: string[] = [];
  context.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url)) elsewhere.push(url);
  });
  const pending = new Set<Request>();
  const answered = new Set<string>();
  /** How often a request began or ended. */
  let requests = 0;
  const nameOf = (request: Request): string => `${request.method()} ${request.url()} ${request.postData() ?? ''}`;
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame()) answered.clear();
  });
  page.on('request', (request) => {
    if (request.resourceType() === 'eventsource' || answered.has(nameOf(request))) return;
    pending.add(request);
    requests += 1;
  });
  const ended = (request: Request): void => {
    if (!pending.delete(request)) return;
    answered.add(nameOf(request));
    requests += 1;
  };
  page.on('requestfinished', ended);
  page.on('requestfailed', ended);
  const quiet = async (): Promise<void> => {
    let before: number;
    do {
      before = requests;
      // By the page's own clock: a page that stands still makes no request either.
      await page.evaluate(A_MOMENT);
    } while (pending.size > 0 || requests !== before);
  };
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|Uncaught/.test(message.text()))
      errors.push(message.text());
  });
  return { context, page, elsewhere, errors, quiet };
}

interface SignedIn extends Watched {
  /** Opens a screen by its address. */
  at: (path: string) => Promise<void>;
  /** Goes from the open screen to another one, as a link does: the console is not loaded again. */
  follow: (path: string) => Promise<void>;
  /** The same to a screen with another title, whose appearance it awaits. */
  goOn: (path: string) => Promise<void>;
}

/** A watched page of the console with a session of a key, by default the first admin key. */
export async function signedInPage(
  browser: Browser,
  laurel: TestLaurel,
  { key = laurel.adminKey, ...how }: NonNullable<Parameters<typeof watchedPage>[2]> & { key?: string } = {},
): Promise<SignedIn> {
  const { headers } = await laurel.admin.post('/v1/session', { key }, { key: null });
  const value = headers.get('set-cookie')!.split(';')[0]!.split('=')[1]!;
  const watched = await watchedPage(browser, laurel.adminUrl, how);
  await watched.context.addCookies([{ name: 'laurel_session', value, url: laurel.adminUrl }]);
  const { page } = watched;
  const follow = async (path: string): Promise<void> => {
    const url = `${laurel.adminUrl}/console${path}`;
    if (page.url().startsWith(laurel.adminUrl))
      await page.evaluate(`history.pushState({}, '', ${JSON.stringify(url)})`);
    else await page.goto(url);
  };
  return {
    ...watched,
    at: async (path) => void (await page.goto(`${laurel.adminUrl}/console${path}`)),
    follow,
    goOn: async (path) => {
      const before = await page.title();
      await follow(path);
      while ((await page.title()) === before) await page.waitForTimeout(QUIET_MS / 4);
    },
  };
}

/** What scrolls sideways: the page and, on a phone, anything in it except tabs, whose edges show that they do. */
const SIDEWAYS = `[document.documentElement, ...(innerWidth < 768 ? document.querySelectorAll('body *') : [])]
  .filter(
    (element) =>
      element.scrollWidth > element.clientWidth + 1 &&
      (element === document.documentElement || /auto|scroll/.test(getComputedStyle(element).overflowX)) &&
      !element.classList.contains('scroll-hint'),
  )
  .map((element) => element.outerHTML.slice(0, 120) + ': ' + element.scrollWidth + ' > ' + element.clientWidth)`;

/** How long a page may take to fold its tables after the window has changed its size. */
const FOLDING_MS = 60_000;

/** The parts of a page that are wider than the window or, on a phone, than their frame, one line each. */
export async function tooWide(page: Page): Promise<string[]> {
  const endMs = performance.now() + FOLDING_MS;
  for (;;) {
    const parts = await page.evaluate<string[]>(SIDEWAYS);
    if (parts.length === 0 || performance.now() > endMs) return parts;
    await page.waitForTimeout(QUIET_MS);
  }
}

/** Notes within a page whether an element begins to show a text, also if nobody looks before it is gone. */
const LISTEN = `(text) => {
  const isSaying = (element) =>
    element.children.length === 0 &&
    element.textContent.replaceAll(/\\s+/g, ' ').includes(text) &&
    element.getClientRects().length > 0;
  const saying = () => [...document.body.querySelectorAll('*')].filter(isSaying);
  const earlier = new WeakSet(saying());
  globalThis.hasSaid = false;
  globalThis.listener?.disconnect();
  globalThis.listener = new MutationObserver((_, listener) => {
    globalThis.hasSaid ||= saying().some((element) => !earlier.has(element));
    if (globalThis.hasSaid) listener.disconnect();
  });
  globalThis.listener.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
}`;

/**
 * Acts, and waits until the page says something about it, which it does for a few seconds only. The page may still say the same about
 * an earlier act.
 */
export async function says(page: Page, text: string, act: () => Promise<void>): Promise<void> {
  await page.evaluate(`(${LISTEN})(${JSON.stringify(text)})`);
  await act();
  const endMs = performance.now() + PATIENCE_MS;
  while (!(await page.evaluate<boolean>('globalThis.hasSaid'))) {
    if (performance.now() > endMs) throw new Error(`The page did not say "${text}".`);
    await page.waitForTimeout(QUIET_MS / 4);
  }
}

/** Holds the next request of this kind: `held` resolves when it is made. */
export async function holdNext(
  page: Page,
  { method, path }: { method: string; path: RegExp },
): Promise<{ held: Promise<Route> }> {
  let hold: (route: Route) => void;
  const held = new Promise<Route>((resolve) => (hold = resolve));
  let isHeld = false;
  await page.route(path, (route) => {
    if (isHeld || route.request().method() !== method) return route.fallback();
    isHeld = true;
    return hold(route);
  });
  return { held };
}

/** Lets a held request go on, and waits until the page has drawn what it did with the answer. */
export async function release(page: Page, route: Route): Promise<void> {
  const request = route.request();
  const ended = page.waitForEvent('requestfinished', (one) => one === request);
  await route.continue();
  await ended;
  await page.evaluate('new Promise((drawn) => setTimeout(() => requestAnimationFrame(() => setTimeout(drawn)), 50))');
}

/** The rules of axe that depend on colours: the only ones whose result may differ between a light and a dark page. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** The problems that axe finds on the current page, one line each; `rules`: looks only for these. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Before the console has drawn its first screen, the page has neither landmarks nor headings.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  // Through the debugger, to which the page's policy does not apply.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(AXE);
  const run = (): Promise<Violation[]> =>
    page.evaluate(async (only) => {
      const { axe } = globalThis as unknown as {
        axe: { run: (options: object) => Promise<{ violations: Violation[] }> };
      };
      // Describing each element that passes takes longer than finding those that do not.
      return (await axe.run({ resultTypes: ['violations'], ...(only && { runOnly: only }) })).violations;
    }, rules);
  const found = await atFullSpeed(page, run);
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

/**
 * The problems of a page that was opened in light or dark, and of its colours in the other scheme, which the page follows without
 * being loaded again.
 */
export async function violationsInBothSchemes(page: Page, isDark: boolean): Promise<string[]> {
  const found = await violations(page);
  await page.emulateMedia({ colorScheme: isDark ? 'light' : 'dark' });
  const other = await violations(page, COLOUR_RULES);
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
  return [...found, ...other.map((line) => `in the ${isDark ? 'light' : 'dark'}: ${line}`)];
}

/** Saves a screenshot of the page, if any are wanted. */
export async function keep(page: Page, name: string): Promise<void> {
  if (process.env['SCREENSHOTS'] === undefined) return;
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: false });
}
