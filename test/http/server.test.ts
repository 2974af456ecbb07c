import { spawnSync } from 'node:child_process';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError, errorCodes } from '../../src/errors.ts';
import { operation, type Operation } from '../../src/operations/operation.ts';
import { startServer, USER_KEY, BODY_BYTES, type Fixture } from './server-fixture.ts';

const THROWN: Record<string, () => unknown> = {
  fault: () => new TypeError('secret inside'),
  text: () => 'a text',
  redisClosed: () => new Error('Connection is closed.'),
  redisLoading: () =>
    Object.assign(new Error('LOADING Redis is loading the dataset in memory'), { name: 'ReplyError' }),
  redisReply: () => Object.assign(new Error('WRONGTYPE of a key'), { name: 'ReplyError' }),
  postgresRefused: () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
  postgresShutdown: () => Object.assign(new Error('terminating'), { code: '57P01' }),
  postgresSyntax: () => Object.assign(new Error('syntax'), { code: '42601' }),
  wrapped: () => new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNRESET' }) }),
  ...Object.fromEntries(errorCodes.map((code) => [code, () => new AppError(code, `text of ${code}`)])),
};

const throwing = operation('throw_it', 'POST /v1/throw/{what}', {
  mayConflict: true,
  summary: 'Throws',
  params: Type.Object({ what: Type.String() }),
  body: Type.Object({}),
  responses: { 200: Type.Object({}) },
  handle: async (_services, { params }) => {
    throw THROWN[params.what]!();
  },
});

const throwingAtOnce: Operation = {
  ...throwing,
  id: 'throw_at_once',
  path: '/v1/throw-at-once',
  params: null,
  handle: () => {
    throw new Error('before the first await');
  },
};

const unserializable = operation('unserializable_get', 'GET /v1/unserializable', {
  summary: 'Answers what is no JSON',
  responses: { 200: Type.Object({}) },
  handle: async () => ({ status: 200, body: { n: 1n } }),
});

