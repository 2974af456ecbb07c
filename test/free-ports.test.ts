import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { requireFreePorts } from '../src/free-ports.ts';

test('a port that is taken is told, with the variable that moves it', async () => {
  const server = createServer().listen({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(requireFreePorts('127.0.0.1', { APP_PORT: port })).rejects.toThrow(
    `Port ${port} is in use by another program. Stop that one, or set APP_PORT to another port.`,
  );
  server.close();
  await once(server, 'close');
  await expect(requireFreePorts('127.0.0.1', { APP_PORT: port })).resolves.toBeUndefined();
});

test('an address that is not of this machine is told', async () => {
  await expect(requireFreePorts('203.0.113.7', { APP_PORT: 8080 })).rejects.toThrow('cannot listen on 203.0.113.7');
});
