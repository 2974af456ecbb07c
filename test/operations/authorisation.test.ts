import { beforeAll, describe, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { APPLICATION_REQUESTS } from './requests.ts';
import { opened } from '../stack/opened.ts';

/** Public: the API's descriptions of itself, signing in, and what an address with a signed token admits. */
const OPEN = new Set([
  'openapi_get',
  'messages_feedback',
  'admin_openapi_get',
  'admin_configuration_schema_get',
  'admin_session_create',
  'live_get',
  'live_ws',
  'admin_live_get',
  'admin_live_ws',
]);
/** Change nothing, though they are POSTs. */
const READING = new Set([
  'admin_achievements_preview',
  'admin_configuration_diff',
  'admin_messages_preview',
  'admin_messages_unsubscribe_preview',
  'admin_push_preview',
  'leaderboards_rankings',
  'live_tickets_create',
  'admin_live_tickets_create',
]);
/** About the presented key, of any tenant and rights. */
const OF_KEY = new Set(['admin_session_get', 'admin_session_delete']);
const application = applicationOperations.filter(({ id }) => !OPEN.has(id));

const SPENDABLE: Configuration = {
  ...STUDY_APP,
  pointsSystems: STUDY_APP.pointsSystems!.map((system) => ({ ...system, spendableByUsers: true })),
  leaderboards: [
    ...STUDY_APP.leaderboards!,
    {
      key: 'league',
      name: 'League',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      start: '2026-01-01',
      runUnit: 'day',
      runInterval: 7,
      status: 'active',
      leagues: { tiers: [{ name: 'Bronze' }, { name: 'Silver' }], cohortUsers: 30, promoted: 5, demoted: 5 },
    },
  ],
  rewards: [{ key: 'hat', name: 'Hat', pointsSystemKey: 'xp', price: 1, status: 'active' }],
};

/** Whether an operation that a key may call answered so. */
const isAllowed = (id: string, status: number): boolean =>
  status < 300 || (status === 404 && APPLICATION_REQUESTS[id]!.isForServers === true);
/** The same for an application key. */
const isAllowedToUser = (id: string, status: number): boolean =>
  APPLICATION_REQUESTS[id]!.isForServers ? status === 403 : status < 300;

let own: string;
let deleted: string;
let ofTenantA: string;
let expired: string;

const makeKey = async (
  userId: string,
  tenantId?: string,
  more: { scope?: string; expiresAt?: string } = {},
): Promise<{ key: string; id: string }> => {
  const made = await laurel.admin.post(
    '/v1/application-api-keys',
    [{ userId, ...more }],
    tenantId === undefined ? {} : { tenantId },
  );
  return made.body.created[0];
};

const makeAdminKey = async (wanted: { access?: string; tenantId?: string }): Promise<string> =>
  (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'walks', ...wanted }])).body.created[0].key;