describe('server', () => {
  let fixture: Fixture;
  const event = { user: { id: 'ada' }, value: 1 };
  beforeAll(async () => {
    fixture = await startServer({ more: [throwing, throwingAtOnce, unserializable] });
  });
  afterAll(() => fixture.server.close());

  test('an operation answers on its path and its alias', async () => {
    for (const path of ['/v1/things/words/event', '/api/things/words/event']) {
      const { status, body, headers } = await fixture.client.post(path, event, {
        headers: { 'Idempotency-Key': 'k1' },
      });
      expect(status).toBe(201);
      expect(headers.get('content-type')).toBe('application/json');
      expect(body).toMatchObject({ params: { key: 'words' }, body: event, idempotencyKey: 'k1', tenant: { no: 0 } });
    }
  });

  test('unknown paths are 404, with a key or without', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/nothing',
      '/v1/things/',
      '/v1/things/a/event/b',
      '/v1//event',
      '/V1/things',
      '/v1/th%69ngs',
    ]) {
      expect([path, (await fixture.client.get(path)).status]).toEqual([path, 404]);
      expect([path, (await fixture.client.get(path, { key: null })).status]).toEqual([path, 404]);
    }
  });

  test('other methods of a known path are 405, and Allow lists the existing ones', async () => {
    const refused = [
      ['DELETE', '/v1/things', 'GET, HEAD'],
      ['GET', '/v1/things/words/event', 'POST'],
      ['OPTIONS', '/api/things/words/event', 'POST'],
      ['PATCH', '/v1/slow', 'GET, HEAD, POST'],
      ['POST', '/healthz', 'GET, HEAD'],
      ['POST', '/readyz', 'GET, HEAD'],
      // Not mistaken for /v1/things/{id}.
      ['GET', '/v1/things/events', 'POST'],
      ['HEAD', '/v1/things/events', 'POST'],
      ['QUERY', '/v1/things', 'GET, HEAD'],
    ] as const;
    for (const [method, path, allow] of refused) {
      const { status, headers } = await fixture.client.send(method, path);
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, allow]);
    }
  });

  test('HEAD answers like GET, without the body', async () => {
    const path = '/v1/people/ada';
    const [get, head] = [await fixture.client.get(path), await fixture.client.send('HEAD', path)];
    expect(head.status).toBe(200);
    expect(head.body).toBeNull();
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    expect(head.headers.get('content-type')).toBe('application/json');
    expect((await fixture.client.send('HEAD', path, { key: null })).status).toBe(401);
    expect((await fixture.client.send('HEAD', '/v1/nothing')).status).toBe(404);
  });

  test('every expected error answers its status, its text and its headers', async () => {
    for (const code of errorCodes) {
      const { status, body, headers } = await fixture.client.post(`/v1/throw/${code}`, {});
      expect([status, body]).toEqual([new AppError(code, '').status, { error: `text of ${code}`, code }]);
      expect(headers.get('retry-after')).toBe(
        ['unavailable', 'overloaded', 'storage_full'].includes(code) ? '1' : null,
      );
    }
  });

  test('an unavailable Redis or Postgres is 503 with Retry-After, and reveals no internals', async () => {
    for (const what of ['redisClosed', 'redisLoading', 'postgresRefused', 'postgresShutdown', 'wrapped']) {
      const { status, body, headers } = await fixture.client.post(`/v1/throw/${what}`, {});
      expect([what, status, headers.get('retry-after')]).toEqual([what, 503, '1']);
      expect(body.error).toBe('The service is not available at the moment');
    }
  });

  test('logs that Redis or Postgres is unavailable, but not for every affected request', async () => {
    const before = fixture.warnings.length;
    const REQUESTS = 300;
    await Promise.all(Array.from({ length: REQUESTS }, () => fixture.client.post('/v1/throw/redisClosed', {})));
    const logged = fixture.warnings.slice(before);
    expect(logged.length).toBeLessThan(REQUESTS / 10);
    expect(fixture.warnings.every(({ fields }) => fields['operation'] === 'throw_it')).toBe(true);
    expect(fixture.warnings.every(({ fields }) => /^[\w-]+$/.test(String(fields['requestId'])))).toBe(true);
    expect(fixture.warnings.every(({ fields }) => fields['requestId'] !== undefined)).toBe(true);
    expect(fixture.warnings.length).toBeGreaterThan(0);
  });

  test('any other exception is 500, logged under the request ID that the client gets', async () => {
    const attempts = ['fault', 'text', 'redisReply', 'postgresSyntax'].map((what) =>
      fixture.client.post(`/v1/throw/${what}`, {}),
    );
    const others = [fixture.client.post('/v1/throw-at-once', {}), fixture.client.get('/v1/unserializable')];
    for (const { status, body, headers } of await Promise.all([...attempts, ...others])) {
      expect([status, body]).toEqual([500, { error: 'Internal error', code: 'internal' }]);
      const id = headers.get('x-request-id');
      expect(id).toMatch(/^[\w-]{1,64}$/);
      expect(fixture.errors.filter(({ fields }) => fields['requestId'] === id)).toHaveLength(1);
    }
  });

  test('no answer may be mistaken for another content type', async () => {
    const answers = [
      fixture.client.get('/v1/people/ada'),
      fixture.client.get('/v1/people/ada', { key: null }),
      fixture.client.get('/v1/nothing'),
      fixture.client.get('/healthz'),
      fixture.client.get('/readyz'),
      fixture.client.send('HEAD', '/v1/people/ada'),
      fixture.client.send('DELETE', '/v1/things'),
      fixture.client.post('/v1/throw/fault', {}),
    ];
    for (const { status, headers } of await Promise.all(answers))
      expect([status, headers.get('x-content-type-options')]).toEqual([status, 'nosniff']);
  });

  test('health needs no key; readiness says what is missing', async () => {
    expect((await fixture.client.get('/healthz', { key: null })).body).toEqual({ status: 'ok' });
    expect((await fixture.client.get('/readyz', { key: null })).body).toEqual({ status: 'ready' });
    fixture.missing.degraded = ['Postgres'];
    expect((await fixture.client.get('/readyz', { key: null })).body).toEqual({
      status: 'ready',
      degraded: ['Postgres'],
    });
    fixture.missing.degraded = [];
    fixture.missing.checks = ['Redis'];
    const { status, body, headers } = await fixture.client.get('/readyz', { key: null });
    expect([status, body, headers.get('retry-after')]).toEqual([
      503,
      { error: 'Not ready: Redis', code: 'unavailable' },
      '1',
    ]);
    expect((await fixture.client.send('HEAD', '/readyz')).status).toBe(503);
    expect((await fixture.client.get('/healthz')).status).toBe(200);
    fixture.missing.notices = ['Shard 3 is elsewhere'];
    const noticed = await fixture.client.get('/readyz', { key: null });
    expect(noticed.body).toEqual({ error: 'Not ready: Redis', code: 'unavailable', notices: ['Shard 3 is elsewhere'] });
    expect([noticed.status, noticed.headers.get('retry-after')]).toEqual([503, '1']);
    fixture.missing.checks = [];
    expect((await fixture.client.get('/readyz', { key: null })).body).toMatchObject({ status: 'ready' });
    fixture.missing.notices = [];
  });

  test('asks for a key before it judges anything else of the request', async () => {
    const bad = { rawBody: '{', headers: { 'Content-Type': 'text/plain' } };
    expect((await fixture.client.post('/v1/things/words/event', undefined, { key: null, ...bad })).status).toBe(401);
    expect((await fixture.client.post('/v1/things/words/event', undefined, bad)).status).toBe(415);
    const large = { rawBody: `"${'a'.repeat(BODY_BYTES)}"` };
    expect((await fixture.client.post('/v1/things/words/event', undefined, { key: 'no.body', ...large })).status).toBe(
      401,
    );
    expect((await fixture.client.get('/v1/things/no-uuid', { key: null })).status).toBe(401);
  });

  test('an application key reaches its own user only, and operations that name no user', async () => {
    const key = { key: USER_KEY };
    expect((await fixture.client.get('/v1/people/ada', key)).status).toBe(200);
    expect((await fixture.client.get('/v1/people/%61da', key)).status).toBe(200);
    expect((await fixture.client.get('/v1/people/bob', key)).status).toBe(403);
    expect((await fixture.client.get('/v1/things', key)).status).toBe(200);
    expect((await fixture.client.post('/v1/things/words/event', event, key)).status).toBe(201);
    const other = { ...event, user: { id: 'bob' } };
    expect((await fixture.client.post('/v1/things/words/event', other, key)).status).toBe(403);
  });

  test('an operation declared twice stops the start', async () => {
    await expect(startServer({ more: [throwing, throwing] })).rejects.toThrow('declared twice');
  });

  test('refuses a taken port', async () => {
    const listen = `
      import { createRequire } from 'node:module';
      const require = createRequire(${JSON.stringify(import.meta.url)});
      const load = (name) => { try { return require(name); } catch { return null; } };
      (load('uws-current') ?? load('uws-older')).App().listen('127.0.0.1', ${fixture.port}, 0, (socket) => process.exit(socket ? 1 : 0));`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', listen]).status).toBe(0);
    const second = await startServer();
    await expect(second.server.listen('127.0.0.1', fixture.port)).rejects.toThrow(`Port ${fixture.port}`);
    second.server.close();
  });
});

