import { beforeAll, expect, test } from 'vitest';
import type { TestClient } from '../../../http/client.ts';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

const KEYS = 9;
let frontends: TestClient[];

const laurel = opened(() => startLaurel({ configuration: { metrics: [{ key: 'm', name: 'M' }] } }));
beforeAll(async () => {
  frontends = [laurel.app, (await laurel.another()).app, (await laurel.another()).app];
});

test(`all of 3 frontends refuse ${KEYS} deleted keys without waiting for the next poll`, async () => {
  const items = Array.from({ length: KEYS }, () => ({ userId: 'ada' }));
  const { created } = (await laurel.admin.post('/v1/application-api-keys', items)).body;
  const refusedMs: number[] = [];
  for (const { id, key } of created) {
    const status = async (app: TestClient): Promise<number> =>
      (await app.post('/v1/metrics/m/event', { user: { id: 'ada' }, value: 1 }, { key })).status;
    for (const app of frontends) expect(await status(app)).toBe(201);
    expect((await laurel.admin.delete(`/v1/application-api-keys?ids=${id}`)).status).toBe(200);
    const deletedMs = performance.now();
    await Promise.all(frontends.map((app) => expect.poll(() => status(app), { interval: 10 }).toBe(401)));
    refusedMs.push(performance.now() - deletedMs);
  }
  expect(refusedMs).toHaveLength(KEYS);
  // Without notifications, the slowest of 3 frontends would take 3.75 s on average.
  expect(refusedMs.toSorted((a, b) => a - b)[(KEYS - 1) / 2]).toBeLessThan(2_500);
});
