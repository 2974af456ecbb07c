import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseNetworks } from '../../src/domain/networks.ts';
import { clientAddress } from '../../src/http/client-address.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';

const LIMIT = 20;
let laurel: TestLaurel;

beforeAll(async () => {
  laurel = await startLaurel({ failedKeyLimit: LIMIT, trustedProxies: '127.0.0.1' });
});
afterAll(() => laurel.close());

const ask = (key: string | null, from: string): Promise<Response> =>
  fetch(`${laurel.appUrl}/v1/users/nobody`, {
    headers: { ...(key !== null && { 'X-API-KEY': key }), 'X-Forwarded-For': from },
  });
const guesses = async (from: (no: number) => string, key = (no: number): string => `guess${no}.wrong`) => {
  const seen: number[] = [];
  for (let no = 0; no < LIMIT + 5; no += 1) seen.push((await ask(key(no), from(no))).status);
  return seen;
};
const LIMITED = [...Array<number>(LIMIT).fill(401), ...Array<number>(5).fill(429)];
const UNLIMITED = Array<number>(LIMIT + 5).fill(401);

test('answers 429 for a while to an address that sent many wrong keys, but not to other addresses or valid keys', async () => {
  expect(await guesses(() => '198.51.100.7')).toEqual(LIMITED);
  const refused = await ask('guess.wrong', '198.51.100.7');
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
  expect(
    await guesses(
      () => '198.51.100.20',
      (no) => `${prefix}.wrong${no}`,
    ),
  ).toEqual(LIMITED);
  expect(
    await guesses(
      () => '198.51.100.21',
      () => 'no-key',
    ),
  ).toEqual(LIMITED);
});

test("an IPv6 address counts with its /64; addresses that the sender wrote before the proxy's do not count", async () => {
  expect(await guesses((no) => `2001:db8:1:2::${no + 1}`)).toEqual(LIMITED);
  expect(await guesses((no) => `2001:db8:1:${no + 3}::1`)).toEqual(UNLIMITED);
  expect(await guesses((no) => `203.0.113.${no}, 198.51.100.30`)).toEqual(LIMITED);
});

test('admits valid keys that no process has seen yet during a flood of wrong ones from the same address', async () => {
  const items = Array.from({ length: 20 }, (_, no) => ({ name: `New ${no}` }));
  const { body } = await laurel.admin.post('/v1/admin-api-keys', items);
  const keys: string[] = body.created.map(({ key }: { key: string }) => key);
  await guesses(() => '198.51.100.9');
  const asked = keys.flatMap((key, no) => [
    ...Array.from({ length: 10 }, (_, other) => ask(`flood${no}-${other}.wrong`, '198.51.100.9')),
    ask(key, '198.51.100.9'),
  ]);
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((_, index) => index % 11 === 10)).toEqual(keys.map(() => 404));
  expect(new Set(statuses.filter((_, index) => index % 11 !== 10))).toEqual(new Set([429]));
});

const fromHere = async (to: TestLaurel): Promise<number[]> => {
  const seen: number[] = [];
  for (let no = 0; no < LIMIT + 5; no += 1)
    seen.push((await fetch(`${to.appUrl}/v1/users/nobody`, { headers: { 'X-API-KEY': `guess${no}.wrong` } })).status);
  return seen;
};

test('the local machine counts as well, unless clients come through trusted proxies', async () => {
  expect(await fromHere(laurel)).toEqual(UNLIMITED);
  const direct = await startLaurel({ failedKeyLimit: LIMIT });
  expect(await fromHere(direct)).toEqual(LIMITED);
  expect((await direct.app.get('/v1/users/nobody')).status).toBe(404);
  await direct.close();
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
