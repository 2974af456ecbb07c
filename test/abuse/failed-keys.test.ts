import { expect, test } from 'vitest';
import { parseNetworks } from '../../src/domain/networks.ts';
import { clientAddress } from '../../src/http/client-address.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const LIMIT = 20;

const laurel = opened(() => startLaurel({ failedKeyLimit: LIMIT, trustedProxies: '127.0.0.1' }));

const ask = (key: string | null, from: string): Promise<Response> =>
  fetch(`${laurel.appUrl}/v1/users/nobody`, {
    headers: { ...(key !== null && { 'X-API-KEY': key }), 'X-Forwarded-For': from },
  });
const guess = (no: number): string => `guess${no}.wrong`;

/** Sends wrong keys until one is refused. Before it, `LIMIT` must be answered 401, and no more than the time allows. */
async function limited(send: (no: number) => Promise<Response>): Promise<Response> {
  const beganMs = performance.now();
  for (let answered = 0; ; answered += 1) {
    const answer = await send(answered);
    if (answer.status === 429) {
      expect(answered).toBeGreaterThanOrEqual(LIMIT);
      return answer;
    }
    expect(answer.status).toBe(401);
    expect(answered).toBeLessThan(LIMIT + allowedIn(performance.now() - beganMs));
  }
}
/** The number of wrong keys that a time allows, beyond the first `LIMIT`. */
const allowedIn = (ms: number): number => Math.floor((ms * LIMIT) / 60_000);

async function expectUnlimited(send: (no: number) => Promise<Response>): Promise<void> {
  for (let no = 0; no < LIMIT + 5; no += 1) expect((await send(no)).status).toBe(401);
}

test('answers 429 for a while to an address that sent many wrong keys, but not to other addresses or valid keys', async () => {
  const refused = await limited((no) => ask(guess(no), '198.51.100.7'));
  expect([refused.status, await refused.json()]).toEqual([
    429,
    {
      error: 'Too many wrong API keys came from this address; try again after the time in Retry-After',
      code: 'too_many_wrong_keys',
    },
  ]);
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect((await ask('guess.wrong', '198.51.100.8')).status).toBe(401);
  expect((await ask(null, '198.51.100.7')).status).toBe(401);
  // A key that no process has seen yet.
  const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'New' }]);
  expect((await ask(body.created[0].key, '198.51.100.7')).status).not.toBe(429);
  expect((await ask(laurel.adminKey, '198.51.100.7')).status).not.toBe(429);
});

test('wrong bodies of a known key and malformed keys count as well', async () => {
  const prefix = laurel.adminKey.split('.')[0]!;
  expect((await limited((no) => ask(`${prefix}.wrong${no}`, '198.51.100.20'))).status).toBe(429);
  expect((await limited(() => ask('no-key', '198.51.100.21'))).status).toBe(429);
});

test("an IPv6 address counts with its /64; addresses that the sender wrote before the proxy's do not count", async () => {
  expect((await limited((no) => ask(guess(no), `2001:db8:1:2::${no + 1}`))).status).toBe(429);
  await expectUnlimited((no) => ask(guess(no), `2001:db8:1:${no + 3}::1`));
  expect((await limited((no) => ask(guess(no), `203.0.113.${no}, 198.51.100.30`))).status).toBe(429);
});

test('admits valid keys that no process has seen yet during a flood of wrong ones from the same address', async () => {
  const items = Array.from({ length: 20 }, (_, no) => ({ name: `New ${no}` }));
  const { body } = await laurel.admin.post('/v1/admin-api-keys', items);
  const keys: string[] = body.created.map(({ key }: { key: string }) => key);
  await limited((no) => ask(guess(no), '198.51.100.9'));
  const beganMs = performance.now();
  const asked = keys.flatMap((key, no) => [
    ...Array.from({ length: 10 }, (_, other) => ask(`flood${no}-${other}.wrong`, '198.51.100.9')),
    ask(key, '198.51.100.9'),
  ]);
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((_, index) => index % 11 === 10)).toEqual(keys.map(() => 404));
  const flood = statuses.filter((_, index) => index % 11 !== 10);
  const admitted = flood.filter((status) => status === 401).length;
  expect(admitted).toBeLessThanOrEqual(1 + allowedIn(performance.now() - beganMs));
  expect(flood.filter((status) => status === 429)).toHaveLength(flood.length - admitted);
});

const fromHere =
  (to: TestLaurel) =>
  (no: number): Promise<Response> =>
    fetch(`${to.appUrl}/v1/users/nobody`, { headers: { 'X-API-KEY': guess(no) } });

test('the local machine counts as well, unless clients come through trusted proxies', async () => {
  await expectUnlimited(fromHere(laurel));
  const direct = await startLaurel({ failedKeyLimit: LIMIT });
  try {
    await limited(fromHere(direct));
    expect((await direct.app.get('/v1/users/nobody')).status).toBe(404);
  } finally {
    await direct.close();
  }
});

test.each<[string, string | null, string, string]>([
  ['192.0.2.1', null, '', '192.0.2.1'],
  ['192.0.2.1', '198.51.100.1', '', '192.0.2.1'],
  ['192.0.2.1', '198.51.100.1', '192.0.2.0/24', '198.51.100.1'],
  ['192.0.2.1', '198.51.100.1, 192.0.2.9', '192.0.2.0/24', '198.51.100.1'],
  ['192.0.2.1', 'x, 192.0.2.9', '192.0.2.0/24', '192.0.2.9'],
  ['192.0.2.1', null, '192.0.2.1', '192.0.2.1'],
])('from %s, forwarded for %s, trusted %s: %s', (peer, forwarded, trusted, name) => {
  const trustedNetworks = trusted === '' ? [] : parseNetworks(trusted)!;
  expect(clientAddress(peer, { forwardedFor: forwarded, trusted: trustedNetworks })).toBe(name);
});

test('no answer may be cached', async () => {
  const answers = [
    await fetch(`${laurel.appUrl}/healthz`),
    await fetch(`${laurel.appUrl}/nowhere`),
    await ask(null, '198.51.100.40'),
    await ask(laurel.adminKey, '198.51.100.40'),
    await fetch(`${laurel.adminUrl}/v1/metrics`, { headers: { 'X-API-KEY': laurel.adminKey } }),
    await fetch(`${laurel.adminUrl}/v1/metrics`, { method: 'PURGE' }),
  ];
  for (const { headers } of answers)
    expect([headers.get('Cache-Control'), headers.get('Vary')]).toEqual(['no-store', 'X-API-KEY, Tenant-ID']);
});
