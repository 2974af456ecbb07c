import { expect, onTestFinished, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const laurel = opened(() => startLaurel({ testClock: true, workers: true, configuration: STUDY_APP }));

const put = (now: unknown) => laurel.admin.put('/v1/clock', { now });
const shown = async (): Promise<string> => (await laurel.admin.get('/v1/clock')).body.now;

test('real time until it is set; then it stands still for everyone until it is released', async () => {
  const beforeMs = Date.now();
  const shownMs = Date.parse(await shown());
  expect(shownMs).toBeGreaterThanOrEqual(beforeMs);
  expect(shownMs).toBeLessThanOrEqual(Date.now());
  const second = await laurel.another();
  expect(await put('2030-03-01T10:00:00Z')).toMatchObject({ status: 200, body: { now: '2030-03-01T10:00:00.000Z' } });
  expect(await shown()).toBe('2030-03-01T10:00:00.000Z');
  expect((await second.admin.get('/v1/clock')).body.now).toBe('2030-03-01T10:00:00.000Z');

  for (const { app } of [laurel, second]) {
    await app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
  }
  const { body: user } = await second.app.get('/v1/users/ada');
  expect(user.created).toBe('2030-03-01T10:00:00.000Z');
  expect((await second.admin.put('/v1/clock', { now: '2030-03-02T10:00:00+02:00' })).body.now).toBe(
    '2030-03-02T08:00:00.000Z',
  );
  expect(await shown()).toBe('2030-03-02T08:00:00.000Z');
  expect((await put('2030-03-02T08:00:00.000Z')).status).toBe(200);

  // A later start, or a restart, finds the set time.
  const third = await laurel.another();
  expect((await third.admin.get('/v1/clock')).body.now).toBe('2030-03-02T08:00:00.000Z');

  const released = await laurel.admin.delete('/v1/clock');
  expect(released.status).toBe(200);
  for (const { admin } of [laurel, second, third]) {
    expect(Date.parse((await admin.get('/v1/clock')).body.now)).toBeLessThan(Date.parse('2030-01-01T00:00:00Z'));
  }
});

test('everything that reads the time follows it: tenants and admin keys', async () => {
  await put('2030-05-05T05:05:05Z');
  const at = '2030-05-05T05:05:05.000Z';
  const { body: tenants } = await laurel.admin.post('/v1/tenants', [{ customerId: 'timed', name: 'Timed' }]);
  expect(tenants.created[0]).toMatchObject({ created: at, updated: at });
  await put('2030-05-06T00:00:00Z');
  const { body: renamed } = await laurel.admin.patch('/v1/tenants', [{ id: tenants.created[0].id, name: 'Renamed' }]);
  expect(renamed.updated[0]).toMatchObject({ created: at, updated: '2030-05-06T00:00:00.000Z' });
  const { body: keys } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'timed' }]);
  expect(keys.created[0].created).toBe('2030-05-06T00:00:00.000Z');
  await laurel.admin.get('/v1/metrics', { key: keys.created[0].key });
  const lastUsed = async (): Promise<string | null> =>
    (await laurel.admin.get('/v1/admin-api-keys')).body.find(({ id }: { id: string }) => id === keys.created[0].id)
      .lastUsed;
  await expect.poll(lastUsed, { interval: 20 }).toBe('2030-05-06T00:00:00.000Z');
  await laurel.admin.delete('/v1/clock');
});

test('it does not go back', async () => {
  expect(await put('2020-01-01T00:00:00Z')).toMatchObject({
    status: 422,
    body: { error: expect.stringMatching(/^now/) },
  });
  expect((await put('2031-01-01T00:00:00Z')).status).toBe(200);
  expect((await put('2030-12-31T23:59:59.999Z')).status).toBe(422);
  expect(await shown()).toBe('2031-01-01T00:00:00.000Z');
  await laurel.admin.delete('/v1/clock');
});

test('a time too far ahead for the work due until then is 422, and the clock does not move', async () => {
  const { status, body } = await put('9999-12-31T23:59:59Z');
  expect([status, body.error]).toEqual([422, 'now must be before the year 3000']);
  expect(Date.parse(await shown())).toBeLessThan(Date.UTC(3000, 0, 1));
});

test.each([['2031-02-30T00:00:00Z'], ['tomorrow'], ['2031-01-01'], [''], [5], [null], [undefined]])(
  '%j is not a time: names the field',
  async (now) => {
    const { status, body } = await put(now);
    expect([400, 422]).toContain(status);
    expect(body.error).toMatch(/^now/);
  },
);

test('concurrent calls have one order, and the last time wins', async () => {
  const days = Array.from({ length: 20 }, (_, n) => `2032-01-${String(n + 1).padStart(2, '0')}T00:00:00.000Z`);
  const answers = await Promise.all(days.map((day) => put(day)));
  expect(answers.every(({ status }) => status === 200 || status === 422)).toBe(true);
  expect(answers.at(-1)!.status).toBe(200);
  expect(await shown()).toBe(days.at(-1));
  await laurel.admin.delete('/v1/clock');
});

test('needs an admin key, and no Tenant-ID', async () => {
  expect((await laurel.admin.get('/v1/clock', { key: null })).status).toBe(401);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  expect((await laurel.admin.get('/v1/clock')).status).toBe(200);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
});

test('events keep their order while it stands still', async () => {
  await put('2033-01-01T00:00:00Z');
  for (let n = 0; n < 12; n += 1) {
    expect((await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'eve' }, value: 5 })).status).toBe(201);
  }
  await put('2033-01-01T00:00:01Z');
  const { body } = await laurel.app.get('/v1/users/eve/points/xp?awards=100');
  const totals = body.awards.map(({ total }: { total: number }) => total);
  expect(totals.length).toBeGreaterThanOrEqual(12);
  expect(totals).toEqual(totals.toSorted((a: number, b: number) => b - a));
  await laurel.admin.delete('/v1/clock');
});

test('is documented', async () => {
  expect(Object.keys((await laurel.admin.get('/v1/openapi')).body.paths['/v1/clock'])).toEqual([
    'get',
    'put',
    'delete',
  ]);
});

test('does not exist without TEST_CLOCK; sets nothing without a worker', async () => {
  const real = await startLaurel();
  onTestFinished(() => real.close());
  expect((await real.admin.send('GET', '/v1/clock')).status).toBe(404);
  expect((await real.admin.send('PUT', '/v1/clock', { body: { now: '2030-01-01T00:00:00Z' } })).status).toBe(404);
  expect((await real.admin.get('/v1/openapi')).body.paths['/v1/clock']).toBeUndefined();

  const alone = await startLaurel({ testClock: true, clockPatienceMs: 1_000 });
  onTestFinished(() => alone.close());
  const refused = await alone.admin.put('/v1/clock', { now: '2030-01-01T00:00:00Z' });
  expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining('worker') } });
  expect(Date.parse((await alone.admin.get('/v1/clock')).body.now)).toBeLessThan(Date.parse('2030-01-01T00:00:00Z'));
});
