import { expect, test } from 'vitest';
import { RawConnection, rawRequest } from './raw-connection.ts';
import { ADMIN_KEY, startServer } from './server-fixture.ts';

const KEY = `X-API-KEY: ${ADMIN_KEY}`;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('draining: not ready, no new connections; answers what is in flight, then closes everything', async () => {
  const { gate, server, port } = await startServer();
  const working = await RawConnection.open(port);
  working.send(rawRequest('GET', '/v1/slow', { headers: [KEY] }));
  const idle = await RawConnection.open(port);
  idle.send(rawRequest('GET', '/readyz'));
  await idle.until(({ statuses }) => statuses.length === 1);
  const probing = await RawConnection.open(port);
  probing.send(rawRequest('GET', '/healthz'));
  await probing.until(({ statuses }) => statuses.length === 1);
  while (gate.waiting === 0) await turn();

  let drained: number | null = null;
  const draining = server.drain().then((cutOff) => (drained = cutOff));
  // On a connection that is already open.
  probing.send(rawRequest('GET', '/readyz'));
  await probing.until(({ statuses }) => statuses.length === 2);
  expect(probing.statuses).toEqual([200, 503]);
  await probing.until(({ closed }) => closed);
  await expect(RawConnection.open(port)).rejects.toThrow();
  expect(drained).toBeNull();
  expect(working.statuses).toEqual([]);

  gate.release();
  expect(await draining).toBe(0);
  await working.until(({ closed }) => closed);
  expect(working.statuses).toEqual([200]);
  expect(working.received).toContain('Connection: close');
  await idle.until(({ closed }) => closed);
});

test('draining has a limit: cuts off and counts what does not finish', async () => {
  const { gate, server, port } = await startServer();
  const working = await RawConnection.open(port);
  working.send(rawRequest('GET', '/v1/slow', { headers: [KEY] }));
  while (gate.waiting === 0) await turn();
  expect(await server.drain({ timeoutMs: 50 })).toBe(1);
  await working.until(({ closed }) => closed);
  expect(working.statuses).toEqual([]);
  // The abandoned handler ends without harm.
  gate.release();
  await turn();
  expect(gate.passed).toBe(1);
});

test('accepts connections during the grace period, though not ready', async () => {
  const { server, port } = await startServer();
  const draining = server.drain({ graceMs: 3_000 });
  const late = await RawConnection.open(port);
  late.send(rawRequest('GET', '/readyz'));
  await late.until(({ closed }) => closed);
  expect(late.statuses).toEqual([503]);
  expect(await draining).toBe(0);
  server.close();
});

test('answers once more on a kept connection and asks to close it; the drain ends when all are closed', async () => {
  const { server, port } = await startServer();
  const kept = await RawConnection.open(port);
  kept.send(rawRequest('GET', '/healthz'));
  await kept.until(({ statuses }) => statuses.length === 1);
  const draining = server.drain({ lingerMs: 600_000 });
  const refused = (): Promise<boolean> =>
    RawConnection.open(port).then(
      () => false,
      () => true,
    );
  await expect.poll(refused).toBe(true);
  kept.send(rawRequest('GET', '/healthz'));
  await kept.until(({ closed }) => closed);
  expect(kept.statuses).toEqual([200, 200]);
  expect(kept.received).toContain('Connection: close');
  expect(await draining).toBe(0);
});
