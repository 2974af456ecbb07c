import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COUNTER } from '../../src/packed/call-fields.ts';
import { countersKey, userKey } from '../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { holdNext, keep, release, signedInPage, violations, type Watched } from './browser.ts';
import { onlyPart } from '../stack/only-part.ts';
import { opened } from '../stack/opened.ts';

/** `npm run test:long` lists a million. */
const USERS = Number(process.env['USERS'] ?? 40_000);
const AT_ONCE = 10_000;
const ROW = 36;

/** Users in both databases who differ only in their ID and what finds them. */
async function makeUsers({ app, pool, redis }: TestLaurel): Promise<void> {
  await app.post('/v1/users', { id: 'a model', tz: 'Europe/London', signUpDate: '2020-01-01' });
  const state = (await redis.getBuffer(userKey(onlyPart(0), 'a model')))!;
  for (let from = 1; from <= USERS; from += AT_ONCE) {
    const to = Math.min(from + AT_ONCE - 1, USERS);
    const ids = Array.from({ length: to - from + 1 }, (_, index) => idOf(from + index));
    await Promise.all([
      redis.mset(ids.flatMap((id) => [userKey(onlyPart(0), id), state])),
      pool.query(
        `INSERT INTO users (tenant_no, id, created, state, attributes, points, name_key)
         SELECT 0, 'user-' || lpad(n::text, 7, '0'), now(), $3, '{}', '{}', 'person ' || n
           FROM generate_series($1::int, $2::int) AS n`,
        [from, to, state],
      ),
    ]);
  }
  await redis.hset(countersKey(onlyPart(0)), COUNTER.users, USERS + 1);
  await pool.query('ANALYZE users');
}

const idOf = (no: number): string => `user-${String(no).padStart(7, '0')}`;

describe.skipIf(!hasBrowser)(`a console with ${USERS.toLocaleString('en')} users`, () => {
  let browser: Browser;
  let watched: Watched;
  let page: Page;
  /** The cursors of the requested pages of users. No page may be skipped. */
  const asked: (string | null)[] = [];
  const laurel = opened(() => startLaurel({ workers: true }));
  beforeAll(async () => {
    await makeUsers(laurel);
    browser = await startBrowser();
    watched = await signedInPage(browser, laurel);
    ({ page } = watched);
    await page.addInitScript(() => {
      const seen = { tasks: [] as number[] };
      Object.assign(globalThis, { longTasks: seen.tasks });
      new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
        // The browser has it, Node's types do not.
        type: 'longtask' as 'measure',
      });
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.pathname !== '/v1/users' || url.searchParams.get('limit') !== '100') return;
      asked.push(url.searchParams.has('skip') ? 'skip' : url.searchParams.get('after'));
    });
    await page.goto(`${laurel.adminUrl}/console/users`);
  });
  afterAll(async () => {
    await browser?.close();
  });

  const frame = () => page.getByRole('region', { name: 'Users' });
  const scrollTo = (top: number) => frame().evaluate((element, to) => element.scrollTo(0, to), top);
  const topNow = () => frame().evaluate((element) => element.scrollTop);
  const link = (id: string) => page.getByRole('link', { name: id, exact: true });

  test('scrolls page by page, with only the visible rows in the document', async () => {
    await link('a model').waitFor();
    const shown = async (): Promise<number> => {
      await scrollTo(1e9);
      return (await topNow()) / ROW;
    };
    await expect.poll(shown, { interval: 20 }).toBeGreaterThanOrEqual(3_900);
    await expect.poll(() => page.locator('tbody tr').count()).toBeLessThan(60);
    expect(asked.slice(0, 3)).toEqual([null, idOf(99), idOf(199)]);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked).not.toContain('skip');
  });

  test('drops pages that are out of view, and reads them again', async () => {
    const firstPages = (): number => asked.filter((after) => after === null).length;
    const upAndDown = async (): Promise<number> => {
      await scrollTo(ROW * 2_000);
      await link(idOf(2_000)).waitFor();
      await scrollTo(0);
      await link('a model').waitFor();
      return firstPages();
    };
    await expect.poll(upAndDown).toBeGreaterThan(1);
  });

  test('keeps its position after a user was opened and left', async () => {
    await scrollTo(ROW * 3_000);
    await link(idOf(3_002)).click();
    await page.getByRole('heading', { name: idOf(3_002) }).waitFor();
    await page.goBack();
    await link(idOf(3_002)).waitFor();
    await expect.poll(topNow).toBe(ROW * 3_000);
    // A new visit begins at the top, also if the screen between was never shown because it was still loading.
    const { held } = await holdNext(page, { method: 'GET', path: /\/assets\/overview-/ });
    await page.getByRole('link', { name: 'Overview' }).click();
    const overview = await held;
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await link('a model').waitFor();
    await expect.poll(topNow).toBe(0);
    await release(page, overview);
  });

  test('reverses the order and opens a user at its end', async () => {
    await page.getByRole('button', { name: 'ID' }).click();
    await link(idOf(USERS)).waitFor();
    await expect.poll(() => page.url()).toContain('order=desc');
    await scrollTo(ROW * 90);
    await link(idOf(USERS - 110)).waitFor();
    expect(await violations(page)).toEqual([]);
    await keep(page, 'desk-many-users');
    await scrollTo(0);
    await link(idOf(USERS)).click();
    await page.getByRole('heading', { name: idOf(USERS) }).waitFor();
  });

  test('estimates from a sample how many would hold an achievement', async () => {
    const { status, body } = await laurel.admin.post('/v1/achievements/preview', {
      trigger: 'anniversary',
      anniversaryYears: 1,
    });
    expect([status, body]).toMatchObject([200, { users: USERS + 1, of: USERS + 1, figure: 'estimate', reason: null }]);
    expect(body.examined).toBeLessThanOrEqual(10_000);
  });

  test('searches', async () => {
    await page.goBack();
    await page.getByLabel('Search users').fill('person 15');
    await link(idOf(15)).waitFor();
    await link(idOf(USERS)).waitFor({ state: 'detached' });
    await page.getByLabel('Search users').fill(`person ${USERS - 1}`);
    await page.getByText('1 user', { exact: true }).waitFor();
    await link(idOf(USERS - 1)).waitFor();
    await page.getByLabel('Search users').fill('nobody');
    await page.getByText('No user begins with “nobody”').waitFor();
    expect({ errors: watched.errors, elsewhere: watched.elsewhere }).toEqual({ errors: [], elsewhere: [] });
    const tasks = await page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks);
    console.log(`Long tasks of the page, ms: ${tasks.map((ms) => Math.round(ms)).join(', ') || 'none'}`);
  });

  test('continues other lists beyond their first thousand', async () => {
    const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'a model' }]);
    const [{ id }] = made.body.created;
    await laurel.pool.query(
      `INSERT INTO application_keys (id, prefix, hash, tenant_no, user_id)
       SELECT gen_random_uuid(), 'app_copy' || n, hash, tenant_no, 'user ' || n
         FROM application_keys, generate_series(1, 1250) AS n WHERE id = $1`,
      [id],
    );
    await page.goto(`${laurel.adminUrl}/console/keys`);
    const keys = page.getByRole('region', { name: 'All: application key' });
    const known = async (): Promise<string | null> => {
      await keys.evaluate((element) => element.scrollTo(0, 1e9));
      return keys.getByRole('table').getAttribute('aria-rowcount');
    };
    await expect.poll(known, { interval: 20 }).toBe('1251');
    await expect.poll(() => keys.locator('tbody tr').count()).toBeLessThan(60);
  });
});
