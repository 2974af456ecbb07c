import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { SMTPServerOptions } from 'smtp-server';
import type { Email } from '../../../src/engine/messages/email-sender.ts';
import { type SmtpChannel, createSmtpSender, type SmtpSender } from '../../../src/engine/messages/smtp-sender.ts';
import { answer, smtpServer } from './smtp-server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const CHANNEL: SmtpChannel = {
  host: '127.0.0.1',
  port: 0,
  security: 'none',
  username: null,
  password: null,
  senderAddress: 'hello@example.org',
  senderName: 'Laurel',
  replyTo: null,
};

const email = (changes: Partial<Email> = {}): Email => ({
  id: '0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e50',
  to: 'ada@example.org',
  subject: 'Grüße',
  text: 'Hello',
  html: '<p>Hello</p>',
  unsubscribeUrl: 'https://example.org/v1/unsubscribe?token=a.b',
  ...changes,
});

function sender(channel: Partial<SmtpChannel>, timeoutMs = 10_000, allowPrivate = true): SmtpSender {
  const made = createSmtpSender({ ...CHANNEL, ...channel }, { allowPrivate, timeoutMs });
  closing.push(() => made.close());
  return made;
}

async function server(options: SMTPServerOptions = {}) {
  const started = await smtpServer(options);
  closing.push(started.close);
  return started;
}

/** A proxy to a server that closes connections as soon as the server's answers contain a text. */
async function cutAfter(port: number, text: string): Promise<number> {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined));
    client.pipe(upstream);
    upstream.on('data', (data: Buffer) => {
      if (!data.toString().includes(text)) client.write(data);
      else for (const socket of [client, upstream]) socket.destroy();
    });
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return (proxy.address() as AddressInfo).port;
}

describe('an e-mail', () => {
  it('arrives with its parts and the headers of one-click unsubscription', async () => {
    const { port, received } = await server();
    expect(await sender({ port }).send(email())).toEqual({ outcome: 'sent', reason: null, concernsServer: false });
    expect(received).toHaveLength(1);
    const [{ from, to, content }] = received as [(typeof received)[0]];
    expect({ from, to }).toEqual({ from: 'hello@example.org', to: ['ada@example.org'] });
    expect(content).toContain('List-Unsubscribe: <https://example.org/v1/unsubscribe?token=a.b>\r\n');
    expect(content).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(content).toContain('Message-ID: <0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e50@example.org>\r\n');
    expect(content).toContain('multipart/alternative');
    expect(content).toMatch(/Subject: =\?UTF-8\?/);
  });

  it('cannot gain a header or a recipient', async () => {
    const { port, received } = await server();
    const hostile = 'Hello\r\nBcc: eve@example.org\r\n\r\nbody';
    expect((await sender({ port }).send(email({ subject: hostile }))).outcome).toBe('sent');
    expect(received[0]!.to).toEqual(['ada@example.org']);
    expect(received[0]!.content).not.toMatch(/^Bcc:/im);
    for (const to of ['ada@example.org>\r\nRCPT TO:<eve@example.org', 'ada@example.org,eve@example.org'])
      await sender({ port }).send(email({ to }));
    expect(received.flatMap((each) => each.to)).not.toContain('eve@example.org');
  });

  it('uses a connection again, and another one after the server closed it', async () => {
    const { port, received, connections, endConnections } = await server();
    const one = sender({ port });
    await one.send(email());
    await one.send(email());
    expect(connections()).toBe(1);
    await endConnections();
    expect((await one.send(email())).outcome).toBe('sent');
    expect([received.length, connections()]).toEqual([3, 2]);
  });

  it('is sent after a login', async () => {
    const auth: SMTPServerOptions = {
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        username === 'laurel' && password === 'secret' ? done(null, { user: 1 }) : done(answer(535)),
    };
    const { port, received } = await server(auth);
    expect((await sender({ port, username: 'laurel', password: 'secret' }).send(email())).outcome).toBe('sent');
    const wrong = await sender({ port, username: 'laurel', password: 'wrong' }).send(email());
    expect(wrong.outcome).toBe('later');
    expect(wrong.reason).not.toContain('wrong');
    expect(received).toHaveLength(1);
  });
});

