import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/audit-log';
const NOW = Date.UTC(2026, 10, 18, 12);
const clock = new FixedClock(NOW);
let who: string;
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock }));
beforeAll(async () => {
  who = laurel.adminKey.split('.')[0]!;
});

const log = async (query = 'limit=100', more: object = {}) => (await laurel.admin.get(`${PATH}?${query}`, more)).body;

test('creating, changing and deleting a resource: actor, time, before and after', async () => {
  const [metric] = (await laurel.admin.post('/v1/metrics', [{ key: 'laps', name: 'Laps', unitType: 'number' }])).body
    .created;
  clock.set(NOW + 1000);
  await laurel.admin.patch('/v1/metrics', [{ id: metric.id, name: 'Laps run' }]);
  await laurel.admin.patch('/v1/metrics', [{ id: metric.id, name: 'Laps run' }]);
  clock.set(NOW + 2000);
  await laurel.admin.delete(`/v1/metrics?ids=${metric.id}`);
  const entries = await log(`resourceId=${metric.id}`);
  const same = {
    who,
    kind: 'metric',
    resourceId: metric.id,
    name: 'laps',
    userId: null,
    version: expect.any(Number),
    address: '127.0.0.1',
    requestId: expect.stringMatching(/^[\w-]{1,64}$/),
  };
  expect(entries).toEqual([
    { ...same, action: 'delete', at: new Date(NOW + 2000).toISOString() },
    {
      ...same,
      action: 'update',
      at: new Date(NOW + 1000).toISOString(),
      before: { name: 'Laps' },
      after: { name: 'Laps run' },
    },
    {
      ...same,
      action: 'create',
      at: new Date(NOW).toISOString(),
      after: { key: 'laps', name: 'Laps', unitType: 'number', units: '' },
    },
  ]);
});

test('keys, tenants, the organisation', async () => {
  const [made] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'CI' }])).body.created;
  await laurel.admin.patch('/v1/admin-api-keys', [{ id: made.id, status: 'inactive' }]);
  await laurel.admin.post(`/v1/admin-api-keys/${made.id}/rotate`);
  await laurel.admin.delete(`/v1/admin-api-keys?ids=${made.id}`);
  expect((await log('kind=admin_key')).map((one: { action: string }) => one.action)).toEqual([
    'delete',
    'rotate',
    'update',
    'create',
  ]);
  expect((await log('kind=admin_key&limit=1&skip=2'))[0]).toMatchObject({
    who,
    name: `CI (${made.prefix})`,
    before: { status: 'active' },
    after: { status: 'inactive' },
  });

  const [application] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created;
  await laurel.admin.delete(`/v1/application-api-keys?ids=${application.id}`);
  expect(await log('kind=application_key')).toMatchObject([
    { action: 'delete', name: application.prefix },
    { action: 'create', name: application.prefix },
  ]);

  const [tenant] = (await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }])).body.created;
  await laurel.admin.patch('/v1/tenants', [{ id: tenant.id, name: 'ACME' }]);
  await laurel.admin.delete(`/v1/tenants?ids=${tenant.id}`);
  expect((await log(`resourceId=${tenant.id}`)).map((one: { action: string }) => one.action)).toEqual([
    'delete',
    'update',
    'create',
  ]);
  await laurel.admin.patch('/v1/organisation', { name: 'Study' });
  expect((await log('kind=organisation'))[0]).toMatchObject({ before: { name: 'Laurel' }, after: { name: 'Study' } });
  for (const secret of [made.key, application.key])
    expect(JSON.stringify(await log())).not.toContain(secret.split('.')[1]);
});

test('paging, and filtering by actor', async () => {
  const all = await log();
  expect(await log('limit=2&skip=1')).toEqual(all.slice(1, 3));
  expect(await log('who=nobody')).toEqual([]);
  expect((await log(`who=${who}&limit=100`)).length).toBe(all.length);
  for (const query of ['limit=0', 'limit=101', 'skip=-1', 'resourceId=x'])
    expect((await laurel.admin.get(`${PATH}?${query}`)).status).toBe(422);
});

test('a tenant’s log has its own entries, not the organisation’s', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'blue', name: 'Blue' }]);
  await laurel.admin.post('/v1/metrics', [{ key: 'own', name: 'Own' }], { tenantId: 'blue' });
  const entries: { kind: string; name: string }[] = await log('limit=100', { tenantId: 'blue' });
  expect(entries.filter(({ kind }) => kind === 'metric').map(({ name }) => name)).toEqual(['own']);
  expect(entries.some(({ kind }) => kind === 'tenant')).toBe(true);
  expect((await laurel.admin.get(PATH)).status).toBe(422);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  expect((await log()).some(({ name }: { name: string }) => name === 'own')).toBe(false);
});