const laurel = opened(() => startLaurel({ configuration: SPENDABLE, workers: true, testClock: true }));
beforeAll(async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'own' }, value: 1 });
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'other' }, value: 1 });
  own = (await makeKey('own')).key;
  const gone = await makeKey('own');
  deleted = gone.key;
  await laurel.admin.delete(`/v1/application-api-keys?ids=${gone.id}`);
  const over = await makeKey('own', undefined, { expiresAt: '2999-01-01T00:00:00Z' });
  expired = over.key;
  await laurel.pool.query(`UPDATE application_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, [
    over.id,
  ]);
});

test('every operation of the Application API has a row, and every row an operation', () => {
  expect(application.map(({ id }) => id).toSorted()).toEqual(Object.keys(APPLICATION_REQUESTS).toSorted());
});

const call = (id: string, { user, ...sent }: { user: string; key?: string | null; tenantId?: string }) => {
  const { method, idempotent } = application.find((operation) => operation.id === id)!;
  const { path, body } = APPLICATION_REQUESTS[id]!;
  const headers = idempotent ? { 'Idempotency-Key': `${id} of ${user}` } : {};
  return laurel.app.send(method.toUpperCase(), path(user), { ...sent, headers, ...(body && { body: body(user) }) });
};

describe.each(Object.keys(APPLICATION_REQUESTS))('%s', (id) => {
  test.each([
    ['no key', () => null],
    ['a malformed key', () => 'nonsense'],
    ['an unknown key', () => 'app_nobody.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['a right prefix with a wrong body', () => `${own.split('.')[0]}.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`],
    ['a deleted key', () => deleted],
    ['an expired key', () => expired],
  ])('%s: 401', async (_, key) => {
    expect((await call(id, { user: 'own', key: key() })).status).toBe(401);
  });

  test('an admin key and the user’s own key may', async () => {
    for (const [key, isRight] of [
      [laurel.adminKey, isAllowed],
      [own, isAllowedToUser],
    ] as const) {
      const { status, body } = await call(id, { user: 'own', key });
      expect({ status, body }).toMatchObject({ status: expect.toSatisfy((code: number) => isRight(id, code)) });
    }
  });

  test('a key names no other user', async () => {
    const { status } = await call(id, { user: 'other', key: own });
    if (APPLICATION_REQUESTS[id]!.namesUser) expect(status).toBe(403);
    else expect(status).toBeLessThan(300);
  });
});

/** The contents of each scope, written a second time by hand; `all` has everything. */
const HELD: Record<string, (operation: { id: string; method: string }) => boolean> = {
  read: ({ id, method }) => method === 'get' || READING.has(id),
  events: ({ id }) => id === 'metrics_event',
  profile: ({ id }) =>
    /^users_(create|get|identify|update|get_preferences|update_preferences|message_opened)$/.test(id),
};

describe.each(Object.keys(HELD))('a key of the scope %s', (scope) => {
  let key: string;
  beforeAll(async () => void (key = (await makeKey('own', undefined, { scope })).key));

  test.each(application.map((operation) => [operation.id, operation] as const))('%s', async (id, operation) => {
    const { status, body } = await call(id, { user: 'own', key });
    if (HELD[scope]!(operation))
      expect({ id, status }).toMatchObject({ status: expect.toSatisfy((s: number) => s < 300) });
    else expect([status, body.error]).toEqual([403, `The API key has the scope '${scope}', which does not allow this`]);
    // It may do no more than a key for all users.
    if (APPLICATION_REQUESTS[id]!.namesUser) expect((await call(id, { user: 'other', key })).status).toBe(403);
  });
});

describe('a read-only admin key', () => {
  let key: string;
  beforeAll(async () => void (key = await makeAdminKey({ access: 'read' })));

  test.each(application.map(({ id, method }) => [id, method] as const))('%s', async (id, method) => {
    const { status, body } = await call(id, { user: 'own', key });
    if (method === 'get') expect(status).toBe(200);
    else if (READING.has(id)) expect([200, 201]).toContain(status);
    else expect([status, body.error]).toEqual([403, expect.stringContaining('read-only')]);
  });

  test.each(adminOperations.filter(({ id }) => !OPEN.has(id)).map((operation) => [operation.id, operation] as const))(
    '%s',
    async (id, { method, path }) => {
      const sent = path.replaceAll(/\{\w+\}/g, '00000000-0000-7000-8000-000000000000');
      const { status, body } = await laurel.admin.send(method.toUpperCase(), sent, { key });
      const changesNothing = method === 'get' || READING.has(id) || OF_KEY.has(id);
      if (changesNothing) expect(status).not.toBe(403);
      else expect([status, body.error]).toEqual([403, expect.stringContaining('read-only')]);
    },
  );

  test('may ask what a document would change', async () => {
    expect((await laurel.admin.post('/v1/configuration/diff', STUDY_APP, { key })).status).toBe(200);
  });
});

test.each(
  application.filter(({ path }) => path.startsWith('/v1/users/{id}')).map(({ id, method }) => [id, method] as const),
)('%s: refuses a key for another user before anything else in the call', async (id, method) => {
  const path = APPLICATION_REQUESTS[id]!.path('other')
    .split('?')[0]!
    .replace(/(flips|xp|board)\b/, 'nowhere');
  for (const nonsense of ['', '?aggregation=hourly&year=x&awards=x&numEvents=x&historyPeriods=x&includeIncomplete=x']) {
    const body = method === 'get' ? {} : { rawBody: '{"name":' };
    expect((await laurel.app.send(method.toUpperCase(), path + nonsense, { key: own, ...body })).status).toBe(403);
  }
});

describe.each(adminOperations.filter(({ id }) => !OPEN.has(id)).map((operation) => [operation.id, operation] as const))(
  '%s',
  (_, operation) => {
    const uuid = '00000000-0000-7000-8000-000000000000';
    const path = operation.path.replaceAll(/\{\w+\}/g, uuid);
    const send = (key: string | null) => laurel.admin.send(operation.method.toUpperCase(), path, { key });

    test('is for admin keys only', async () => {
      expect((await send(null)).status).toBe(401);
      expect((await send('nonsense')).status).toBe(401);
      expect((await send(deleted)).status).toBe(401);
      expect((await send(expired)).status).toBe(401);
      expect((await send(own)).status).toBe(403);
    });
  },
);

describe('in a multi-tenant organisation', () => {
  beforeAll(async () => {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
    await laurel.admin.post('/v1/tenants', [
      { customerId: 'a', name: 'A' },
      { customerId: 'b', name: 'B' },
    ]);
    for (const tenantId of ['a', 'b']) {
      await laurel.admin.put('/v1/configuration', SPENDABLE, { tenantId });
      const value = tenantId === 'a' ? 100 : 7;
      await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'own', name: tenantId }, value }, { tenantId });
    }
    ofTenantA = (await makeKey('own', 'a')).key;
  });

  test.each(Object.keys(APPLICATION_REQUESTS))('%s: the Tenant-ID is required, known, and the key’s', async (id) => {
    expect((await call(id, { user: 'own' })).status).toBe(422);
    expect((await call(id, { user: 'own', tenantId: 'nobody' })).status).toBe(422);
    expect((await call(id, { user: 'own', key: ofTenantA, tenantId: 'b' })).status).toBe(403);
    const { status } = await call(id, { user: 'own', key: ofTenantA, tenantId: 'a' });
    expect(status).toSatisfy((code: number) => isAllowedToUser(id, code));
    expect((await call(id, { user: 'own', key: own, tenantId: 'a' })).status).toBe(403);
  });

  const ORGANISATION = /^\/v1\/(tenants|organisation|settings|admin-api-keys|clock|dead-letters|system)(\/|$)/;

  test.each(adminOperations.filter(({ id }) => !OPEN.has(id)).map((operation) => [operation.id, operation] as const))(
    "%s: the Tenant-ID is required and known, except for the organisation's own",
    async (id, { method, path }) => {
      const send = (tenantId?: string) =>
        laurel.admin.send(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, '00000000-0000-7000-8000-000000000000'), {
          ...(tenantId !== undefined && { tenantId }),
        });
      const answers = [await send(), await send('nobody'), await send('A'), await send('')];
      for (const { status, body } of answers) {
        if (ORGANISATION.test(path) || OF_KEY.has(id)) expect(JSON.stringify(body)).not.toContain('Tenant-ID');
        else expect([status, body.error]).toEqual([422, expect.stringContaining('Tenant-ID')]);
      }
      expect(JSON.stringify((await send('a')).body)).not.toContain('Tenant-ID');
    },
  );

  describe('an admin key of one tenant', () => {
    let key: string;
    beforeAll(async () => void (key = await makeAdminKey({ tenantId: 'a' })));

    test.each(Object.keys(APPLICATION_REQUESTS))('%s', async (id) => {
      const status = async (tenantId?: string): Promise<number> =>
        (await call(id, { user: 'own', key, ...(tenantId !== undefined && { tenantId }) })).status;
      expect(await status('a')).toSatisfy((code: number) => isAllowed(id, code));
      expect([await status('b'), await status('nobody'), await status()]).toEqual([403, 403, 422]);
    });

    test.each(adminOperations.filter(({ id }) => !OPEN.has(id)).map((operation) => [operation.id, operation] as const))(
      '%s',
      async (id, { method, path }) => {
        const sent = path.replaceAll(/\{\w+\}/g, '00000000-0000-7000-8000-000000000000');
        const status = async (tenantId: string): Promise<number> =>
          (await laurel.admin.send(method.toUpperCase(), sent, { key, tenantId })).status;
        if (OF_KEY.has(id)) return expect(await status('b')).toBeLessThan(300);
        expect([await status('b'), await status('nobody')]).toEqual([403, 403]);
        if (ORGANISATION.test(path)) expect(await status('a')).toBe(403);
        else expect(await status('a')).not.toBe(403);
      },
    );

    test('a key of an archived tenant works nowhere', async () => {
      const [tenant] = (await laurel.admin.post('/v1/tenants', [{ customerId: 'gone', name: 'Gone' }])).body.created;
      const ofGone = await makeAdminKey({ tenantId: 'gone' });
      expect((await laurel.admin.get('/v1/metrics', { key: ofGone, tenantId: 'gone' })).status).toBe(200);
      await laurel.admin.delete(`/v1/tenants?ids=${tenant.id}`);
      expect((await laurel.admin.get('/v1/metrics', { key: ofGone, tenantId: 'gone' })).status).toBe(403);
    });
  });

  test('two tenants with the same user IDs and keys never see each other', async () => {
    const total = async (tenantId: string) =>
      (await laurel.app.get('/v1/users/own/metrics/flips', { tenantId })).body.current;
    const [a, b] = [await total('a'), await total('b')];
    await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'own' }, value: 1000 }, { tenantId: 'a' });
    expect([await total('a'), await total('b')]).toEqual([a + 1000, b]);
    for (const [tenantId, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const ids = new Set<string>();
      for (const id of Object.keys(APPLICATION_REQUESTS)) {
        const { body } = await call(id, { user: 'own', tenantId });
        for (const [found] of JSON.stringify(body).matchAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g)) ids.add(found);
      }
      const { body } = await laurel.admin.get('/v1/configuration', { tenantId });
      expect(body.metrics.map(({ key }: { key: string }) => key)).toEqual(['flips', 'minutes']);
      const foreign = await laurel.pool.query(
        `SELECT catalog_resources.id FROM catalog_resources JOIN tenants ON tenants.no = tenant_no
          WHERE tenants.customer_id = $1 AND catalog_resources.id = ANY($2::uuid[])`,
        [other, [...ids]],
      );
      expect(foreign.rows).toEqual([]);
      expect(ids.size).toBeGreaterThan(5);
    }
  });

  test('the previous data is suspended, and returns when multi-tenancy is switched off', async () => {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
    const { status, body } = await laurel.app.get('/v1/users/other/metrics/flips', { tenantId: 'ignored' });
    expect([status, body.current]).toEqual([200, expect.any(Number)]);
    await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
    expect((await laurel.app.get('/v1/users/other/metrics/flips', { tenantId: 'a' })).status).toBe(404);
  });
});