describe('a refusal', () => {
  it.each([
    [450, 'later'],
    [452, 'later'],
    [550, 'bad_address'],
    [553, 'bad_address'],
  ])('of the recipient with %i: %s', async (code, outcome) => {
    const { port } = await server({ onRcptTo: (_address, _session, done) => done(answer(code)) });
    const result = await sender({ port }).send(email());
    expect(result.outcome).toBe(outcome);
    expect(result.reason).toContain(String(code));
  });

  it.each([
    [451, 'later'],
    [554, 'later'],
  ])('of the sender with %i: %s', async (code, outcome) => {
    const { port } = await server({ onMailFrom: (_address, _session, done) => done(answer(code)) });
    expect(await sender({ port }).send(email())).toMatchObject({ outcome, concernsServer: true });
  });

  it.each([
    [451, 'later'],
    [552, 'refused'],
  ])('of the content with %i: %s', async (code, outcome) => {
    const { port } = await server({ onData: (_stream, _session, done) => done(answer(code)) });
    expect((await sender({ port }).send(email())).outcome).toBe(outcome);
  });
});

describe('a broken connection', () => {
  it.each([
    ['220 ', 'later', 0],
    ['354 ', 'later', 0],
    ['queued', 'unknown', 1],
  ])('before the answer %j: %s', async (text, outcome, arrived) => {
    const { port, received } = await server({ onData: (_stream, _session, done) => done(null) });
    const answers = text === 'queued' ? '250 OK: message queued' : text;
    const result = await sender({ port: await cutAfter(port, answers) }).send(email());
    expect(result.outcome).toBe(outcome);
    expect(received).toHaveLength(arrived);
  });

  it('counts as unknown if the server does not answer the content in time', async () => {
    const { port, received } = await server({ onData: () => undefined });
    expect((await sender({ port }, 3_000).send(email())).outcome).toBe('unknown');
    expect(received).toHaveLength(1);
  });

  it('is tried later if nobody listens, or nobody answers', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    expect((await sender({ port }, 500).send(email())).outcome).toBe('later');
    await new Promise((resolve) => silent.close(resolve));
    expect((await sender({ port }, 500).send(email())).outcome).toBe('later');
  });
});

describe('the time limit of an attempt', () => {
  /** A server that never falls silent, and is never done with its greeting. */
  async function dripping(): Promise<number> {
    const drips = createServer((socket) => {
      const drip = setInterval(() => socket.write('220-wait\r\n'), 50);
      socket.on('error', () => undefined).on('close', () => clearInterval(drip));
    });
    await new Promise<void>((resolve) => drips.listen(0, '127.0.0.1', resolve));
    closing.push(() => drips.close());
    return (drips.address() as AddressInfo).port;
  }

  it('ends one with a server that answers a little all the time, and those after it', async () => {
    const port = await dripping();
    const one = createSmtpSender({ ...CHANNEL, port }, { allowPrivate: true, timeoutMs: 60_000, attemptMs: 3_000 });
    for (let n = 0; n < 2; n += 1) {
      const beganMs = performance.now();
      const result = await one.send(email());
      expect(result).toEqual({ outcome: 'later', reason: 'the attempt took too long', concernsServer: true });
      expect(performance.now() - beganMs).toBeLessThan(30_000);
    }
  });

  it('makes one unknown whose content was handed over', async () => {
    const { port, received } = await server({ onData: () => undefined });
    const one = createSmtpSender({ ...CHANNEL, port }, { allowPrivate: true, timeoutMs: 60_000, attemptMs: 3_000 });
    expect(await one.send(email())).toMatchObject({ outcome: 'unknown', concernsServer: true });
    expect(received).toHaveLength(1);
  });
});

describe('security', () => {
  it('sends nothing to a private address unless allowed', async () => {
    const { port, connections } = await server();
    const result = await sender({ port }, 500, false).send(email());
    expect(result).toMatchObject({ outcome: 'later', reason: expect.stringContaining('not public') });
    const named = await sender({ port, host: 'localhost' }, 500, false).send(email());
    expect([named.outcome, connections()]).toEqual(['later', 0]);
  });

  it('sends nothing without TLS if TLS is required', async () => {
    const { port, received } = await server();
    for (const security of ['tls', 'starttls'] as const)
      expect((await sender({ port, security }, 500).send(email())).outcome).toBe('later');
    expect(received).toEqual([]);
  });

  it('refuses a certificate that nobody vouches for', async () => {
    const { port, received } = await server({ secure: true });
    expect((await sender({ port, security: 'tls' }).send(email())).outcome).toBe('later');
    expect(received).toEqual([]);
  });
});
