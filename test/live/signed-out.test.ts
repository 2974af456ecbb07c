import { WebSocket } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SentRequest, TestClient } from '../http/client.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { LiveClient } from './live-client.ts';
import { opened } from '../stack/opened.ts';

/** Another frontend, on which nobody signs out. */
let other: { admin: TestClient; adminUrl: string };
const clients: LiveClient[] = [];

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  other = await laurel.another();
});
afterAll(async () => {
  for (const client of clients) client.close();
});

async function signIn(key = laurel.adminKey): Promise<SentRequest> {
  const { headers, body } = await laurel.admin.post('/v1/session', { key }, { key: null });
  const cookie = headers.get('set-cookie')!.split(';')[0]!;
  return { key: null, headers: { Cookie: cookie, 'X-CSRF-Token': body.csrfToken as string } };
}

async function ticket(by: SentRequest): Promise<string> {
  const made = await other.admin.post('/v1/live/tickets', {}, by);
  expect(made.status).toBe(201);
  return made.body.ticket as string;
}

async function open(query: Record<string, string>, lastEventId?: string): Promise<LiveClient> {
  const client = await LiveClient.open(other.adminUrl, query, lastEventId);
  clients.push(client);
  return client;
}

test('a stream ends when its session is signed out on another process', async () => {
  const [session, remains] = [await signIn(), await signIn()];
  const waiting = await ticket(session);
  const stream = await open({ ticket: await ticket(session) });
  const others = [await open({ ticket: await ticket(remains) }), await open({ ticket: await ticket({}) })];
  for (const each of [stream, ...others]) await each.next('ready');

  expect((await laurel.admin.delete('/v1/session', session)).status).toBe(204);
  expect(await stream.next('closing')).toMatchObject({ reason: 'session_ended', reconnect: false });
  await expect.poll(() => stream.ended).toBe(true);
  expect((await open({}, stream.lastId!)).status).toBe(401);
  expect((await open({ ticket: waiting })).status).toBe(401);

  // Streams of another session of the key, and of the key itself, continue.
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'goes-on' }, value: 1 });
  for (const each of others) expect((await each.next('event')).event.userId).toBe('goes-on');
});

test('over WebSocket too', async () => {
  const session = await signIn();
  const url = `${other.adminUrl.replace('http', 'ws')}/v1/live/ws?ticket=${await ticket(session)}`;
  const socket = new WebSocket(url);
  const messages: { type: string; reason?: string }[] = [];
  socket.addEventListener('message', ({ data }) => void messages.push(JSON.parse(String(data))));
  // A report of what happened in the test before may follow.
  await expect.poll(() => messages[0]?.type).toBe('ready');
  await laurel.admin.delete('/v1/session', session);
  await expect.poll(() => messages.at(-1)).toMatchObject({ type: 'closing', reason: 'session_ended' });
  socket.close();
});

test('a stream ends when its session is over', async () => {
  const session = await signIn();
  const one = await ticket(session);
  const stream = await open({ ticket: await ticket(session) });
  await stream.next('ready');
  await laurel.pool.query(`UPDATE sessions SET expires_at = now() - interval '1 second'`);
  // Nothing announces the expiry of a session: the next check of the keys finds it.
  await laurel.admin.post('/v1/admin-api-keys', [{ name: 'another' }]);
  expect(await stream.next('closing')).toMatchObject({ reason: 'session_ended' });
  expect((await open({ ticket: one })).status).toBe(401);
});

test('a stream of a session ends with the key of the session', async () => {
  const [made] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'brief' }])).body.created as [
    { id: string; key: string },
  ];
  const stream = await open({ ticket: await ticket(await signIn(made.key)) });
  await stream.next('ready');
  await laurel.admin.delete(`/v1/admin-api-keys?ids=${made.id}`);
  expect(await stream.next('closing')).toMatchObject({ reason: 'key_revoked', reconnect: false });
});
