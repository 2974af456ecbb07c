import { beforeAll, expect, test, vi } from 'vitest';
import { createSessionAuthenticator } from '../../src/http/access/session-auth.ts';
import { findSessions, makeSignInToken, Sessions } from '../../src/postgres/access/sessions.ts';
import { systemClock } from '../../src/clock.ts';
import { startLaurel } from '../laurel.ts';
import type { SeenResponse, SentRequest, TestClient } from './client.ts';
import { opened } from '../stack/opened.ts';

const ADDRESS = '192.0.2.7';

let other: TestClient;
const laurel = opened(() => startLaurel({ failedKeyLimit: 3, trustedProxies: '127.0.0.1' }));
beforeAll(async () => {
  other = (await laurel.another()).admin;
});

interface Session {
  cookie: string;
  csrfToken: string;
  answer: SeenResponse;
}

const open = async (body: object, headers: Record<string, string> = {}): Promise<Session> => {
  const answer = await laurel.admin.post('/v1/session', body, { key: null, headers });
  expect(answer.status).toBe(201);
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, csrfToken: answer.body.csrfToken, answer };
};
const signIn = (key = laurel.adminKey, headers: Record<string, string> = {}) => open({ key }, headers);
/** Requests as a page of the console sends them. */
const by = ({ cookie, csrfToken }: Session): SentRequest => ({
  key: null,
  headers: { Cookie: cookie, 'X-CSRF-Token': csrfToken },
});
const makeKey = async (wanted: object = {}): Promise<{ id: string; key: string; prefix: string }> =>
  (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'walks', ...wanted }])).body.created[0];
const sessionStatus = async (session: Session): Promise<number> =>
  (await laurel.admin.get('/v1/session', by(session))).status;
const until401 = async (session: Session): Promise<void> => {
  for (const admin of [laurel.admin, other])
    await expect.poll(async () => (await admin.get('/v1/metrics', by(session))).status).toBe(401);
};

test('an admin key begins a session, of which only hashes are stored', async () => {
  const beganMs = performance.now();
  const session = await signIn();
  const tookS = Math.ceil((performance.now() - beganMs) / 1_000);
  const cookie = session.answer.headers.get('set-cookie')!;
  expect(cookie).toMatch(/^laurel_session=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
  expect(43_200 - Number(/Max-Age=(\d+)/.exec(cookie)![1])).toSatisfy((spent: number) => spent >= 0 && spent <= tookS);
  const [prefix] = laurel.adminKey.split('.');
  expect(session.answer.body).toMatchObject({ prefix, access: 'full', tenantId: null });
  const { rows } = await laurel.pool.query("SELECT encode(hash, 'escape') || sessions::text AS text FROM sessions");
  const [, token] = session.cookie.split('=');
  expect(JSON.stringify(rows)).not.toContain(token);
  expect(JSON.stringify(rows)).not.toContain(session.csrfToken);

  const overHttps = await signIn(laurel.adminKey, { 'X-Forwarded-Proto': 'https' });
  expect(overHttps.answer.headers.get('set-cookie')).toMatch(/; Secure$/);
});

test('the cookie replaces the key on the admin port, and is ignored on the application port', async () => {
  const session = await signIn();
  for (const admin of [laurel.admin, other]) expect((await admin.get('/v1/metrics', by(session))).status).toBe(200);
  const shown = (await laurel.admin.get('/v1/session', by(session))).body;
  expect(shown).toEqual({ ...session.answer.body, now: shown.now });
  expect((await laurel.app.get('/v1/leaderboards', by(session))).status).toBe(401);
  // A sent key takes precedence over the cookie.
  const wrong = { ...by(session), key: 'adm_nobody.AAAA' };
  expect((await laurel.admin.get('/v1/metrics', wrong)).status).toBe(401);
});

test('finds the cookie among others, and mistakes nothing else for it', async () => {
  const session = await signIn();
  const status = async (cookie: string) =>
    (await laurel.admin.get('/v1/metrics', { key: null, headers: { Cookie: cookie } })).status;
  expect(await status(`a=1; ${session.cookie}; b=2`)).toBe(200);
  for (const cookie of ['laurel_session=', `x${session.cookie}`, `${session.cookie}x`, 'laurel_session=../..;'])
    expect(await status(cookie)).toBe(401);
});

test('a change needs the token of this very session in its header', async () => {
  const [session, another] = [await signIn(), await signIn()];
  const change = (csrf: Record<string, string>) =>
    laurel.admin.post('/v1/attributes', [{ key: 'plan', name: 'Plan', type: 'user' }], {
      key: null,
      headers: { Cookie: session.cookie, ...csrf },
    });
  for (const csrf of [{}, { 'X-CSRF-Token': '' }, { 'X-CSRF-Token': another.csrfToken }])
    expect((await change(csrf as Record<string, string>)).status).toBe(403);
  expect((await laurel.admin.get('/v1/attributes')).body).toEqual([]);
  expect((await change({ 'X-CSRF-Token': session.csrfToken })).status).toBe(201);
  // The audit log has the key, as if it had been sent.
  const [prefix] = laurel.adminKey.split('.');
  const { body } = await laurel.admin.get('/v1/audit-log?kind=attribute');
  expect(body[0]).toMatchObject({ who: prefix, action: 'create' });
});

test('a read-only key makes a read-only session, which can sign out', async () => {
  const session = await signIn((await makeKey({ access: 'read' })).key);
  expect(session.answer.body.access).toBe('read');
  expect((await laurel.admin.get('/v1/metrics', by(session))).status).toBe(200);
  const refused = await laurel.admin.post('/v1/metrics', [{ key: 'x', name: 'X' }], by(session));
  expect([refused.status, refused.body.error]).toEqual([403, expect.stringContaining('read-only')]);
  expect((await laurel.admin.delete('/v1/session', by(session))).status).toBe(204);
});

test("a session of a tenant's key is limited to that tenant", async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [
    { customerId: 'a', name: 'A' },
    { customerId: 'b', name: 'B' },
  ]);
  const session = await signIn((await makeKey({ tenantId: 'a' })).key);
  const status = async (tenantId: string) =>
    (await laurel.admin.get('/v1/metrics', { ...by(session), tenantId })).status;
  expect([session.answer.body.tenantId, await status('a'), await status('b')]).toEqual(['a', 200, 403]);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
});

