import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, violations, watchedPage, WIDTHS } from './browser.ts';

describe.skipIf(!hasBrowser)('the system screen, with several Redis', () => {
  let east: OwnRedis;
  let west: OwnRedis;
  let laurel: TestLaurel;
  let browser: Browser;
  let cookie: string;

  beforeAll(async () => {
    [east, west] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
    laurel = await startLaurel({
      redisUrl: `east=${east.url},west=${west.url}`,
      configuration: STUDY_APP,
      workers: true,
    });
    browser = await startBrowser();
    const { headers } = await laurel.admin.post('/v1/session', { key: laurel.adminKey }, { key: null });
    cookie = headers.get('set-cookie')!.split(';')[0]!.split('=')[1]!;
  });
  afterAll(async () => {
    await browser?.close();
    await laurel?.close();
    await Promise.all([east?.close(), west?.close()]);
  });

  const system = async () => (await laurel.admin.get('/v1/system')).body;

  const open = async (how: Parameters<typeof watchedPage>[2]) => {
    const watched = await watchedPage(browser, laurel.adminUrl, how);
    await watched.context.addCookies([{ name: 'laurel_session', value: cookie, url: laurel.adminUrl }]);
    await watched.page.goto(`${laurel.adminUrl}/console/system`);
    return {
      ...watched,
      panel: watched.page.locator('section', { has: watched.page.getByRole('heading', { name: 'Shards' }) }),
    };
  };

  test('says how many shards and tenants each holds, and that none is moved', async () => {
    const state = expect.objectContaining({ server: 'redis', memoryBytes: expect.any(Number) });
    expect(await system()).toMatchObject({
      redisServers: [
        { name: 'east', named: true, state, shards: 128, shutShards: 0, tenants: 1 },
        { name: 'west', named: true, state, shards: 128, shutShards: 0, tenants: 0 },
      ],
      shardMoves: [],
    });
    const { context, panel, errors } = await open({});
    await panel.getByText(/128 shards · 1 tenant ·/).waitFor();
    await panel.getByText(/128 shards · 0 tenants ·/).waitFor();
    await panel.getByText('No shard is being moved.').waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  test('says which shards are on their way, which Redis does not answer, and which REDIS_URL does not name', async () => {
    await laurel.pool.query("UPDATE shards SET moving_to = 'west' WHERE shard = 4");
    await laurel.pool.query("UPDATE shards SET left_on = 'east', chosen = true WHERE shard = 3");
    await laurel.pool.query("UPDATE shards SET endpoint = 'north', chosen = true WHERE shard IN (7, 9)");
    await west.kill();
    await expect.poll(system).toMatchObject({
      redisServers: [
        { name: 'east', named: true, shards: 128, shutShards: 0 },
        { name: 'west', named: true, state: null, shards: 126, shutShards: 126 },
        { name: 'north', named: false, state: null, shards: 2, shutShards: 2 },
      ],
      shardMoves: [
        { shard: 3, from: 'east', to: 'west', stage: 'clearing' },
        { shard: 4, from: 'east', to: 'west', stage: 'moving' },
      ],
    });
    for (const [size, dark] of [
      ['desk', false],
      ['desk', true],
      ['phone', false],
    ] as const) {
      const { page, context, panel, errors } = await open({ size: WIDTHS[size], dark });
      await panel.getByText('no answer').waitFor();
      await panel.getByText('126 shut').waitFor();
      await panel.getByText('not in REDIS_URL').waitFor();
      await panel.getByText('being moved', { exact: true }).waitFor();
      await panel.getByText('moved; keys are left on east').waitFor();
      await panel.scrollIntoViewIfNeeded();
      await keep(page, `${size}${dark ? '-dark' : ''}-system-shards`);
      expect(await violations(page)).toEqual([]);
      const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect(beyond).toBe(0);
      expect(errors).toEqual([]);
      await context.close();
    }
  });
});
