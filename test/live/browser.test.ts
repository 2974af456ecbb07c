import { fork, type ChildProcess } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/local/free-ports.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { messageOf } from '../stack/child-process.ts';

/** Each event earns points, so that a missing one is visible. */
const CONFIGURATION = {
  ...STUDY_APP,
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'metric' as const, metricKey: 'flips', metricThreshold: 1, points: 1, status: 'active' as const },
      ],
    },
  ],
};

/** A page of an app: it requests a ticket with its user's key, listens, and shows the rank. */
const PAGE = `<!doctype html><title>rank</title><p id="rank">–</p><script>
  window.totals = []; window.ids = []; window.readies = []; window.resets = 0;
  async function listen(base, key) {
    const asked = await fetch(base + '/v1/live/tickets', {
      method: 'POST',
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ boards: ['flips'] }),
    });
    const { ticket } = await asked.json();
    const source = new EventSource(base + '/v1/live?ticket=' + ticket);
    const on = (type, take) => source.addEventListener(type, (event) => {
      const message = JSON.parse(event.data);
      if (type !== 'ready') window.ids.push(event.lastEventId);
      take(message);
    });
    on('ready', (message) => window.readies.push(message.resumed));
    on('reset', () => (window.resets += 1));
    on('points.changed', ({ points }) => window.totals.push(points.total));
    on('leaderboard.rank_changed', ({ leaderboard }) => (document.querySelector('#rank').textContent = leaderboard.rank));
    on('leaderboard.changed', () => undefined);
  }
</script>`;

interface Seen {
  totals: number[];
  ids: string[];
  readies: boolean[];
  resets: number;
}

let laurel: TestLaurel;
let proxy: CuttingProxy;
let frontend: ChildProcess;
let site: Server;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (!hasBrowser) return;
  laurel = await startLaurel({ configuration: CONFIGURATION, workers: true });
  const appPort = await freePort();
  const { redisUrl, databaseUrl } = laurel;
  frontend = fork(join(await inFewFiles(), 'src/processes/frontend.js'), {
    execArgv: [],
    env: {
      PATH: process.env['PATH'],
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      HOST: '127.0.0.1',
      APP_PORT: String(appPort),
      ADMIN_PORT: String(await freePort()),
      LOG_LEVEL: 'fatal',
    },
  });
  await messageOf(frontend);
  proxy = new CuttingProxy(`http://127.0.0.1:${appPort}`);
  site = createServer((_, response) => void response.setHeader('Content-Type', 'text/html').end(PAGE));
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
  browser = await startBrowser();
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
});
afterAll(async () => {
  if (!hasBrowser) return;
  await browser.close();
  site.close();
  proxy.close();
  frontend.kill('SIGKILL');
  await laurel.close();
});

const seen = (): Promise<Seen> =>
  page.evaluate(
    '({ totals: window.totals, ids: window.ids, readies: window.readies, resets: window.resets })',
  ) as Promise<Seen>;

test.skipIf(!hasBrowser)(
  'a page sees its rank change while events arrive; its frontend is killed, and it misses nothing and sees nothing twice',
  async () => {
    const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
    const url = (await proxy.listen()).replace(/\/$/, '');
    await page.evaluate(`listen(${JSON.stringify(url)}, ${JSON.stringify(made.body.created[0].key)})`);
    await expect.poll(async () => (await seen()).readies).toEqual([false]);

    let sent = 0;
    /** Like a client: with its own key until it is accepted. */
    const send = async (id: string, value: number): Promise<void> => {
      const headers = { 'Idempotency-Key': String((sent += 1)) };
      while ((await laurel.app.post('/v1/metrics/flips/event', { user: { id }, value }, { headers })).status === 503);
    };
    await send('bob', 1_000);
    await send('ada', 1);
    const rank = (): Promise<string> => page.textContent('#rank').then(String);
    await expect.poll(rank).toBe('2');
    // Another user passes, and the page is notified without an event of its own.
    await send('cleo', 2_000);
    await expect.poll(rank).toBe('3');

    const expected = [1];
    let flows = true;
    const flow = (async () => {
      for (let total = 2; flows; total += 1) {
        await Promise.all([send('ada', 1), send(`other-${total % 7}`, 1)]);
        expected.push(total);
      }
    })();
    await expect.poll(async () => (await seen()).totals.length).toBeGreaterThan(20);
    frontend.kill('SIGKILL');
    proxy.retarget(laurel.appUrl);
    await expect.poll(async () => (await seen()).readies).toEqual([false, true]);
    const before = (await seen()).totals.length;
    await expect.poll(async () => (await seen()).totals.length).toBeGreaterThan(before + 20);
    flows = false;
    await flow;
    await send('ada', 5_000);
    expected.push(expected.at(-1)! + 5_000);
    await expect.poll(rank).toBe('1');

    await expect.poll(async () => (await seen()).totals.at(-1)).toBe(expected.at(-1));
    const { totals, ids, resets } = await seen();
    expect(totals).toEqual(expected);
    expect(new Set(ids).size).toBe(ids.length);
    expect(resets).toBe(0);
  },
);
