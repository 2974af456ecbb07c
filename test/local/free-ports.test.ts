import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { requireFreePorts } from '../../src/local/free-ports.ts';

const listener = (host: string, port: number) => [
  { host, port, hostVariable: 'ADMIN_HOST', portVariable: 'ADMIN_PORT' },
];

test('reports a taken port with the variable that moves it', async () => {
  const server = createServer().listen({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(requireFreePorts(listener('127.0.0.1', port))).rejects.toThrow(
    `Port ${port} is in use by another program. Stop that program, or set ADMIN_PORT to another port.`,
  );
  server.close();
  await once(server, 'close');
  await expect(requireFreePorts(listener('127.0.0.1', port))).resolves.toBeUndefined();
});

test('reports an address that is not of this machine', async () => {
  await expect(requireFreePorts(listener('203.0.113.7', 8080))).rejects.toThrow(
    /cannot listen on 203.0.113.7, port 8080 .*see ADMIN_HOST and ADMIN_PORT/,
  );
});
