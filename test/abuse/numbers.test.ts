import { beforeAll, expect, test } from 'vitest';
import type { SeenResponse } from '../http/client.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

let mallory: string;
/** What a user can do with numbers, using the key in the browser. */
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  mallory = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'mallory' }])).body.created[0].key;
});

const MOST = 1e12;
const flips = (id: string, value: number, request: { key?: string } = {}): Promise<SeenResponse> =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id }, value }, request);

/** What Postgres holds of a user: the number of events and the last total. */
const stored = async (userId: string): Promise<{ events: number; total: string | null }> => {
  const { rows } = await laurel.pool.query<{ events: number; total: string | null }>(
    `SELECT count(*)::int AS events, (array_agg(total ORDER BY id DESC))[1]::text AS total FROM events WHERE user_id = $1`,
    [userId],
  );
  return rows[0]!;
};

test("9,100 events of 1e12: the total stops at its bound, and other users' events are answered and stored meanwhile", async () => {
  let taken = 0;
  for (let sent = 0; sent < 9_100; sent += 100) {
    const answers = await Promise.all([
      ...Array.from({ length: 100 }, () => flips('mallory', MOST, { key: mallory })),
      flips('ada', 1),
    ]);
    expect(answers.pop()!.status).toBe(201);
    for (const { status, body } of answers) {
      if (status === 201) taken += 1;
      else expect([status, body.error]).toEqual([422, expect.stringContaining("Metric 'flips'")]);
    }
  }
  expect(taken).toBe(999);
  await expect.poll(() => stored('ada')).toEqual({ events: 91, total: '91' });
  await expect.poll(() => stored('mallory')).toEqual({ events: 999, total: '999000000000000' });
  expect((await flips('mallory', -5, { key: mallory })).body.total).toBe(999 * MOST - 5);
});

test('a batch refuses only the events that exceed the bound', async () => {
  const event = (id: string, value: number) => ({ key: 'minutes', user: { id }, value });
  const events = Array.from({ length: 1000 }, () => event('eve', MOST));
  const last = [event('eve', MOST), event('bob', 3), event('eve', -2), event('eve', 1)];
  const results: { status: number; total?: number; error?: string }[] = [];
  for (const batch of [events, last]) {
    const { status, body } = await laurel.admin.post('/v1/metrics/events?wait=true', batch);
    expect(status).toBe(200);
    results.push(...body.results);
  }
  expect(results.slice(0, 999).every(({ status }) => status === 201)).toBe(true);
  const refused = { status: 422, error: expect.stringContaining("Metric 'minutes'") as string };
  const full = 999 * MOST;
  expect(results.slice(999)).toMatchObject([
    refused,
    refused,
    { status: 201, total: 3 },
    { status: 201, total: full - 2 },
    { status: 201, total: full - 1 },
  ]);
  await expect.poll(() => stored('eve')).toEqual({ events: 1001, total: String(full - 1) });
  await expect.poll(() => stored('bob')).toEqual({ events: 1, total: '3' });
});

test('the descriptions of the operations state the bound', async () => {
  for (const [client, path] of [
    [laurel.app, '/v1/metrics/{key}/event'],
    [laurel.admin, '/v1/metrics/events'],
  ] as const) {
    const { body } = await client.get('/v1/openapi');
    expect(body.paths[path].post.description).toContain('1000000000000000');
  }
});
