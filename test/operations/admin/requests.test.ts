import { expect, test } from 'vitest';
import { recentRequestsKey } from '../../../src/redis/keys.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

interface Request {
  method: string;
  path: string;
  status: number;
  key: string;
  surface: string;
  durationMs: number;
  at: string;
}
const listed = async (path: string): Promise<Request[]> =>
  ((await laurel.admin.get('/v1/requests?limit=1000')).body as Request[]).filter((one) => one.path === path);

test('a request is listed with its status, duration and key, without its query and its body', async () => {
  await laurel.app.post('/v1/metrics/flips/event?secret=1', {
    user: { id: 'ada', email: 'ada@example.org' },
    value: 3,
  });
  await laurel.app.get('/v1/users/nobody%20at%20all');
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 'many' });
  const event = '/v1/metrics/flips/event';
  await expect.poll(async () => (await listed(event)).length).toBe(2);
  const [newest, older] = await listed(event);
  expect(newest).toMatchObject({
    method: 'POST',
    status: 400,
    surface: 'application',
    code: 'invalid',
    error: 'value must be a number',
  });
  expect(older).toEqual({
    method: 'POST',
    path: event,
    status: 201,
    surface: 'application',
    key: laurel.adminKey.split('.')[0],
    durationMs: expect.any(Number),
    at: expect.stringMatching(/^\d{4}-/),
  });
  expect((await listed('/v1/users/nobody%20at%20all')).map(({ status }) => status)).toEqual([404]);
  const stored = JSON.stringify(await laurel.redis.xrange(recentRequestsKey(0), '-', '+'));
  expect(stored).not.toMatch(/secret|example\.org/);
  expect(await laurel.redis.pttl(recentRequestsKey(0))).toBeGreaterThan(0);
});

test('a request without a valid key is not listed', async () => {
  await laurel.app.get('/v1/achievements', { key: 'adm_nobody.AAAA' });
  await laurel.app.get('/v1/users/marker');
  await expect.poll(async () => (await listed('/v1/users/marker')).length).toBe(1);
  expect(await listed('/v1/achievements')).toEqual([]);
});

test('a path is cut, and of many requests some are listed', async () => {
  const long = 'x'.repeat(255);
  for (let no = 0; no < 120; no += 1) await laurel.app.get(`/v1/users/${long}/metrics/${long}`);
  const shown = async () =>
    ((await laurel.admin.get('/v1/requests?limit=1000')).body as Request[]).map(({ path }) => path);
  await expect.poll(async () => (await shown()).filter((path) => path.includes(long)).length).toBeGreaterThan(0);
  expect(Math.max(...(await shown()).map((path) => path.length))).toBe(300);
});

test('with multi-tenancy a tenant has its own requests', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [
    { customerId: 'north', name: 'North' },
    { customerId: 'south', name: 'South' },
  ]);
  const of = (tenantId: string) => ({ tenantId });
  const paths = async (tenantId: string) =>
    ((await laurel.admin.get('/v1/requests', of(tenantId))).body as Request[]).map(({ path }) => path);
  await expect
    .poll(async () => {
      // Sent again, because a process passes over requests while it has noted many in a second.
      await laurel.app.get('/v1/users/walker', of('north'));
      return paths('north');
    })
    .toContain('/v1/users/walker');
  expect(await paths('south')).not.toContain('/v1/users/walker');
});