type Entry = {
  action: string;
  kind: string;
  userId: string | null;
  name: string | null;
  after?: object;
  before?: object;
};

/** The log entries about a user, oldest first, once there are this many. */
async function about(userId: string, entries: number): Promise<Entry[]> {
  await expect.poll(async () => (await log(`limit=100&userId=${userId}`)).length).toBe(entries);
  return (await log(`limit=100&userId=${userId}`)).toReversed();
}

test('changes to a user: origin, request, and never the values of fields', async () => {
  await laurel.admin.patch('/v1/streaks/settings', { freezes: { enabled: true, max: 5 } });
  const sent = (id: string) => ({ headers: { 'X-Request-Id': id } });
  await laurel.app.put('/v1/users/grace', { name: 'Grace Hopper', email: 'grace@example.com' }, sent('put-1'));
  await laurel.app.patch('/v1/users/grace', { tz: 'Europe/Berlin' });
  await laurel.app.post('/v1/users', { id: 'grace', name: 'G' });
  await laurel.app.patch('/v1/users/grace/preferences', { notifications: { recap: ['email'] } });
  // Neither events nor users' own changes are administration.
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'grace', name: 'Grace' }, value: 1 });
  const [{ key }] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'grace' }])).body.created;
  await laurel.app.patch('/v1/users/grace', { name: 'Amazing Grace' }, { key });
  await laurel.admin.post('/v1/streaks/freezes', { freezes: [{ userId: 'grace' }] }, sent('freeze-1'));
  const pause = { userId: 'grace', start: '2026-11-20', end: '2026-11-21' };
  const [made] = (await laurel.admin.post('/v1/streaks/pauses', { pauses: [pause] })).body.created;
  await expect.poll(async () => (await about('grace', 6)).length).toBe(6);
  const entries = await about('grace', 6);
  const update = { action: 'update', kind: 'user', who, address: '127.0.0.1' };
  expect(entries).toMatchObject([
    { ...update, requestId: 'put-1', after: { fields: ['name', 'email'] } },
    { ...update, after: { fields: ['tz'] } },
    { ...update, after: { fields: ['name'] } },
    { ...update, after: { fields: ['notifications'] } },
    { action: 'create', kind: 'streak_freeze', requestId: 'freeze-1' },
    { action: 'create', kind: 'streak_pause', resourceId: made.id, after: { start: '2026-11-20', end: '2026-11-21' } },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/Hopper|example\.com|Berlin|Amazing/);
});

test('a deleted pause, a restored streak, an export, and a deletion, whose ID stays', async () => {
  const other = await startLaurel({ configuration: STUDY_APP, testClock: true, workers: true });
  try {
    const read = async (query: string): Promise<Entry[]> =>
      (await other.admin.get(`${PATH}?limit=100&${query}`)).body.toReversed();
    const kinds = async (query: string): Promise<string[]> =>
      (await read(query)).map(({ action, kind }) => `${action} ${kind}`);
    const DAY_MS = 86_400_000;
    const noonMs = (Math.floor(Date.now() / DAY_MS) + 2) * DAY_MS + DAY_MS / 2;
    const noonOf = (days: number): string => new Date(noonMs + days * DAY_MS).toISOString();
    await other.admin.put('/v1/clock', { now: noonOf(0) });
    await other.app.post('/v1/metrics/flips/event', { user: { id: 'ada', tz: 'UTC' }, value: 1 });
    const pause = { userId: 'ada', start: noonOf(20).slice(0, 10), end: noonOf(21).slice(0, 10) };
    const [made] = (await other.admin.post('/v1/streaks/pauses', { pauses: [pause] })).body.created;
    expect((await other.admin.delete(`/v1/streaks/pauses?ids=${made.id}`)).body.deleted).toHaveLength(1);
    await other.admin.put('/v1/clock', { now: noonOf(4) });
    expect((await other.admin.post('/v1/streaks/restore', { users: [{ id: 'ada' }] })).body.restoredUsers).toEqual([
      'ada',
    ]);
    const { body } = await other.admin.get('/v1/users/ada/export');
    // Entries about the user name the user, but not the actor.
    expect(body.auditLog.at(-1)).toMatchObject({ action: 'export', kind: 'user' });
    expect(JSON.stringify(body.auditLog)).not.toContain(other.adminKey.split('.')[0]);
    await other.admin.delete('/v1/users?ids=ada,nobody');
    const done = ['create streak_pause', 'delete streak_pause', 'restore streak', 'export user', 'delete user'];
    await expect.poll(() => kinds('userId=ada')).toEqual(done);
    expect(await kinds('userId=nobody')).toEqual([]);
    await other.admin.delete('/v1/clock');
    expect(await read('kind=clock')).toMatchObject([
      { before: { now: null }, after: { now: noonOf(0) } },
      { before: { now: noonOf(0) }, after: { now: noonOf(4) } },
      { before: { now: noonOf(4) }, after: { now: null } },
    ]);
    // The persister's deletion of the user's data leaves the log alone.
    await expect.poll(async () => (await other.pool.query('SELECT FROM users')).rowCount).toBe(0);
    expect(await kinds('userId=ada')).toEqual(done);
    // Until it expires: the work that is due by then deletes it.
    await other.admin.put('/v1/clock', { now: noonOf(400) });
    expect(await kinds('userId=ada')).toEqual(done);
    await other.admin.put('/v1/clock', { now: noonOf(401) });
    expect(await kinds('userId=ada')).toEqual(done.slice(2));
    await other.admin.put('/v1/clock', { now: noonOf(405) });
    expect(await kinds('userId=ada')).toEqual([]);
  } finally {
    await other.close();
  }
});

