import { fork, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { hasBrowser, killBrowserIn, startBrowserIn } from '../stack/chromium.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { STUDY_APP } from '../study-app.ts';
import { endChild, messageOf } from '../stack/child-process.ts';

/** A page of an app: its queue keeps events in IndexedDB. */
const PAGE = `
  import { createLaurel, createQueue, indexedDbStorage } from '${PACKAGE_ROOT}/clients/typescript/src/index.ts';
  globalThis.open = (url, key) => {
    const laurel = createLaurel({ url, key, user: 'ada', timeoutMs: 5_000 });
    globalThis.queue = createQueue(laurel, { storage: indexedDbStorage() });
    globalThis.seen = [];
    const live = laurel.live({ types: ['points.changed'], transport: 'websocket' });
    live.on('ready', ({ resumed }) => seen.push(resumed ? 'resumed' : 'ready'));
    live.on('points.changed', ({ points }) => seen.push(points.added));
  };
`;

let laurel: TestLaurel;
let frontend: ChildProcess | undefined;
let proxy: CuttingProxy;
let site: Server;
let folder: string;
let context: BrowserContext | undefined;

/** Starts a frontend of its own process; returns its address. */
async function startFrontend(): Promise<string> {
  const port = await freePort();
  frontend = fork(join(await inFewFiles(), 'src/processes/frontend.js'), {
    execArgv: [],
    env: {
      PATH: process.env['PATH'],
      REDIS_URL: laurel.redisUrl,
      DATABASE_URL: laurel.databaseUrl,
      HOST: '127.0.0.1',
      APP_PORT: String(port),
      ADMIN_PORT: String(await freePort()),
      LOG_LEVEL: 'fatal',
    },
  });
  await messageOf(frontend);
  return `http://127.0.0.1:${port}`;
}

async function kill(started: ChildProcess | undefined): Promise<void> {
  if (started !== undefined) await endChild(started, 'SIGKILL');
}

/** Opens the page in a browser that has what earlier ones stored. */
async function openPage(key: string, url: string): Promise<Page> {
  context = await startBrowserIn(folder);
  const page = context.pages()[0] ?? (await context.newPage());
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  await page.waitForFunction('globalThis.open !== undefined && open.length === 2');
  await page.evaluate(`open(${JSON.stringify(url)}, ${JSON.stringify(key)})`);
  return page;
}

beforeAll(async () => {
  if (!hasBrowser) return;
  laurel = await startLaurel({ configuration: STUDY_APP, workers: true });
  folder = await mkdtemp(join(tmpdir(), 'laurel-offline-'));
  proxy = new CuttingProxy(await startFrontend());
  const output = await build({
    configFile: false,
    logLevel: 'error',
    plugins: [
      { name: 'page', resolveId: (id) => (id === 'page' ? id : null), load: (id) => (id === 'page' ? PAGE : null) },
    ],
    build: { write: false, rolldownOptions: { input: 'page' } },
  });
  if (!('output' in output)) throw new Error('Nothing was built.');
  const [{ code }] = output.output;
  site = createServer((_, response) =>
    response
      .setHeader('Content-Type', 'text/html')
      .end(`<!doctype html><title>app</title><script type="module">${code}</script>`),
  );
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  if (!hasBrowser) return;
  await context?.close();
  site.close();
  proxy.close();
  await kill(frontend);
  await laurel.close();
  await rm(folder, { recursive: true, force: true });
});

test.skipIf(!hasBrowser)(
  'no event is lost or counted twice: answers and requests are cut, the browser and Laurel are killed, the network is away',
  async () => {
    const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
    const key = body.created[0].key as string;
    const url = (await proxy.listen()).replace(/\/$/, '');
    const isEvent = (chunk: Buffer): boolean => chunk.includes('POST /v1/metrics');

    // Each event has its own bit of the total: an event that is lost, or counted twice, is seen.
    let bits = 0;
    const track = async (page: Page, events: number): Promise<void> => {
      const values = Array.from({ length: events }, () => 2 ** bits++);
      await page.evaluate(`Promise.all(${JSON.stringify(values)}.map((value) => queue.track('flips', value)))`);
    };
    const size = (page: Page) => page.evaluate('queue.size()') as Promise<number>;
    const total = async (): Promise<number> => (await laurel.app.get('/v1/users/ada/metrics/flips')).body.current ?? 0;

    let page = await openPage(key, url);
    const seen = () => page.evaluate('seen') as Promise<unknown[]>;
    await expect.poll(seen).toEqual(['ready']);
    await track(page, 5);
    await expect.poll(() => size(page)).toBe(0);
    expect(await total()).toBe(2 ** 5 - 1);
    // Points for the new user, and for at least two of the events.
    await expect.poll(async () => (await seen()).length).toBeGreaterThan(3);
    proxy.cutAll();
    await expect.poll(seen).toContain('resumed');

    // Connections break: after Laurel has counted the event, and before it has come.
    for (const cut of ['replies', 'requests'] as const) {
      proxy.cutNext(cut, undefined, isEvent);
      await track(page, 3);
      await expect.poll(() => size(page)).toBe(0);
      expect(proxy.disarm()).toBe(false);
    }

    // The browser is killed while the answer to the first of these events is under way.
    const counted = new Promise<void>((resolve) => proxy.cutNext('replies', resolve, isEvent));
    await track(page, 6);
    await counted;
    const closed = context!.waitForEvent('close');
    await killBrowserIn(folder);
    await closed;

    // Its next start finds no Laurel; more events come, and the page is loaded again.
    await kill(frontend);
    proxy.cutAll();
    page = await openPage(key, url);
    await track(page, 6);
    await page.reload();
    await page.waitForFunction('globalThis.open !== undefined && open.length === 2');
    await page.evaluate(`open(${JSON.stringify(url)}, ${JSON.stringify(key)})`);
    await track(page, 6);
    expect(await size(page)).toBeGreaterThanOrEqual(17);

    // Laurel comes back, is killed again while it works, and comes back at another address.
    proxy.retarget(await startFrontend());
    const working = new Promise<void>((resolve) =>
      proxy.cutNext('replies', () => kill(frontend).then(resolve), isEvent),
    );
    await page.evaluate('void queue.flush()');
    await working;
    proxy.retarget(await startFrontend());
    await track(page, 5);
    await page.evaluate('void queue.flush()');
    await expect.poll(() => size(page)).toBe(0);
    expect(await total()).toBe(2 ** bits - 1);
  },
);