test.each([
  ['revoked', (id: string) => laurel.admin.patch('/v1/admin-api-keys', [{ id, status: 'inactive' }])],
  ['rotated', (id: string) => laurel.admin.post(`/v1/admin-api-keys/${id}/rotate`)],
  ['deleted', (id: string) => laurel.admin.delete(`/v1/admin-api-keys?ids=${id}`)],
])('a session ends on every process when its key is %s', async (_, end) => {
  const key = await makeKey();
  const session = await signIn(key.key);
  for (const admin of [laurel.admin, other]) expect((await admin.get('/v1/metrics', by(session))).status).toBe(200);
  expect((await end(key.id)).status).toBe(200);
  await until401(session);
  await laurel.admin.patch('/v1/admin-api-keys', [{ id: key.id, status: 'active' }]);
  // An ended session does not return with the key.
  await expect.poll(async () => (await laurel.admin.get('/v1/metrics', by(session))).status).toBe(401);
});

test('signing out ends this session everywhere and no other', async () => {
  const [session, another] = [await signIn(), await signIn()];
  const without = await laurel.admin.delete('/v1/session', { key: null, headers: { Cookie: session.cookie } });
  expect(without.status).toBe(403);
  const out = await laurel.admin.delete('/v1/session', by(session));
  expect([out.status, out.headers.get('set-cookie')]).toEqual([
    204,
    expect.stringContaining('laurel_session=; Path=/; Max-Age=0'),
  ]);
  await until401(session);
  expect((await laurel.admin.get('/v1/metrics', by(another))).status).toBe(200);
  const { body } = await laurel.admin.get('/v1/audit-log?kind=session');
  expect(body.map(({ action }: { action: string }) => action)).toEqual(expect.arrayContaining(['create', 'delete']));
});

test('a key has at most a thousand sessions: the oldest ends', async () => {
  const { id, key } = await makeKey({ access: 'read' });
  const first = await signIn(key);
  await laurel.pool.query(
    `INSERT INTO sessions (hash, key_id, key_hash, created, expires_at)
     SELECT sha256(n::text::bytea), key_id, key_hash, created + n * interval '1 ms', expires_at
       FROM sessions, generate_series(1, 999) AS n WHERE key_id = $1`,
    [id],
  );
  const last = await signIn(key);
  const { rowCount } = await laurel.pool.query('SELECT FROM sessions WHERE key_id = $1', [id]);
  expect(rowCount).toBe(1_000);
  // No process has the first one in its memory.
  expect([await sessionStatus(first), await sessionStatus(last)]).toEqual([401, 200]);
});

