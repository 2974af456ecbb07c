import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { join } from 'node:path';
import { Agent, fetch, WebSocket } from 'undici';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel } from '../laurel.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { hasProgram } from '../stack/has-program.ts';
import { endChild } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

// The example proxy: its compose file, and, where Caddy is installed, its configuration in front of a Laurel.

const CADDYFILE = readFileSync(join(PACKAGE_ROOT, 'ops/Caddyfile'), 'utf8');
/** `!override` is Compose's own. */
const compose = parse(readFileSync(join(PACKAGE_ROOT, 'docker-compose.proxy.yml'), 'utf8'), {
  customTags: [{ tag: '!override', collection: 'seq' }],
}) as {
  services: Record<'app' | 'proxy', Record<string, unknown> & { ports: string[]; environment: Record<string, string> }>;
  networks: { edge: { ipam: { config: { subnet: string }[] } } };
};

test('with the proxy, only it exposes ports, and Laurel believes only its addresses of clients', () => {
  const { app, proxy } = compose.services;
  expect(app.ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  expect(proxy.ports).toEqual(['80:80', '443:443', '443:443/udp']);
  expect(proxy['networks']).toEqual({ edge: { ipv4_address: app.environment['TRUSTED_PROXIES'] } });
  expect(proxy).toMatchObject({ read_only: true, cap_drop: ['ALL'], cap_add: ['NET_BIND_SERVICE'] });
  const [edge] = compose.networks.edge.ipam.config;
  const cluster = readFileSync(join(PACKAGE_ROOT, 'docker-compose.cluster.yml'), 'utf8');
  expect(cluster).not.toContain(edge!.subnet);
});

test('the proxy leads to the Application API only', () => {
  expect(CADDYFILE.match(/reverse_proxy .*/g)).toEqual(['reverse_proxy {$UPSTREAM:app:8080} {']);
});

/** Another address than the proxy's. */
const CLIENT = '127.0.0.3';

const hasCaddy = await hasProgram('caddy');
if (!hasCaddy)
  console.log('There is no caddy (Debian: apt-get install caddy): tests of the running proxy are left out.');

describe.skipIf(!hasCaddy)('Caddy with ops/Caddyfile', () => {
  /** Answers the headers that it gets. */
  let echo: Server;
  let folder: string;
  let caddy: ChildProcess;
  let port: number;
  let dispatcher: Agent;

  const laurel = opened(() => startLaurel());
  beforeAll(async () => {
    echo = createServer(({ headers }, response) => response.end(JSON.stringify(headers))).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    folder = await mkdtemp(join(DATA_FOLDER, 'laurel-proxy-'));
    port = await freePort();
    // Other ports, and the certificate of an authority of its own, which the machine does not learn to trust.
    const own = `admin off\n skip_install_trust\n http_port ${await freePort()}\n https_port ${port}\n`;
    const file = join(folder, 'Caddyfile');
    const echoed = CADDYFILE.slice(CADDYFILE.indexOf('{$DOMAIN}'))
      .replace('{$DOMAIN}', 'echo.localhost')
      .replace('{$UPSTREAM:app:8080}', `127.0.0.1:${(echo.address() as AddressInfo).port}`);
    await writeFile(file, CADDYFILE.replace('{\n', `{\n ${own}`) + echoed);
    caddy = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
      env: {
        PATH: process.env['PATH'],
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
        DOMAIN: 'localhost',
        UPSTREAM: laurel.appUrl.replace('http://', ''),
      },
      stdio: 'ignore',
    });
    const authority = join(folder, 'caddy/pki/authorities/local/root.crt');
    const ca = await vi.waitUntil(
      () => {
        if (caddy.exitCode !== null) throw new Error(`Caddy ended with ${caddy.exitCode}.`);
        return readFile(authority, 'utf8').catch(() => null);
      },
      { timeout: 120_000 },
    );
    const lookup: LookupFunction = (_, { all }, found) =>
      all === true ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4);
    dispatcher = new Agent({ localAddress: CLIENT, connect: { ca, lookup } });
    await vi.waitUntil(
      () =>
        request('/healthz').then(
          ({ ok }) => ok,
          () => false,
        ),
      { timeout: 120_000 },
    );
  });
  afterAll(async () => {
    await dispatcher.destroy();
    await endChild(caddy, 'SIGTERM');
    await rm(folder, { recursive: true });
    await new Promise((resolve) => echo.close(resolve));
  });

  const request = (path: string) => fetch(`https://localhost:${port}${path}`, { dispatcher });
  const ticket = async (): Promise<string> => (await laurel.app.post('/v1/live/tickets', {})).body.ticket as string;

  test('passes on messages of server-sent events while the stream is open', async () => {
    const response = await request(`/v1/live?ticket=${await ticket()}`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    for (let ended = false; !ended && !seen.includes('event: ready');) {
      const { value = '', done } = await reader.read();
      seen += value;
      ended = done;
    }
    expect(seen).toContain('event: ready');
    await reader.cancel();
  });

  test('passes on WebSockets', async () => {
    const socket = new WebSocket(`wss://localhost:${port}/v1/live/ws?ticket=${await ticket()}`, { dispatcher });
    const { data } = await new Promise<{ data: unknown }>((resolve, reject) => {
      socket.addEventListener('message', resolve, { once: true });
      socket.addEventListener('error', () => reject(new Error('The WebSocket did not open.')), { once: true });
    });
    expect(JSON.parse(String(data))).toMatchObject({ type: 'ready' });
    socket.close();
  });

  test('passes on the address of the client, and no address that the client names', async () => {
    const response = await fetch(`https://echo.localhost:${port}/`, {
      dispatcher,
      headers: { 'X-Forwarded-For': '203.0.113.1', 'X-Forwarded-Proto': 'http' },
    });
    expect(await response.json()).toMatchObject({ 'x-forwarded-for': CLIENT, 'x-forwarded-proto': 'https' });
  });
});