test('the admin surface refuses application keys', async () => {
  const get: Operation = {
    ...unserializable,
    id: 'a',
    path: '/v1/a',
    surface: 'admin',
    handle: async () => ({ status: 200, body: {} }),
  };
  const fixture = await startServer({ surface: 'admin', operations: [get] });
  expect((await fixture.client.get('/v1/a')).status).toBe(200);
  expect((await fixture.client.get('/v1/a', { key: USER_KEY })).status).toBe(403);
  expect((await fixture.client.get('/v1/a', { key: 'adm_old.secret-secret-secret' })).status).toBe(401);
  fixture.server.close();
});

describe('several tenants', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startServer({ multiTenancy: true });
  });
  afterAll(() => fixture.server.close());

  test('Tenant-ID is required and must name a tenant', async () => {
    expect((await fixture.client.get('/v1/people/ada')).status).toBe(422);
    expect((await fixture.client.get('/v1/people/ada', { tenantId: 'south' })).status).toBe(422);
    expect((await fixture.client.get('/v1/people/ada', { tenantId: '' })).status).toBe(422);
    expect((await fixture.client.get('/v1/people/ada', { tenantId: 'north' })).body.tenant).toBe(1);
  });

  test("the organisation's own operations need no Tenant-ID", async () => {
    expect((await fixture.client.get('/v1/organisation')).body.tenant).toBe(0);
  });

  test('refuses an application key of another tenant', async () => {
    expect((await fixture.client.get('/v1/people/ada', { key: USER_KEY, tenantId: 'north' })).status).toBe(403);
  });
});

test('one tenant only: ignores Tenant-ID', async () => {
  const fixture = await startServer();
  expect((await fixture.client.get('/v1/people/ada', { tenantId: 'anything' })).body.tenant).toBe(0);
  fixture.server.close();
});
