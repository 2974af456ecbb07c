import { describe, expect, test } from 'vitest';
import { OwnCluster } from '../stack/own-cluster.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { keep, signedInPage, tooWide, violations, violationsInBothSchemes, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('the system screen, with a cluster', () => {
  const cluster = opened(() => OwnCluster.start());
  const laurel = opened(() => startLaurel({ redisUrl: cluster.url, configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());

  const system = async () => (await laurel.admin.get('/v1/system')).body;

  const open = async (how: Parameters<typeof signedInPage>[2]) => {
    const watched = await signedInPage(browser, laurel, how);
    await watched.page.goto(`${laurel.adminUrl}/console/system`);
    return {
      ...watched,
      panel: watched.page.locator('section', { has: watched.page.getByRole('heading', { name: 'Shards' }) }),
    };
  };

  test('spreads the tenant over more shards, and back', async () => {
    const { page, panel, errors } = await open({ size: WIDTHS.phone });
    for (const [before, after] of [
      ['1 shard', '4'],
      ['4 shards', '1'],
    ] as const) {
      await panel.getByText(`This tenant uses ${before}.`).waitFor();
      await panel.getByLabel('Number of shards').selectOption(after);
      await panel.getByRole('button', { name: 'Spread' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: 'Spread the tenant' }).click();
    }
    await panel.getByText('This tenant uses 1 shard.').waitFor();
    await panel.scrollIntoViewIfNeeded();
    await keep(page, 'phone-system-spread');
    expect(await violations(page)).toEqual([]);
    expect(errors.filter((error) => !error.includes('503'))).toEqual([]);
  });

  test('shows the number of shards and tenants of each master, and which master does not answer', async () => {
    const state = expect.objectContaining({ memoryBytes: expect.any(Number) });
    const read = async () =>
      ((await system()) as { redisServers: { name: string; shards: number; tenants: number }[] }).redisServers;
    const redisServers = await read();
    // Some shards open after the start.
    await expect
      .poll(read)
      .toEqual(redisServers.map(({ name, shards, tenants }) => ({ name, state, shards, shutShards: 0, tenants })));
    expect(redisServers.map(({ tenants }) => tenants).toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
    expect(redisServers.reduce((sum, { shards }) => sum + shards, 0)).toBe(256);
    const gone = redisServers.find(({ tenants }) => tenants === 0)!;
    await cluster.nodes.find(({ port }) => gone.name === `127.0.0.1:${port}`)!.kill();
    await expect
      .poll(async () => ((await system()) as { redisServers: unknown[] }).redisServers)
      .toContainEqual({ ...gone, state: null, shutShards: gone.shards });
    for (const [size, dark] of [
      ['desk', true],
      ['phone', false],
    ] as const) {
      const { page, context, panel, errors } = await open({ size: WIDTHS[size], dark });
      await panel.getByText('no response').waitFor();
      await panel.getByText(`${gone.shards} closed`).waitFor();
      await panel.scrollIntoViewIfNeeded();
      await keep(page, `${size}${dark ? '-dark' : ''}-system-shards`);
      expect(await violationsInBothSchemes(page, dark)).toEqual([]);
      expect(await tooWide(page)).toEqual([]);
      expect(errors).toEqual([]);
      await context.close();
    }
  });
});
