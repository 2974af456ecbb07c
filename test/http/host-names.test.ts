import { request } from 'node:http';
import { expect, test } from 'vitest';
import { hostCheck } from '../../src/domain/host-names.ts';
import { freePort } from '../../src/local/free-ports.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { openMetricsPort } from '../../workers/worker-metrics.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const laurel = opened(() => startLaurel());

/** The status of a request with this header `Host`. */
const status = (url: string, host: string, { method = 'GET', ...headers }: Record<string, string> = {}) =>
  new Promise<number>((resolve, reject) => {
    request(url, { method, headers: { ...headers, host } }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });

test('on loopback, only addresses, localhost and the configured names are accepted', () => {
  const accepts = hostCheck('127.0.0.1', ['laurel.example'])!;
  const accepted = [
    '127.0.0.1',
    '127.0.0.1:8081',
    '10.0.0.7:8081',
    '[::1]:8081',
    '[::1]',
    'localhost',
    'LocalHost:8081',
  ];
  accepted.push('localhost.', 'a.localhost:8081', 'laurel.example', 'Laurel.Example:443');
  const refused = [
    '',
    'evil.example',
    'evil.example:8081',
    'localhost.evil.example',
    'evil-localhost',
    '127.0.0.1.evil.example',
  ];
  refused.push('www.laurel.example', '[evil]', '2130706433', '0x7f.1', 'laurel.example:80:80', 'user@localhost', '.');
  expect(accepted.filter((host) => !accepts(host))).toEqual([]);
  expect(refused.filter((host) => accepts(host))).toEqual([]);
  expect(hostCheck('::1', [])!('evil.example')).toBe(false);
  expect(hostCheck('localhost', [])!('evil.example')).toBe(false);
});

test('elsewhere, names are checked only if some are configured', () => {
  expect(hostCheck('0.0.0.0', [])).toBe(null);
  expect(hostCheck('admin.internal', [])).toBe(null);
  const accepts = hostCheck('0.0.0.0', ['app'])!;
  expect(['app:8081', '10.0.0.7:8081', 'localhost', 'evil.example'].map((host) => accepts(host))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test('nothing of the admin port is answered under another name', async () => {
  const { adminUrl, appUrl, adminKey } = laurel;
  const paths = [
    '/metrics',
    '/readyz',
    '/healthz',
    '/v1/openapi',
    '/reference',
    '/v1/metrics',
    '/no-such-path',
    '/v1/live/ws',
  ];
  for (const path of paths) expect([path, await status(adminUrl + path, 'evil.example')]).toEqual([path, 403]);
  expect(await status(`${adminUrl}/v1/metrics`, 'evil.example', { 'x-api-key': adminKey })).toBe(403);
  expect(await status(`${adminUrl}/v1/metrics`, 'evil.example', { method: 'OPTIONS' })).toBe(403);
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const socket = { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  expect(await status(`${adminUrl}/v1/live/ws`, 'evil.example', socket)).toBe(403);
  expect(await status(`${adminUrl}/v1/live/ws`, 'localhost', socket)).toBe(401);
  expect(await status(`${adminUrl}/metrics`, 'localhost:8081')).toBe(200);
  expect(await status(`${adminUrl}/v1/metrics`, 'localhost', { 'x-api-key': adminKey })).toBe(200);
  // The Application API is for other machines.
  expect(await status(`${appUrl}/healthz`, 'api.example')).toBe(200);
});

test('the metrics port of a worker', async () => {
  const port = await freePort();
  const log = createLog({ level: 'fatal', name: 'test' });
  const close = await openMetricsPort({ host: '127.0.0.1', port, hostnames: ['workers'] }, async () => 'text', log);
  try {
    const url = `http://127.0.0.1:${port}/metrics`;
    const hosts = ['evil.example', 'localhost', 'workers:9464'];
    expect(await Promise.all(hosts.map((host) => status(url, host)))).toEqual([403, 200, 200]);
  } finally {
    await close();
  }
});