test('a session is over after 12 hours, also where it is cached', async () => {
  let nowMs = Date.now();
  const { pool } = laurel;
  const sessions = new Sessions({ pool, announce: async () => undefined, clock: systemClock, nowMs: () => nowMs });
  const begun = await sessions.begin({ key: laurel.adminKey }, { who: 'test' });
  const authenticator = createSessionAuthenticator({
    lookup: { find: async (hash) => (await findSessions(pool, [hash]))[0] ?? null },
    nowMs: () => nowMs,
    clockMs: () => nowMs,
    onUse: () => undefined,
  });
  const present = async () => authenticator.authenticate({ token: begun!.token, csrfToken: '', changes: false });
  nowMs += 12 * 3_600_000 - 1;
  expect((await present()).prefix).toBe(begun!.prefix);
  nowMs += 1;
  await expect(present()).rejects.toMatchObject({ status: 401 });
});

test('the token of a link begins exactly one session when many try at once', async () => {
  const token = (await makeSignInToken(laurel.pool, Date.now()))!;
  const { rows } = await laurel.pool.query('SELECT sign_in_tokens::text AS text FROM sign_in_tokens');
  expect(JSON.stringify(rows)).not.toContain(token);
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => laurel.admin.post('/v1/session', { token }, { key: null })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(4);

  const old = (await makeSignInToken(laurel.pool, Date.now() - 15 * 60_000))!;
  expect((await laurel.admin.post('/v1/session', { token: old }, { key: null })).status).toBe(401);
});

test('other keys begin no session', async () => {
  const [application] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created;
  const inactive = await makeKey();
  await laurel.admin.patch('/v1/admin-api-keys', [{ id: inactive.id, status: 'inactive' }]);
  for (const key of [application.key, inactive.key, `${laurel.adminKey}x`, 'nonsense', '']) {
    const { status, headers } = await laurel.admin.post('/v1/session', { key }, { key: null });
    expect([key, status, headers.get('set-cookie')]).toEqual([key, 401, null]);
  }
  for (const body of [{}, { key: laurel.adminKey, token: 'x' }])
    expect((await laurel.admin.post('/v1/session', body, { key: null })).status).toBe(400);
});

test('wrong sign-ins count like wrong keys', async () => {
  const headers = { 'X-Forwarded-For': ADDRESS };
  const attempt = async () =>
    (await laurel.admin.post('/v1/session', { key: 'adm_nobody.AAAA' }, { key: null, headers })).status;
  const statuses = [await attempt(), await attempt(), await attempt(), await attempt()];
  expect(statuses).toEqual([401, 401, 401, 429]);
  expect((await laurel.admin.get('/v1/metrics', { key: 'adm_nobody.AAAA', headers })).status).toBe(429);
  // Right ones still sign in, however many wrong ones arrive beside them.
  const wrong = Array.from({ length: 20 }, attempt);
  await Promise.all([signIn(laurel.adminKey, headers), signIn(laurel.adminKey, headers)]);
  expect(await Promise.all(wrong)).toEqual(wrong.map(() => 429));
});

test('a flood of wrong sign-ins costs Postgres a few statements, and a right one among them signs in', async () => {
  const { pool } = laurel;
  const sessions = new Sessions({ pool, announce: async () => undefined, clock: systemClock });
  const spies = [vi.spyOn(pool, 'query'), vi.spyOn(pool, 'connect')];
  const wrong = Array.from({ length: 200 }, (_, n) =>
    sessions.begin(n % 2 === 0 ? { key: `adm_nobody${n}.AAAA` } : { token: `nobody${n}` }, { who: 'test' }),
  );
  const right = sessions.begin({ key: laurel.adminKey }, { who: 'test' });
  expect(new Set(await Promise.all(wrong))).toEqual(new Set([null]));
  expect(await right).not.toBeNull();
  const calls = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  vi.restoreAllMocks();
  expect(calls).toBeLessThan(20);
});
