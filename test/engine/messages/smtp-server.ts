import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { vi } from 'vitest';

export interface Received {
  from: string;
  to: string[];
  content: string;
  secure: boolean;
}

/** An SMTP server on a free port that keeps what it receives. `endConnections` resolves when the clients have ended them too; `close` ends the server. */
export async function smtpServer(options: SMTPServerOptions = {}): Promise<{
  port: number;
  received: Received[];
  connections: () => number;
  endConnections: () => Promise<void>;
  close: () => Promise<void>;
}> {
  const received: Received[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 100,
    ...options,
    onConnect(_session, done) {
      connections += 1;
      done();
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        received.push({
          from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
          to: session.envelope.rcptTo.map(({ address }) => address),
          content: Buffer.concat(chunks).toString('utf8'),
          secure: session.secure,
        });
        if (options.onData) options.onData(stream, session, done);
        else done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    connections: () => connections,
    endConnections: async () => {
      for (const connection of server.connections) connection.close();
      const open = promisify(server.server.getConnections.bind(server.server));
      await vi.waitUntil(async () => (await open()) === 0, { timeout: 120_000 });
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** An error that the server answers with a status. */
export const answer = (responseCode: number): Error =>
  Object.assign(new Error(`answered ${responseCode}`), { responseCode });