test('a batch of events is one entry', async () => {
  const events = Array.from({ length: 3 }, () => ({ key: 'flips', user: { id: 'batch' }, value: 1 }));
  expect((await laurel.admin.post('/v1/metrics/events', events)).status).toBe(202);
  await expect.poll(async () => (await log('kind=event_batch')).length).toBe(1);
  expect((await log('kind=event_batch'))[0]).toMatchObject({ action: 'create', name: '3', who });
  expect((await laurel.admin.post('/v1/metrics/events', [{ ...events[0], key: 'nowhere' }])).status).toBe(404);
  expect(await log('kind=event_batch')).toHaveLength(1);
});

test('refused keys: one entry per reason, with counts, and no secret', async () => {
  const other = await laurel.another();
  const [reads] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reads', access: 'read' }])).body.created;
  for (let n = 0; n < 15; n += 1) {
    await other.app.get('/v1/users/ada', { key: `guess${n}.secret-of-nobody` });
    await other.app.get('/v1/users/ada', { key: `${who}.secret-of-nobody` });
  }
  await other.app.get('/v1/users/ada', { key: null });
  await other.admin.post('/v1/metrics', [], { key: reads.key });
  await other.close();
  await expect.poll(async () => (await log('kind=key&limit=100')).length).toBe(4);
  const entries: Record<string, { count: number; prefixes: object; addresses: object }> = Object.fromEntries(
    (await log('kind=key&limit=100')).map(({ name, after }: Entry) => [name, after]),
  );
  const addresses = (count: number): object => ({ '127.0.0.1': count });
  expect(entries['unknown']).toMatchObject({ count: 15, addresses: addresses(15) });
  expect(entries['unknown']!.prefixes).toMatchObject({ guess0: 1, guess9: 1, others: 5 });
  expect(entries['wrong_secret']).toEqual({ count: 15, prefixes: { [who]: 15 }, addresses: addresses(15) });
  expect(entries['missing']).toEqual({ count: 1, prefixes: {}, addresses: addresses(1) });
  expect(entries['scope']).toEqual({ count: 1, prefixes: { [reads.prefix]: 1 }, addresses: addresses(1) });
  expect(JSON.stringify(entries)).not.toContain('secret-of-nobody');
});

test('a key of one tenant reads none of the organisation’s entries', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'red', name: 'Red' }]);
  await laurel.admin.post('/v1/metrics', [{ key: 'own', name: 'Own' }], { tenantId: 'red' });
  const [{ key }] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'red', tenantId: 'red' }])).body.created;
  const entries: Entry[] = await log('limit=100', { tenantId: 'red', key });
  expect(entries.map(({ kind, name }) => [kind, name])).toEqual([['metric', 'own']]);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
});

test('changes=true omits who signed in to the console', async () => {
  await laurel.admin.post('/v1/session', { key: laurel.adminKey }, { key: null });
  const kinds = async (query: string): Promise<string[]> =>
    (await log(`limit=100${query}`)).map(({ kind }: { kind: string }) => kind);
  await expect.poll(() => kinds('')).toContain('session');
  expect(await kinds('&changes=true')).not.toContain('session');
  expect(await kinds('&changes=true')).not.toEqual([]);
});
