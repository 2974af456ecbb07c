import { beforeAll, describe, expect, test } from 'vitest';
import { noteRebuild } from '../../src/postgres/shards.ts';
import { startLaurel } from '../laurel.ts';
import { hasBrowser, startBrowser } from '../stack/chromium.ts';
import { STUDY_APP } from '../study-app.ts';
import { keep, signedInPage, tooWide, violations, WIDTHS } from './browser.ts';
import { opened } from '../stack/opened.ts';

describe.skipIf(!hasBrowser)('verifications and rebuilds on the system screen', () => {
  const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
  const browser = opened(() => startBrowser());
  beforeAll(async () => {
    const event = { user: { id: 'ada', attributes: { plan: 'pro' } }, value: 3 };
    const { status } = await laurel.app.post('/v1/metrics/flips/event', event);
    if (status !== 201) throw new Error(`The event was answered ${status}.`);
  });

  test.each(['desk', 'phone'] as const)('says that nothing differs, and lists what does: %s', async (size) => {
    const { page, errors, at } = await signedInPage(browser, laurel, { size: WIDTHS[size] });
    await at('/system');
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Verification', exact: true }) });
    await panel.getByRole('button', { name: /^Verify/ }).click();
    await panel.getByText('nothing differs').waitFor();
    await laurel.redis.zadd('{s0}:0:b:999:20000:', 5, 'ada');
    await panel.getByRole('button', { name: 'Verify again' }).click();
    await panel.getByText('1 difference', { exact: true }).waitFor();
    await panel.getByRole('link', { name: 'ada' }).waitFor();
    await panel.getByText('npx laurel rebuild --shard 0').waitFor();
    await panel.scrollIntoViewIfNeeded();
    await keep(page, `${size}-verification`);
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await laurel.redis.del('{s0}:0:b:999:20000:');
    await panel.getByRole('button', { name: 'Verify again' }).click();
    await panel.getByText('nothing differs').waitFor();
    expect(errors).toEqual([]);
  });

  test('a read-only session sees the result and a rebuild in progress, and has no buttons', async () => {
    await noteRebuild(laurel.pool, { epoch: 7, shards: [3], step: 'users', done: 40, total: 100 });
    const { key } = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reads', access: 'read' }])).body
      .created[0];
    const { page, at } = await signedInPage(browser, laurel, { size: WIDTHS.phone, key });
    await at('/system');
    await page.getByText('nothing differs').waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^Verify/ }).count()).toBe(0);
    await page.getByText('Shard 3', { exact: true }).waitFor();
    await page.getByText('40 of 100').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
