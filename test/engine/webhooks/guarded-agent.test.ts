import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, test } from 'vitest';
import { guardedAgent, type GuardOptions, TargetRefused } from '../../../src/engine/webhooks/guarded-agent.ts';
import { Receiver } from './receiver.ts';

/** The error of a request; `null` if it was answered. */
async function request(origin: string, options: GuardOptions): Promise<unknown> {
  const agent = guardedAgent(options);
  try {
    const { body } = await agent.request({ origin, path: '/', method: 'POST' });
    await body.dump();
    return null;
  } catch (error) {
    return error;
  } finally {
    await agent.destroy();
  }
}

// Every sender checks the URL as well. The connection itself refuses these.
test.each(['127.0.0.1', '[::1]', '[::ffff:7f00:1]', '10.0.0.1', '169.254.169.254'])(
  'checks a literal address although no lookup happens: %s',
  async (host) => {
    expect(await request(`http://${host}:8000`, { allowPrivate: false })).toBeInstanceOf(TargetRefused);
  },
);

test('checks the addresses of a name, and leaves out those that are not public', async () => {
  const receiver = await Receiver.start();
  const { port } = new URL(receiver.url);
  const resolve = async (): Promise<string[]> => ['127.0.0.1'];
  expect(await request(`http://hook.example:${port}`, { allowPrivate: false, resolve })).toBeInstanceOf(TargetRefused);
  expect(receiver.received).toEqual([]);
  expect(await request(`http://hook.example:${port}`, { allowPrivate: true, resolve })).toBeNull();
  expect(receiver.received).toHaveLength(1);
  await receiver.close();
});

test('a name without an address is no refusal', async () => {
  const resolve = async (): Promise<string[]> => {
    throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
  };
  expect(await request('http://hook.example', { allowPrivate: false, resolve })).toMatchObject({ code: 'ENOTFOUND' });
});

test('TLS verifies the name at the checked address', async () => {
  const names: string[] = [];
  // It has no certificate, so that the handshake ends there.
  const server = createServer({
    SNICallback: (name, callback) => {
      names.push(name);
      callback(null);
    },
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const resolve = async (): Promise<string[]> => ['127.0.0.1'];
  expect(await request(`https://hook.example:${port}`, { allowPrivate: true, resolve })).toBeInstanceOf(Error);
  expect(names).toEqual(['hook.example']);
  await new Promise((closed) => server.close(closed));
});
